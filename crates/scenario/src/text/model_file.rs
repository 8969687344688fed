//! Reads the files of `models/`.

use serde::de::DeserializeOwned;

use super::error::Fault;

/// Reads a model file. The message of an error names the key.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let deserializer =
        toml::Deserializer::parse(text).map_err(|error| format!("not TOML: {}", error.message()))?;
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        format!("`{}`: {}", error.path(), Fault::read(error.inner().message()).on_one_line())
    })
}
