//! The documents about the format: the JSON Schema for editors, and the reference page for people. Both are generated from
//! the structs in [`super::keys`], so they cannot drift from the code.

use gamelane_traffic::App;
use std::borrow::Cow;
use std::fmt::Write;

use gamelane_core::Catalogued;
use gamelane_qdisc::Discipline;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

use super::keys::class::Class;
use super::keys::flow::Flow;
use super::keys::gateway::Gateway;
use super::keys::link::{Encapsulation, GilbertElliott};
use super::keys::medium::{Docsis, Station, Wifi};
use super::keys::queue::Queue;
use super::keys::rule::Rule;
use super::keys::{Autorate, Detector, Link, Tcp, Voap};
use super::scenario::Scenario;

/// JSON Schema of a scenario file, with a description at every key.
pub fn schema() -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Scenario>();
    RecursiveTransform(without_null).transform(&mut schema);
    schema.insert("title".into(), "gamelane scenario".into());
    schema.to_value()
}

/// The reference page, in Markdown.
pub fn reference_page() -> String {
    let schema = schema();
    let mut page = String::from(INTRODUCTION);
    let mut words = Words::default();
    for section in sections() {
        let definition = lookup(&schema, &section.definition);
        table(&mut page, &section, definition, &schema);
        for (key, property) in definition["properties"].as_object().into_iter().flatten() {
            words.find(property, &format!("{}{key}", section.keys), &schema);
        }
    }
    page.push_str(UNITS);
    page.push_str(WORDS);
    for (definition, keys) in words.0 {
        for word in lookup(&schema, &definition)["oneOf"].as_array().into_iter().flatten() {
            let keys = listed(keys.iter().map(String::as_str));
            let _ = writeln!(page, "| {keys} | {} | {} |", code(&word["const"]), text(&word["description"]));
        }
    }
    page
}

/// A section of the page: the keys of one table.
struct Section {
    title: &'static str,
    /// Its name among the definitions of the schema.
    definition: Cow<'static, str>,
    /// What stands before its keys in a dotted key.
    keys: &'static str,
    /// The disciplines or applications that read a key, `None` for a key that all read. Only in tables with such keys.
    readers: Option<fn(&str) -> Option<String>>,
}

fn sections() -> [Section; 16] {
    fn section<T: JsonSchema>(title: &'static str, keys: &'static str) -> Section {
        Section { title, definition: T::schema_name(), keys, readers: None }
    }
    [
        section::<Scenario>("Top of the file", ""),
        section::<Link>("`[link]`", "link."),
        section::<GilbertElliott>("A `loss` in bursts", "link.loss."),
        section::<Encapsulation>("An `overhead` in detail", "link.overhead."),
        section::<Docsis>("`[link.docsis]`", "link.docsis."),
        section::<Wifi>("`[link.wifi]`", "link.wifi."),
        section::<Station>("A station of `link.wifi.stations`", "link.wifi.stations."),
        section::<Gateway>("`[gateway]`", "gateway."),
        Section { readers: Some(queue_readers), ..section::<Queue>("A queue of `[gateway]`", "gateway.up.") },
        section::<Class>("`[[gateway.class]]`", "gateway.class."),
        section::<Rule>("`[[gateway.rule]]`", "gateway.rule."),
        section::<Detector>("`[gateway] detector`", "gateway.detector."),
        section::<Voap>("`[gateway] voap`", "gateway.voap."),
        section::<Autorate>("`[gateway] autorate`", "gateway.autorate."),
        Section { readers: Some(flow_readers), ..section::<Flow>("`[[flow]]`", "flow.") },
        section::<Tcp>("`[tcp]`, `flow.tcp`", "tcp."),
    ]
}

fn queue_readers(key: &str) -> Option<String> {
    Queue::SELECTIVE.contains(&key).then(|| listed(Discipline::readers(key)))
}

