//! Error of a text file with keys and values: what is wrong and where, what is allowed, what to do.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use core::ops::Deref;

/// A file was refused. It is small, because functions return it often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(Box<Refusal>);

/// The parts of a [`Refused`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The file, or the option that set the value: `--set link.upp=2mbit`.
    pub file: String,
    /// Dotted key; tables in a list go by name: `flow.quake3.model`.
    pub key: Option<String>,
    /// The value as given.
    pub value: Option<String>,
    /// Line in the file, counted from 1.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What is allowed.
    pub allowed: Option<String>,
    /// What to do, or what was probably meant.
    pub hint: Option<String>,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self(Box::new(refusal))
    }
}

impl Deref for Refused {
    type Target = Refusal;
    fn deref(&self) -> &Refusal {
        &self.0
    }
}

impl core::error::Error for Refused {}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(key) = &self.key {
            write!(f, "`{key}` in ")?;
        }
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}", self.message)?;
        for (label, text) in
            [("given:  ", &self.value), ("allowed:", &self.allowed), ("hint:   ", &self.hint)]
        {
            if let Some(text) = text {
                write!(f, "\n  {label} {text}")?;
            }
        }
        Ok(())
    }
}
