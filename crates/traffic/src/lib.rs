//! Applications: what a household does with its link. Each application is a pair of state machines, one per side, that
//! know sizes and times and react to what their transport tells them; the transport itself lives elsewhere. Sources of
//! the numbers are named file by file; games come as data (`models/*.toml`), not as code.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod app;
pub mod arma;
pub mod bulk;
pub mod cbr;
pub mod cloud;
pub mod config;
pub mod dash;
pub mod game;
pub mod hosted;
pub mod measured;
pub mod mmo;
pub mod paced;
pub mod source;
pub mod trace;
pub mod transfer;
pub mod voip;
pub mod web;

pub use app::{AppAction, AppEvent, AppReport, TrafficSource};
pub use source::{Source, Transport, build, build_connection};
