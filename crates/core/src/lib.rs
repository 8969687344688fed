//! Types that every gamelane crate shares: integer time and units, packets and flow keys, header sizes, seeded random
//! streams, drop and mark reasons, packet counters, and the form of the catalogue. The crate is pure: no clock, no I/O, no global state.
//!
//! # The contract of every component
//!
//! Components (queues, links, hops, endpoints, applications) are state machines driven from outside:
//!
//! 1. `now` never decreases for one component. It is the last argument; only an outlet comes after it.
//! 2. At one instant a driver does this in order: handle expired timeouts, drain transmits, hand in arrivals in input
//!    order, drain transmits again, read `poll_timeout`.
//! 3. `poll_timeout` changes nothing, and a call of `handle_timeout` before its time does nothing. A component with no
//!    work left returns `None`; otherwise no run would ever end.
//! 4. A late call is allowed and does bounded work.
//! 5. Drops and marks leave through an [`Outlet`] with the packet and a reason, so every packet is counted.
//! 6. Random draws come from a [`rng::Stream`] named by the seed and the path of the component.
//! 7. A queue stamps its arrivals itself. A driver asks it for a packet only when the medium is free.
//! 8. Mechanisms set fields of [`PacketMeta`]. Only drivers read and write packet bytes.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

#[cfg(test)]
extern crate std;

pub mod catalogue;
pub mod counters;
pub mod dist;
pub mod flow;
pub mod headers;
pub mod loss;
pub mod outlet;
pub mod overhead;
pub mod packet;
pub mod quantity;
pub mod refusal;
pub mod rng;
pub mod time;
pub mod units;

pub use catalogue::{Catalogued, Descriptor};
pub use counters::{DropCounts, HopCounters};
pub use flow::{Direction, FlowId, FlowKey, Protocol};
pub use outlet::{DropReason, MarkReason, Outlet};
pub use overhead::Overhead;
pub use packet::{AckKind, ClassId, Ecn, Packet, PacketMeta};
pub use refusal::{Refusal, Refused};
pub use rng::{Seed, Stream};
pub use time::{Duration, Instant};
pub use units::{Bitrate, ByteCount, IpLen, WireLen};
