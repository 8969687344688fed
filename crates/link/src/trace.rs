//! Links whose rate follows a trace. A trace is a list of delivery opportunities in mahimahi's format, or a list of
//! rates with their start times. At its end a trace starts again.

mod link;
mod opportunities;
mod parse;
mod pieces;
#[cfg(test)]
mod tests;

pub use link::TraceLink;
pub use opportunities::Opportunities;
pub use parse::{TraceError, TraceProblem};
pub use pieces::RatePieces;

use gamelane_core::{Bitrate, Descriptor, Instant};

/// Rate trace in the catalogue.
pub const TRACE: Descriptor = Descriptor {
    word: "trace",
    label: "rate trace",
    about: "Link whose rate follows a trace.",
    keys: &["trace"],
    page: "rate-trace",
    facts: (),
};

/// A rate trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RateTrace {
    /// Times at which one full packet may pass.
    Opportunities(Opportunities),
    /// Rates, each from its start time to the next.
    Pieces(RatePieces),
}

impl RateTrace {
    /// Reads either format. One number in the first line means mahimahi's format, two mean a list of rates.
    ///
    /// # Errors
    ///
    /// The first wrong line and the reason.
    pub fn parse(text: &[u8]) -> Result<Self, TraceError> {
        if parse::columns_of_first_line(text) == 1 {
            Opportunities::parse(text).map(Self::Opportunities)
        } else {
            RatePieces::parse(text).map(Self::Pieces)
        }
    }

    /// Highest rate. For opportunities it is the rate in the busiest 100 ms.
    pub fn peak(&self) -> Bitrate {
        match self {
            Self::Opportunities(trace) => trace.peak(),
            Self::Pieces(trace) => trace.peak(),
        }
    }

    /// Rate at `now`. For opportunities it is the rate in the last 100 ms.
    pub fn rate_at(&self, now: Instant) -> Bitrate {
        match self {
            Self::Opportunities(trace) => trace.rate_at(now),
            Self::Pieces(trace) => trace.rate_at(now),
        }
    }

    /// Mean rate over the length of the trace.
    pub fn mean(&self) -> Bitrate {
        match self {
            Self::Opportunities(trace) => trace.mean(),
            Self::Pieces(trace) => trace.mean(),
        }
    }
}
