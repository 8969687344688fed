//! Scenarios.

#![cfg_attr(not(feature = "text"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod model;

pub use model::{FlowModel, HopModel, Model};
