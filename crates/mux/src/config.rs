//! Stream and carrier ids, and the settings of the sending half. The settings of a whole session are in
//! [`SessionConfig`](crate::SessionConfig), those of the repeater in [`RepeatLimits`](crate::RepeatLimits).

use gamelane_core::Duration;

/// Number of a stream. Ids count up within a session and are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

/// Number of a carrier (one connection of the pair): its index in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CarrierId(pub u8);

/// Maximum number of carriers of a pair. State per stream and carrier is kept in arrays of this length.
pub const MAX_CARRIERS: usize = 16;

/// Maximum number of pieces that the sender keeps of one stream. A receiver must be able to hold as many.
pub(crate) const MAX_PIECES: usize = 1024;

impl CarrierId {
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// Delivery guarantee of a carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarrierKind {
    /// Delivers the frames of one stream reliably and in order: a TCP connection, or a QUIC connection with one QUIC
    /// stream for each of our streams.
    Ordered,
    /// May lose or reorder frames: datagrams. Carries early repeats only.
    Datagram,
}

/// How a stream gets its carrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Assignment {
    /// Carrier number = stream id modulo the number of carriers.
    #[default]
    Pinned,
    /// The carrier with the fewest waiting bytes, chosen again whenever an idle stream gets something to send. Ties are
    /// broken round robin. Until the peer has confirmed the stream, it stays on the carrier that carried its `Open`
    /// frame.
    LeastBacklog,
}

/// Coalescing: holds small frames back so that several share one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalescing {
    /// Longest time a frame is held back.
    pub deadline: Duration,
    /// Bytes waiting for the carrier at which nothing is held back any longer: the payload of a full packet.
    pub fill: u32,
}

/// Early repeat: a small message that is still unacknowledged after a fraction of the round trip is sent again on
/// another carrier. This is the idea of redundant data bundling (Evensen et al. 2008), above TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlyRepeat {
    /// Age at which a message is repeated, in thousandths of the round trip. Below 1000 every message is repeated,
    /// because its acknowledgement cannot have arrived yet. Above 1000 only late messages are repeated.
    pub after_permille: u32,
    /// Largest message that is repeated, in bytes.
    pub max_len: u32,
    /// Maximum number of copies after the first transmission.
    pub max_repeats: u8,
}

/// Settings of the sending half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MuxConfig {
    /// Number of carriers of the pair, 1 to [`MAX_CARRIERS`].
    pub carriers: u8,
    /// How a stream gets its carrier.
    pub assignment: Assignment,
    /// Coalescing of small frames; `None` sends every frame at once.
    pub coalescing: Option<Coalescing>,
    /// Early repeats; `None` sends a message again only if its carrier was lost.
    pub early_repeat: Option<EarlyRepeat>,
    /// Keeps sent data until it is acknowledged. If false, a lost carrier loses data and nothing is repeated.
    pub retain: bool,
    /// Bytes of a stream that the peer accepts before its first credit. A [`Session`](crate::Session) takes it from the
    /// peer's hello.
    pub initial_credit: u64,
    /// Maximum bytes of one stream, waiting plus retained. A write beyond it is refused.
    pub buffer: u64,
    /// Maximum payload of one data frame, in bytes. Limits how long other streams wait for a bulk stream.
    pub max_payload: u32,
    /// Quantum of deficit round robin, in bytes.
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
