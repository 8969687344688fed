//! The text format: TOML becomes a [`Scenario`] (as written), then a [`Model`](crate::Model) (checked).
//!
//! The structs in [`keys`] are the one definition of the format. Serde reads them and refuses unknown keys. The JSON
//! Schema and `docs/scenario.md` are generated from them. [`Scenario::to_toml`] prints them in one canonical form.
//! `build` checks the rest: keys that exclude each other, names that must exist, files.

mod build;
pub mod catalogue;
mod caveats;
mod cloud;
mod describe;
mod deserialize;
pub mod device;
pub mod dscp;
pub mod each_way;
pub mod error;
mod files;
mod from_text;
mod games;
pub mod impair;
pub mod keys;
mod mmos;
pub mod model_file;
mod models;
mod origin;
mod overrides;
pub mod ports;
pub mod prefix;
pub mod presets;
pub mod range;
mod reference;
mod scenario;
pub mod share;
mod shipped;
pub mod source;
pub mod switch;
pub mod text_or_table;
pub mod units;
mod update_size;
pub mod words;

pub use caveats::offered_bps;
pub use describe::FlowDescription;
pub use error::ScenarioError;
pub use files::Files;
pub use impair::{Impair, profiles};
pub use models::{ModelInfo, models};
pub use presets::{PresetInfo, known_applications, presets};
pub use reference::{reference_page, schema};
pub use scenario::Scenario;
