//! A scenario as it was written, and its two texts: the one that was read, and the canonical one that is printed.

use gamelane_core::rng::{Fnv1a, mix};
use gamelane_tcp::Stack;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::build;
use super::deserialize::{Refused, deserialize};
use super::error::{Fault, Refusal, ScenarioError};
use super::files::Files;
use super::keys::queue::instead_of;
use super::keys::tcp::stack_or_keys;
use super::keys::{Flow, Gateway, Link, Tcp};
use super::origin::{Origin, Step, line_of};
use super::overrides::Override;
use super::presets;
use super::text_or_table::TextOrTable;
use super::units::{Span, Time};
use super::words::Word;
use crate::Model;

/// A household: a link, the queues at its ends, and the applications that share it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Short name, for files and tables. Default: the name of the file.
    #[serde(default)]
    pub name: String,
    /// Question that the scenario answers, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Length of the run.
    #[serde(default = "one_minute")]
    pub duration: Span,
    /// Start of the statistics. Packets sent before this time do not count.
    #[serde(default)]
    pub warmup: Time,
    /// Seed of all random numbers. A repetition adds 1.
    #[serde(default = "one")]
    #[schemars(range(max = 9_223_372_036_854_775_807_u64))]
    pub seed: u64,
    /// Names of the hosts at home. Default: the hosts that the flows name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
    /// Access link, and the path beyond it.
    pub link: Link,
    /// Queues at both ends of the link, and the other functions of the gateway.
    #[serde(default)]
    pub gateway: Gateway,
    /// TCP settings of all flows: a table, or the word of a stack. A flow can override each key.
    #[serde(default, deserialize_with = "stack_or_keys")]
    #[schemars(with = "TextOrTable<Word<Stack>, Tcp>")]
    pub tcp: Tcp,
    /// Applications, in the order of their ids.
    #[serde(default)]
    pub flow: Vec<Flow>,
    #[serde(skip)]
    pub(crate) origin: Origin,
}

fn one_minute() -> Span {
    Span(gamelane_core::Duration::from_secs(60))
}

fn one() -> u64 {
    1
}

impl Scenario {
    /// Reads a scenario. `file` names it in errors, and its folder holds the captures and models it names. `overrides`
    /// are keys and values put over those of the text, as with `--set`.
    pub fn parse(text: &str, file: &str, overrides: &[(String, String)]) -> Result<Self, ScenarioError> {
        let is_empty = text.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'));
        if is_empty && !overrides.iter().any(|(key, _)| presets::is_word(key)) {
            return Err(empty(file));
        }
        let (mut scenario, mut origin) = read::<Self>(text, file, overrides, SCENARIO_HINT)?;
        if scenario.name.is_empty() {
            let stem = std::path::Path::new(file).file_stem().and_then(|stem| stem.to_str());
            scenario.name = stem.unwrap_or("home").into();
            origin.values.insert("name".into(), Value::String(scenario.name.clone()));
        }
        scenario.gateway.settle(scenario.link.kind.0);
        Ok(Self { origin, ..scenario })
    }

    /// The same scenario, which reads the files that it names from `files` instead of the disk.
    #[must_use]
    pub fn with_files(mut self, files: Files) -> Self {
        self.origin.files = files;
        self
    }

    /// Short name, for files and tables.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Question that the scenario answers, in one line.
    pub fn question(&self) -> &str {
        self.question.as_deref().unwrap_or_default()
    }

    /// Checks the values against each other and reads the captures and game models that the scenario names.
    pub fn to_model(&self) -> Result<Model, ScenarioError> {
        build::model(self)
    }

    /// The same for a gateway: the link and the gateway's functions. Without flows too.
    pub fn to_policy(&self) -> Result<Model, ScenarioError> {
        build::policy(self)
    }

    /// Refuses what only a real kernel runs. [`Self::to_model`] accepts it for the other engines.
    pub fn check_simulated(&self) -> Result<(), ScenarioError> {
        build::check_simulated(self)
    }

