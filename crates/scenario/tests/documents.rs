//! The documents in `docs/` equal those generated from the code. `UPDATE=1 cargo test -p gamelane-scenario --features text`
//! writes them.

use std::path::Path;

use gamelane_scenario::Scenario;

#[test]
fn the_reference_page_is_up_to_date() {
    compare("scenario.md", &gamelane_scenario::reference_page());
}

#[test]
fn the_schema_is_up_to_date() {
    let schema = serde_json::to_string_pretty(&gamelane_scenario::schema()).unwrap();
    compare("scenario.schema.json", &(schema + "\n"));
}

#[test]
fn the_defaults_we_print_are_those_in_force() {
    let schema = gamelane_scenario::schema();
    let model = |sets: &[(String, String)]| {
        let scenario =
            Scenario::parse(HOUSEHOLD, "household.toml", sets).unwrap_or_else(|refusal| panic!("{refusal}"));
        scenario.to_model().unwrap_or_else(|refusal| panic!("{refusal}"))
    };
    let mut checked = 0;
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        for (key, property) in definition["properties"].as_object().into_iter().flatten() {
            let Some(default) = property["x-default"].as_str() else { continue };
            let (before, dotted) = place(name, key);
            let value = match key.as_str() {
                "rates" => format!("[\"{}\"]", default.replace(", ", "\", \"")),
                _ => default.to_owned(),
            };
            let before: Vec<_> =
                before.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
            let with_default = [before.as_slice(), &[(dotted, value)]].concat();
            assert_eq!(model(&before), model(&with_default), "{name}.{key}");
            checked += 1;
        }
    }
    assert!(checked > 60, "only {checked} defaults were compared");
}

/// The settings under which a key is read, and the key with its table.
fn place(definition: &str, key: &str) -> (Vec<(&'static str, &'static str)>, String) {
    let first = ("gateway.priority", "[\"game\"]");
    match (definition, key) {
        ("Tcp", "modified_in_flight" | "modified_margin_shift") => {
            (vec![("tcp.timer", "modified")], format!("tcp.{key}"))
        }
        ("Tcp", "rdb_shortest_interval") => (vec![("tcp.rdb", "true")], format!("tcp.{key}")),
        ("Tcp", _) => (vec![], format!("tcp.{key}")),
        ("Queue", "acks") => (vec![("gateway.up.queue", "priority"), first], format!("gateway.up.{key}")),
        ("Queue", "tins" | "isolation" | "rtt") => {
            (vec![("gateway.up.queue", "cake")], format!("gateway.up.{key}"))
        }
        ("Queue", _) => (vec![("gateway.up.queue", "dualpi2")], format!("gateway.up.{key}")),
        ("Docsis", _) => (vec![("link.kind", "docsis")], format!("link.docsis.{key}")),
        ("Wifi", "cts_rate") => (
            vec![("link.kind", "wifi-g"), ("link.wifi.protection", "cts-to-self")],
            "link.wifi.cts_rate".into(),
        ),
        ("Wifi", _) => (vec![("link.kind", "wifi-g")], format!("link.wifi.{key}")),
        ("Autorate", _) => (
            vec![("gateway.shape.up", "900kbit"), ("gateway.autorate.up", "true")],
            format!("gateway.autorate.up.{key}"),
        ),
        ("Flow", "codec") => (vec![], "flow.voip.codec".into()),
        ("Flow", "role" | "enabled") => (vec![], format!("flow.game.{key}")),
        ("Flow", "every") => (vec![], "flow.web.every".into()),
        ("Flow", "buffer") => (vec![], "flow.adaptive.buffer".into()),
        ("Flow", "carriage" | "paths") => (vec![], format!("flow.mmo.{key}")),
        ("Flow", "carriers") => (vec![], "flow.mux.carriers".into()),
        ("Flow", _) => (vec![], format!("flow.cycle.{key}")),
        other => panic!("no place is known for {other:?}"),
    }
}

const HOUSEHOLD: &str = "
name = \"all\"
link = { up = \"1mbit\", down = \"1mbit\" }
flow = [
    { name = \"game\", app = \"game\", model = \"quake3\" },
    { name = \"voip\", app = \"voip\" },
    { name = \"web\", app = \"web\", size = \"1KiB\" },
    { name = \"cycle\", app = \"dash\" },
    { name = \"adaptive\", app = \"dash\", requests = \"adaptive\" },
    { name = \"mmo\", app = \"mmo\", model = \"anarchy-online\" },
    { name = \"mux\", app = \"mmo\", model = \"anarchy-online\", carriage = \"mux\" },
]
";

fn compare(name: &str, generated: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, generated).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == generated, "docs/{name} is out of date; run with UPDATE=1");
}
