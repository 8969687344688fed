//! `[[flow]]` to flows: names, hosts, times and paths. `app` builds the application.

use gamelane_core::Direction;
use gamelane_traffic::config::{AppConfig, Schedule};

use super::address::{self, Hosts, MOST_FLOWS};
use super::mmo::Players;
use super::{Place, app, check_readers, link, mmo, tcp};
use crate::FlowModel;
use crate::text::error::{Fault, ScenarioError};
use crate::text::keys::Flow;
use crate::text::origin::is_plain;
use crate::text::scenario::Scenario;

/// Refuses a scenario without flows: nothing would be run.
pub(super) fn check_any(scenario: &Scenario, top: &Place<'_>) -> Result<(), ScenarioError> {
    let all = top.key("flow");
    if scenario.flow.is_empty() {
        let fault = Fault::new("this scenario has no flow")
            .hint("add with = [\"valorant\"], or a [[flow]] with a name and an app");
        return Err(all.refuse(fault));
    }
    if !scenario.flow.iter().any(|flow| flow.enabled) {
        let fault = Fault::new("all flows are disabled");
        return Err(all.refuse(fault.hint("remove `enabled = false` from one of them")));
    }
    Ok(())
}

/// All flows in the order of the file, enabled or not.
pub(super) fn flows(scenario: &Scenario, top: &Place<'_>) -> Result<Vec<FlowModel>, ScenarioError> {
    let all = top.key("flow");
    if scenario.flow.len() > MOST_FLOWS {
        return Err(all.refuse(Fault::new("these are too many flows").allowed(format!("up to {MOST_FLOWS}"))));
    }
    tcp::check(&scenario.tcp, &top.key("tcp"))?;
    let named = scenario.hosts.as_deref().unwrap_or_default();
    check_hosts(named, &top.key("hosts"))?;
    let mut hosts = Hosts::new(named);
    let mut flows = Vec::with_capacity(scenario.flow.len());
    for (index, flow) in scenario.flow.iter().enumerate() {
        let place = all.index(index);
        check_name(scenario, index, &place)?;
        check_host(scenario, flow, &place)?;
        check_keys(flow, &place)?;
        if let Some(tcp) = &flow.tcp {
            tcp::check(tcp, &place.key("tcp"))?;
        }
        if flow.stop.is_some_and(|stop| stop.0 <= flow.start.0) {
            let fault = Fault::new(format!("`stop` is not later than `start`, {}", flow.start));
            return Err(place.key("stop").refuse(fault.allowed("later than `start`")));
        }
        let host = hosts.place(flow.host.as_deref());
        let tcp = tcp::merged(&scenario.tcp, flow.tcp.as_ref());
        tcp::check_together(&tcp, flow, &place.key("tcp"), &top.key("tcp"))?;
        let app = app::app(flow, scenario.link.mtu, &place)?;
        let players = match &app {
            AppConfig::Mmo(mmo) => mmo::players(flow, mmo, &scenario.link, &place)?,
            _ => Players::default(),
        };
        flows.push(FlowModel {
            name: flow.name.clone(),
            app,
            schedule: Schedule { start: flow.start.0, stop: flow.stop.map(|stop| stop.0) },
            tcp: tcp::endpoint(&tcp, scenario.link.mtu),
            key: address::key(index, host, flow.app.0),
            paths: Direction::BOTH.map(|direction| link::path(&scenario.link, flow, direction)),
            dscp: flow.dscp.0,
            players: players.count,
            carriage: players.carriage,
            player_paths: players.paths,
        });
    }
    Ok(flows)
}

fn check_hosts(hosts: &[String], place: &Place<'_>) -> Result<(), ScenarioError> {
    let twice = hosts.iter().enumerate().find(|(index, host)| hosts[..*index].contains(host));
    match twice {
        Some((index, host)) => {
            Err(place.index(index).refuse(Fault::new(format!("the host `{host}` is listed twice"))))
        }
        None => Ok(()),
    }
}

fn check_name(scenario: &Scenario, index: usize, place: &Place<'_>) -> Result<(), ScenarioError> {
    let name = &scenario.flow[index].name;
    if !is_plain(name) {
        let fault = Fault::new("this name has characters that are not allowed").allowed("a-z, 0-9, _ and -");
        return Err(place.key("name").refuse(fault));
    }
    if scenario.flow[..index].iter().any(|before| before.name == *name) {
        let fault = Fault::new("an earlier flow has the same name");
        return Err(place.key("name").refuse(fault.hint(format!("call it \"{name}-2\""))));
    }
    Ok(())
}

fn check_host(scenario: &Scenario, flow: &Flow, place: &Place<'_>) -> Result<(), ScenarioError> {
    let (Some(hosts), Some(host)) = (&scenario.hosts, &flow.host) else { return Ok(()) };
    if hosts.contains(host) {
        return Ok(());
    }
    let fault = Fault::new("no such host").one_of(host, hosts.iter().map(String::as_str));
    let fault = if fault.hint.is_none() { fault.hint("add it to `hosts`") } else { fault };
    Err(place.key("host").refuse(fault))
}

fn check_keys(flow: &Flow, place: &Place<'_>) -> Result<(), ScenarioError> {
    check_readers(flow.selective(), flow.app, "the app ", place)
}
