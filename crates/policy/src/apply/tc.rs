//! The lines of `tc` and `nft` for a gateway that runs Linux: those of `gamelane gateway run --engine kernel --dry-run`. They name no
//! interface and no port, but variables of the shell.

use gamelane_core::{Bitrate, Catalogued, Direction, Duration};
use gamelane_link::LinkKind;
use gamelane_qdisc::Limit;
use gamelane_scenario::text::keys::flow::Flow;
use gamelane_scenario::text::keys::queue::{Acks, Queue};
use gamelane_scenario::text::keys::rule::Rule;
use gamelane_scenario::text::keys::{Gateway, Link};
use gamelane_scenario::text::units::{QueueLimit, Rate};
use gamelane_scenario::text::words::Word;
use gamelane_traffic::Transport;
use toml::{Table, Value};

use super::classes::spell_out;
use super::options::{needs_newer_linux, packets, plain};
use super::recipe::{Recipe, once};
use super::rules::{RealRule, Server, on_a_real_network};
use super::setup::{Lane, Setup};
use crate::Policy;
use crate::kernel::test::End;
use crate::kernel::{self, Forwards, Handle, Operation, Place, joins_hurt, text};
use crate::policy::leaves;

pub(super) const TARGET: &str = "tc";

const LAN: &str = "$LAN";
const WAN: &str = "$WAN";
const IFB: &str = "$IFB";
const EDIT: [&str; 3] = [
    "WAN=eth0  # the interface towards the modem",
    "LAN=eth1  # the interface towards the home; its bridge, if it has one",
    "IFB=$(printf %.15s \"gl-$WAN\")",
];
/// Both interfaces and those below them, such as the ports of a bridge.
const ALL: &str = r#"ALL="$WAN $LAN $(cd /sys/class/net && ls -d $WAN/lower_* $LAN/lower_* 2>/dev/null | sed s/.*lower_//)""#;

fn offloads(switch: &str) -> String {
    format!("for dev in $ALL; do ethtool -K $dev gro {switch} gso {switch} tso {switch}; done")
}

/// Rate of the link in a direction that the lines leave alone.
const FAST: Bitrate = Bitrate::from_bps(10_000_000_000);

/// The commands for root on the gateway.
pub(super) fn recipe(setup: &Setup<'_>) -> Recipe {
    if !setup.refused.is_empty() {
        return Recipe::none(TARGET, setup.refused.clone());
    }
    let mut lacking = [&setup.unsaid[..], &setup.elsewhere].concat();
    let mut gateway = shaped(setup, &mut lacking);
    let mut servers = Vec::new();
    let given = &setup.scenario.gateway;
    let has_names = given.priority.as_ref().is_some_and(|names| !names.is_empty());
    if setup.lanes.iter().any(|lane| lane.queue.has_classes()) && (has_names || given.class.is_some()) {
        let said = lacking.len();
        servers = classify(setup, &mut gateway, &mut lacking);
        let empty = empty_classes(&gateway);
        if !empty.is_empty() {
            // Often there is a rule without a counterpart here, and that was said.
            if lacking.len() == said {
                lacking.extend(empty.iter().map(|name| format!("class `{name}` would get no packet.")));
            }
            return Recipe::none(TARGET, lacking);
        }
    }
    let Some(Steps { undo, apply, joins_hurt }) = steps(setup, gateway, &mut lacking) else {
        return Recipe::none(TARGET, lacking);
    };
    let variables = variables(setup);
    let apply = with_variables(apply, &servers, &variables);
    let is_used = |(_, variable): &&(&Flow, String)| {
        let variable = format!("${variable} ");
        apply.iter().any(|line| line.contains(&variable))
    };
    let mut found = Recipe { target: TARGET, undo, unsaid: once(lacking), ..Recipe::default() };
    found.edit.extend(EDIT.map(str::to_owned));
    found.apply.extend(
        setup.lanes.iter().map(|lane| format!("# {}: {} kbit/s, {}", lane.way.name(), lane.kbit(), lane.why)),
    );
    found.apply.extend(needs_newer_linux(&setup.lanes));
    if joins_hurt {
        found.edit.push(ALL.into());
        found.undo.push(offloads("on"));
        let apart = "# Let no packets be joined: a queue would count and send them as one.";
        found.apply.extend([apart.into(), offloads("off"), String::new()]);
    }
    found.edit.extend(variables.iter().filter(is_used).map(|(flow, variable)| port(flow, variable)));
    found.apply.extend(apply);
    found
}

/// A gateway that has the queues and the rates of the lanes, but no classes.
fn shaped(setup: &Setup<'_>, lacking: &mut Vec<String>) -> Gateway {
    let mut gateway = Gateway { shape: Some(setup.shape()), ..Gateway::default() };
    for lane in &setup.lanes {
        let own = match lane.way {
            Direction::Up => &mut gateway.up,
            Direction::Down => &mut gateway.down,
        };
        *own = below_the_shaper(lane, lacking);
    }
    gateway
}

