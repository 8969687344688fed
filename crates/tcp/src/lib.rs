//! TCP endpoints.

#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

pub mod config;
pub mod segment;

pub use config::{CongestionKind, InitialWindow, RecoveryKind, TcpConfig, TimerKind};
pub use segment::{Flags, SackBlock, Segment};
