//! Rules that put packets into classes. A flow of a scenario has made-up addresses, so here it is known by its code point or by its
//! behaviour.

use gamelane_qdisc::ClassifierConfig;
use gamelane_qdisc::classify::{Behaviour, Conditions, Rule, Span};
use gamelane_scenario::text::error::Refusal;
use gamelane_scenario::text::keys::{App, Flow};
use gamelane_scenario::{Model, Scenario, ScenarioError};

/// Returns the model's rules. A rule for a flow of the scenario becomes a rule on what is visible on the wire.
pub(super) fn real_rules(
    scenario: &Scenario,
    model: &Model,
    config: &ClassifierConfig,
    file: &str,
) -> Result<ClassifierConfig, ScenarioError> {
    let mut rules: Vec<Rule> = Vec::new();
    for rule in &config.rules {
        let Some(flow) =
            model.flows.iter().find(|flow| flow.name == rule.name && rule.when.address.is_some())
        else {
            if !rules.iter().any(|known| known.when == rule.when) {
                rules.push(rule.clone());
            }
            continue;
        };
        let written = scenario.flow.iter().find(|written| written.name == flow.name);
        let when = written.and_then(on_the_wire).ok_or_else(|| {
            ScenarioError::from(Refusal {
                file: file.into(),
                key: Some("gateway.priority".into()),
                value: Some(rule.name.clone()),
                message: "nothing tells this flow from others on a real network".into(),
                allowed: Some("games, calls and traces, which are known by their behaviour; any flow with a `dscp`".into()),
                hint: Some(format!(
                    "let the application mark its packets and write dscp = \"EF\" for `{}`, or remove it from the list",
                    rule.name
                )),
                ..Refusal::default()
            })
        })?;
        if !rules.iter().any(|known| known.when == when) {
            rules.push(Rule { when, ..rule.clone() });
        }
    }
    let real = ClassifierConfig { rules, ..config.clone() };
    match real.check(model.gateway.classes) {
        Ok(()) => Ok(real),
        Err(error) => Err(Refusal {
            file: file.into(),
            key: Some("gateway.priority".into()),
            message: format!("{error}"),
            ..Refusal::default()
        }
        .into()),
    }
}

/// Returns what the packets of a flow have in common on a real network.
pub(crate) fn on_the_wire(flow: &Flow) -> Option<Conditions> {
    let code_point = flow.dscp.0;
    if code_point != 0 {
        return Some(Conditions { dscp: Some(Span::only(code_point)), ..Conditions::default() });
    }
    matches!(flow.app.0, App::Game | App::Voip | App::Trace)
        .then(|| Conditions { behaviour: Some(Behaviour::RealTime), ..Conditions::default() })
}
