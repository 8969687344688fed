//! A checked scenario in words and numbers, for a page.

use gamelane_core::Direction;
use gamelane_scenario::{FlowDescription, FlowModel, Model, Scenario};
use serde::Serialize;

/// A checked scenario, as a page shows it.
#[derive(Debug, Serialize)]
pub(crate) struct Description {
    name: String,
    question: String,
    hash: String,
    seed: u64,
    duration_s: f64,
    warmup_s: f64,
    /// The scenario as a file.
    toml: String,
    /// Its keys as written, with overrides and presets applied.
    keys: serde_json::Value,
    flows: Vec<Flow>,
    caveats: Vec<String>,
    /// Rates on the medium, by direction. A medium that follows a trace has its own.
    rate_bps: Ways<u64>,
}

#[derive(Debug, Serialize)]
struct Flow {
    name: String,
    app: &'static str,
    label: String,
    /// Base delay of the path between gateway and server.
    path_ms: Ways<f64>,
}

#[derive(Debug, Serialize)]
struct Ways<T> {
    up: T,
    down: T,
}

impl<T> Ways<T> {
    fn of(each: impl Fn(Direction) -> T) -> Self {
        Self { up: each(Direction::Up), down: each(Direction::Down) }
    }
}

impl Description {
    pub(crate) fn new(scenario: &Scenario, model: &Model) -> Self {
        let flows = scenario.describe_flows().into_iter().zip(&model.flows);
        Self {
            name: scenario.name().to_owned(),
            question: scenario.question().to_owned(),
            hash: scenario.hash(),
            seed: model.seed.0,
            duration_s: model.duration.as_secs_f64(),
            warmup_s: model.warmup.as_secs_f64(),
            toml: scenario.show(),
            flows: flows.map(Flow::from).collect(),
            caveats: scenario.caveats(model),
            rate_bps: Ways::of(|direction| model.hop(direction).link.rate.bps()),
            keys: scenario.keys(),
        }
    }
}

impl From<(FlowDescription, &FlowModel)> for Flow {
    fn from((of, model): (FlowDescription, &FlowModel)) -> Self {
        Self {
            name: of.name,
            app: of.app,
            label: of.label,
            path_ms: Ways::of(|direction| model.paths[direction.index()].delay.as_millis_f64()),
        }
    }
}
