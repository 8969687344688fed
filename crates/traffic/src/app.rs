//! The interface between an application and its transport. An application receives events, and the driver polls its
//! actions. Payload is left out; only lengths are exchanged.

use gamelane_core::{ByteCount, Duration, Instant};
use serde::Serialize;

/// Event from the transport for one side of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppEvent {
    /// The TCP connection is open. Both sides get this event.
    Connected,
    /// A datagram arrived.
    Datagram {
        /// UDP payload bytes.
        payload: u32,
    },
    /// Bytes of the stream arrived in order.
    Delivered {
        /// Number of bytes.
        bytes: ByteCount,
    },
    /// The peer has closed its half of the connection.
    PeerClosed,
}

/// Action that one side of an application asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppAction {
    /// Open a TCP connection; only the client does. A second connection replaces the first.
    Connect,
    /// Send one UDP datagram.
    SendDatagram {
        /// UDP payload bytes.
        payload: u32,
    },
    /// Append bytes to the stream.
    Write {
        /// Number of bytes.
        bytes: ByteCount,
    },
    /// Send without end from now on.
    WriteForever,
    /// Close this half of the connection. Written data is still sent. After [`AppAction::WriteForever`] only data that
    /// was already sent counts as written.
    Close,
    /// Record a measurement.
    Report(AppReport),
}

/// Measurement of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppReport {
    /// A video chunk arrived completely.
    Chunk {
        /// Number of the chunk, from 0.
        index: u32,
        /// Size of the chunk.
        bytes: ByteCount,
        /// Time from the request to the last byte.
        took: Duration,
    },
    /// A transfer of known size (a web page, a file) arrived completely.
    Transfer {
        /// Size of the transfer.
        bytes: ByteCount,
        /// Time from opening the connection to the last byte. At the server it starts when the connection is open.
        took: Duration,
    },
    /// Video playback stalled, or had not begun yet.
    Stall {
        /// Duration of the stall.
        lasted: Duration,
    },
}

/// Transport of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// UDP datagrams without a connection.
    Udp,
    /// A TCP byte stream; the client opens it with [`AppAction::Connect`].
    Tcp,
}

/// One side of an application.
pub trait TrafficSource {
    /// Handles an event.
    fn handle_event(&mut self, event: &AppEvent, now: Instant);
    /// Returns the next action at `now`. Call it until it returns `None`.
    fn poll_action(&mut self, now: Instant) -> Option<AppAction>;
    /// Time of the next call of [`TrafficSource::handle_timeout`]; `None` if only an event can change anything.
    fn poll_timeout(&self) -> Option<Instant>;
    /// Handles everything due at `now`. An early call does nothing.
    fn handle_timeout(&mut self, now: Instant);
    /// Report of what is in progress at `now`, the end of a run: a stall.
    fn unfinished(&self, _now: Instant) -> Option<AppReport> {
        None
    }
}
