//! `gateway.priority` as classes and rules, for gateways that know flows by other marks than the simulator.

use gamelane_core::Direction;
use gamelane_scenario::text::each_way::{EachWay, Split};
use gamelane_scenario::text::keys::Gateway;
use gamelane_scenario::text::keys::class::Class;
use gamelane_scenario::text::keys::flow::Way;
use gamelane_scenario::text::keys::queue::{Acks, Queue};
use gamelane_scenario::text::keys::rule::{Behaviour, Rule};
use gamelane_scenario::text::share::RateShare;

use super::setup::queue;

/// Share of each class in HTB where ACKs have none of their own.
const HALF: &str = "49.99%";
/// Share of each class where ACKs have one.
const APART: &str = "33.33%";
/// Share of the class for ACKs in a direction that has no use for it.
const NONE: &str = "0.02%";

/// Replaces `priority` by `class` and `rule`, and takes `acks` out of queues whose ACKs a rule now tells apart.
///
/// `is_flow` says which names are those of flows. The others stand for a behaviour.
pub fn spell_out(gateway: &mut Gateway, is_flow: impl Fn(&str) -> bool) {
    let names = gateway.priority.take().unwrap_or_default();
    let has_own = |way| asks_for_acks(queue(gateway, way));
    let prioritise = Direction::BOTH.map(has_own);
    let shares: &[(&str, &str)] = match prioritise.contains(&true) {
        true => &[("first", APART), ("acks", APART), ("rest", APART)],
        false => &[("first", HALF), ("rest", HALF)],
    };
    let class = |(name, share): &(&str, &str)| {
        let alone = if *name == "acks" { NONE } else { HALF };
        let [up, down] = prioritise.map(|apart| Some(percent(if apart { share } else { alone })));
        Class {
            name: (*name).into(),
            rate: Some(EachWay::Split(Split { up, down })),
            priority: u8::from(*name == "rest"),
            ..Class::default()
        }
    };
    gateway.class = Some(shares.iter().map(class).collect());

    let (flows, behaviours): (Vec<String>, Vec<String>) = names.into_iter().partition(|name| is_flow(name));
    let mut rules = Vec::new();
    if !flows.is_empty() {
        rules.push(Rule { class: "first".into(), flows: Some(flows), ..Rule::default() });
    }
    if !behaviours.is_empty() {
        let behaviour = Some(Behaviour::RealTime);
        rules.push(Rule { class: "first".into(), behaviour, ..Rule::default() });
    }
    let ways = [(&mut gateway.up, Way::Up), (&mut gateway.down, Way::Down)];
    for (queue, way) in ways.into_iter().filter(|(queue, _)| asks_for_acks(queue)) {
        queue.acks = None;
        rules.push(Rule {
            name: Some(format!("acks-{way}")),
            class: "acks".into(),
            direction: Some(way),
            ack: Some(true),
            ..Rule::default()
        });
    }
    gateway.rule = Some(rules);
}

fn asks_for_acks(queue: &Queue) -> bool {
    queue.acks == Some(Acks::Prioritise) && queue.has_classes()
}

fn percent(text: &str) -> RateShare {
    text.parse().expect("the shares above are percentages")
}