/// A queue without what the shaper takes over.
fn below_the_shaper(lane: &Lane<'_>, lacking: &mut Vec<String>) -> Queue {
    let mut queue = lane.queue.clone();
    queue.bandwidth = queue.bandwidth.filter(|rate| rate.on().is_none());
    if let Some(acks @ (Acks::Filter | Acks::FilterAggressive)) = queue.acks.filter(|_| queue.has_classes()) {
        let way = lane.way.name();
        lacking.push(format!(
            "`gateway.{way}.acks = {acks}`: in Linux only CAKE filters ACKs; here they get a class."
        ));
        queue.acks = Some(Acks::Prioritise);
    }
    queue
}

/// Gives the gateway classes and the rules of a real network. Returns the names of the rules that test the port of a flow's server.
fn classify(setup: &Setup<'_>, gateway: &mut Gateway, lacking: &mut Vec<String>) -> Vec<(String, Server)> {
    match &setup.scenario.gateway.class {
        None => {
            gateway.priority = setup.scenario.gateway.priority.clone();
            spell_out(gateway, |_| true);
        }
        Some(classes) => {
            gateway.class = Some(classes.clone());
            gateway.rule = setup.scenario.gateway.rule.clone();
        }
    }
    let mut rules: Vec<RealRule> = Vec::new();
    for rule in gateway.rule.take().unwrap_or_default() {
        let found = on_a_real_network(setup, &rule);
        lacking.extend(found.unsaid);
        for real in found.rules {
            let nameless =
                |real: &RealRule| RealRule { rule: Rule { name: None, ..real.rule.clone() }, ..real.clone() };
            if !rules.iter().any(|known| nameless(known) == nameless(&real)) {
                rules.push(real);
            }
        }
    }
    let servers = name_each(&mut rules);
    gateway.rule = Some(rules.into_iter().map(|real| real.rule).collect());
    servers
}

/// Gives each rule of a server's port a name of its own.
fn name_each(rules: &mut [RealRule]) -> Vec<(String, Server)> {
    let mut taken: Vec<String> = rules.iter().filter_map(|real| real.rule.name.clone()).collect();
    let mut servers = Vec::new();
    for RealRule { rule, server_of } in rules {
        let (Some(server), Some(way)) = (server_of.take(), rule.direction) else { continue };
        let mut name = format!("{}-{way}", server.flow);
        while taken.contains(&name) {
            name.push('-');
        }
        taken.push(name.clone());
        rule.name = Some(name.clone());
        servers.push((name, server));
    }
    servers
}

/// The classes that would get no packet. The last class needs no rule: it takes the rest.
fn empty_classes(gateway: &Gateway) -> Vec<&str> {
    let mut leaves = leaves(gateway);
    leaves.pop();
    let is_filled = |name: &str| gateway.rule.iter().flatten().any(|rule| rule.class == name);
    leaves.retain(|name| !is_filled(name));
    leaves
}

/// Lines of a shell.
struct Steps {
    /// Those that undo whatever a gateway set up.
    undo: Vec<String>,
    /// Those that set up the policy.
    apply: Vec<String>,
    /// Whether its queues count joined packets as one.
    joins_hurt: bool,
}

/// The lines of the kernel's plan. What Linux cannot do is left out, and a sentence says so. `None` if nothing is left.
fn steps(setup: &Setup<'_>, gateway: Gateway, lacking: &mut Vec<String>) -> Option<Steps> {
    let mut policy = policy(setup, gateway);
    let place = Place {
        lan: LAN.into(),
        wan: WAN.into(),
        ifb: IFB.into(),
        is_ethernet: [true; 2],
        forwards: Forwards::Router,
        tracks: true,
        queue_down: None,
        burst: Duration::from_millis(1),
    };
    loop {
        let read = match Policy::parse(&policy.to_string(), "the lines", &[]) {
            Ok(read) => read,
            Err(refused) => {
                let key = refused.key.as_deref().map_or_else(String::new, |key| format!("`{key}`: "));
                lacking.push(format!("{key}{}.", refused.message));
                return None;
            }
        };
        let refused = match kernel::plan(&read, &place) {
            Ok(kernel::Plan { mut operations, devices, .. }) => {
                let is_set = |way| setup.towards(way).is_some();
                operations.retain(|operation| direction(operation, &devices).is_none_or(is_set));
                return Some(Steps {
                    undo: text::undo(&place),
                    apply: text::lines(&operations),
                    joins_hurt: joins_hurt(&operations),
                });
            }
            Err(refused) => refused,
        };
        let Some((queue, option)) = at(&mut policy, &refused.key) else {
            lacking.push(format!("`{}`: {}.", refused.key, refused.why));
            return None;
        };
        let value = queue.remove(option)?;
        lacking.push(format!("`{} = {}`: {}.", refused.key, plain(&value), refused.why));
        if option == "limit"
            && let Ok(QueueLimit(Limit::Bytes(bytes))) = plain(&value).parse()
        {
            queue.insert(option.into(), format!("{}p", packets(bytes.bytes())).into());
        }
    }
}

