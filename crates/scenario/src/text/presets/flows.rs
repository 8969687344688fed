//! `with`: the applications of a household, each a word or a table, become flows.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use super::expand::{Expansion, word_of};
use super::files::{App, File, other_kind};
use crate::text::error::{Fault, nearest};
use crate::text::models::{ModelInfo, models};
use crate::text::origin::Path;
use crate::text::source::Sources;

/// An entry of `with`.
struct With {
    preset: String,
    /// A host instead of the preset's.
    host: Option<String>,
    /// How many there are, each on a host of its own.
    count: usize,
    /// Keys over those of the preset's flows.
    set: Table,
}

/// Most applications of one kind in a household.
const MOST: i64 = 100;

/// Flows that a word of `with` stands for.
struct Preset {
    title: String,
    host: String,
    /// Flows without a name, with the ending of the name.
    flows: Vec<(Option<String>, Table)>,
    sources: &'static Sources,
}

/// Appends the flows of every entry of `with`, and asks a question if the scenario has none.
///
/// # Errors
/// The place of an entry that names no preset or has a wrong key.
pub(super) fn put(
    with: Value,
    plan: Option<&str>,
    values: &mut Table,
    expansion: &mut Expansion,
) -> Result<(), (Path, Fault)> {
    let place = Path::default().key(App::WORD);
    let Value::Array(entries) = with else {
        let fault = Fault::new("this is a list of presets").allowed("[\"valorant\", \"netflix-4k\"]");
        return Err((place, fault));
    };
    let mut hosts = BTreeSet::new();
    let list = values.entry("flow").or_insert_with(|| Value::Array(Vec::new()));
    let Value::Array(list) = list else { return Ok(()) };
    let mut seen = BTreeMap::<String, usize>::new();
    let mut names = Vec::new();
    for (index, entry) in entries.into_iter().enumerate() {
        let place = place.index(index);
        let With { preset: name, host, count, set } = entry_of(entry, &place)?;
        let preset = preset(&name).map_err(|fault| (place, fault))?;
        names.push(name.clone());
        for _ in 0..count {
            let times = seen.entry(name.clone()).or_default();
            *times += 1;
            let ending = if *times > 1 { format!("-{times}") } else { String::new() };
            let host = match (&host, count) {
                (Some(host), 1) => host.clone(),
                (host, _) => format!("{}{ending}", host.as_ref().unwrap_or(&preset.host)),
            };
            hosts.insert(host.clone());
            let at = Path::default().key("flow").index(list.len());
            expansion.comment(at, &preset.title, &name, preset.sources);
            for (part, flow) in &preset.flows {
                let part = part.as_ref().map(|part| format!("-{part}")).unwrap_or_default();
                let mut flow = flow.clone();
                flow.insert("name".into(), Value::String(unused(&format!("{name}{ending}{part}"), list)));
                flow.insert("host".into(), Value::String(host.clone()));
                flow.extend(set.clone());
                expansion.flows.push((index, list.len()));
                list.push(Value::Table(flow));
            }
        }
    }
    if let Some(Value::Array(listed)) = values.get_mut("hosts") {
        let new = hosts.into_iter().map(Value::String).filter(|host| !listed.contains(host));
        let new: Vec<Value> = new.collect();
        listed.extend(new);
    }
    values.entry("question").or_insert_with(|| Value::String(question(names, plan.unwrap_or("a link"))));
    Ok(())
}

/// # Errors
/// The place of the entry at `place` or of one of its keys, and what is wrong there.
fn entry_of(entry: Value, place: &Path) -> Result<With, (Path, Fault)> {
    let mut keys = match entry {
        Value::String(preset) => return Ok(With { preset, host: None, count: 1, set: Table::new() }),
        Value::Table(keys) => keys,
        _ => {
            let fault = Fault::new("an entry is the name of a preset, or a table");
            return Err((place.clone(), fault.hint("{ preset = \"camera\", count = 2 }")));
        }
    };
    let refuse = |key: &str, fault| (place.key(key), fault);
    let preset = match keys.remove("preset") {
        Some(Value::String(preset)) => preset,
        Some(_) => return Err(refuse("preset", Fault::new("this is the name of a preset, as text"))),
        None => return Err(refuse("preset", Fault::new("this key is required"))),
    };
    let host = match keys.remove("host") {
        None => None,
        Some(Value::String(host)) if is_name(&host) => Some(host),
        Some(_) => {
            return Err(refuse("host", Fault::new("this is a name without spaces, as text")));
        }
    };
    let count = match keys.remove("count") {
        None => 1,
        Some(Value::Integer(count @ 1..=MOST)) => count as usize,
        Some(_) => {
            let fault = Fault::new("this takes a whole number, without quotes");
            return Err(refuse("count", fault.allowed(format!("1 to {MOST}"))));
        }
    };
    let set = match keys.remove("set") {
        None => Table::new(),
        Some(Value::Table(set)) => set,
        Some(_) => {
            return Err(refuse("set", Fault::new("this takes a table").hint("set = { start = \"20s\" }")));
        }
    };
    match keys.keys().next() {
        Some(key) => {
            Err(refuse(key, Fault::new("no such key").one_of(key, ["preset", "host", "count", "set"])))
        }
        None => Ok(With { preset, host, count, set }),
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(|one: char| one.is_whitespace() || one.is_control() || one == ',')
}

/// The flows behind a word: those of an application, or one flow of a game model.
fn preset(name: &str) -> Result<Preset, Fault> {
    let games = models();
    if let Some(game) = games.iter().find(|game| game.name == name) {
        return Ok(of_a_game(game));
    }
    let Some(app) = App::all().get(name) else {
        let names: Vec<&str> =
            App::all().keys().map(String::as_str).chain(games.iter().map(|game| game.name)).collect();
        let hint = other_kind(name)
            .or_else(|| nearest(name, &names).map(|name| format!("did you mean \"{name}\"?")))
            .unwrap_or_else(|| "`gamelane presets with` lists them".into());
        return Err(Fault::new("no such preset").hint(hint));
    };
    let label = word_of(&app.source);
    let flows = app.flow.iter().map(|flow| {
        let mut flow = flow.clone();
        let part = flow.remove("part").and_then(|part| part.as_str().map(str::to_owned));
        let title = part.as_ref().map_or_else(|| app.title.clone(), |part| format!("{}: {part}", app.title));
        flow.insert("title".into(), Value::String(title));
        flow.insert("provenance".into(), Value::String(label.into()));
        (part, flow)
    });
    Ok(Preset {
        title: app.title.clone(),
        host: app.host.word().into(),
        flows: flows.collect(),
        sources: &app.source,
    })
}

fn of_a_game(game: &ModelInfo) -> Preset {
    let text = |key: &str, text: &str| (key.to_owned(), Value::String(text.into()));
    let mut flow: Table = [text("app", game.app), text("model", game.name)].into_iter().collect();
    flow.extend(game.tcp.map(|stack| text("tcp", stack)));
    Preset {
        title: game.title.into(),
        host: game.host.unwrap_or("pc").into(),
        flows: vec![(None, flow)],
        sources: game.sources,
    }
}

/// `name`, or with a number behind it if a flow has that name.
fn unused(name: &str, flows: &[Value]) -> String {
    let taken = |name: &str| flows.iter().any(|flow| flow.get("name").and_then(Value::as_str) == Some(name));
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
}

fn question(mut names: Vec<String>, link: &str) -> String {
    names.dedup();
    let last = names.pop().unwrap_or_default();
    let all = if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) };
    format!("{} {all} share {link}?", if names.is_empty() { "How does" } else { "How do" })
}
