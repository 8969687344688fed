//! A policy: the `[gateway]` part of a scenario, unchanged. Queues, shapers and window control are taken as they are. Flows named in
//! `priority` are recognised by what is visible on the wire (`rules`).

use std::path::Path;

use gamelane_core::{Bitrate, Catalogued, ClassId, Direction, IpLen, Overhead};
use gamelane_link::LinkConfig;
use gamelane_qdisc::{CakeConfig, ClassifierConfig, DisciplineConfig, QueueDescriptor};
use gamelane_scenario::text::error::Refusal;
use gamelane_scenario::text::keys::Gateway;
use gamelane_scenario::{Medium, Scenario, ScenarioError};
use gamelane_stage::{FollowerConfig, VoapConfig};

use crate::notes::notes;
use crate::rules::real_rules;

/// What a gateway does to packets.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The scenario's name.
    pub name: String,
    /// Hash of the scenario: sixteen hex digits.
    pub hash: String,
    /// Queue and shaper of each direction, indexed by [`Direction::index`].
    pub lanes: [LanePolicy; 2],
    /// Window control: lowers the windows that passing TCP segments advertise.
    pub voap: Option<VoapConfig>,
    /// Shapers that follow their link, indexed by [`Direction::index`].
    pub autorate: [Option<FollowerConfig>; 2],
    /// Number of classes, for queues that have them.
    pub classes: usize,
    /// Names of the leaves among `[[gateway.class]]`; empty if the classes follow from `gateway.priority`.
    pub own_classes: Vec<String>,
    /// Puts packets into classes.
    pub classifier: Option<ClassifierConfig>,
    /// Where it does less than its text suggests.
    pub notes: Vec<String>,
}

/// What one direction does to packets.
#[derive(Clone, Debug, PartialEq)]
pub struct LanePolicy {
    /// Discipline.
    pub queue: DisciplineConfig,
    /// Largest IP packet.
    pub mtu: IpLen,
    /// Rate and framing of the shaper; without one, packets leave as fast as the interface takes them.
    pub shape: Option<LinkConfig>,
}

impl Policy {
    /// Reads a scenario's file. `overrides` are keys and values that replace its own.
    ///
    /// # Errors
    /// What [`Scenario::parse`] and [`Scenario::to_policy`] refuse, and what a gateway of frames cannot do.
    pub fn load(file: &Path, overrides: &[(String, String)]) -> Result<Self, ScenarioError> {
        Self::parse(&Self::text(file)?, &file.display().to_string(), overrides)
    }

    /// Reads the text of a file.
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

    /// Parses the text of a scenario; errors name `file`.
    ///
    /// # Errors
    /// As [`Policy::load`].
    pub fn parse(text: &str, file: &str, overrides: &[(String, String)]) -> Result<Self, ScenarioError> {
        let scenario = Scenario::parse(text, file, overrides)?;
        let model = scenario.to_policy()?;
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
            own_classes: leaves(&scenario.gateway).into_iter().map(str::to_owned).collect(),
            classifier,
            notes: notes(&model),
        })
    }

    /// The same with other rates of its shapers; `None` keeps one.
    pub fn with_rates(&self, rates: [Option<Bitrate>; 2]) -> Self {
        let mut other = self.clone();
        for (lane, rate) in other.lanes.iter_mut().zip(rates) {
            let Some(rate) = rate else { continue };
            if let Some(shape) = &mut lane.shape {
                shape.rate = rate;
            }
            if let DisciplineConfig::Cake(CakeConfig { bandwidth: Some(own), .. }) = &mut lane.queue {
                *own = rate;
            }
        }
        other
    }

    /// Class of packets that match no rule.
    pub fn default_class(&self) -> ClassId {
        self.classifier.as_ref().map_or(ClassId::default(), |config| config.default)
    }
}

/// Names of the classes that have no children. Only these have packets.
pub(crate) fn leaves(gateway: &Gateway) -> Vec<&str> {
    let classes = gateway.class.as_deref().unwrap_or_default();
    let is_parent = |name: &str| classes.iter().any(|class| class.parent.as_deref() == Some(name));
    classes.iter().map(|class| class.name.as_str()).filter(|name| !is_parent(name)).collect()
}

impl LanePolicy {
    /// The queue discipline in the catalogue.
    pub fn discipline(&self) -> &'static QueueDescriptor {
        self.queue.discipline().descriptor()
    }

    /// Rate and framing of the shaper: of two, one of them the queue's own, those of the slower one, which holds the packets.
    pub fn shaper(&self) -> Option<(Bitrate, Overhead)> {
        let own = match &self.queue {
            DisciplineConfig::Cake(own) => own.bandwidth.map(|rate| (rate, own.overhead)),
            DisciplineConfig::Htb(own) => own.tree.first().map(|root| (root.rate, own.overhead)),
            _ => None,
        };
        let before = self.shape.as_ref().map(|shape| (shape.rate, shape.overhead));
        own.into_iter().chain(before).min_by_key(|(rate, _)| *rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gamelane_qdisc::classify::{Behaviour, Conditions, Span};

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
    fn a_policy_needs_no_flows_and_the_game_no_name() {
        let policy = |gateway: &str| {
            let text = format!("[link]\ndown = \"20mbit\"\nup = \"2mbit\"\n[gateway]\n{gateway}");
            Policy::parse(&text, "home.toml", &[])
        };
        assert_eq!(policy("up = { queue = \"cake\" }").unwrap().name, "home");
        let both = policy("priority = [\"game\", \"voip\"]\nup = { queue = \"priority\" }").unwrap();
        let rules = both.classifier.unwrap().rules;
        assert_eq!(rules.len(), 2, "{rules:?}");
        assert_eq!(rules[0].when.behaviour, Some(Behaviour::RealTime));
        let own = "up = { queue = \"priority\" }
                   [[gateway.class]]\nname = \"first\"\n[[gateway.class]]\nname = \"rest\"
                   [[gateway.rule]]\nclass = \"first\"\nprotocol = \"udp\"\nport = 27015";
        assert_eq!(policy(own).unwrap().classifier.unwrap().rules.len(), 1);
        let error = policy("up = { queue = \"priority\" }").unwrap_err().to_string();
        assert!(error.contains("priority = [\"game\"]"), "{error}");
        let error = policy("priority = [\"gmae\"]\nup = { queue = \"priority\" }").unwrap_err().to_string();
        assert!(error.contains("did you mean \"game\""), "{error}");
    }

    #[test]
    fn the_file_on_the_page_works_when_pasted() {
        let page = include_str!("../../../docs/gateway.md");
        let (_, rest) = page.split_once("```toml\n").unwrap();
        let (file, _) = rest.split_once("```").unwrap();
        let policy = Policy::parse(file, "home.toml", &[]).unwrap();
        assert_eq!(policy.notes, [] as [&str; 0]);
        let all = file
            .replace("\n# ", "\n")
            .replace("up = { queue = \"fq_codel\" }", "up = { queue = \"priority\" }");
        let policy = Policy::parse(&all, "home.toml", &[]).unwrap();
        assert!(policy.voap.is_some() && policy.autorate[1].is_some() && policy.classifier.is_some());
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
