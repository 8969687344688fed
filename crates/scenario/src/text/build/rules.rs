//! `[[gateway.rule]]` to a classifier. A rule that can never match is refused: one that contradicts itself, one whose
//! packets all match an earlier rule, and one that no flow of the scenario meets.

use gamelane_core::{ClassId, Direction, FlowKey, Protocol};
use gamelane_qdisc::ClassifierConfig;
use gamelane_qdisc::classify::{Conditions, Prefix, Rule, RuleError, Span};

use super::Place;
use crate::text::error::{Fault, ScenarioError};
use crate::text::keys;
use crate::text::origin::is_plain;
use crate::text::scenario::Scenario;
use crate::{Carriage, FlowModel};

/// Number of server addresses. Flows beyond it share addresses.
const SERVERS: usize = 200;

/// Both ends of a flow, and what else rules can match.
pub(super) struct Ends {
    name: String,
    key: FlowKey,
    dscp: u8,
    /// Its players have addresses of their own.
    many: bool,
    /// It uses both transport protocols.
    datagrams: bool,
}

impl Ends {
    pub(super) fn of(flow: &FlowModel) -> Self {
        Self {
            name: flow.name.clone(),
            key: flow.key,
            dscp: flow.dscp,
            many: flow.players > 1,
            datagrams: flow.carriage == Carriage::Datagrams,
        }
    }

    /// True unless no packet of the flow meets the conditions. Client ports of TCP count up with each connection, so
    /// all later ports count as possible.
    fn may_meet(&self, when: &Conditions) -> bool {
        let ways =
            Direction::BOTH.into_iter().filter(|way| when.direction.is_none_or(|wanted| wanted == *way));
        let protocol = |wanted: Protocol| self.datagrams || wanted == self.key.protocol;
        when.protocol.is_none_or(protocol)
            && (when.pure_ack != Some(true) || protocol(Protocol::Tcp))
            && when.dscp.is_none_or(|span| span.contains(self.dscp))
            && ways.into_iter().any(|way| self.ends_meet(when, way))
    }

    fn ends_meet(&self, when: &Conditions, way: Direction) -> bool {
        let (home, server) = (self.key.source, self.key.destination);
        let (at_home, at_server) = match way {
            Direction::Up => ((when.source, when.source_port), (when.destination, when.destination_port)),
            Direction::Down => ((when.destination, when.destination_port), (when.source, when.source_port)),
        };
        let lives_at_home = |prefix: Prefix| self.many || prefix.contains(home.ip());
        let counts_up = self.key.protocol == Protocol::Tcp;
        let home_port =
            |span: Span<u16>| span.contains(home.port()) || (counts_up && span.high > home.port());
        at_home.0.is_none_or(lives_at_home)
            && at_home.1.is_none_or(home_port)
            && at_server.0.is_none_or(|prefix| prefix.contains(server.ip()))
            && at_server.1.is_none_or(|span| span.contains(server.port()))
            && when.address.is_none_or(|prefix| lives_at_home(prefix) || prefix.contains(server.ip()))
            && when.port.is_none_or(|span| home_port(span) || span.contains(server.port()))
    }
}

/// The classifier of the rules as written. `leaves` are the classes they may name, with their positions.
pub(super) fn classifier(
    scenario: &Scenario,
    leaves: &[(usize, &str)],
    ends: &[Ends],
    gateway: &Place<'_>,
) -> Result<ClassifierConfig, ScenarioError> {
    let place = gateway.key("rule");
    let written = scenario.gateway.rule.as_deref().unwrap_or_default();
    let mut config = ClassifierConfig {
        default: ClassId(leaves.len() as u8 - 1),
        flows: super::behaviour::flow_table(scenario, gateway)?,
        ..ClassifierConfig::default()
    };
    // For each rule of the classifier, the position of its rule in the file.
    let mut origin = Vec::new();
    for (index, rule) in written.iter().enumerate() {
        let own = expand(scenario, rule, index, leaves, ends, &place)?;
        origin.extend(own.iter().map(|_| index));
        config.rules.extend(own);
    }
    if let Err(error) = config.check(leaves.len()) {
        return Err(refuse(&error, &config, &origin, &place));
    }
    for (rule, index) in config.rules.iter().zip(&origin) {
        if !ends.is_empty() && !ends.iter().any(|flow| flow.may_meet(&rule.when)) {
            return Err(no_flow(ends, &place.index(*index)));
        }
    }
    // The last class needs no rule: packets without a match go there.
    for (class, (index, _)) in leaves.iter().enumerate().rev().skip(1) {
        if !config.rules.iter().any(|rule| rule.class.index() == class) {
            let fault = Fault::new("no rule assigns packets to this class");
            let hint = "add a [[gateway.rule]] for it, or list it last: packets that match no rule go there";
            return Err(gateway.key("class").index(*index).refuse(fault.hint(hint)));
        }
    }
    Ok(config)
}

