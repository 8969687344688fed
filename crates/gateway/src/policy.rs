//! A policy: the `[gateway]` part of a scenario, unchanged. Queues, shaper and window control are taken as they are; flows
//! named in `priority` have made-up addresses there, so here they are known by their code point or by how they behave.

use std::path::Path;

use gamelane_core::{ClassId, Direction, IpLen};
use gamelane_link::LinkConfig;
use gamelane_qdisc::classify::{Behaviour, Conditions, Rule, Span};
use gamelane_qdisc::{ClassifierConfig, DisciplineConfig};
use gamelane_scenario::text::error::Refusal;
use gamelane_scenario::text::keys::{App, Flow};
use gamelane_scenario::{Medium, Model, Scenario, ScenarioError};
use gamelane_stage::{FollowerConfig, VoapConfig};

/// What a gateway does.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The scenario's name.
    pub name: String,
    /// Sixteen hex digits that change when the scenario does.
    pub hash: String,
    /// Queue and shaper, indexed by [`Direction::index`].
    pub lanes: [LanePolicy; 2],
    /// Lowers the windows that passing TCP segments advertise.
    pub voap: Option<VoapConfig>,
    /// Shapers that follow their link, indexed by [`Direction::index`].
    pub autorate: [Option<FollowerConfig>; 2],
    /// How many classes there are for queues that tell them apart.
    pub classes: usize,
    /// Puts packets into them.
    pub classifier: Option<ClassifierConfig>,
    /// What its owner should know: where it will not do what it seems to.
    pub notes: Vec<String>,
}

/// What one direction does.
#[derive(Clone, Debug, PartialEq)]
pub struct LanePolicy {
    /// Discipline.
    pub queue: DisciplineConfig,
    /// Largest IP packet.
    pub mtu: IpLen,
    /// Rate and framing of the shaper; `None` leaves as fast as the interface takes it.
    pub shape: Option<LinkConfig>,
}

impl Policy {
    /// Reads a scenario. `overrides` are keys and values put over its own.
    ///
    /// # Errors
    /// What [`Scenario::parse`] and [`Scenario::to_model`] refuse, and what a gateway of frames cannot do.
    pub fn load(file: &Path, overrides: &[(String, String)]) -> Result<Self, ScenarioError> {
        Self::parse(&Self::text(file)?, &file.display().to_string(), overrides)
    }

    /// What a file says.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn text(file: &Path) -> Result<String, ScenarioError> {
        std::fs::read_to_string(file).map_err(|error| {
            ScenarioError::from(Refusal {
                file: file.display().to_string(),
                message: format!("cannot be read: {error}"),
                ..Refusal::default()
            })
        })
    }

    /// The same from text; `file` names it in errors.
    ///
    /// # Errors
    /// As [`Policy::load`].
    pub fn parse(text: &str, file: &str, overrides: &[(String, String)]) -> Result<Self, ScenarioError> {
        let scenario = Scenario::parse(text, file, overrides)?;
        let model = scenario.to_model()?;
        let refuse = |key: &str, message: &str, hint: &str| {
            Err(Refusal {
                file: file.into(),
                key: Some(key.into()),
                message: message.into(),
                hint: Some(hint.into()),
                ..Refusal::default()
            }
            .into())
        };
        if matches!(model.access.medium, Medium::WifiG(_)) {
            return refuse(
                "link.kind",
                "this policy is for another link: its downstream queue feeds a radio, not an interface",
                "write kind = \"wired\" with the rates of the wired link, and `shape` for both directions",
            );
        }
        let mut notes = Vec::new();
        for direction in Direction::BOTH {
            if model.access.shape[direction.index()].is_none() {
                let name = direction.name();
                notes.push(format!(
                    "`gateway.{name}` is not shaped: unless the interface itself is the bottleneck, the queue forms behind \
                     it, where this policy does not rule; set `gateway.shape.{name}` a little below the link's rate"
                ));
            }
        }
        let [up, down] = model.gateway.voap.map_or([false; 2], |voap| voap.data);
        for (steered, direction) in [(up, Direction::Up), (down, Direction::Down)] {
            if steered && model.access.shape[direction.index()].is_none() {
                let name = direction.name();
                notes.push(format!(
                    "`gateway.voap` steers by the delay of the queue of `{name}`, which without `shape.{name}` hardly fills"
                ));
            }
        }
        notes.extend(unheard(&model.gateway.autorate));
        let classifier = match &model.gateway.classifier {
            Some(config) => Some(real_rules(&scenario, &model, config, file)?),
            None => None,
        };
        let lane = |direction: Direction| LanePolicy {
            queue: model.hop(direction).queue.clone(),
            mtu: model.hop(direction).mtu,
            shape: model.access.shape[direction.index()].clone(),
        };
        Ok(Self {
            name: scenario.name().into(),
            hash: scenario.hash(),
            lanes: Direction::BOTH.map(lane),
            voap: model.gateway.voap,
            autorate: model.gateway.autorate,
            classes: model.gateway.classes,
            classifier,
            notes,
        })
    }

    /// The class of what no rule names.
    pub fn default_class(&self) -> ClassId {
        self.classifier.as_ref().map_or(ClassId::default(), |config| config.default)
    }
}

