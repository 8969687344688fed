//! The text format: TOML becomes a [`Scenario`] (as written), then a [`Model`](crate::Model) (checked).
//!
//! The structs in [`keys`] are the one definition of the format. Serde reads them and refuses unknown keys. The JSON
//! Schema and `docs/scenario.md` are generated from them. [`Scenario::to_toml`] prints them in one canonical form.
//! `build` checks the rest: keys that exclude each other, names that must exist, files.

mod bounded;
mod build;
pub mod catalogue;
mod cloud;
mod describe;
pub mod dscp;
pub mod each_way;
pub mod error;
mod from_text;
pub mod games;
pub mod impair;
pub mod keys;
pub mod mmos;
mod model_file;
mod models;
mod origin;
mod overrides;
pub mod prefix;
pub mod range;
mod reference;
mod scenario;
pub mod share;
pub mod switch;
pub mod text_or_table;
pub mod units;
mod update_size;
mod words;

pub use describe::FlowDescription;
pub use error::ScenarioError;
pub use impair::{Impair, PROFILES, Profile};
pub use mmos::{MmoInfo, mmos};
pub use models::{ModelInfo, models};
pub use reference::{reference_page, schema};
pub use scenario::Scenario;
