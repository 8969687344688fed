//! The policy file and the command of gamelane's own gateway.

use gamelane_core::Direction;
use gamelane_scenario::ScenarioError;
use gamelane_scenario::text::keys::Flow;

use super::recipe::{Recipe, once};
use super::setup::Setup;
use crate::rules::on_the_wire;

pub(super) const TARGET: &str = "gateway";
const FILE: &str = "gamelane.toml";

/// The scenario with a shaper, and the command that runs its gateway.
pub(super) fn recipe(setup: &Setup<'_>) -> Recipe {
    let lacking = [setup.refused.clone(), unknown(setup)].concat();
    if !lacking.is_empty() {
        return Recipe::none(TARGET, lacking);
    }
    let shaped = match shaped(setup) {
        Ok(text) => text,
        Err(refused) => return Recipe::none(TARGET, vec![format!("{}.", refused.message)]),
    };
    let mut apply =
        once(files(setup).map(|file| format!("# {FILE} needs {} beside it.", quoted(file))).collect());
    let end = end_of(&shaped);
    apply.push(format!("cat > {FILE} <<'{end}'"));
    apply.extend(shaped.trim().lines().map(str::to_owned));
    apply.push(end);
    apply.push(format!(
        "gamelane-gateway run --lan \"$LAN\" --wan \"$WAN\" {FILE}  # Ctrl-C ends it and undoes everything"
    ));
    Recipe {
        target: TARGET,
        edit: vec![
            "LAN=eth1  # the interface towards the home".into(),
            "WAN=eth0  # the interface towards the modem".into(),
        ],
        undo: Vec::new(),
        apply,
        unsaid: [setup.elsewhere.clone(), mistaken(setup)].concat(),
    }
}

/// A line that ends the file in the shell, and that the file does not have: a stranger's scenario must not go on as commands.
fn end_of(text: &str) -> String {
    let mut end = "END".to_owned();
    while text.lines().any(|line| line == end) {
        end.push('D');
    }
    end
}

/// The name of a file, in quotes. Not every shell leaves a comment alone: Zsh may carry out `$(…)`.
fn quoted(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-/".contains(c) { c } else { '_' };
    format!("\"{}\"", name.chars().map(plain).collect::<String>())
}

/// The scenario's text with the rates of its lanes.
fn shaped(setup: &Setup<'_>) -> Result<String, ScenarioError> {
    let mut scenario = setup.scenario.clone();
    scenario.gateway.shape = Some(setup.shape());
    scenario.to_policy()?;
    Ok(scenario.to_toml())
}

/// A sentence for each flow that needs a class and that the gateway would not recognise.
fn unknown(setup: &Setup<'_>) -> Vec<String> {
    let flows = first(setup).filter(|flow| on_the_wire(flow).is_none()).map(|flow| {
        format!("nothing tells `{}` from other traffic; the gateway would know it by a `dscp`.", flow.name)
    });
    let rules = setup.scenario.gateway.rule.iter().flatten();
    let by_flows = rules.filter(|rule| has_classes(setup) && rule.flows.is_some()).map(|rule| {
        let class = &rule.class;
        format!("a rule for class `{class}` has `flows`, and the gateway knows flows in `priority` only.")
    });
    flows.chain(by_flows).collect()
}

/// A sentence for each other flow that the gateway takes for one that goes first.
fn mistaken(setup: &Setup<'_>) -> Vec<String> {
    let names: Vec<&str> = first(setup).map(|flow| flow.name.as_str()).collect();
    let rest = setup.flows().filter(|flow| !names.contains(&flow.name.as_str()));
    let marks: Vec<_> = first(setup).filter_map(on_the_wire).collect();
    let alike = rest.filter(|flow| on_the_wire(flow).is_some_and(|mark| marks.contains(&mark)));
    alike
        .map(|flow| format!("`{}` goes first, too: on the wire it looks like one that does.", flow.name))
        .collect()
}

/// The flows that go first.
fn first<'a>(setup: &Setup<'a>) -> impl Iterator<Item = &'a Flow> {
    let named = setup.scenario.gateway.priority.as_deref().filter(|_| has_classes(setup)).unwrap_or_default();
    setup.flows().filter(|flow| named.contains(&flow.name))
}

fn has_classes(setup: &Setup<'_>) -> bool {
    setup.lanes.iter().any(|lane| lane.queue.has_classes())
}

/// The files that the scenario names. What ships has a name without an ending.
fn files<'a>(setup: &'a Setup<'_>) -> impl Iterator<Item = &'a String> {
    let traces = setup.scenario.link.trace.iter();
    let of_link = traces.flat_map(|trace| Direction::BOTH.into_iter().filter_map(|way| trace.towards(way)));
    let of_flows = setup.flows().flat_map(|flow| flow.trace.iter().chain(&flow.model));
    of_link.chain(of_flows).filter(|name| name.contains(['.', '/']))
}