fn flow_readers(key: &str) -> Option<String> {
    Flow::SELECTIVE.contains(&key).then(|| listed(App::readers(key)))
}

fn listed<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// Definitions that are lists of words, with the keys that take them, in the order of the page.
#[derive(Default)]
struct Words(Vec<(String, Vec<String>)>);

impl Words {
    /// Adds the lists of words that `property` refers to, at any depth outside the tables with a section of their own.
    fn find(&mut self, property: &Value, key: &str, schema: &Value) {
        match property {
            Value::Object(object) => {
                if let Some(name) = object.get("$ref").and_then(Value::as_str).and_then(name_of) {
                    self.refer(name, key, schema);
                }
                object.values().for_each(|inner| self.find(inner, key, schema));
            }
            Value::Array(items) => items.iter().for_each(|inner| self.find(inner, key, schema)),
            _ => {}
        }
    }

    fn refer(&mut self, name: &str, key: &str, schema: &Value) {
        let definition = lookup(schema, name);
        if definition["oneOf"].is_array() {
            match self.0.iter_mut().find(|(known, _)| known == name) {
                Some((_, keys)) if keys.iter().any(|known| known == key) => {}
                Some((_, keys)) => keys.push(key.into()),
                None => self.0.push((name.into(), vec![key.into()])),
            }
        } else if definition["properties"].is_null() {
            self.find(definition, key, schema);
        }
    }
}

fn name_of(reference: &str) -> Option<&str> {
    reference.rsplit('/').next()
}

fn table(page: &mut String, section: &Section, definition: &Value, schema: &Value) {
    let required: Vec<&str> =
        definition["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let _ = write!(page, "\n## {}\n\n{}\n\n", section.title, text(&definition["description"]));
    let by = if section.readers.is_some() { ("read by | ", "--- | ") } else { ("", "") };
    let _ = writeln!(page, "| key | type | default | {}meaning |\n| --- | --- | --- | {}--- |", by.0, by.1);
    for (key, property) in definition["properties"].as_object().into_iter().flatten() {
        let readers = section.readers.map(|readers| readers(key).unwrap_or("all".into()) + " | ");
        let default = match (property.get("x-default"), property.get("default")) {
            _ if required.contains(&key.as_str()) => "required".into(),
            (Some(default), _) => code(default),
            (None, Some(default)) if !default.is_object() && !default.is_array() && default != "" => {
                code(default)
            }
            _ => "–".into(),
        };
        let _ = writeln!(
            page,
            "| `{key}` | {} | {default} | {}{} |",
            kind(property, schema),
            readers.unwrap_or_default(),
            text(&property["description"])
        );
    }
}

/// A type in words: a unit, the words of a list, or a link to the section of a table.
fn kind(property: &Value, schema: &Value) -> String {
    if let Some(said) = property.get("x-type").and_then(Value::as_str) {
        return said.into();
    }
    if let Some(name) = property["$ref"].as_str().and_then(name_of) {
        return match name {
            "Rate" => "[rate](#units)".into(),
            "Time" => "[time](#units)".into(),
            "Span" => "[time](#units) above 0".into(),
            "Size" => "[size](#units)".into(),
            "QueueLimit" => "[packets or size](#units)".into(),
            "Percent" => "[percentage](#units)".into(),
            "Deviation" => "whole [percentage](#units)".into(),
            "Link" => "[table](#link)".into(),
            "Gateway" => "[table](#gateway)".into(),
            "Queue" => "[table](#a-queue-of-gateway)".into(),
            "Docsis" => "[table](#linkdocsis)".into(),
            "Wifi" => "[table](#linkwifi)".into(),
            "Station" => "[tables](#a-station-of-linkwifistations)".into(),
            "Class" => "[tables](#gatewayclass)".into(),
            "ClassQueue" => "a discipline, or [table](#a-queue-of-gateway)".into(),
            "Rule" => "[tables](#gatewayrule)".into(),
            "Voap" => "[table](#gateway-voap)".into(),
            "Autorate" => "[table](#gateway-autorate)".into(),
            "Detector" => "[table](#gateway-detector)".into(),
            "Flow" => "[tables](#flow)".into(),
            "Tcp" => "[table](#tcp-flowtcp)".into(),
            "GilbertElliott" => "[table](#a-loss-in-bursts)".into(),
            "Encapsulation" => "[table](#an-overhead-in-detail)".into(),
            name => kind(lookup(schema, name), schema),
        };
    }
    if let Some(words) = property["oneOf"].as_array() {
        return words.iter().map(|word| code(&word["const"])).collect::<Vec<_>>().join(", ");
    }
    if let Some(forms) = property["anyOf"].as_array() {
        return forms.iter().map(|form| kind(form, schema)).collect::<Vec<_>>().join(", or ");
    }
    if let Some(word) = property.get("const") {
        return code(word);
    }
    match property["type"].as_str() {
        Some("object") => {
            let keys =
                property["properties"].as_object().into_iter().flatten().map(|(key, _)| format!("`{key}`"));
            format!("table of {}", keys.collect::<Vec<_>>().join(", "))
        }
        Some("array") => format!("list of {}", kind(&property["items"], schema)),
        Some("boolean") => "true or false".into(),
        Some("integer") => "whole number".into(),
        Some("number") => "number".into(),
        Some("string") => "text".into(),
        _ => "–".into(),
    }
}

fn lookup<'a>(schema: &'a Value, definition: &str) -> &'a Value {
    if definition == "Scenario" { schema } else { &schema["$defs"][definition] }
}

