//! Reading the files of `models/`, whatever they describe.

use serde::de::DeserializeOwned;

use super::error::Fault;

/// Reads a model as its file has it; the message names the key that is wrong.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let deserializer =
        toml::Deserializer::parse(text).map_err(|error| format!("not TOML: {}", error.message()))?;
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        format!("`{}`: {}", error.path(), Fault::read(error.inner().message()).on_one_line())
    })
}
