//! Links and paths: rate, link-layer overhead, delay, jitter, loss; and the hop that joins a queue to the link below it.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod config;
mod delay_line;
pub mod hop;
pub mod link;
pub mod overhead;
pub mod path;
pub mod wired;

pub use config::{LinkConfig, PathConfig};
pub use hop::{Hop, HopOutlet};
pub use link::{AnyLink, Flight, Link, PortId};
pub use overhead::Overhead;
pub use path::Path;
pub use wired::WiredLink;
