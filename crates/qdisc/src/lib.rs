//! Queue disciplines and AQM laws.

#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

pub mod config;

pub use config::{Limit, ParameterSet, QueueConfig, QueueKind};
