//! The generated documents equal what is in `docs/`. `UPDATE=1 cargo test -p gamelane-scenario --features text` writes
//! them anew.

#![cfg(feature = "text")]

use std::path::Path;

#[test]
fn the_reference_page_is_up_to_date() {
    compare("scenario.md", &gamelane_scenario::reference_page());
}

#[test]
fn the_schema_is_up_to_date() {
    let schema = serde_json::to_string_pretty(&gamelane_scenario::schema()).unwrap();
    compare("scenario.schema.json", &(schema + "\n"));
}

fn compare(name: &str, generated: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, generated).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == generated, "docs/{name} is out of date; run with UPDATE=1");
}
