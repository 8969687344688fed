//! The simulator: runs a household of hosts, hops and one path per flow from event to event in virtual time. The gateway runs
//! the same components on real packets; only this crate knows that its time is virtual.

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
mod run;
mod timetable;
mod totals;
pub mod trial;
mod window;

pub use household::{Household, Outcome};
pub use payload::{Passed, Payload, Tap};
pub use run::Run;
