//! Errors of a configuration file: file, key, the value given, what is allowed, a hint. Also reads TOML so that its errors have
//! these parts.

use serde::Deserialize;
use std::fmt;
use std::path::{Path, PathBuf};

/// A configuration file was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(Box<Refusal>);

impl From<Refusal> for ConfigError {
    fn from(refusal: Refusal) -> Self {
        Self(Box::new(refusal))
    }
}

impl std::ops::Deref for ConfigError {
    type Target = Refusal;
    fn deref(&self) -> &Refusal {
        &self.0
    }
}

/// The parts of a [`ConfigError`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The file.
    pub file: PathBuf,
    /// Dotted key.
    pub key: Option<String>,
    /// The value given.
    pub given: Option<String>,
    /// What is wrong.
    pub message: String,
    /// The allowed values.
    pub allowed: Option<String>,
    /// What to do, or what was probably meant.
    pub hint: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(key) = &self.key {
            write!(f, "`{key}` in ")?;
        }
        write!(f, "{}: {}", self.file.display(), self.message)?;
        for (label, text) in
            [("given:  ", &self.given), ("allowed:", &self.allowed), ("hint:   ", &self.hint)]
        {
            if let Some(text) = text {
                write!(f, "\n  {label} {text}")?;
            }
        }
        Ok(())
    }
}

/// Reads a TOML file.
pub(super) fn read<T: for<'de> Deserialize<'de>>(file: &Path) -> Result<T, ConfigError> {
    let error = |message: String| Refusal { file: file.into(), message, ..Refusal::default() };
    let text = std::fs::read_to_string(file).map_err(|why| error(format!("cannot be read: {why}")))?;
    let deserializer = toml::Deserializer::parse(&text)
        .map_err(|why| error(format!("is not TOML: {}", why.to_string().trim_end())))?;
    serde_path_to_error::deserialize(deserializer).map_err(|why| {
        let path = why.path().to_string();
        let inner = why.into_inner();
        let message = inner.message().to_string();
        let unknown = quoted(&message, "unknown field `");
        let key = match &unknown {
            Some(field) if path == "." => Some(field.clone()),
            Some(field) if !path.ends_with(field.as_str()) => Some(format!("{path}.{field}")),
            _ => Some(path).filter(|path| path != "."),
        };
        let hint = unknown.as_deref().and_then(|field| nearest(field, &message));
        let given = inner.span().and_then(|span| text.get(span)).map(|given| given.trim().to_string());
        Refusal { key, given: given.filter(|given| given.len() < 80), hint, ..error(message) }.into()
    })
}

fn quoted(message: &str, before: &str) -> Option<String> {
    let (_, rest) = message.split_once(before)?;
    rest.split_once('`').map(|(name, _)| name.to_string())
}

fn nearest(field: &str, message: &str) -> Option<String> {
    let names = message.split('`').skip(3).step_by(2);
    let (distance, name) = names.map(|name| (strsim::damerau_levenshtein(field, name), name)).min()?;
    (distance <= 3).then(|| format!("did you mean `{name}`?"))
}