/// Expands a rule of the file: one rule for each flow that it names, or a single rule.
fn expand(
    scenario: &Scenario,
    rule: &keys::Rule,
    index: usize,
    leaves: &[(usize, &str)],
    ends: &[Ends],
    place: &Place<'_>,
) -> Result<Vec<Rule>, ScenarioError> {
    let rules = scenario.gateway.rule.as_deref().unwrap_or_default();
    let (all, place) = (place, place.index(index));
    if let Some(name) = &rule.name {
        if !is_plain(name) {
            let fault =
                Fault::new("this name has characters that are not allowed").allowed("a-z, 0-9, _ and -");
            return Err(place.key("name").refuse(fault));
        }
        if rules[..index].iter().any(|other| other.name.as_ref() == Some(name)) {
            return Err(place.key("name").refuse(Fault::new("an earlier rule has the same name")));
        }
    }
    let Some(class) = leaves.iter().position(|(_, name)| *name == rule.class) else {
        let known = scenario.gateway.class.iter().flatten().any(|class| class.name == rule.class);
        let names = leaves.iter().map(|(_, name)| *name);
        let fault = if known {
            let names: Vec<&str> = names.collect();
            Fault::new("packets cannot go to a class with children").allowed(names.join(", "))
        } else {
            Fault::new("no such class").one_of(&rule.class, names)
        };
        return Err(place.key("class").refuse(fault));
    };
    let when = rule.conditions();
    let label = rule.name.clone().unwrap_or_else(|| format!("number {}", index + 1));
    let class = ClassId(class as u8);
    let Some(names) = &rule.flows else {
        if when == Conditions::default() {
            let fault = Fault::new("this rule has no condition, so every packet would match");
            return Err(place.refuse(fault.hint("remove it and list its class last")));
        }
        return Ok(vec![Rule { name: label, class, when }]);
    };
    if names.is_empty() {
        let fault =
            Fault::new("the list of flows is empty").hint("remove this key to match packets of any flow");
        return Err(place.key("flows").refuse(fault));
    }
    if when.address.is_some() {
        let fault =
            Fault::new("`flows` and `address` exclude each other: `flows` already selects by address");
        return Err(place.key("address").refuse(fault.hint("use `source` or `destination`")));
    }
    check_names(scenario, names, &[], &place.key("flows"))?;
    check_servers(scenario, all)?;
    let named = ends.iter().filter(|flow| names.contains(&flow.name));
    Ok(named
        .map(|flow| Rule {
            name: label.clone(),
            class,
            when: Conditions { address: Some(server(flow.key)), ..when },
        })
        .collect())
}

/// The server address of a flow, which identifies it.
pub(super) fn server(key: FlowKey) -> Prefix {
    Prefix::host(key.destination.ip())
}

/// Refuses scenarios with more flows than server addresses.
pub(super) fn check_servers(scenario: &Scenario, place: &Place<'_>) -> Result<(), ScenarioError> {
    if scenario.flow.len() <= SERVERS {
        return Ok(());
    }
    let fault = Fault::new("rules and priorities by flow name work with few flows only")
        .allowed(format!("up to {SERVERS} flows"));
    Err(place.refuse(fault))
}

/// Checks that the names are those of flows, or among `others`, each listed once.
pub(super) fn check_names(
    scenario: &Scenario,
    names: &[String],
    others: &[&str],
    place: &Place<'_>,
) -> Result<(), ScenarioError> {
    for (index, name) in names.iter().enumerate() {
        let place = place.index(index);
        let known = || scenario.flow.iter().map(|flow| flow.name.as_str()).chain(others.iter().copied());
        if !known().any(|known| known == name) {
            return Err(place.refuse(Fault::new("no such flow").one_of(name, known())));
        }
        if names[..index].contains(name) {
            let fault = Fault::new("this flow is listed twice");
            return Err(place.refuse(fault.hint("list it once")));
        }
    }
    Ok(())
}

/// The error for a rule that never matches.
fn refuse(
    error: &RuleError,
    config: &ClassifierConfig,
    origin: &[usize],
    place: &Place<'_>,
) -> ScenarioError {
    let at = |label: &String| {
        let rule = config.rules.iter().position(|rule| rule.name == *label).unwrap_or_default();
        place.index(origin[rule])
    };
    match error {
        RuleError::Shadowed { rule, by } => {
            let fault = Fault::new(format!(
                "this rule never matches: an earlier rule ({by}) matches all its packets"
            ));
            at(rule).refuse(fault.hint("list the narrower rule first, or remove this one"))
        }
        RuleError::Contradiction { rule, one, other } => {
            let message = if one == other {
                "this rule never matches: no packet meets this condition".into()
            } else {
                format!("this rule never matches: no packet meets this condition and `{}`", written(other))
            };
            at(rule).key(written(one)).refuse(Fault::new(message))
        }
        RuleError::NoSuchClass { .. } => unreachable!("classes are numbered as they are looked up"),
    }
}

/// The scenario's key for a condition.
fn written(condition: &'static str) -> &'static str {
    match condition {
        "len" => "size",
        "pure_ack" => "ack",
        "gap_deviation_percent" => "gap_deviation",
        other => other,
    }
}

fn no_flow(ends: &[Ends], place: &Place<'_>) -> ScenarioError {
    let fault = Fault::new("this rule never matches: no flow of this scenario has packets like this");
    let said = |flow: &Ends| {
        let protocol = match flow.key.protocol {
            Protocol::Tcp => "tcp",
            _ => "udp",
        };
        let dscp = crate::text::dscp::Dscp(flow.dscp);
        format!("`{}` is {protocol} from {} to {}, {dscp}", flow.name, flow.key.source, flow.key.destination)
    };
    let few: Vec<String> = ends.iter().take(4).map(said).collect();
    place.refuse(fault.hint(few.join("; ")))
}