fn text(description: &Value) -> String {
    description.as_str().unwrap_or_default().replace("\n\n", " ").replace('\n', " ").replace('|', "\\|")
}

fn code(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    }
}

/// Removes null from the schema: TOML has no null, and an optional key is omitted instead.
fn without_null(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    object.retain(|key, value| key != "default" || !value.is_null());
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".into(), only);
        }
    }
    let Some(Value::Array(forms)) = object.get_mut("anyOf") else { return };
    forms.retain(|form| form["type"] != "null");
    if let [Value::Object(only)] = forms.as_slice() {
        let only: Map<String, Value> = only.clone();
        object.remove("anyOf");
        object.extend(only);
    }
}

const INTRODUCTION: &str = "\
# Scenario files

<!-- Generated from crates/scenario/src/text by `UPDATE=1 cargo test -p gamelane-scenario --features text`. -->

A scenario is a TOML file. It describes a household: its link, the queues at both ends of the link, and the applications that
share it. [scenarios](../scenarios) has examples. `scenario.schema.json` beside this page is the same definition for editors.

- An unknown key is an error. So is a key that the chosen queue or application does not read.
- `--set KEY=VALUE` overrides a value of the file. Flows, classes and rules go by their names: `flow.quake3.players=8`. A `*`
  stands for every key of a table: `gateway.*.queue=pie` sets both directions.
- Some keys take either one value for both directions or a table of `up` and `down`. A direction that the table does not list
  has the default.
- `–` in the column of defaults means that there is no fixed default. The description has a default that depends on other keys.
";

const UNITS: &str = "
## Units

Values are text: a number and a unit, as `tc` writes them. A number without a unit is an error.

| type | units | example |
| --- | --- | --- |
| rate | `bit`, `kbit`, `mbit`, `gbit` per second, in powers of 1000. Not `kbps`, which `tc` reads as bytes | `12mbit` |
| time | `ns`, `us`, `ms`, `s`, `min`, `h`, `d` | `40ms` |
| size | `B`, `KiB`, `MiB`, `GiB`, in powers of 1024 | `64KiB` |
| packets | `p` | `100p` |
| percentage | `%` | `1%` |
";

const WORDS: &str = "
## Words

Queues other than `gateway.up` take the same words as `gateway.up`.

| key | word | meaning |
| --- | --- | --- |
";
