//! The JSON output of `gamelane run` and `gamelane report`: its JSON Schema, and the reference tables of `docs/`. The numbers of
//! a run come from [`RunSummary`]; what stands around them is described here, and Python writes it. [`types()`] describes rows and
//! summary for TypeScript and for JavaScript with JSDoc.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::summary::{FlowSummary, QueueSummary, RunSummary};
use crate::table::{TABLES, Unit};

/// JSON Schema of the document.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<Document>().to_value();
    let definitions = schema["$defs"].take();
    let Value::Object(mut definitions) = definitions else { return schema };
    for name in [name_of::<FlowSummary>(), name_of::<QueueSummary>()] {
        average(&name, &mut definitions);
    }
    schema["$defs"] = definitions.into();
    schema["title"] = "gamelane run --json, schema 1".into();
    schema
}

/// Adds a definition like `name` in which every number is an [`Estimate`], and those it refers to.
fn average(name: &str, definitions: &mut Map<String, Value>) {
    let averaged = averaged_name(name);
    if definitions.get(&averaged).is_some_and(|known| known.get("properties").is_some()) {
        return;
    }
    let Some(mut definition) = definitions.get(name).cloned() else { return };
    let mut referred = Vec::new();
    replace_numbers(&mut definition, &mut referred);
    definition["description"] =
        format!("{name} over the runs: each number is a mean with its interval.").into();
    definitions.insert(averaged, definition);
    for name in referred {
        average(&name, definitions);
    }
}

fn replace_numbers(schema: &mut Value, referred: &mut Vec<String>) {
    let is_number = |kind: &Value| matches!(kind.as_str(), Some("number" | "integer"));
    match schema {
        Value::Object(own) => {
            let kind = own.get("type");
            let number = kind.is_some_and(|kind| {
                is_number(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().any(is_number))
            });
            if number {
                let description = own.remove("description");
                own.clear();
                own.insert("$ref".into(), "#/$defs/Estimate".into());
                own.extend(description.map(|text| ("description".to_string(), text)));
                return;
            }
            if let Some(target) = own.get_mut("$ref") {
                let name =
                    target.as_str().and_then(|target| target.strip_prefix(DEFINITIONS)).unwrap_or_default();
                let name = name.to_string();
                *target = format!("{DEFINITIONS}{}", averaged_name(&name)).into();
                referred.push(name);
            }
            for value in own.values_mut() {
                replace_numbers(value, referred);
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|value| replace_numbers(value, referred)),
        _ => {}
    }
}

fn name_of<T: JsonSchema>() -> String {
    T::schema_name().into_owned()
}

fn averaged_name(name: &str) -> String {
    format!("{name}OverRuns")
}

const DEFINITIONS: &str = "#/$defs/";

/// The output of `gamelane run`. Within a schema version keys may be added; none is renamed, removed or given another meaning.
#[derive(Serialize, JsonSchema)]
struct Document {
    /// Version of the keys.
    #[schemars(extend("const" = 1))]
    schema: u32,
    /// Engine that ran the scenario: `sim`, `lab`, `kernel`, `live` or `gateway`; several are joined by ` + `.
    #[schemars(regex(pattern = r"^(sim|lab|kernel|live|gateway)( \+ (sim|lab|kernel|live|gateway))*$"))]
    engine: String,
    /// Scenario.
    scenario: ScenarioName,
    /// Runs asked for. After Ctrl-C there are fewer in `runs`.
    planned_runs: u32,
    /// What to keep in mind beside any number of this document, for example which models are our construction.
    caveats: Vec<String>,
    /// Folders that are overlaid. Only from `gamelane report DIR1 DIR2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    sources: Option<Vec<Source>>,
    /// Whether the overlaid engines agree (docs/agreement.md). Only from `gamelane report DIR1 DIR2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    agreement: Option<Agreement>,
    #[serde(flatten)]
    measured: Measured,
}

/// Runs of one scenario, or of several variants.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "Python writes the document; this describes it")]
enum Measured {
    /// One variant.
    Alone(Runs),
    /// With `--compare` or `--variant`.
    Compared {
        /// Variants by name.
        variants: BTreeMap<String, Variant>,
    },
}

/// Runs and their summary.
#[derive(Serialize, JsonSchema)]
struct Runs {
    /// Runs, by seed.
    #[schemars(length(min = 1))]
    runs: Vec<Run>,
    /// Means over the runs with 95 % intervals (docs/statistics.md): the shape of a run, each number as `{mean, ci95}`.
    summary: Summary,
}

/// One run.
#[derive(Serialize, JsonSchema)]
struct Run {
    /// CPU time it took, seconds.
    #[schemars(range(min = 0))]
    cpu_seconds: f64,
    #[serde(flatten)]
    summary: RunSummary,
}

/// Means over the runs.
#[derive(Serialize)]
struct Summary;

impl JsonSchema for Summary {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "Summary".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        generator.subschema_for::<Estimate>();
        let map = |of: String| json!({"type": "object", "additionalProperties": {"$ref": format!("{DEFINITIONS}{of}")}});
        let flows = map(averaged_name(&name_of::<FlowSummary>()));
        let queues = map(averaged_name(&name_of::<QueueSummary>()));
        schemars::json_schema!({
            "type": "object",
            "required": ["flows", "queues"],
            "properties": { "flows": flows, "queues": queues },
        })
    }
}

