//! What the law hears of the link.

use gamelane_core::Duration;

/// What was seen or heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A round trip of TCP that passed the gateway (reference/measurement.md section 3.2).
    TcpRoundTrip {
        /// How long it took.
        seen: Duration,
        /// How much longer than the quickest of its connection lately.
        delay: Duration,
        /// So much of it the other end may have kept still for.
        slack: Duration,
    },
    /// A packet of a stream that is sent at even times came so much later than its promptest.
    GameLag(Duration),
    /// Time that what waits below the shaper will take, where the driver or modem tells.
    Backlog(Duration),
    /// The answer to a probe, after this round trip.
    Probe(Duration),
}

/// The kind of a [`Signal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Round trips of TCP.
    Tcp,
    /// Even streams.
    Game,
    /// What waits below.
    Backlog,
    /// Answers to probes.
    Probe,
}

impl Source {
    /// As scenarios write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Game => "game",
            Self::Backlog => "backlog",
            Self::Probe => "probe",
        }
    }
}

impl Signal {
    /// What kind it is.
    pub const fn source(&self) -> Source {
        match self {
            Self::TcpRoundTrip { .. } => Source::Tcp,
            Self::GameLag(_) => Source::Game,
            Self::Backlog(_) => Source::Backlog,
            Self::Probe(_) => Source::Probe,
        }
    }
}
