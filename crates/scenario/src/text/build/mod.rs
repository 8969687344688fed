//! From what was written to what is run. Here is checked what no single value shows: keys that do not go together,
//! names that must exist, captures and models that must be read.

mod access;
mod address;
mod app;
mod classes;
mod docsis;
mod files;
mod flow;
mod gateway;
pub(in crate::text) mod link;
mod mmo;
mod tcp;
mod voap;
mod wifi;

use gamelane_core::{Direction, IpLen, Seed};

use super::error::{Fault, ScenarioError};
use super::games::Game;
use super::keys::Flow;
use super::origin::{Origin, Path};
use super::scenario::Scenario;
use crate::{GatewayModel, HopModel, Model};

/// Builds the model of a scenario.
pub(crate) fn model(scenario: &Scenario) -> Result<Model, ScenarioError> {
    let top = Place { origin: &scenario.origin, path: Path::default() };
    if scenario.warmup.0 >= scenario.duration.0 {
        let fault = Fault::new(format!("nothing is left of a run of {}", scenario.duration));
        return Err(top.key("warmup").refuse(fault.allowed("less than `duration`")));
    }
    let hop = |direction: Direction| -> Result<HopModel, ScenarioError> {
        let queue = match direction {
            Direction::Up => &scenario.gateway.up,
            Direction::Down => &scenario.gateway.down,
        };
        Ok(HopModel {
            queue: gateway::discipline(queue, &top.key("gateway").key(direction.name()))?,
            mtu: IpLen(scenario.link.mtu),
            link: link::link(&scenario.link, direction, &top.key("link"))?,
        })
    };
    link::check(&scenario.link, &top.key("link"))?;
    let mut hops = [hop(Direction::Up)?, hop(Direction::Down)?];
    let flows = flow::flows(scenario, &top)?;
    Ok(Model {
        access: access::access(scenario, &mut hops, &flows, &top)?,
        duration: scenario.duration.0,
        warmup: scenario.warmup.0,
        seed: Seed(scenario.seed),
        hops,
        gateway: GatewayModel {
            voap: voap::voap(scenario, &top.key("gateway").key("voap"))?,
            classifier: classes::classifier(scenario, &flows, &top.key("gateway"))?,
        },
        flows,
    })
}

/// The game model a flow names; `None` if it names none, or one that cannot be read, which [`model`] refuses.
pub(crate) fn game_of(scenario: &Scenario, flow: &Flow) -> Option<Game> {
    let place = Place { origin: &scenario.origin, path: Path::default() };
    files::game(flow.model.as_deref()?, &place).ok()
}

/// One value of the scenario, for errors about it.
struct Place<'a> {
    origin: &'a Origin,
    path: Path,
}

impl Place<'_> {
    fn key(&self, key: &str) -> Self {
        Self { origin: self.origin, path: self.path.key(key) }
    }

    fn index(&self, index: usize) -> Self {
        Self { origin: self.origin, path: self.path.index(index) }
    }

    fn refuse(&self, fault: Fault) -> ScenarioError {
        self.origin.refuse(&self.path, fault)
    }
}

/// `a, b and c`.
fn listed<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
        None => String::new(),
    }
}
