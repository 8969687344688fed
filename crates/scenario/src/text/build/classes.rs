//! `[gateway] priority` to the rules that put packets into classes: 0 for the flows it names, 1 for pure ACKs, 2 for the
//! rest. A flow is known by its server, which no other flow has.

use gamelane_core::ClassId;
use gamelane_qdisc::ClassifierConfig;
use gamelane_qdisc::classify::{Conditions, Prefix, Rule};

use super::Place;
use crate::text::error::{Fault, ScenarioError};
use crate::text::keys::gateway::Discipline;
use crate::text::scenario::Scenario;
use crate::{CLASSES, FlowModel};

const FIRST: ClassId = ClassId(0);
const ACKS: ClassId = ClassId(1);
const REST: ClassId = ClassId(2);

/// Servers there are; flows beyond them share one.
const SERVERS: usize = 200;

/// The classifier, if a queue asks for classes.
pub(super) fn classifier(
    scenario: &Scenario,
    flows: &[FlowModel],
    gateway: &Place<'_>,
) -> Result<Option<ClassifierConfig>, ScenarioError> {
    let place = gateway.key("priority");
    let names = scenario.gateway.priority.as_deref().unwrap_or_default();
    check_names(scenario, names, &place)?;
    let own = [("up", &scenario.gateway.up), ("down", &scenario.gateway.down)];
    let asking = own.into_iter().find(|(_, queue)| queue.queue == Discipline::Priority);
    // Left as it is where no queue reads it, so that queues can be compared by one key.
    let Some((direction, queue)) = asking else { return Ok(None) };
    if names.is_empty() && queue.acks.is_none() {
        let fault = Fault::new("this queue is told of nothing that goes first");
        let hint = format!("[gateway] priority = [\"{}\"]", scenario.flow[0].name);
        return Err(gateway.key(direction).key("queue").refuse(fault.hint(hint)));
    }
    if scenario.flow.len() > SERVERS {
        let fault = Fault::new("so many flows are not told apart").allowed(format!("up to {SERVERS} flows"));
        return Err(place.refuse(fault));
    }
    // A flow that is switched off has no packets.
    let named = flows.iter().filter(|flow| names.contains(&flow.name));
    let first = |flow: &FlowModel| {
        let server = Prefix::host(flow.key.destination.ip());
        let when = Conditions { address: Some(server), ..Conditions::default() };
        Rule { name: flow.name.clone(), class: FIRST, when }
    };
    let mut rules: Vec<Rule> = named.map(first).collect();
    if flows.iter().all(|flow| names.contains(&flow.name)) && queue.acks.is_none() {
        let fault = Fault::new("every flow goes first: none would go before another");
        return Err(place.refuse(fault.hint("leave out what may wait")));
    }
    let when = Conditions { pure_ack: Some(true), ..Conditions::default() };
    rules.push(Rule { name: "pure ACKs".into(), class: ACKS, when });
    let config = ClassifierConfig { rules, default: REST, ..ClassifierConfig::default() };
    debug_assert_eq!(config.check(CLASSES), Ok(()), "every flow has a server of its own");
    Ok(Some(config))
}

fn check_names(scenario: &Scenario, names: &[String], place: &Place<'_>) -> Result<(), ScenarioError> {
    for (index, name) in names.iter().enumerate() {
        let place = place.index(index);
        if !scenario.flow.iter().any(|flow| flow.name == *name) {
            let fault = Fault::new("there is no such flow");
            let flows = scenario.flow.iter().map(|flow| flow.name.as_str());
            return Err(place.refuse(fault.one_of(name, flows)));
        }
        if names[..index].contains(name) {
            let fault = Fault::new("this flow is named before: nothing would be left for a second rule");
            return Err(place.refuse(fault.hint("name it once")));
        }
    }
    Ok(())
}
