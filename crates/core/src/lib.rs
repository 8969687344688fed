//! The vocabulary every gamelane crate shares: integer time and units, packets and flow keys, seeded random streams,
//! drop and mark reasons, conservation counters. Pure: no clock, no I/O, no global state.
//!
//! # The contract of every component
//!
//! Components (queues, links, hops, endpoints, applications) are state machines driven from outside:
//!
//! 1. `now` never decreases for one component and is always the last argument (before an outlet).
//! 2. At one instant a driver handles expired timeouts, drains transmits, hands in arrivals in input order, drains
//!    transmits again, and last reads `poll_timeout`.
//! 3. `poll_timeout` is a pure read; an early `handle_timeout` is a no-op; a quiet component answers `None`, or no run
//!    would ever end.
//! 4. A late call is legal and does bounded work.
//! 5. Drops and marks leave through an [`Outlet`] with the packet and a reason, so nothing vanishes uncounted.
//! 6. Randomness comes from a [`rng::Stream`] named by (seed, component path).
//! 7. A queue stamps its own arrivals and is asked for a packet only when the medium is free.
//! 8. Mechanisms set fields of [`PacketMeta`]; only shells touch bytes.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

#[cfg(test)]
extern crate std;

pub mod counters;
pub mod dist;
pub mod flow;
pub mod loss;
pub mod outlet;
pub mod overhead;
pub mod packet;
pub mod quantity;
pub mod rng;
pub mod time;
pub mod units;

pub use counters::{DropCounts, HopCounters};
pub use flow::{Direction, FlowId, FlowKey, Protocol};
pub use outlet::{DropReason, MarkReason, Outlet};
pub use overhead::Overhead;
pub use packet::{AckKind, ClassId, Ecn, Packet, PacketMeta};
pub use rng::{Seed, Stream};
pub use time::{Duration, Instant};
pub use units::{Bitrate, ByteCount, IpLen, WireLen};
