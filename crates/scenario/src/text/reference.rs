//! What others read about the format: the JSON Schema for editors, and the reference page for people. Both come from the
//! structs in [`super::keys`], so neither can drift.

use std::fmt::Write;

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

use super::keys::class::Class;
use super::keys::flow::{self, App, Flow};
use super::keys::gateway::Gateway;
use super::keys::link::{Encapsulation, GilbertElliott};
use super::keys::medium::{Docsis, Station, Wifi};
use super::keys::queue::{self, Discipline, Queue};
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
    let sections: [(&str, String, Applies); 16] = [
        ("Top of the file", Scenario::schema_name().into(), |_| None),
        ("`[link]`", Link::schema_name().into(), |_| None),
        ("A `loss` in bursts", GilbertElliott::schema_name().into(), |_| None),
        ("An `overhead` in detail", Encapsulation::schema_name().into(), |_| None),
        ("`[link.docsis]`", Docsis::schema_name().into(), |_| None),
        ("`[link.wifi]`", Wifi::schema_name().into(), |_| None),
        ("A station of `link.wifi.stations`", Station::schema_name().into(), |_| None),
        ("`[gateway]`", Gateway::schema_name().into(), |_| None),
        ("A queue of `[gateway]`", Queue::schema_name().into(), queue_readers),
        ("`[[gateway.class]]`", Class::schema_name().into(), |_| None),
        ("`[[gateway.rule]]`", Rule::schema_name().into(), |_| None),
        ("`[gateway] detector`", Detector::schema_name().into(), |_| None),
        ("`[gateway] voap`", Voap::schema_name().into(), |_| None),
        ("`[gateway] autorate`", Autorate::schema_name().into(), |_| None),
        ("`[[flow]]`", Flow::schema_name().into(), flow_readers),
        ("`[tcp]`, `flow.tcp`", Tcp::schema_name().into(), |_| None),
    ];
    for (title, definition, applies) in sections {
        section(&mut page, title, lookup(&schema, &definition), &schema, applies);
    }
    page.push_str(UNITS);
    page.push_str("\n## Words\n\n| key | word | meaning |\n| --- | --- | --- |\n");
    for (definition, key) in WORDS {
        for word in lookup(&schema, definition)["oneOf"].as_array().into_iter().flatten() {
            let _ = writeln!(page, "| {key} | {} | {} |", code(&word["const"]), text(&word["description"]));
        }
    }
    page
}

/// Which disciplines or applications read a key; `None` if all do.
type Applies = fn(&str) -> Option<String>;

fn queue_readers(key: &str) -> Option<String> {
    let (_, readers) = queue::SELECTIVE.iter().find(|(name, _)| *name == key)?;
    Some(listed(readers.iter().map(|reader: &Discipline| reader.word())))
}

fn flow_readers(key: &str) -> Option<String> {
    let (_, readers) = flow::SELECTIVE.iter().find(|(name, _)| *name == key)?;
    Some(listed(readers.iter().map(|reader: &App| reader.word())))
}