    /// Sixteen hex digits that identify what is run. They do not depend on the order of keys, comments, the spelling of
    /// a value (`1mbit`, `1000kbit`), the file name or the seed. They do not cover the contents of captures and model
    /// files: see [`Model::fingerprint`].
    pub fn hash(&self) -> String {
        let text = Self { seed: 0, ..self.clone() }.to_toml();
        let mut hash = Fnv1a::default();
        hash.write(text.as_bytes());
        format!("{:016x}", mix(hash.finish()))
    }

    /// The scenario in canonical form: overrides applied, keys in a fixed order, each value in its largest unit.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("every key of a scenario is text, a number, a list or a table")
    }
}

/// Reads TOML with overrides put over it: the words that name presets, then keys, then what depends on both. `hint` is
/// for text that is not TOML.
pub(crate) fn read<T: DeserializeOwned>(
    text: &str,
    file: &str,
    overrides: &[(String, String)],
    hint: &str,
) -> Result<(T, Origin), ScenarioError> {
    let values = text.parse::<Table>().map_err(|error| not_toml(&error, text, file, hint))?;
    let mut origin = Origin { file: file.into(), text: text.into(), values, ..Origin::default() };
    let (words, keys): (Vec<_>, Vec<_>) =
        overrides.iter().cloned().partition(|(key, _)| presets::is_word(key));
    origin.overrides = Override::of_presets(&words, &mut origin.values)?;
    let mut values = origin.values.clone();
    let mut expansion = presets::expand(&mut values).map_err(|(path, fault)| origin.refuse(&path, fault))?;
    origin.values = values;
    Override::reach_flows(&mut origin.overrides, &expansion.flows);
    for (key, value) in &keys {
        origin.overrides.push(Override::apply(key, value, &mut origin.values)?);
    }
    let shaped = expansion.shape(&mut origin.values);
    shaped.map_err(|(path, fault)| origin.refuse(&path, fault))?;
    origin.expansion = expansion;
    let read = deserialize(origin.values.clone()).map_err(|refused| refused_by_serde(&refused, &origin))?;
    Ok((read, origin))
}

const SCENARIO_HINT: &str =
    "a scenario is keys and values such as name = \"household\", then [link], [gateway] and [[flow]]";

fn empty(file: &str) -> ScenarioError {
    Refusal {
        file: file.into(),
        message: "this file is empty".into(),
        hint: Some(SCENARIO_HINT.into()),
        ..Refusal::default()
    }
    .into()
}

fn not_toml(error: &toml::de::Error, text: &str, file: &str, hint: &str) -> ScenarioError {
    Refusal {
        file: file.into(),
        line: error.span().map(|span| line_of(text, span.start)),
        message: format!("this is not TOML: {}", error.message()),
        hint: Some(hint.into()),
        ..Refusal::default()
    }
    .into()
}

fn refused_by_serde(refused: &Refused, origin: &Origin) -> ScenarioError {
    let text = refused.message.as_str();
    let mut path = refused.path.clone();
    // Serde names an unknown or missing key in its message, but not always in the path.
    if text.starts_with("unknown field") || text.starts_with("missing field") {
        let named = text.split('`').nth(1).unwrap_or_default();
        if path.0.last() != Some(&Step::Key(named.into())) {
            path = path.key(named);
        }
    }
    let mut fault = Fault::read(text);
    if fault.allowed.as_ref().is_some_and(|keys| keys.contains("isolation"))
        && let Some(Step::Key(given)) = path.0.last()
        && let Some(hint) = instead_of(given)
    {
        fault = fault.hint(hint);
    }
    // The words of presets are gone before serde reads, so it does not know them.
    if let ([Step::Key(given)], Some(known)) = (path.0.as_slice(), &fault.allowed)
        && text.starts_with("unknown field")
    {
        let known = known.clone();
        let words = presets::WORDS.into_iter().filter(|word| *word != "household");
        fault = Fault::new(fault.message).one_of(given, known.split(", ").chain(words));
    }
    if path.0 == [Step::Key("link".into())] && text.starts_with("missing field") {
        fault = fault.hint("add plan = \"cable-250-20\", or a table [link]");
    }
    origin.refuse(&path, fault)
}
