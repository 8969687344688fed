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
mod network;
pub mod payload;
mod repeats;
mod thin;
mod timetable;
mod totals;
pub mod trial;
mod window;

pub use household::{Household, Outcome};
pub use payload::{Passed, Payload, Tap};
