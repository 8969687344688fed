//! The text format: TOML in, [`Scenario`] (what was written), then [`Model`](crate::Model) (checked).
//!
//! The structs in [`keys`] are the one definition of the format. Serde reads them, with unknown keys refused; the JSON
//! Schema and `docs/scenario.md` are generated from them; [`Scenario::to_toml`] prints them back in one canonical form.
//! What serde cannot see (keys that do not go together, names that must exist, files) is checked in `build`.

mod build;
mod cloud;
mod describe;
pub mod dscp;
pub mod each_way;
pub mod error;
mod from_text;
pub mod games;
pub mod impair;
pub mod keys;
mod measure;
pub mod mmos;
mod origin;
mod overrides;
mod reference;
mod scenario;
pub mod text_or_table;
pub mod units;
mod update_size;
mod words;

pub use describe::FlowDescription;
pub use error::ScenarioError;
pub use games::{GameInfo, games};
pub use impair::{Impair, PROFILES, Profile};
pub use mmos::{MmoInfo, mmos};
pub use reference::{reference_page, schema};
pub use scenario::Scenario;
