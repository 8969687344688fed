//! Rules for a real network: conditions that one packet of it shows.
//!
//! The addresses of a scenario are made up. So a rule tests the port of the flow's server. If many applications share that port, it
//! tests the flow's code point. Conditions on addresses and on behaviour have no counterpart here.

use gamelane_core::Catalogued;
use gamelane_scenario::text::dscp::Dscp;
use gamelane_scenario::text::keys::Flow;
use gamelane_scenario::text::keys::flow::{Role, Way};
use gamelane_scenario::text::keys::rule::{Rule, Transport};
use gamelane_scenario::text::range::{Port, Range};
use gamelane_traffic::{Group, Transport as Carrier};

use super::setup::Setup;
use crate::kernel::test::End;

/// Applications whose server port says nothing: half the internet is on TCP port 443.
const SHARED_PORTS: [Group; 3] = [Group::Transfer, Group::Web, Group::Video];

/// A rule for a real network.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RealRule {
    pub(super) rule: Rule,
    /// The flow whose server's port it tests, if it tests one.
    pub(super) server_of: Option<Server>,
}

/// A flow known by the port of its server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Server {
    pub(super) flow: String,
    /// The end of the packet's way that has the port.
    pub(super) end: End,
}

/// Rules, and why there are none.
#[derive(Default)]
pub(super) struct Found {
    pub(super) rules: Vec<RealRule>,
    pub(super) unsaid: Vec<String>,
}

impl Found {
    fn nothing(why: String) -> Self {
        Self { unsaid: vec![why], ..Self::default() }
    }
}

/// The rules that stand for a `[[gateway.rule]]`.
pub(super) fn on_a_real_network(setup: &Setup<'_>, rule: &Rule) -> Found {
    let name = match &rule.name {
        Some(name) => format!("rule `{name}`"),
        None => format!("a rule for class `{}`", rule.class),
    };
    if let Some(key) = address(rule) {
        return Found::nothing(format!(
            "{name}: `{key}` is an address of the scenario, not of your network."
        ));
    }
    if let Some(condition) = unseen(rule) {
        return Found::nothing(format!("{name}: nft and tc cannot test `{condition}`."));
    }
    let Some(flows) = &rule.flows else {
        return Found { rules: vec![RealRule { rule: rule.clone(), server_of: None }], unsaid: Vec::new() };
    };
    if let Some(twice) = port_or_dscp(rule) {
        return Found::nothing(format!(
            "{name}: the lines know a flow by port or `dscp`, so they leave no `{twice}`."
        ));
    }
    let own = Rule { flows: None, name: None, ..rule.clone() };
    let mut found = Found::default();
    for flow in flows {
        let of_flow = recognise(setup, flow, flows);
        found.unsaid.extend(of_flow.unsaid);
        found.rules.extend(of_flow.rules.into_iter().filter_map(|mark| both(&own, mark)));
    }
    found
}

/// A rule with the conditions of both, unless they are for other directions or protocols.
fn both(own: &Rule, mark: RealRule) -> Option<RealRule> {
    let RealRule { rule, server_of } = mark;
    let meets_way = own.direction.is_none() || rule.direction.is_none() || own.direction == rule.direction;
    let meets = meets_way && (own.protocol.is_none() || own.protocol == rule.protocol);
    let rule = Rule {
        direction: rule.direction.or(own.direction),
        protocol: rule.protocol,
        source_port: rule.source_port,
        destination_port: rule.destination_port,
        dscp: rule.dscp,
        ..own.clone()
    };
    meets.then_some(RealRule { rule, server_of })
}

fn address(rule: &Rule) -> Option<&'static str> {
    let given = [("source", rule.source), ("destination", rule.destination), ("address", rule.address)];
    given.into_iter().find(|(_, prefix)| prefix.is_some()).map(|(key, _)| key)
}