fn listed<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn section(page: &mut String, title: &str, definition: &Value, schema: &Value, applies: Applies) {
    let required: Vec<&str> =
        definition["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let _ = write!(page, "\n## {title}\n\n{}\n\n", text(&definition["description"]));
    page.push_str("| key | type | default | meaning |\n| --- | --- | --- | --- |\n");
    for (key, property) in definition["properties"].as_object().into_iter().flatten() {
        let readers = applies(key).map(|readers| format!(" For {readers}.")).unwrap_or_default();
        let default = match (property.get("x-default"), property.get("default")) {
            _ if required.contains(&key.as_str()) => "required".into(),
            (Some(default), _) => code(default),
            (None, Some(default)) if !default.is_object() && !default.is_array() => code(default),
            _ => "–".into(),
        };
        let _ = writeln!(
            page,
            "| `{key}` | {} | {default} | {}{readers} |",
            kind(property, schema),
            text(&property["description"])
        );
    }
}

/// A type in words: `rate`, `{ up, down }` of it, the words it may be.
fn kind(property: &Value, schema: &Value) -> String {
    if let Some(said) = property.get("x-type").and_then(Value::as_str) {
        return said.into();
    }
    if let Some(name) = property["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
        return match name {
            "Rate" => "[rate](#units)".into(),
            "Time" => "[time](#units)".into(),
            "Span" => "[time](#units) above 0".into(),
            "Size" => "[size](#units)".into(),
            "QueueLimit" => "[packets or size](#units)".into(),
            "Percent" => "[share](#units)".into(),
            "Deviation" => "[share](#units)".into(),
            "Link" => "[table](#link)".into(),
            "Gateway" => "[table](#gateway)".into(),
            "Queue" => "[table](#a-queue-of-gateway)".into(),
            "Docsis" => "[table](#linkdocsis)".into(),
            "Wifi" => "[table](#linkwifi)".into(),
            "Station" => "[tables](#a-station-of-linkwifistations)".into(),
            "Class" => "[tables](#gatewayclass)".into(),
            "ClassQueue" => "a discipline by its name, or [table](#a-queue-of-gateway)".into(),
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

/// TOML has no null: a key that may be left out is not a key that may be null.
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

/// Definitions that are lists of words, and the keys that take them.
const WORDS: [(&str, &str); 24] = [
    ("LinkKind", "`link.kind`"),
    ("Framing", "`link.overhead`"),
    ("SlotTime", "`link.wifi.slot`"),
    ("Protection", "`link.wifi.protection`"),
    ("PreambleLength", "`link.wifi.preamble`"),
    ("Discipline", "`queue` of `gateway.up`, …"),
    ("Parameters", "`parameters` of `gateway.up`, …"),
    ("Acks", "`acks` of `gateway.up`, …"),
    ("Tins", "`tins` of `gateway.up`, …"),
    ("Isolation", "`isolation` of `gateway.up`, …"),
    ("Transport", "`gateway.rule.protocol`"),
    ("Behaviour", "`gateway.rule.behaviour`"),
    ("Judged", "`gateway.detector.protocol`"),
    ("SteeredData", "`gateway.voap.data`"),
    ("SignalKind", "`gateway.autorate.signals`"),
    ("App", "`flow.app`"),
    ("Way", "`flow.direction`"),
    ("Role", "`flow.role`"),
    ("Codec", "`flow.codec`"),
    ("Requests", "`flow.requests`"),
    ("Congestion", "`tcp.congestion`"),
    ("Recovery", "`tcp.recovery`"),
    ("Timer", "`tcp.timer`"),
    ("Client", "`flow.client`"),
];

const INTRODUCTION: &str = "\
# Scenario files

<!-- Generated from crates/scenario/src/text by `UPDATE=1 cargo test -p gamelane-scenario --features text`. -->

A scenario is a TOML file: a household's link, the queues at its ends, and the applications that share it. Unknown keys are
errors, and so are keys that the chosen queue or application does not read. `scenario.schema.json` beside this page is the
same definition for editors. `--set KEY=VALUE` puts a value over one of the file: flows, classes and rules go by
their names (`flow.quake3.players=8`), and `*` stands for every key of a table (`gateway.*.queue=pie` sets both directions).

Where a type reads \"or table of `up`, `down`\", one value holds for both directions; in a table each has its own, and one
left out has none.
";

const UNITS: &str = "
## Units

Values are text, a number and a unit, as `tc` writes them. Bare numbers are refused.

| type | units | example |
| --- | --- | --- |
| rate | `bit`, `kbit`, `mbit`, `gbit` a second, in powers of 1000. Not `kbps`, which `tc` reads as bytes | `12mbit` |
| time | `s`, `ms`, `us`, `ns` | `40ms` |
| size | `B`, `KiB`, `MiB`, `GiB`, in powers of 1024 | `64KiB` |
| packets | `p` | `100p` |
| share | `%` | `1%` |
";
