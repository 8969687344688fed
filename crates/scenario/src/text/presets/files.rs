//! The files of `presets/`, which the program contains.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Table;

use crate::text::device::Device;
use crate::text::error::Fault;
use crate::text::model_file;
use crate::text::models::models;
use crate::text::ports::Ports;
use crate::text::share::RateShare;
use crate::text::shipped;
use crate::text::source::Sources;
use crate::text::units::Rate;

/// A kind of preset: a folder of `presets/`, and the word of a household that names one.
pub(super) trait File: DeserializeOwned + Sized + 'static {
    /// Word of a household, of `--set` and of an option.
    const WORD: &'static str;
    /// Folder below `presets/`.
    const FOLDER: &'static str;
    /// What one is called in an error.
    const NOUN: &'static str;

    /// All of this kind, by name.
    fn all() -> &'static BTreeMap<String, Self>;

    /// Finds one by its name.
    fn find(name: &str) -> Result<&'static Self, Fault> {
        Self::all().get(name).ok_or_else(|| {
            let fault = Fault::new(format!("no such {}", Self::NOUN));
            let fault = fault.one_of(name, Self::all().keys().map(String::as_str));
            other_kind(name).map_or(fault.clone(), |hint| fault.hint(hint))
        })
    }
}

/// An application that is not one flow of a game model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct App {
    pub(super) title: String,
    pub(super) kind: String,
    pub(super) host: Device,
    #[serde(default)]
    pub(super) notes: String,
    #[serde(default)]
    pub(super) ports: Vec<Ports>,
    /// Domains of its servers: `gamelane analyze` knows it by them.
    #[serde(default)]
    pub(super) domains: Vec<String>,
    pub(super) flow: Vec<Table>,
    pub(super) source: Sources,
}

/// What an internet provider sells: the link and the buffers of its boxes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    pub(super) title: String,
    #[serde(default)]
    pub(super) notes: String,
    pub(super) link: Table,
    #[serde(default)]
    pub(super) gateway: Buffers,
    /// Rates that a shaper starts from, where those of the link follow a trace.
    pub(super) typical: Option<Rates>,
    pub(super) source: Sources,
}

/// The buffers at both ends of a link.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Buffers {
    pub(super) modem: Option<Table>,
    pub(super) isp: Option<Table>,
}

/// Rates of both directions.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rates {
    pub(super) up: Rate,
    pub(super) down: Rate,
}

/// What a gateway does to the packets.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Policy {
    pub(super) title: String,
    #[serde(default)]
    pub(super) notes: String,
    /// What the gateway shapes to, as a share of the link's rate; `None` for no shaper.
    pub(super) shape: Option<RateShare>,
    #[serde(default)]
    pub(super) gateway: Table,
    #[serde(default)]
    pub(super) source: Sources,
}

/// A box that people have at home.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Router {
    pub(super) title: String,
    #[serde(default)]
    pub(super) notes: String,
    /// Most that it shapes, both directions together.
    pub(super) shape: Rate,
    pub(super) source: Sources,
}

/// A household as written: a scenario with words of this module.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Household(pub(super) Table);

macro_rules! files {
    ($($name:ty: $word:literal, $folder:literal, $noun:literal;)*) => {
        $(impl File for $name {
            const WORD: &'static str = $word;
            const FOLDER: &'static str = $folder;
            const NOUN: &'static str = $noun;

            fn all() -> &'static BTreeMap<String, Self> {
                static ALL: LazyLock<BTreeMap<String, $name>> = LazyLock::new(read_all);
                &ALL
            }
        })*

        /// The word and the noun of the kind that has a preset of this name.
        fn kind_of(name: &str) -> Option<(&'static str, &'static str)> {
            $(if <$name>::all().contains_key(name) {
                return Some(($word, $noun));
            })*
            None
        }
    };
}

files! {
    App: "with", "apps", "game or another application";
    Plan: "plan", "plans", "plan";
    Policy: "policy", "policies", "policy";
    Router: "router", "routers", "router";
    Household: "household", "households", "household";
}

