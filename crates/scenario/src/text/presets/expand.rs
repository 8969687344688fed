//! Puts the keys of presets beneath those that a scenario has.

use std::iter;

use toml::{Table, Value};

use super::files::{App, File, Plan, Policy, Router};
use super::flows;
use super::shaping::Shaping;
use crate::text::error::Fault;
use crate::text::origin::Path;
use crate::text::source::{Label, Sources};

/// What an expansion leaves behind besides keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expansion {
    /// Comments of the printed file. Each has the path of the table that follows, and its lines.
    pub(crate) comments: Vec<(Path, Vec<String>)>,
    /// What to know about a result.
    pub(crate) caveats: Vec<String>,
    /// Flows that come from `with`. Each has the position of its entry in `with`, and its own in `flow`.
    pub(crate) flows: Vec<(usize, usize)>,
    shaping: Shaping,
}

/// Replaces the words of a household by ordinary keys. A scenario without such words stays as it is.
/// [`Expansion::shape`] has to follow.
///
/// # Errors
/// The place of a word that names no preset, or is not text.
pub(crate) fn expand(values: &mut Table) -> Result<Expansion, (Path, Fault)> {
    let mut expansion = Expansion::default();
    let plan = named::<Plan>(values)?;
    let policy = named::<Policy>(values)?;
    let router = named::<Router>(values)?;
    let with = values.remove(App::WORD);
    if plan.is_none() && policy.is_none() && router.is_none() && with.is_none() {
        return Ok(expansion);
    }
    values.retain(|key, _| !ABOUT.contains(&key)); // `index` reads them from the file
    if let Some((name, plan)) = &plan {
        beneath(values, "link", &plan.link);
        if let Some(Value::Table(link)) = values.get_mut("link") {
            put_if_absent(link, "title", &plan.title);
            put_if_absent(link, "provenance", word_of(&plan.source));
        }
        expansion.comment(Path::default().key("link"), &plan.title, &format!("plan {name}"), &plan.source);
    }
    if let Some((name, policy)) = &policy {
        beneath(values, "gateway", &policy.gateway);
        let word = format!("policy {name}");
        expansion.comment(Path::default().key("gateway"), &policy.title, &word, &policy.source);
    }
    expansion.shaping = Shaping {
        share: policy.and_then(|(_, policy)| policy.shape),
        typical: plan.as_ref().and_then(|(_, plan)| plan.typical),
        router: router.map(|(_, router)| router),
        buffers: plan.as_ref().map(|(_, plan)| &plan.gateway),
    };
    if let Some(with) = with {
        let plan = plan.as_ref().map(|(name, _)| name.as_str());
        flows::put(with, plan, values, &mut expansion)?;
    }
    Ok(expansion)
}

impl Expansion {
    /// Puts shaper and buffers into `values`. Both depend on keys that a person may have put over those of the presets.
    ///
    /// # Errors
    /// The word whose preset needs a rate that the link does not have.
    pub(crate) fn shape(&mut self, values: &mut Table) -> Result<(), (Path, Fault)> {
        self.caveats.extend(self.shaping.put(values)?);
        Ok(())
    }

    /// Adds a comment above a table. It names the preset and the source of each number.
    pub(super) fn comment(&mut self, at: Path, title: &str, word: &str, sources: &Sources) {
        let sources = sources.iter().map(|(key, source)| format!("{key}: {source}"));
        self.comments.push((at, iter::once(format!("{title} ({word})")).chain(sources).collect()));
    }
}

/// Keys of a household that are only for readers.
const ABOUT: [&str; 2] = ["title", "remember"];

/// Takes a word out of `values` and finds its preset.
fn named<T: File>(values: &mut Table) -> Result<Option<(String, &'static T)>, (Path, Fault)> {
    let Some(value) = values.remove(T::WORD) else { return Ok(None) };
    let place = Path::default().key(T::WORD);
    let Value::String(name) = value else {
        let fault = Fault::new(format!("this is the name of a {}, as text", T::NOUN));
        let names = T::all().keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        return Err((place, fault.allowed(names)));
    };
    match T::find(&name) {
        Ok(preset) => Ok(Some((name, preset))),
        Err(fault) => Err((place, fault)),
    }
}

/// Adds the keys of `preset` that the table `key` lacks.
fn beneath(values: &mut Table, key: &str, preset: &Table) {
    let table = values.entry(key).or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(table) = table {
        fill(table, preset);
    }
}

/// Adds the keys of `preset` that `table` lacks.
pub(super) fn fill(table: &mut Table, preset: &Table) {
    for (key, value) in preset {
        table.entry(key).or_insert_with(|| value.clone());
    }
}

fn put_if_absent(table: &mut Table, key: &str, text: &str) {
    table.entry(key).or_insert_with(|| Value::String(text.into()));
}

/// The word of the weakest source; a preset without numbers has nothing to doubt.
pub(super) fn word_of(sources: &Sources) -> &'static str {
    sources.weakest().unwrap_or(Label::Published).word()
}