/// What shapers listen to that nobody here can hear.
fn unheard(autorate: &[Option<FollowerConfig>; 2]) -> Vec<String> {
    let mut notes = Vec::new();
    let hears = autorate.iter().flatten().map(|config| config.hears);
    let (probes, backlog) = hears
        .clone()
        .fold((false, false), |(probes, backlog), hears| (probes | hears.probes, backlog | hears.backlog));
    if probes {
        notes.push(
            "`gateway.autorate` sends no probes here: a bridge has no address to be answered at. Without TCP timestamps or a numbered \
             game or call to listen to, the rate stays where it is"
                .into(),
        );
    }
    if backlog {
        notes.push(
            "`gateway.autorate` does not hear `backlog` here: no modem tells it what waits in it".into(),
        );
    }
    if hears.into_iter().any(|hears| !hears.tcp && !hears.game) {
        notes.push(
            "`gateway.autorate` listens to nothing that can be heard here and will never move: add \"tcp\" to its `signals`, or leave \
             them out"
                .into(),
        );
    }
    notes
}

/// The model's rules, those for a flow of the scenario put in terms of what can be seen on the wire.
fn real_rules(
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
            rules.push(rule.clone());
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
                    "let the application mark its packets and write dscp = \"EF\" for `{}`, or name it no more",
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

/// What the packets of a flow have in common.
fn on_the_wire(flow: &Flow) -> Option<Conditions> {
    let code_point = flow.dscp.0;
    if code_point != 0 {
        return Some(Conditions { dscp: Some(Span::only(code_point)), ..Conditions::default() });
    }
    matches!(flow.app, App::Game | App::Voip | App::Trace)
        .then(|| Conditions { behaviour: Some(Behaviour::RealTime), ..Conditions::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUSEHOLD: &str = r#"
name = "home"
[link]
down = "20mbit"
up = "2mbit"
[gateway]
shape = { up = "1900kbit", down = "19mbit" }
up = { queue = "priority", acks = "prioritise" }
down = { queue = "fq_codel" }
priority = ["quake3"]
[[flow]]
name = "quake3"
app = "game"
model = "quake3"
[[flow]]
name = "upload"
app = "bulk"
direction = "up"
"#;

    #[test]
    fn a_game_is_known_by_its_behaviour_and_any_flow_by_its_code_point() {
        let policy = Policy::parse(HOUSEHOLD, "home.toml", &[]).unwrap();
        let rules = &policy.classifier.as_ref().unwrap().rules;
        assert_eq!(
            rules[0].when,
            Conditions { behaviour: Some(Behaviour::RealTime), ..Conditions::default() }
        );
        assert_eq!(rules[1].when.pure_ack, Some(true));
        assert_eq!(policy.notes, [] as [&str; 0]);
        assert_eq!(policy.lanes[0].shape.as_ref().unwrap().rate.bps(), 1_900_000);

        let marked = HOUSEHOLD.replace("direction = \"up\"", "direction = \"up\"\ndscp = \"AF41\"");
        let marked = marked.replace("[\"quake3\"]", "[\"quake3\", \"upload\"]");
        let policy = Policy::parse(&marked, "home.toml", &[]).unwrap();
        assert_eq!(policy.classifier.unwrap().rules[1].when.dscp, Some(Span::only(34)));
    }

    #[test]
    fn a_policy_that_cannot_be_carried_out_is_refused_with_a_hint() {
        let unmarked = HOUSEHOLD.replace("[\"quake3\"]", "[\"quake3\", \"upload\"]");
        let error = Policy::parse(&unmarked, "home.toml", &[]).unwrap_err();
        assert_eq!(
            (error.key.as_deref(), error.value.as_deref()),
            (Some("gateway.priority"), Some("upload"))
        );
        let wifi = "name = \"w\"\n[link]\nkind = \"wifi-g\"\ndown = \"20mbit\"\nup = \"2mbit\"\n\
                    [[flow]]\nname = \"quake3\"\napp = \"game\"\nmodel = \"quake3\"\n";
        let error = Policy::parse(wifi, "w.toml", &[]).unwrap_err();
        assert!(error.message.contains("another link"), "{error}");
    }

    #[test]
    fn what_is_not_shaped_is_said() {
        let unshaped = HOUSEHOLD.replace("shape = { up = \"1900kbit\", down = \"19mbit\" }", "voap = {}");
        let policy = Policy::parse(&unshaped, "home.toml", &[]).unwrap();
        assert_eq!(policy.notes.len(), 3, "{:?}", policy.notes);
    }

    #[test]
    fn what_a_shaper_that_follows_cannot_hear_here_is_said() {
        let notes = |autorate: &str| {
            let text = HOUSEHOLD.replace("priority =", &format!("autorate = {autorate}\npriority ="));
            Policy::parse(&text, "home.toml", &[]).unwrap().notes
        };
        assert_eq!(notes("true"), [] as [&str; 0]);
        assert_eq!(notes("{ up = { signals = [\"tcp\", \"backlog\"] } }").len(), 1);
        let notes = notes("{ up = { signals = [\"backlog\"] } }");
        assert!(notes.len() == 2 && notes[1].contains("never move"), "{notes:?}");
    }
}
