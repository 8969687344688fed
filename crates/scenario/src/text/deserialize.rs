//! Serde over a TOML table, with the path of a key that it refuses.

use serde::de::DeserializeOwned;
use serde_path_to_error::{Deserializer, Path, Track};
use toml::{Table, Value};

/// What serde refused.
pub(super) struct Refused {
    /// Key that was refused.
    pub(super) path: Path,
    /// Serde's own words, or those of a [`Fault`](super::error::Fault). TOML appends lines that name the key again.
    pub(super) message: String,
}

/// Reads a value from a table.
pub(super) fn deserialize<T: DeserializeOwned>(table: Table) -> Result<T, Refused> {
    let mut track = Track::new();
    let tracked = Deserializer::new(Value::Table(table), &mut track);
    // Without erasure, TOML's and the path's code would be compiled for each of some 200 types: most of a megabyte of the gateway.
    let mut erased = <dyn erased_serde::Deserializer<'_>>::erase(tracked);
    let read = erased_serde::deserialize(&mut erased);
    drop(erased);
    read.map_err(|error| Refused { path: track.path(), message: error.to_string() })
}
