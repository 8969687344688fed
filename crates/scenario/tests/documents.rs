//! The generated documents equal what is in `docs/`. `UPDATE=1 cargo test -p gamelane-scenario --features text` writes
//! them anew.

#![cfg(feature = "text")]

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
    let plain = model(&[]);
    let dotted = |definition: &str, key: &str| match (definition, key) {
        ("Tcp", key) => format!("tcp.{key}"),
        (_, "codec") => "flow.voip.codec".into(),
        (_, "role") => "flow.game.role".into(),
        (_, "every") => "flow.web.every".into(),
        (_, "buffer") => "flow.adaptive.buffer".into(),
        (_, "carriage" | "paths") => format!("flow.mmo.{key}"),
        (_, "carriers") => "flow.mux.carriers".into(),
        (_, key) => format!("flow.cycle.{key}"),
    };
    for definition in ["Tcp", "Flow"] {
        for (key, property) in schema["$defs"][definition]["properties"].as_object().unwrap() {
            let Some(default) = property["x-default"].as_str() else { continue };
            let value = if key == "rates" {
                "[\"".to_owned() + &default.replace(", ", "\", \"") + "\"]"
            } else {
                default.into()
            };
            assert_eq!(plain, model(&[(dotted(definition, key), value)]), "{definition}.{key}");
        }
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
