//! Links and paths: rate, link-layer overhead, delay, jitter, loss; and the hop that joins a queue to the link below it.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod config;
mod delay_line;
pub mod hop;
pub mod path;
pub mod wired;

pub use gamelane_core::overhead::{self, Overhead};

pub use config::{LinkConfig, PathConfig};
pub use hop::Hop;
pub use path::Path;
pub use wired::{Flight, WiredLink};
