//! What an application and its transport say to each other. An application is closed loop: it reacts to events, and its
//! actions are polled out.

use gamelane_core::{ByteCount, Duration, Instant};

/// What the transport tells one side of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppEvent {
    /// The TCP connection is open (told to both sides).
    Connected,
    /// A datagram with this many payload bytes arrived.
    Datagram {
        /// UDP payload bytes.
        payload: u32,
    },
    /// More bytes of the stream arrived in order.
    Delivered {
        /// How many.
        bytes: ByteCount,
    },
    /// The peer closed its half of the connection.
    PeerClosed,
}

/// What one side of an application wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppAction {
    /// Open a TCP connection (client side only); a second one replaces the first.
    Connect,
    /// Send one UDP datagram.
    SendDatagram {
        /// UDP payload bytes.
        payload: u32,
    },
    /// Append bytes to the stream.
    Write {
        /// How many.
        bytes: ByteCount,
    },
    /// From now on there is always something to send.
    WriteForever,
    /// Close this half: what is written but unsent is still sent, except after [`AppAction::WriteForever`], which ends
    /// with what has been sent.
    Close,
    /// Something worth recording happened.
    Report(AppReport),
}

/// Application-level measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppReport {
    /// A video chunk has arrived whole.
    Chunk {
        /// Its number, from 0.
        index: u32,
        /// Its size.
        bytes: ByteCount,
        /// From request to last byte.
        took: Duration,
    },
    /// A transfer of a known size has arrived whole: a web page, a file.
    Transfer {
        /// Its size.
        bytes: ByteCount,
        /// From opening the connection to the last byte; at the end that is connected to, from when it was open.
        took: Duration,
    },
    /// Video playback stood still.
    Stall {
        /// For how long.
        lasted: Duration,
    },
}

/// One side of an application.
pub trait TrafficSource {
    /// Tells it what happened.
    fn handle_event(&mut self, event: &AppEvent, now: Instant);
    /// The next thing it wants done at `now`; call until `None`.
    fn poll_action(&mut self, now: Instant) -> Option<AppAction>;
    /// When it wants [`TrafficSource::handle_timeout`]; `None` while only events can move it.
    fn poll_timeout(&self) -> Option<Instant>;
    /// Time has come; an early call is a no-op.
    fn handle_timeout(&mut self, now: Instant);
}
