//! `[source]` of a shipped file: where its numbers come from. Each entry covers a key, or all keys below a table:
//! `"server.tick" = "published: the engine's source"`. The label of a file is the weakest of its sources.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::error::Fault;
use super::from_text::in_text;
use super::words::words;

words! {
    /// Strength of a source, the weakest last.
    #[derive(PartialOrd, Ord)]
    Label "label of a source" {
        /// Packets that somebody recorded, in a paper or by us.
        Measured = "measured",
        /// Printed by a vendor, a standard or a paper.
        Published = "published",
        /// Ours, from memory, or second-hand.
        Estimate = "estimate",
    }
}

/// Where a number comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its strength.
    pub label: Label,
    /// The place, or the reason for the choice.
    pub from: String,
}

impl FromStr for Source {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        let (label, from) = text.split_once(':').unwrap_or((text, ""));
        let write = "write \"LABEL: where it comes from\"";
        let label = label.trim().parse().map_err(|fault: Fault| fault.or_hint(write))?;
        if from.trim().is_empty() {
            let fault = Fault::new(format!("\"{label}\" does not say where the number comes from"));
            return Err(fault.hint(write));
        }
        Ok(Self { label, from: from.trim().into() })
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.label, self.from)
    }
}

in_text!(Source, "text such as \"estimate: ours\"; write a key with dots in quotes: \"server.tick\" = \"…\"");

impl JsonSchema for Source {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Source".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^(measured|published|estimate): *.+" })
    }
}

/// The table `[source]`: sources by key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Sources(BTreeMap<String, Source>);

impl Sources {
    /// The weakest label; `None` without any source.
    pub fn weakest(&self) -> Option<Label> {
        self.0.values().map(|source| source.label).max()
    }

    /// True if there is no source.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The sources with their keys, in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Source)> {
        self.0.iter().map(|(key, source)| (key.as_str(), source))
    }

    /// The keys whose source has this label.
    pub fn keys_of(&self, label: Label) -> impl Iterator<Item = &str> {
        self.iter().filter(move |(_, source)| source.label == label).map(|(key, _)| key)
    }

    /// The source of a key: its own, or that of the nearest table above it.
    pub fn of(&self, key: &str) -> Option<&Source> {
        let above = std::iter::successors(Some(key), |key| key.rsplit_once('.').map(|(above, _)| above));
        above.into_iter().find_map(|key| self.0.get(key))
    }

    /// Checks that each of `figures` has a source, and that each source belongs to one of them. `figures` are dotted
    /// keys ([`figures`]).
    pub(crate) fn check(&self, figures: &[String]) -> Result<(), Fault> {
        if let Some(figure) = figures.iter().find(|figure| self.of(figure).is_none()) {
            let labels: Vec<&str> = Label::ALL.iter().map(|label| label.word()).collect();
            return Err(Fault::new(format!("`{figure}` has no source")).hint(format!(
                "add \"{figure}\" = \"LABEL: where it comes from\"; LABEL: {}",
                labels.join(", ")
            )));
        }
        let belongs = |key: &str| figures.iter().any(|figure| is_at_or_below(figure, key));
        match self.0.keys().find(|key| !belongs(key)) {
            None => Ok(()),
            Some(key) => Err(Fault::new(format!("the file has no key `{key}`"))
                .one_of(key, figures.iter().map(String::as_str))),
        }
    }
}

/// Says what replaces the key `provenance` of older files. `key` is one that the source covers.
pub(crate) fn instead_of_provenance(key: &str) -> Fault {
    Fault::new("a table [source] has replaced this key").hint(format!(
        "write [source] and below it \"{key}\" = \"LABEL: where it comes from\"; \
         capture is now measured, literature is published, unverified and synthetic-default are estimate"
    ))
}

fn is_at_or_below(key: &str, table: &str) -> bool {
    key.strip_prefix(table).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The dotted keys of all figures in a table. A list, and a table with `dist`, is one figure. `words` are keys at the
/// top that are no figures.
pub(crate) fn figures(table: &toml::Table, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (key, value) in table.iter().filter(|(key, _)| !words.contains(&key.as_str())) {
        match value {
            toml::Value::Table(below) if !below.contains_key("dist") => {
                found.extend(figures(below, &[]).into_iter().map(|rest| format!("{key}.{rest}")));
            }
            _ => found.push(key.clone()),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "
        title = 'a'
        ports = ['udp 1']
        server.tick = { dist = 'constant', value_ms = 50 }
        server.size = { model = 'arma', fixed = 40 }
    ";

    fn check(sources: &str) -> Result<(), String> {
        let sources: Sources = toml::from_str(sources).map_err(|error| error.message().to_owned())?;
        sources.check(&figures(&FILE.parse().unwrap(), &["title"])).map_err(|fault| fault.to_string())
    }

    #[test]
    fn a_file_has_the_label_of_its_weakest_source() {
        let sources: Sources = toml::from_str("a = 'published: b'\nc = 'measured: d'").unwrap();
        assert_eq!(sources.weakest(), Some(Label::Published));
        assert_eq!(Sources::default().weakest(), None);
    }

    #[test]
    fn a_table_covers_the_keys_below_it_and_a_key_of_its_own_goes_first() {
        let sources: Sources =
            toml::from_str("server = 'estimate: a'\n'server.size' = 'measured: b'").unwrap();
        let from = |key| sources.of(key).map(|source| source.to_string());
        assert_eq!(from("server.tick").as_deref(), Some("estimate: a"));
        assert_eq!(from("server.size.fixed").as_deref(), Some("measured: b"));
        assert_eq!(from("serverless"), None);
    }

    #[test]
    fn every_figure_needs_a_source_and_every_source_a_figure() {
        assert_eq!(
            figures(&FILE.parse().unwrap(), &["title"]),
            ["ports", "server.size.fixed", "server.size.model", "server.tick"]
        );
        assert_eq!(check("ports = 'estimate: a'\nserver = 'estimate: b'"), Ok(()));
        insta::assert_snapshot!(
            [
                "",
                "ports = 'estimate: a'\n'server.size' = 'estimate: a'",
                "ports = 'estimate: a'\nserver = 'estimate: a'\n'server.tik' = 'estimate: a'",
                "ports = 'estimates: a'",
                "ports = 'measured:'",
                "ports = 1",
                "server.size = 'estimate: a'",
            ]
            .map(|sources| check(sources).unwrap_err())
            .join("\n\n")
        );
    }
}
