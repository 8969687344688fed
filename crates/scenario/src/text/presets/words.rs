//! The words of a household on the command line and in the axes of a sweep: `--set plan=cable-250-20`. Each takes the
//! place of what the scenario says about the same thing.

use toml::{Table, Value};

use super::files::{App, File, Household, Plan, Policy, Router};
use crate::text::error::Fault;
use crate::text::origin::Path;

/// The words, in the order in which they take effect.
pub(crate) const WORDS: [&str; 5] = [Household::WORD, Plan::WORD, Policy::WORD, Router::WORD, App::WORD];

/// True if this key of an override names a preset.
pub(crate) fn is_word(key: &str) -> bool {
    WORDS.contains(&key)
}

/// A word of the command line, and the paths that it decides.
pub(crate) struct Word {
    pub(crate) key: String,
    pub(crate) name: String,
    pub(crate) paths: Vec<Path>,
}

/// Puts the last value of each word into `values`, and every value of `with`.
///
/// # Errors
/// The household does not exist, or `with` has no name. The error has the word.
pub(crate) fn put(given: &[(String, String)], values: &mut Table) -> Result<Vec<Word>, Box<(Word, Fault)>> {
    let mut decided = Vec::new();
    for word in WORDS {
        let names: Vec<&String> = given.iter().filter(|(key, _)| key == word).map(|(_, name)| name).collect();
        let replaced = if word == App::WORD { 0 } else { names.len().saturating_sub(1) };
        for name in names.into_iter().skip(replaced) {
            let of = |paths| Word { key: word.to_owned(), name: name.clone(), paths };
            let put = put_one(word, name, values).map(of);
            decided.push(put.map_err(|fault| Box::new((of(Vec::new()), fault)))?);
        }
    }
    Ok(decided)
}

fn put_one(word: &str, name: &str, values: &mut Table) -> Result<Vec<Path>, Fault> {
    let top = Path::default();
    let gateway = top.key("gateway");
    let buffers = BUFFERS.map(|queue| gateway.key(queue));
    let named = Value::String(name.into());
    let decided = match word {
        Household::WORD => {
            *values = Household::find(name)?.0.clone();
            values.insert("name".into(), named);
            vec![top]
        }
        Plan::WORD => {
            values.remove("link");
            if let Some(Value::Table(gateway)) = values.get_mut("gateway") {
                gateway.retain(|key, _| !is_buffer(key));
            }
            values.insert(word.into(), named);
            [top.key(word), top.key("link")].into_iter().chain(buffers).collect()
        }
        Policy::WORD => {
            if let Some(Value::Table(gateway)) = values.get_mut("gateway") {
                gateway.retain(|key, _| is_buffer(key));
            }
            values.insert(word.into(), named);
            vec![top.key(word), gateway]
        }
        App::WORD => {
            let entry = values.entry(word).or_insert_with(|| Value::Array(Vec::new()));
            let Value::Array(list) = entry else { return Ok(Vec::new()) };
            let first = list.len();
            list.extend(entries(name)?);
            (first..list.len()).map(|index| top.key(word).index(index)).collect()
        }
        _ => {
            values.insert(word.into(), named);
            vec![top.key(word), gateway.key("shape")]
        }
    };
    Ok(decided)
}

/// The entries that a value of `with` stands for: names between commas, or a list in TOML.
fn entries(text: &str) -> Result<Vec<Value>, Fault> {
    let refuse = || Fault::new("this takes names of presets").hint("with=valorant,netflix-4k");
    let found: Vec<Value> = if text.trim_start().starts_with('[') {
        let list = format!("with = {text}").parse::<Table>().ok().and_then(|mut table| table.remove("with"));
        list.and_then(|list| list.as_array().cloned()).ok_or_else(refuse)?
    } else {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        names.map(|name| Value::String(name.into())).collect()
    };
    if found.is_empty() { Err(refuse()) } else { Ok(found) }
}

/// Queues of `[gateway]` that belong to the link.
const BUFFERS: [&str; 2] = ["modem", "isp"];

fn is_buffer(key: &str) -> bool {
    BUFFERS.contains(&key)
}
