//! Links and paths.

#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

pub mod config;
pub mod overhead;

pub use config::{LinkConfig, PathConfig};
pub use overhead::Overhead;
