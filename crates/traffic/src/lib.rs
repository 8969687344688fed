//! Applications.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod app;
pub mod config;

pub use app::{AppAction, AppEvent, AppReport, TrafficSource};
