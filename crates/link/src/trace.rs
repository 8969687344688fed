//! Links whose rate follows a trace: delivery opportunities in mahimahi's format, or rates in pieces. Both repeat.

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

use gamelane_core::{Bitrate, Instant};

/// A rate trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RateTrace {
    /// Moments at which a packet of full size may pass.
    Opportunities(Opportunities),
    /// A rate from each moment to the next.
    Pieces(RatePieces),
}

impl RateTrace {
    /// Reads either format: a line of one number is mahimahi's, of two a rate.
    ///
    /// # Errors
    ///
    /// The first line that is wrong, and why.
    pub fn parse(text: &[u8]) -> Result<Self, TraceError> {
        if parse::columns_of_first_line(text) == 1 {
            Opportunities::parse(text).map(Self::Opportunities)
        } else {
            RatePieces::parse(text).map(Self::Pieces)
        }
    }

    /// The most the link carries: its highest rate, or that of the busiest 100 ms.
    pub fn peak(&self) -> Bitrate {
        match self {
            Self::Opportunities(trace) => trace.peak(),
            Self::Pieces(trace) => trace.peak(),
        }
    }

    /// Its rate at a moment; of opportunities, that of the 100 ms before.
    pub fn rate_at(&self, now: Instant) -> Bitrate {
        match self {
            Self::Opportunities(trace) => trace.rate_at(now),
            Self::Pieces(trace) => trace.rate_at(now),
        }
    }

    /// Its mean rate.
    pub fn mean(&self) -> Bitrate {
        match self {
            Self::Opportunities(trace) => trace.mean(),
            Self::Pieces(trace) => trace.mean(),
        }
    }
}