/// The policy as TOML: the gateway, and a link with the rates of the lanes.
fn policy(setup: &Setup<'_>, gateway: Gateway) -> Table {
    let rate = |way| Some(setup.towards(way).map_or(Rate(FAST), Lane::set_rate));
    let [up, down] = Direction::BOTH.map(rate);
    let mut scenario = setup.scenario.clone();
    scenario.hosts = None;
    scenario.flow.clear();
    scenario.link = Link {
        title: None,
        provenance: None,
        kind: Word(LinkKind::Wired),
        down,
        up,
        rtt: Default::default(),
        delay: Default::default(),
        jitter: Default::default(),
        loss: Default::default(),
        overhead: setup.overhead(),
        mtu: scenario.link.mtu,
        docsis: None,
        wifi: None,
        trace: None,
    };
    scenario.gateway = gateway;
    scenario.to_toml().parse().expect("a scenario prints TOML")
}

/// The queue and the option that a key names: `gateway.up.limit`, `gateway.class.NAME.queue.limit`. `None` if there is no such
/// option.
fn at<'a, 'k>(policy: &'a mut Table, key: &'k str) -> Option<(&'a mut Table, &'k str)> {
    let (place, option) = key.rsplit_once('.')?;
    let gateway = policy.get_mut("gateway")?.as_table_mut()?;
    let queue = match place.split('.').collect::<Vec<_>>()[..] {
        ["gateway", way] => gateway.get_mut(way)?,
        ["gateway", "class", name, "queue"] => {
            let classes = gateway.get_mut("class")?.as_array_mut()?;
            let is_it = |class: &&mut Value| class.get("name").and_then(Value::as_str) == Some(name);
            classes.iter_mut().find(is_it)?.get_mut("queue")?
        }
        _ => return None,
    };
    let queue = queue.as_table_mut()?;
    queue.contains_key(option).then_some((queue, option))
}

/// The direction that a step is for; `None` for a table, which has rules for the directions with classes.
fn direction(operation: &Operation, devices: &[String; 2]) -> Option<Direction> {
    let device = match operation {
        Operation::Qdisc(qdisc) if qdisc.parent != Handle::INGRESS => &qdisc.device,
        Operation::Class(class) => &class.device,
        Operation::Rest { device, .. } => device,
        Operation::Table(_) => return None,
        Operation::Qdisc(_) | Operation::Ifb { .. } | Operation::Redirect { .. } => {
            return Some(Direction::Down);
        }
    };
    let is_up = *device == devices[Direction::Up.index()];
    Some(if is_up { Direction::Up } else { Direction::Down })
}

/// A shell variable for each flow, for the port of its server.
fn variables<'a>(setup: &Setup<'a>) -> Vec<(&'a Flow, String)> {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let mut found: Vec<(&Flow, String)> = Vec::new();
    for flow in setup.flows() {
        let mut variable = format!("PORT_{}", flow.name.chars().map(plain).collect::<String>());
        while found.iter().any(|(_, taken)| *taken == variable) {
            variable.push('_');
        }
        found.push((flow, variable));
    }
    found
}

/// Puts variables in place of the ports of servers. The lines of a rule follow the comment with its name.
fn with_variables(
    lines: Vec<String>,
    servers: &[(String, Server)],
    variables: &[(&Flow, String)],
) -> Vec<String> {
    let mut server = None;
    let each = lines.into_iter().map(|line| {
        if let Some((_, name)) = line.split_once("# rule: ") {
            let own = servers.iter().find(|(own, _)| own == name).map(|(_, server)| server);
            server = own.and_then(|Server { flow, end }| {
                let (_, variable) = variables.iter().find(|(known, _)| known.name == *flow)?;
                Some((*end, variable))
            });
        }
        let line = match server {
            Some((end, variable)) => with_variable(&line, end, variable),
            None => line,
        };
        // The shell writes the variables into the table. All names in it are plain: a scenario with others is refused.
        line.replace("<<'END'", "<<END")
    });
    each.collect()
}

fn with_variable(line: &str, end: End, variable: &str) -> String {
    let test = match end {
        End::Source => "sport ",
        End::Destination => "dport ",
    };
    let Some((before, after)) = line.split_once(test) else { return line.into() };
    let after = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
    format!("{before}{test}${variable}{after}")
}

fn port(flow: &Flow, variable: &str) -> String {
    let facts = &flow.app.0.descriptor().facts;
    let transport = match facts.transport {
        Transport::Udp => "UDP",
        Transport::Tcp => "TCP",
    };
    format!("{variable}={}  # {transport} port of the server of {}", facts.server_port, flow.name)
}
