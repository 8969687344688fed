//! What a port reports: a frame received, frames sent or refused, frames lost before they were seen. The same for packet sockets
//! and AF_XDP.

use std::io::Error;
use std::num::NonZeroUsize;

use gamelane_core::Protocol;

/// A frame in the ring.
#[derive(Debug)]
pub struct Received<'a> {
    /// Its bytes, without a VLAN tag that the kernel took out.
    pub bytes: &'a [u8],
    /// The VLAN tag that belongs after the two addresses, as on the wire: TPID and TCI.
    pub vlan: Option<[u8; 4]>,
    /// Length of the frame; larger than `bytes` if it did not fit.
    pub len: usize,
    /// Whether its transport checksum is filled in.
    pub checksum: Checksum,
    /// The segments in it, if its sender left the splitting to the interface (segmentation offload).
    pub segments: Option<Segments>,
}

/// The segments that a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    /// TCP or UDP. In a tunnel the outer protocol may be another one.
    pub protocol: Protocol,
    /// Payload of each but the last.
    pub payload: NonZeroUsize,
}

/// Whether the transport checksum of a frame is filled in. A frame of this machine that arrives over a virtual interface may
/// have left that to hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// It is filled in.
    Present,
    /// It is not.
    Missing,
    /// It may be missing, and the kernel does not tell.
    Unknown,
}

/// What the kernel counted since the last call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingCounters {
    /// Frames that arrived, all those below included.
    pub frames: u64,
    /// Lost because the ring was full.
    pub dropped: u64,
    /// For this machine itself, and not shown.
    pub own: u64,
    /// Too long to be received, and lost.
    pub too_long: u64,
}

/// What became of frames given to an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// How many were taken, from the first on. They may be given back to the pool.
    pub taken: usize,
    /// How many of those taken now or before the interface has discarded.
    pub lost: usize,
}

/// Why an interface did not take even the first frame.
#[derive(Debug)]
pub enum Refusal {
    /// It takes no more for now.
    Full,
    /// It will never take this frame: the frame is too long, or the interface is down.
    Lost(Error),
}
