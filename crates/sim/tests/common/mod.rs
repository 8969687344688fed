//! Models for the tests, made from shipped scenarios.

pub(crate) mod queues;

use std::path::Path;

use gamelane_scenario::{Model, Scenario};

/// A shipped scenario with overrides.
pub(crate) fn model(name: &str, overrides: &[(&str, &str)]) -> Model {
    with(name, "", overrides)
}

/// A shipped scenario with more text at its end, and overrides.
pub(crate) fn with(name: &str, more: &str, overrides: &[(&str, &str)]) -> Model {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../scenarios/{name}.toml"));
    let text = std::fs::read_to_string(&file).expect("the shipped scenario is readable") + more;
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let scenario = Scenario::parse(&text, &file.to_string_lossy(), &overrides);
    scenario.and_then(|scenario| scenario.to_model()).unwrap_or_else(|error| panic!("{error}"))
}
