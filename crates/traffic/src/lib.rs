//! Applications: the traffic of a household. Each application is a pair of state machines, one per side. They know
//! sizes and times, and react to events of their transport, which is in other crates. Each file names the sources of
//! its numbers. Games are data (`models/*.toml`), not code.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod app;
pub mod arma;
pub mod bulk;
pub mod catalogue;
pub mod cbr;
pub mod cloud;
pub mod config;
pub mod dash;
pub mod facts;
pub mod game;
pub mod hosted;
mod measured;
pub mod mmo;
mod offered;
pub mod paced;
pub mod source;
mod streams;
pub mod trace;
pub mod transfer;
pub mod voip;
pub mod web;

pub use app::{AppAction, AppEvent, AppReport, TrafficSource, Transport};
pub use catalogue::App;
pub use facts::{AppDescriptor, AppFacts, Group};
pub use source::{Source, build, build_connection};
