//! The list of all presets, for people and programs.

use std::collections::BTreeMap;

use serde::Serialize;

use super::files::{App, File, Household, Plan, Policy, Router, texts};
use crate::text::model_file::Quality;
use crate::text::models::models;
use crate::text::source::{Label, Sources};

/// A preset, as a list shows it.
#[derive(Clone, Debug, Serialize)]
pub struct PresetInfo {
    /// The word that names one of its kind: `with`, `plan`, `policy`, `router` or `household`.
    pub word: &'static str,
    /// Group within its kind, such as `game` or `video`; empty where there are none.
    pub group: String,
    /// Name.
    pub name: String,
    /// Name for readers.
    pub title: String,
    /// The weakest label of its numbers: `measured`, `published` or `estimate`; `None` if it has no numbers of its own.
    pub label: Option<&'static str>,
    /// What to know about it.
    pub notes: String,
    /// Where each number comes from: key, label and source.
    pub sources: BTreeMap<String, String>,
    /// Ports of its servers.
    pub ports: Vec<String>,
    /// Round trip times that the players of a game accept.
    pub quality: Option<Quality>,
    /// The sentence to remember of a household.
    pub remember: Option<String>,
    /// Text of its file; `None` for a game, whose model is in `models/`.
    pub file: Option<&'static str>,
}

/// All presets: games and other applications, plans, policies, routers, households.
pub fn presets() -> Vec<PresetInfo> {
    let games = models().into_iter().map(|game| PresetInfo {
        word: App::WORD,
        group: game.app.into(),
        name: game.name.into(),
        title: game.title.into(),
        notes: game.notes.into(),
        ports: game.ports.iter().map(ToString::to_string).collect(),
        quality: game.quality,
        ..sourced(game.sources)
    });
    let apps = App::all().iter().map(|(name, app)| PresetInfo {
        word: App::WORD,
        file: text_of::<App>(name),
        group: app.kind.clone(),
        name: name.clone(),
        title: app.title.clone(),
        notes: app.notes.clone(),
        ports: app.ports.iter().map(ToString::to_string).collect(),
        ..sourced(&app.source)
    });
    let plans = Plan::all().iter().map(|(name, plan)| PresetInfo {
        word: Plan::WORD,
        file: text_of::<Plan>(name),
        name: name.clone(),
        title: plan.title.clone(),
        notes: plan.notes.clone(),
        ..sourced(&plan.source)
    });
    let policies = Policy::all().iter().map(|(name, policy)| PresetInfo {
        word: Policy::WORD,
        file: text_of::<Policy>(name),
        name: name.clone(),
        title: policy.title.clone(),
        notes: policy.notes.clone(),
        ..sourced(&policy.source)
    });
    let routers = Router::all().iter().map(|(name, router)| PresetInfo {
        word: Router::WORD,
        file: text_of::<Router>(name),
        name: name.clone(),
        title: router.title.clone(),
        notes: router.notes.clone(),
        ..sourced(&router.source)
    });
    let households = Household::all().iter().map(|(name, Household(file))| {
        let text = |key| file.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        PresetInfo {
            word: Household::WORD,
            file: text_of::<Household>(name),
            name: name.clone(),
            title: text("title").unwrap_or_default(),
            notes: text("question").unwrap_or_default(),
            remember: text("remember").filter(|text| !text.is_empty()),
            ..sourced(&Sources::default())
        }
    });
    games.chain(apps).chain(plans).chain(policies).chain(routers).chain(households).collect()
}

fn text_of<T: File>(name: &str) -> Option<&'static str> {
    texts::<T>().into_iter().find(|(own, _)| *own == name).map(|(_, text)| text)
}

fn sourced(sources: &Sources) -> PresetInfo {
    PresetInfo {
        word: "",
        group: String::new(),
        name: String::new(),
        title: String::new(),
        label: sources.weakest().map(Label::word),
        notes: String::new(),
        sources: sources.iter().map(|(key, source)| (key.into(), source.to_string())).collect(),
        ports: Vec::new(),
        quality: None,
        remember: None,
        file: None,
    }
}
