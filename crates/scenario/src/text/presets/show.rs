//! Prints a scenario as a file to keep and edit: the keys as written, in the order of the reference, with a comment
//! above each table that a preset made.

use std::fmt::Write;

use serde_json::{Map, Value as Json};
use toml::Value;

use crate::text::origin::{Path, Step};
use crate::text::scenario::Scenario;

/// Columns of a comment.
const WIDTH: usize = 80;

impl Scenario {
    /// All keys in force, presets and overrides applied, with values as [`Self::to_toml`] writes them.
    pub fn keys(&self) -> Json {
        serde_json::to_value(self).expect("a scenario is text, numbers, lists and tables")
    }

    /// The scenario as a file: the text that was read, or, if presets or options changed it, the keys that resulted.
    pub fn show(&self) -> String {
        let origin = &self.origin;
        if origin.overrides.is_empty() && origin.expansion.comments.is_empty() {
            return origin.text.clone();
        }
        let values = in_order(&Value::Table(origin.values.clone()), &self.keys());
        let text = toml::to_string(&values).expect("values that came from TOML");
        commented(&text, &origin.expansion.comments)
    }
}

/// The values with the keys of each table in the order of `order`, where all keys of a scenario stand.
fn in_order(value: &Value, order: &Json) -> Json {
    let nothing = Json::Null;
    match value {
        Value::Table(table) => {
            let known =
                order.as_object().into_iter().flat_map(Map::keys).filter(|key| table.contains_key(*key));
            let others = table.keys().filter(|key| order.get(key.as_str()).is_none());
            let keys = known.chain(others);
            keys.map(|key| (key.clone(), in_order(&table[key], order.get(key).unwrap_or(&nothing)))).collect()
        }
        Value::Array(list) => {
            let each = list.iter().enumerate();
            each.map(|(index, value)| in_order(value, order.get(index).unwrap_or(&nothing))).collect()
        }
        other => serde_json::to_value(other).unwrap_or(nothing),
    }
}

fn commented(text: &str, comments: &[(Path, Vec<String>)]) -> String {
    let mut out = String::new();
    let mut flow = 0;
    let mut in_gateway = false;
    for line in text.lines() {
        let at = match line {
            "[link]" => Some(Path::default().key("link")),
            "[[flow]]" => {
                flow += 1;
                Some(Path(vec![Step::Key("flow".into()), Step::Index(flow - 1)]))
            }
            _ if line.starts_with("[gateway") && !in_gateway => {
                in_gateway = true;
                Some(Path::default().key("gateway"))
            }
            _ => None,
        };
        for (_, lines) in comments.iter().filter(|(place, _)| Some(place) == at.as_ref()) {
            lines.iter().for_each(|comment| wrap(&mut out, comment));
        }
        let _ = writeln!(out, "{line}");
    }
    out
}

/// Appends a comment, broken between words. What continues stands further right.
fn wrap(out: &mut String, comment: &str) {
    let mut line = String::from("#");
    for word in comment.split(' ') {
        if line.len() + 1 + word.len() > WIDTH {
            let _ = writeln!(out, "{line}");
            line = String::from("#  ");
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(out, "{line}");
}
