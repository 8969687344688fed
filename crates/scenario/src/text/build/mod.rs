//! From a scenario as written to the model that is run. Checks what a single value cannot show: keys that exclude each
//! other, names that must exist, captures and models that must be readable.

mod access;
mod address;
mod app;
mod autorate;
mod behaviour;
mod classes;
mod classful;
mod docsis;
mod files;
mod flow;
pub(in crate::text) mod link;
mod mmo;
mod queue;
mod rules;
mod tcp;
mod voap;
mod wifi;

use gamelane_core::{Catalogued, Direction, IpLen, Seed};
use gamelane_traffic::App;

use super::cloud::CloudGame;
use super::error::{Fault, ScenarioError};
use super::games::Game;
use super::keys::Flow;
use super::model_file::About;
use super::origin::{Origin, Path};
use super::scenario::Scenario;
use super::words::Word;
use crate::{FlowModel, GatewayModel, HopModel, Model};
use rules::Ends;

/// Builds the model of a scenario that is to be run.
pub(crate) fn model(scenario: &Scenario) -> Result<Model, ScenarioError> {
    flow::check_any(scenario, &Place { origin: &scenario.origin, path: Path::default() })?;
    policy(scenario)
}

/// Builds the model of a scenario for its link and its gateway. It needs no flows.
pub(crate) fn policy(scenario: &Scenario) -> Result<Model, ScenarioError> {
    let top = Place { origin: &scenario.origin, path: Path::default() };
    if scenario.warmup.0 >= scenario.duration.0 {
        let fault = Fault::new(format!("`warmup` covers the whole run of {}", scenario.duration));
        return Err(top.key("warmup").refuse(fault.allowed("less than `duration`")));
    }
    link::check(&scenario.link, &top.key("link"))?;
    let wire = |direction| link::link(&scenario.link, direction, &top.key("link"));
    let mut links = [wire(Direction::Up)?, wire(Direction::Down)?];
    let all = flow::flows(scenario, &top)?;
    let ends: Vec<Ends> = all.iter().map(Ends::of).collect();
    let enabled = all.into_iter().zip(&scenario.flow).filter(|(_, flow)| flow.enabled);
    let flows: Vec<FlowModel> = enabled.map(|(model, _)| model).collect();
    let gateway = top.key("gateway");
    let classes = classes::classes(scenario, &flows, &ends, &gateway)?;
    let access = access::access(scenario, &mut links, &flows, &classes, &top)?;
    let below = Direction::BOTH.map(|direction| access::below(&access, &links, direction));
    let queue = |direction: Direction| {
        let queue = match direction {
            Direction::Up => &scenario.gateway.up,
            Direction::Down => &scenario.gateway.down,
        };
        queue::discipline(queue, &classes, &below[direction.index()], &gateway.key(direction.name()))
    };
    let queues = [queue(Direction::Up)?, queue(Direction::Down)?];
    let hop = |(queue, link)| HopModel { queue, mtu: IpLen(scenario.link.mtu), link };
    let [up, down] = links;
    let [queue_up, queue_down] = queues;
    let gateway_model = GatewayModel {
        voap: voap::voap(scenario, &gateway.key("voap"))?,
        autorate: autorate::both(scenario, &access, &flows, &gateway)?,
        classes: classes.count,
        classifier: classes.classifier,
    };
    Ok(Model {
        access,
        duration: scenario.duration.0,
        warmup: scenario.warmup.0,
        seed: Seed(scenario.seed),
        hops: [(queue_up, up), (queue_down, down)].map(hop),
        gateway: gateway_model,
        flows,
    })
}

/// Refuses what only a real kernel runs.
pub(crate) fn check_simulated(scenario: &Scenario) -> Result<(), ScenarioError> {
    tcp::check_simulated(scenario, &Place { origin: &scenario.origin, path: Path::default() })
}

/// The game model of a flow; `None` if the flow names none, or one that [`model`] refuses.
pub(crate) fn game_of(scenario: &Scenario, flow: &Flow) -> Option<Game> {
    let place = Place { origin: &scenario.origin, path: Path::default() };
    files::game(flow.model.as_deref()?, &place).ok()
}

/// What the model of a flow says about itself; `None` if the flow names none, or one that [`model`] refuses.
pub(crate) fn about_model(scenario: &Scenario, flow: &Flow) -> Option<About> {
    let name = flow.model.as_deref()?;
    let place = Place { origin: &scenario.origin, path: Path::default() };
    match flow.app.0 {
        App::Cloud => CloudGame::shipped(name).ok().map(|game| game.about.clone()),
        App::Mmo => files::mmo(name, &place).ok().map(|mmo| mmo.about),
        _ => files::game(name, &place).ok().map(|game| game.about),
    }
}

/// The place of a value in the scenario, for errors.
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

    fn itself(&self) -> Self {
        Self { origin: self.origin, path: self.path.clone() }
    }

    fn refuse(&self, fault: Fault) -> ScenarioError {
        self.origin.refuse(&self.path, fault)
    }
}

/// Refuses the first of the `given` keys that `reader` does not read. `article` stands before its word in the error.
fn check_readers<T: Catalogued>(
    mut given: impl Iterator<Item = &'static str>,
    reader: Word<T>,
    article: &str,
    place: &Place<'_>,
) -> Result<(), ScenarioError> {
    let Some(key) = given.find(|key| !reader.0.descriptor().keys.contains(key)) else { return Ok(()) };
    let fault = Fault::new(format!("{article}`{reader}` does not read this key"));
    Err(place.key(key).refuse(fault.allowed(format!("only with {}", listed(T::readers(key))))))
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
