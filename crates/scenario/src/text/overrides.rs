//! `--set link.up=2mbit`: values put over those of the file before they are checked. A `*` stands for every key of its
//! table. Flows, classes and rules go by name. Missing tables are created.

use std::fmt;

use gamelane_core::Direction;
use toml::{Table, Value};

use super::error::{Fault, Refusal, ScenarioError};
use super::origin::{Path, Step};
use super::presets::{self, Word};

/// One `--set`, and the paths of the values it changed.
#[derive(Clone, Debug)]
pub(crate) struct Override {
    key: String,
    value: String,
    reached: Vec<Path>,
}

impl Override {
    /// Puts `value` over `key` in `values`.
    pub(crate) fn apply(key: &str, value: &str, values: &mut Table) -> Result<Self, ScenarioError> {
        let mut set = Self { key: key.into(), value: value.into(), reached: Vec::new() };
        let steps: Vec<&str> = key.split('.').collect();
        if steps.iter().any(|step| step.trim() != *step || step.is_empty()) {
            return Err(set.refuse(
                Fault::new("this is not a key")
                    .allowed("keys joined by dots, such as link.up, flow.NAME.model or gateway.*.queue"),
            ));
        }
        let value = read_value(value);
        let mut reached = Vec::new();
        put(values, &steps, &value, &Path::default(), &mut reached).map_err(|fault| set.refuse(fault))?;
        set.reached = reached;
        Ok(set)
    }

    /// Puts the words that name presets into `values`.
    pub(crate) fn of_presets(
        words: &[(String, String)],
        values: &mut Table,
    ) -> Result<Vec<Self>, ScenarioError> {
        let set = |word: Word| Self { key: word.key, value: word.name, reached: word.paths };
        match presets::put(words, values) {
            Ok(decided) => Ok(decided.into_iter().map(set).collect()),
            Err(refused) => {
                let (word, fault) = *refused;
                Err(set(word).refuse(fault))
            }
        }
    }

    /// Notes which flows came from the words of `with`: pairs of positions, in `with` and in `flow`.
    pub(crate) fn reach_flows(overrides: &mut [Self], flows: &[(usize, usize)]) {
        let with = Path::default().key("with");
        for &(entry, flow) in flows {
            let path = with.index(entry);
            for set in overrides.iter_mut().filter(|set| set.reached.contains(&path)) {
                set.reached.push(Path::default().key("flow").index(flow));
            }
        }
    }

    /// True if the value at `path`, or a table around it, came from this option.
    pub(crate) fn reaches(&self, path: &Path) -> bool {
        self.reached.iter().any(|reached| path.0.starts_with(&reached.0))
    }

    fn refuse(&self, fault: Fault) -> ScenarioError {
        let Fault { message, allowed, hint } = fault;
        Refusal {
            file: self.to_string(),
            key: Some(self.key.clone()).filter(|key| !key.is_empty()),
            value: None,
            line: None,
            message,
            allowed,
            hint,
        }
        .into()
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--set {}={}", self.key, self.value)
    }
}

/// A number, boolean, list or table as TOML reads it; anything else is text.
fn read_value(text: &str) -> Value {
    let read = toml::from_str::<Table>(&format!("value = {text}")).ok();
    let only = read.filter(|table| table.len() == 1).and_then(|mut table| table.remove("value"));
    match only {
        Some(
            value @ (Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Array(_)
            | Value::Table(_)),
        ) => value,
        Some(Value::String(inner)) => Value::String(inner),
        _ => Value::String(text.into()),
    }
}