/// A hint for a name that belongs to another kind.
pub(super) fn other_kind(name: &str) -> Option<String> {
    let is_game = || models().iter().any(|game| game.name == name).then_some((App::WORD, App::NOUN));
    kind_of(name).or_else(is_game).map(|(word, noun)| format!("{name} is a {noun}; give it as `{word}`"))
}

/// The names and texts of a kind.
pub(super) fn texts<T: File>() -> Vec<(&'static str, &'static str)> {
    shipped::texts(&shipped::PRESETS, T::FOLDER, "toml")
}

/// # Panics
/// A file is not sound. That is an error of ours, which a test of this module finds.
fn read_all<T: File>() -> BTreeMap<String, T> {
    let read = |(name, text): (&str, &str)| {
        let file =
            model_file::read(text).unwrap_or_else(|why| panic!("presets/{}/{name}.toml: {why}", T::FOLDER));
        (name.to_owned(), file)
    };
    texts::<T>().into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use toml::Value;

    use super::*;
    use crate::text::source::figures;

    /// Words about a file, which have no source.
    const WORDS: [&str; 6] = ["title", "kind", "host", "notes", "source", "part"];

    /// The values that contain a number, and domains. A list of flows becomes a table by their `part`.
    fn numbers(value: &Value) -> Option<Value> {
        match value {
            Value::Table(table) => {
                let kept = table.iter().filter(|(key, _)| !WORDS.contains(&key.as_str()));
                let kept = kept.filter_map(|(key, value)| {
                    let fact = if key == "domains" { Some(value.clone()) } else { numbers(value) };
                    Some((key.clone(), fact?))
                });
                Some(Value::Table(kept.collect()))
            }
            Value::Array(list) if list.iter().all(Value::is_table) => match list.as_slice() {
                [only] => numbers(only),
                parts => {
                    let by_part =
                        |part: &Value| Some((part.get("part")?.as_str()?.to_owned(), numbers(part)?));
                    Some(Value::Table(parts.iter().filter_map(by_part).collect()))
                }
            },
            other => other.to_string().contains(|one: char| one.is_ascii_digit()).then(|| other.clone()),
        }
    }

    fn check<T: File>(sources: impl Fn(&T) -> &Sources) {
        for (name, text) in texts::<T>() {
            let file = format!("presets/{}/{name}.toml", T::FOLDER);
            let table: Table = text.parse().unwrap_or_else(|why| panic!("{file}: {why}"));
            let Some(Value::Table(numbers)) = numbers(&Value::Table(table)) else { unreachable!("a table") };
            let own: T = model_file::read(text).unwrap_or_else(|why| panic!("{file}: {why}"));
            sources(&own).check(&figures(&numbers, &[])).unwrap_or_else(|fault| panic!("{file}: {fault}"));
        }
    }

    #[test]
    fn every_number_has_a_source_and_every_source_a_number() {
        check::<App>(|app| &app.source);
        check::<Plan>(|plan| &plan.source);
        check::<Policy>(|policy| &policy.source);
        check::<Router>(|router| &router.source);
    }

    #[test]
    fn every_file_ships_and_no_name_is_used_twice() {
        let mut names: Vec<String> =
            crate::text::presets::presets().into_iter().map(|one| one.name).collect();
        for folder in [App::FOLDER, Plan::FOLDER, Policy::FOLDER, Router::FOLDER, Household::FOLDER] {
            let folder = format!("{}/../../presets/{folder}", env!("CARGO_MANIFEST_DIR"));
            for file in std::fs::read_dir(&folder).unwrap_or_else(|why| panic!("{folder}: {why}")) {
                let name = file.unwrap().file_name().into_string().unwrap();
                assert!(
                    names.contains(&name.trim_end_matches(".toml").to_owned()),
                    "{folder}/{name} does not ship"
                );
            }
        }
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
