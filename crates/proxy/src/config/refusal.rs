//! Errors of a configuration file: file, key, the value given, what is allowed, a hint.

use std::fmt;
use std::path::PathBuf;

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