/// A condition on the past of a flow, or one that no single packet shows.
fn unseen(rule: &Rule) -> Option<&'static str> {
    let given = [
        ("rate", rule.rate.is_some()),
        ("gap_deviation", rule.gap_deviation.is_some()),
        ("behaviour", rule.behaviour.is_some()),
        ("ack = false", rule.ack == Some(false)),
    ];
    given.into_iter().find(|(_, is_given)| *is_given).map(|(key, _)| key)
}

fn port_or_dscp(rule: &Rule) -> Option<&'static str> {
    let given = [
        ("port", rule.port.is_some()),
        ("source_port", rule.source_port.is_some()),
        ("destination_port", rule.destination_port.is_some()),
        ("dscp", rule.dscp.is_some()),
    ];
    given.into_iter().find(|(_, is_given)| *is_given).map(|(key, _)| key)
}

/// What tells a flow from all flows but those in `together`, which are in the same class.
fn recognise(setup: &Setup<'_>, name: &str, together: &[String]) -> Found {
    let Some(flow) = setup.flows().find(|flow| flow.name == name) else {
        if setup.scenario.flow.iter().any(|flow| flow.name == name) {
            return Found::default(); // It is switched off.
        }
        return Found::nothing(format!("`{name}` stands for behaviour, which nft and tc cannot test."));
    };
    let server = server(flow);
    let is_together = |other: &&Flow| together.contains(&other.name);
    let others = |is_alike: &dyn Fn(&Flow) -> bool, what: &str| {
        let alike = setup.flows().filter(|other| !is_together(other) && is_alike(other));
        let names: Vec<String> = alike.map(|other| format!("`{}`", other.name)).collect();
        let names = names.join(", ");
        (!names.is_empty()).then(|| {
            Found::nothing(format!(
                "`{name}` has the same {what} as {names}: the lines cannot tell them apart."
            ))
        })
    };
    if SHARED_PORTS.contains(&flow.app.0.descriptor().facts.group) {
        if flow.dscp == Dscp::default() {
            return Found::nothing(format!(
                "nothing tells `{name}` from other traffic: it has no port or `dscp` of its own."
            ));
        }
        let is_alike =
            |other: &Flow| other.dscp == flow.dscp && self::server(other).transport == server.transport;
        if let Some(alike) = others(&is_alike, "`dscp`") {
            return alike;
        }
        let rule = Rule { protocol: Some(server.transport), dscp: Some(only(flow.dscp)), ..Rule::default() };
        return Found { rules: vec![RealRule { rule, server_of: None }], unsaid: Vec::new() };
    }
    let is_alike = |other: &Flow| self::server(other) == server;
    let first = setup.flows().filter(|other| is_alike(other)).find(is_together);
    if first.is_some_and(|first| first.name != name) {
        return Found::default();
    }
    if let Some(alike) = others(&is_alike, "server port") {
        return alike;
    }
    let [from, to] = if server.is_at_home { [Way::Up, Way::Down] } else { [Way::Down, Way::Up] };
    let port = Some(only(Port(server.port)));
    let rules = [(End::Source, from), (End::Destination, to)].map(|(end, way)| {
        let mut rule = Rule { protocol: Some(server.transport), direction: Some(way), ..Rule::default() };
        match end {
            End::Source => rule.source_port = port,
            End::Destination => rule.destination_port = port,
        }
        RealRule { rule, server_of: Some(Server { flow: name.into(), end }) }
    });
    Found { rules: rules.into(), unsaid: Vec::new() }
}

/// Where a flow's server listens.
#[derive(Clone, Copy, PartialEq)]
struct Listener {
    transport: Transport,
    port: u16,
    is_at_home: bool,
}

fn server(flow: &Flow) -> Listener {
    let facts = &flow.app.0.descriptor().facts;
    let transport = match facts.transport {
        Carrier::Udp => Transport::Udp,
        Carrier::Tcp => Transport::Tcp,
    };
    Listener { transport, port: facts.server_port, is_at_home: flow.role == Some(Role::Host) }
}

fn only<T: Copy>(value: T) -> Range<T> {
    Range { low: Some(value), high: Some(value) }
}
