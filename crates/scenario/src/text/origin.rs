//! The place where a value was written. A scenario keeps its text, so that an error found late, when the model is
//! built, still names the line or the `--set` of the value.

use std::fmt;

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::error::{Fault, Refusal, ScenarioError};
use super::files::Files;
use super::overrides::Override;
use super::presets::Expansion;

/// The text of a scenario, and the `--set` options applied to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    pub(crate) file: String,
    pub(crate) text: String,
    /// Where the files that it names are read.
    pub(crate) files: Files,
    /// The values in force, after overrides.
    pub(crate) values: Table,
    pub(crate) overrides: Vec<Override>,
    /// What presets left behind besides values.
    pub(crate) expansion: Expansion,
}

impl PartialEq for Origin {
    /// Always equal, so that scenarios with the same values are equal wherever they were written.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// One step of a path into a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// The path from the top to one value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path(pub(crate) Vec<Step>);

impl fmt::Display for Path {
    /// Prints `server.size[0]`, with positions from 0.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if depth == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

impl Path {
    pub(crate) fn key(&self, key: &str) -> Self {
        self.then(Step::Key(key.into()))
    }

    pub(crate) fn index(&self, index: usize) -> Self {
        self.then(Step::Index(index))
    }

    fn then(&self, step: Step) -> Self {
        Self(self.0.iter().cloned().chain([step]).collect())
    }
}

impl Origin {
    /// The error for a fault at `path`, with the file or option, the line, the key and the value.
    pub(crate) fn refuse(&self, path: &Path, fault: Fault) -> ScenarioError {
        let set = self.overrides.iter().rev().find(|set| set.reaches(path));
        let (file, line) = match set {
            Some(set) => (set.to_string(), None),
            None => (self.file.clone(), self.line(path)),
        };
        let value = find(&self.values, path).filter(|value| is_short(value)).map(Value::to_string);
        let key = (!path.0.is_empty()).then(|| self.dotted(path));
        let Fault { message, allowed, hint } = fault;
        Refusal { file, key, value, line, message, allowed, hint }.into()
    }

    /// The dotted key: `flow.quake3.model`. Flows go by name, or by position if they have none.
    fn dotted(&self, path: &Path) -> String {
        let mut text = String::new();
        for (depth, step) in path.0.iter().enumerate() {
            let (dot, word) = match step {
                Step::Key(key) => (".", key.clone()),
                Step::Index(index) => {
                    match find(&self.values, &Path(path.0[..=depth].to_vec())).and_then(|v| v.get("name")) {
                        Some(Value::String(name)) if is_plain(name) => (".", name.clone()),
                        _ => ("", format!("[{}]", index + 1)),
                    }
                }
            };
            if depth > 0 {
                text.push_str(dot);
            }
            text.push_str(&word);
        }
        text
    }

    /// The line of `path`, or of the nearest key above it in the text.
    fn line(&self, path: &Path) -> Option<usize> {
        let table = DeTable::parse(&self.text).ok()?;
        let mut at = None;
        let mut here = Here::Table(table.get_ref());
        for step in &path.0 {
            let found = match (here, step) {
                (Here::Table(table), Step::Key(key)) => table
                    .iter()
                    .find(|(name, _)| name.get_ref() == key.as_str())
                    .map(|(name, value)| (name.span(), value)),
                (Here::Value(DeValue::Array(items)), Step::Index(index)) => {
                    items.get(*index).map(|value| (value.span(), value))
                }
                _ => None,
            };
            let Some((span, value)) = found else { break };
            at = Some(span.start);
            here = Here::of(value);
        }
        at.map(|offset| line_of(&self.text, offset))
    }
}

/// The line of the byte at `offset`, counted from 1.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

/// True for a value that fits in a message: no table, no list of tables.
fn is_short(value: &Value) -> bool {
    match value {
        Value::Table(_) => false,
        Value::Array(items) => !items.iter().any(Value::is_table),
        _ => true,
    }
}

/// True for a name that can be part of a dotted key.
pub(crate) fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    !name.is_empty() && name.chars().all(plain)
}

enum Here<'a> {
    Table(&'a DeTable<'a>),
    Value(&'a DeValue<'a>),
}

impl<'a> Here<'a> {
    fn of(value: &'a Spanned<DeValue<'a>>) -> Self {
        match value.get_ref() {
            DeValue::Table(table) => Self::Table(table),
            other => Self::Value(other),
        }
    }
}

fn find<'a>(values: &'a Table, path: &Path) -> Option<&'a Value> {
    let (first, rest) = path.0.split_first()?;
    let Step::Key(key) = first else { return None };
    rest.iter().try_fold(values.get(key)?, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.get(*index),
    })
}
