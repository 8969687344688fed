//! What is known of a flow before it has ended, for a view of a running recording.

use gamelane_core::FlowKey;

use super::games::Kind;

/// A flow that has not ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenFlow {
    /// Addresses from client to server, as far as its packets tell so far.
    pub key: FlowKey,
    /// True if the first packet came from the server. Then the directions of [`Sink::packet`](super::Sink::packet) are the
    /// other way round.
    pub reversed: bool,
    /// What it behaves like so far.
    pub kind: Kind,
    /// Messages of UDP from client to server, and from server to client. `None` for TCP, and for fewer than two messages.
    pub updates: [Option<OpenUpdates>; 2],
}

/// Messages of one direction of UDP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenUpdates {
    /// Time from message to message, if the sender has a steady pace.
    pub tick_ns: Option<f64>,
    /// Messages that their own numbers show as lost.
    pub missing: u64,
}