fn put(
    table: &mut Table,
    steps: &[&str],
    value: &Value,
    at: &Path,
    reached: &mut Vec<Path>,
) -> Result<(), Fault> {
    let Some((step, rest)) = steps.split_first() else { return Ok(()) };
    let keys: Vec<String> = match *step {
        "*" if *at == Path::default().key("gateway") => vec!["up".into(), "down".into()],
        "*" => table.keys().cloned().collect(),
        key => vec![key.into()],
    };
    for key in keys {
        let here = at.key(&key);
        if rest.is_empty() {
            table.insert(key, value.clone());
            reached.push(here);
        } else if NAMED.iter().any(|path| here == path.iter().fold(Path::default(), |at, key| at.key(key))) {
            put_in_named(table.get_mut(&key), rest, value, &here, reached)?;
        } else {
            let (inner, made) = table_in(table, &key, rest[0]);
            if made {
                reached.push(here.clone());
            }
            put(inner, rest, value, &here, reached)?;
        }
    }
    Ok(())
}

/// The table under `key`, and whether it was created. A value for both directions is split before one direction is
/// changed, so that the other keeps it.
fn table_in<'a>(table: &'a mut Table, key: &str, next: &str) -> (&'a mut Table, bool) {
    let before = table.get(key).cloned();
    let by_direction = |value: &Value| value.get("up").is_some() || value.get("down").is_some();
    let split = EACH_WAY.contains(&key) && ["up", "down", "*"].contains(&next);
    let made = match before {
        Some(value) if split && !by_direction(&value) => Some(
            Direction::BOTH
                .map(|direction| (direction.name().to_owned(), value.clone()))
                .into_iter()
                .collect(),
        ),
        Some(Value::Table(_)) => None,
        // The word of a TCP stack is short for a table.
        Some(Value::String(stack)) if key == "tcp" => {
            Some([("stack".to_owned(), Value::String(stack))].into_iter().collect())
        }
        _ => Some(Table::new()),
    };
    let is_made = made.is_some();
    if let Some(made) = made {
        table.insert(key.into(), Value::Table(made));
    }
    match table.get_mut(key) {
        Some(Value::Table(inner)) => (inner, is_made),
        _ => unreachable!("a value that is not a table was replaced above"),
    }
}

/// Lists of tables that go by name.
const NAMED: [&[&str]; 3] = [&["flow"], &["gateway", "class"], &["gateway", "rule"]];

fn put_in_named(
    tables: Option<&mut Value>,
    steps: &[&str],
    value: &Value,
    at: &Path,
    reached: &mut Vec<Path>,
) -> Result<(), Fault> {
    let kind = match at.0.last() {
        Some(Step::Key(key)) => key.as_str(),
        _ => unreachable!("a list stands under a key"),
    };
    let Some(Value::Array(tables)) = tables else {
        return Err(Fault::new(match kind {
            "class" => "this scenario has no classes".to_owned(),
            kind => format!("this scenario has no {kind}s"),
        }));
    };
    let (name, rest) = (steps[0], &steps[1..]);
    if rest.is_empty() {
        return Err(Fault::new(format!("this is a {kind}; name one of its keys"))
            .hint(format!("write {}.{name}.KEY=VALUE", dotted(at))));
    }
    let names: Vec<String> = tables.iter().map(|table| name_of(table).to_owned()).collect();
    let mut any = false;
    for (index, table) in tables.iter_mut().enumerate() {
        if name != "*" && names[index] != name {
            continue;
        }
        if let Value::Table(table) = table {
            any = true;
            put(table, rest, value, &at.index(index), reached)?;
        }
    }
    if any {
        return Ok(());
    }
    Err(Fault::new(format!("there is no {kind} `{name}`")).one_of(name, names.iter().map(String::as_str)))
}

fn dotted(path: &Path) -> String {
    let keys: Vec<&str> = path
        .0
        .iter()
        .map(|step| match step {
            Step::Key(key) => key.as_str(),
            Step::Index(_) => "*",
        })
        .collect();
    keys.join(".")
}

fn name_of(table: &Value) -> &str {
    table.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// Keys that take one value for both directions, or one for each.
const EACH_WAY: [&str; 12] = [
    "ceil",
    "delay",
    "duplicate",
    "jitter",
    "limit",
    "loss",
    "overhead",
    "path_jitter",
    "rate",
    "reorder",
    "shape",
    "trace",
];
