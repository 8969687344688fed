//! Scenarios: the [`Model`] that the program runs and, with feature `text`, the TOML format for it.
//!
//! Text becomes a [`Scenario`] (known keys, values in units), and a scenario becomes a [`Model`] (checked, captures and
//! game models read, all defaults filled in).

#![cfg_attr(not(feature = "text"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod access;
mod fingerprint;
pub mod model;
#[cfg(feature = "text")]
pub mod text;

pub use access::{Access, Medium, Station, WifiModel};
pub use model::{Carriage, FlowModel, GatewayModel, HopModel, Model};
#[cfg(feature = "text")]
pub use text::{
    FlowDescription, Impair, ModelInfo, Scenario, ScenarioError, models, profiles, reference_page, schema,
};
