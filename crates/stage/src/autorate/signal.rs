//! Signals about the state of the link, from which autorate decides.

use gamelane_core::Duration;

/// A measurement of delay on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Round trip of a TCP connection between the gateway and the far end, measured by timestamps; see [`crate::echo`].
    TcpRoundTrip {
        /// The round-trip time.
        seen: Duration,
        /// Extra delay: round-trip time above the lowest of this connection.
        delay: Duration,
        /// Part of the round trip for which the far end may have waited before it sent the echo.
        slack: Duration,
    },
    /// Lateness of a packet in a stream with even send times, compared with the stream's earliest packets.
    GameLag(Duration),
    /// Backlog below the shaper, as the time to send it, if the driver or modem reports it.
    Backlog(Duration),
    /// Round-trip time of a probe.
    Probe(Duration),
}

/// The kind of a [`Signal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Round trips of TCP.
    Tcp,
    /// Streams with even send times.
    Game,
    /// Backlog below the shaper.
    Backlog,
    /// Answers to probes.
    Probe,
}

impl Source {
    /// Name in scenarios and records.
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
    /// Kind of the signal.
    pub const fn source(&self) -> Source {
        match self {
            Self::TcpRoundTrip { .. } => Source::Tcp,
            Self::GameLag(_) => Source::Game,
            Self::Backlog(_) => Source::Backlog,
            Self::Probe(_) => Source::Probe,
        }
    }
}