/// A mean over runs.
#[derive(Serialize, JsonSchema)]
struct Estimate {
    /// Mean; null if no run has a value.
    mean: Option<f64>,
    /// Half-width of the 95 % confidence interval; null with fewer than two values.
    ci95: Option<f64>,
}

/// A scenario with some of its keys changed.
#[derive(Serialize, JsonSchema)]
struct Variant {
    /// Hash of the scenario with the changes.
    #[schemars(regex(pattern = "^[0-9a-f]{8,64}$"))]
    hash: String,
    /// Changed keys and their values.
    overrides: BTreeMap<String, String>,
    /// Name of the source. Only if sources are overlaid.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// Its name in the source. Only if sources are overlaid.
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<String>,
    #[serde(flatten)]
    runs: Runs,
}

/// A scenario.
#[derive(Serialize, JsonSchema)]
struct ScenarioName {
    /// Name from its file.
    name: String,
    /// Hash of its content.
    #[schemars(regex(pattern = "^[0-9a-f]{8,64}$"))]
    hash: String,
}

/// A folder of records that is overlaid with others.
#[derive(Serialize, JsonSchema)]
struct Source {
    /// Name in this document.
    name: String,
    /// Engine that made the records.
    engine: String,
    /// Version of gamelane that made them.
    gamelane: String,
    /// Folder.
    folder: String,
}

/// Whether engines agree.
#[derive(Serialize, JsonSchema)]
struct Agreement {
    /// Largest difference that counts as agreement: either is enough.
    bound: Bound,
    /// Whether all pairs agree; null if no flow can be compared.
    agree: Option<bool>,
    /// Pairs of sources, flow by flow.
    pairs: Vec<Pair>,
}

/// A bound.
#[derive(Serialize, JsonSchema)]
struct Bound {
    /// Milliseconds.
    ms: f64,
    /// Percent of the smaller value.
    percent: f64,
}

/// Two sources compared on one flow.
#[derive(Serialize, JsonSchema)]
struct Pair {
    /// Flow.
    flow: String,
    /// The two sources.
    sources: [String; 2],
    /// Whether they agree.
    agree: bool,
    /// Differences by variant and quantity.
    rows: Vec<Difference>,
    /// Order of the variants, by quantity.
    order: BTreeMap<String, Order>,
}

/// A difference.
#[derive(Serialize, JsonSchema)]
struct Difference {
    /// Variant.
    variant: String,
    /// `rtt_ms.p50` or `rtt_ms.p95`.
    #[schemars(extend("enum" = ["rtt_ms.p50", "rtt_ms.p95"]))]
    quantity: String,
    /// The value of each source.
    values: [Estimate; 2],
    /// Difference in milliseconds; null if a source has no round trip.
    difference_ms: Option<f64>,
    /// Difference in percent; null if a source has no round trip.
    difference_percent: Option<f64>,
    /// Whether it is within the bound; null if a source has no round trip.
    within: Option<bool>,
}

/// Variants in the order of a quantity.
#[derive(Serialize, JsonSchema)]
struct Order {
    /// Whether both sources have the same order.
    identical: bool,
    /// Whether a swap is clear in both sources.
    contradicts: bool,
    /// Variants of each source, the lowest first.
    lowest_first: [Vec<String>; 2],
    /// Pairs of variants that stand the other way round.
    swaps: Vec<Swap>,
}

/// Two variants that the sources order differently.
#[derive(Serialize, JsonSchema)]
struct Swap {
    /// The two variants.
    variants: [String; 2],
    /// How far apart they are in each source, milliseconds.
    apart_ms: [f64; 2],
    /// Whether each source can tell them apart: the confidence interval of the difference excludes zero.
    told_apart: [bool; 2],
}

/// Reference tables of the JSON output, in Markdown.
pub fn reference() -> String {
    let schema = schema();
    let mut page = String::new();
    let names = [
        ("The document", None),
        ("Runs: in the document, or in each variant", Some("Runs")),
        ("A variant: a value of `variants`, with `--compare` or `--variant`", Some("Variant")),
        ("A run: an element of `runs`", Some("Run")),
        ("A flow: a value of `flows`", Some("FlowSummary")),
        ("A direction: `up`, `down`", Some("DirectionSummary")),
        ("`throughput_bps`", Some("Variation")),
        ("Distributions: keys that end in `_ms`", Some("Distribution")),
        ("`thin`, of a flow with `app = \"mmo\"`", Some("ThinSummary")),
        ("Messages: `thin.up`, `thin.down`", Some("DeliverySummary")),
        ("Retransmissions: a value of `thin.nth`", Some("NthSummary")),
        ("A queue: a value of `queues`", Some("QueueSummary")),
        ("`drops` of a queue", Some("QueueDrops")),
        ("`backlog_packets` of a queue", Some("BacklogSummary")),
        ("A station: a value of `stations`", Some("StationSummary")),
        ("`voap`", Some("VoapSummary")),
        ("`voap.bytes`", Some("VoapBytes")),
        ("A shaper: a value of `autorate`", Some("FollowerSummary")),
    ];
    for (title, name) in names {
        let definition = name.map_or(&schema, |name| &schema["$defs"][name]);
        let _ = write!(page, "\n#### {title}\n\n| key | meaning |\n| --- | --- |\n");
        for (key, property) in definition["properties"].as_object().into_iter().flatten() {
            let text = property["description"].as_str().unwrap_or_default();
            let _ = writeln!(page, "| `{key}` | {} |", text.replace('\n', " "));
        }
    }
    page
}

