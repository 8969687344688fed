//! The virtual-time driver: a household of hosts, two hops and a path per flow, run from event to event. The same
//! components later run on real packets; only this crate knows that its time is not real.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod bundle;
mod classes;
mod flow;
mod following;
mod frames;
pub mod household;
mod meter;
mod network;
pub mod payload;
pub mod recorder;
pub mod records;
mod repeats;
pub mod statistics;
pub mod summary;
mod thin;
pub mod thin_summary;
mod timetable;
pub mod trial;
mod window;

pub use following::FollowingOutcome;
pub use household::{Household, Outcome};
pub use network::HopOutcome;
pub use payload::{Payload, Tap};
pub use recorder::{Event, Recorder, Side};
pub use records::Records;
pub use summary::Summary;
