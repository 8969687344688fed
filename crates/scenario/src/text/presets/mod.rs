//! Presets: today's applications, access plans, policies, routers and households, by name (`presets/`).
//!
//! A preset expands into ordinary keys before a scenario is read, so nothing else knows of presets. [`words`] takes the
//! words of `--set`, [`expand`] puts keys in their place, [`show`] prints the scenario that results.

mod expand;
mod files;
mod flows;
mod index;
mod known;
mod shaping;
mod show;
mod words;

pub(crate) use expand::{Expansion, expand};
pub(crate) use words::{WORDS, Word, is_word, put};

pub use index::{PresetInfo, presets};
pub use known::known_applications;