/// The table of tables in `docs/records.md`, in Markdown.
pub fn tables() -> String {
    let mut page = String::new();
    for table in &TABLES {
        let _ = write!(
            page,
            "\n### `{}`\n\nA row is {}.\n\n| column | type | meaning |\n| --- | --- | --- |\n",
            table.name, table.row
        );
        for column in table.columns() {
            let mut kind = match column.unit {
                Unit::Word(words) => {
                    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
                }
                unit => unit.name().to_string(),
            };
            if column.unit.is_nullable() {
                kind.push_str(" or null");
            }
            let _ = writeln!(page, "| `{}` | {kind} | {} |", column.name, column.about);
        }
    }
    page
}

/// TypeScript declarations: a row of each table, and the summary of a run.
pub fn types() -> String {
    let mut page = String::from(TYPES);
    for table in &TABLES {
        let _ = write!(page, "\n/** A row of `{}`: {}. */\nexport interface ", table.name, table.row);
        let _ = writeln!(page, "{} extends Row {{", row_name(table.name));
        for column in table.columns() {
            let mut kind = match column.unit {
                Unit::Word(words) => {
                    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" | ")
                }
                Unit::Flow => "string".into(),
                _ => "number".into(),
            };
            if column.unit.is_nullable() {
                kind.push_str(" | null");
            }
            let unit = match column.unit {
                Unit::Flow | Unit::Word(_) | Unit::Count | Unit::SmallCount => String::new(),
                unit => format!(" [{}]", unit.name()),
            };
            let _ = writeln!(page, "  /** {}{unit} */\n  {}: {kind};", column.about, column.name);
        }
        page.push_str("}\n");
    }
    page.push_str("\n/** The tables of an experiment by name. */\nexport interface Tables {\n");
    for table in &TABLES {
        let _ = writeln!(page, "  {}: {}[];", table.name, row_name(table.name));
    }
    page.push_str("}\n");
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let summary = settings.into_generator().into_root_schema_for::<RunSummary>().to_value();
    interface(&mut page, &name_of::<RunSummary>(), &summary);
    for (name, definition) in summary["$defs"].as_object().into_iter().flatten() {
        interface(&mut page, name, definition);
    }
    page
}

const TYPES: &str = "\
// Rows of the tables (docs/records.md) and the summary of a run (docs/json-schema.md).
// Generated by crates/record: UPDATE=1 cargo test -p gamelane-record --features schema

/** The first two columns of every table. */
export interface Row {
  /** variant; `run` if nothing was compared */
  variant: string;
  /** seed of the run */
  seed: number;
}
";

/// `RttRow` for the table `rtt`.
fn row_name(table: &str) -> String {
    let (first, rest) = table.split_at(1);
    format!("{}{rest}Row", first.to_uppercase())
}

fn interface(page: &mut String, name: &str, schema: &Value) {
    let comment = |schema: &Value| schema["description"].as_str().unwrap_or_default().replace('\n', " ");
    let _ = write!(page, "\n/** {} */\nexport interface {name} {{\n", comment(schema));
    let required =
        |key: &String| schema["required"].as_array().is_some_and(|keys| keys.contains(&json!(key)));
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        let optional = if required(key) { "" } else { "?" };
        let _ = writeln!(page, "  /** {} */\n  {key}{optional}: {};", comment(property), type_of(property));
    }
    page.push_str("}\n");
}

/// The TypeScript type of a schema. Panics if the summary has a shape that it does not know.
fn type_of(schema: &Value) -> String {
    let any = |all: &Vec<Value>| all.iter().map(type_of).collect::<Vec<_>>().join(" | ");
    if let Some(name) = schema["$ref"].as_str().and_then(|target| target.strip_prefix(DEFINITIONS)) {
        return name.into();
    }
    if let Some(all) = schema["anyOf"].as_array() {
        return any(all);
    }
    match &schema["type"] {
        Value::Array(kinds) => any(&kinds.iter().map(|kind| json!({"type": kind})).collect()),
        Value::String(kind) => match kind.as_str() {
            "integer" | "number" => "number".into(),
            "object" => format!("Record<string, {}>", type_of(&schema["additionalProperties"])),
            "null" | "string" | "boolean" => kind.clone(),
            other => panic!("no TypeScript type for {other}"),
        },
        other => panic!("no TypeScript type for {other}"),
    }
}
