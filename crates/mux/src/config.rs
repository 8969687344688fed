//! Identities and settings of both halves.

use gamelane_core::Duration;

/// A stream. Ids count up within a session and are never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

/// One of the pair's connections, by its place in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CarrierId(pub u8);

/// Carriers a pair may have; state per stream and carrier is kept in arrays of this length.
pub const MAX_CARRIERS: usize = 16;

/// Pieces a stream is kept in. Also what a receiver has to be ready to hold.
pub(crate) const MAX_PIECES: usize = 1024;

impl CarrierId {
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// What a carrier promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarrierKind {
    /// The frames of one stream arrive, and in order: a TCP connection, or a QUIC stream for each of our streams.
    Ordered,
    /// Frames may be lost or overtake each other: datagrams. They carry early repeats only.
    Datagram,
}

/// Which carrier a stream uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Assignment {
    /// Stream id modulo the number of carriers.
    #[default]
    Pinned,
    /// Each time a stream has something to send again: the carrier with the fewest bytes waiting, ties in turn. Until the
    /// peer has confirmed the stream it stays where it was opened.
    LeastBacklog,
}

/// Small frames wait for company.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalescing {
    /// No frame waits longer.
    pub deadline: Duration,
    /// Nor once this many bytes wait for the carrier: what fills its packet.
    pub fill: u32,
}

/// A small message that is still unacknowledged after a fraction of the round trip is sent again on another carrier: the idea
/// of redundant data bundling, above TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlyRepeat {
    /// After this many thousandths of the round trip. Below 1000 every message is repeated, since no acknowledgement can have
    /// come; above, those that are late.
    pub after_permille: u32,
    /// Largest message repeated, in bytes.
    pub max_len: u32,
    /// Copies beyond the first.
    pub max_repeats: u8,
}

/// Settings of the sending half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MuxConfig {
    /// Carriers the pair has, at most [`MAX_CARRIERS`].
    pub carriers: u8,
    /// Which of them a stream uses.
    pub assignment: Assignment,
    /// `None`: everything leaves at once.
    pub coalescing: Option<Coalescing>,
    /// `None`: a message is sent once, and again only when its carrier is lost.
    pub early_repeat: Option<EarlyRepeat>,
    /// Keep what was sent until it is acknowledged. Without, a lost carrier loses data, and nothing is repeated.
    pub retain: bool,
    /// Bytes the peer takes of a stream before its first credit. In a [`Session`](crate::Session) the peer's hello says it.
    pub initial_credit: u64,
    /// Bytes of one stream waiting or retained; a write beyond is refused.
    pub buffer: u64,
    /// Payload of one data frame: what a fat stream may send before others get their turn.
    pub max_payload: u32,
    /// Deficit-round-robin quantum, bytes.
    pub quantum: u32,
}

impl Default for MuxConfig {
    fn default() -> Self {
        Self {
            carriers: 1,
            assignment: Assignment::Pinned,
            coalescing: None,
            early_repeat: None,
            retain: true,
            initial_credit: 64 << 10,
            buffer: 64 << 10,
            max_payload: 16 << 10,
            quantum: 1500,
        }
    }
}
