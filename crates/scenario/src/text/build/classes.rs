//! The classes of `[gateway]` and the rules that assign packets to them. They are written as `class` and `rule`, or
//! follow from `priority`: class 0 for the flows it names, 1 for pure ACKs, 2 for all others.

use gamelane_core::{ByteCount, ClassId};
use gamelane_qdisc::classify::{Behaviour, Conditions, Rule};
use gamelane_qdisc::{ClassifierConfig, HtbConfig};

use super::Place;
use super::behaviour;
use super::rules::{self, Ends};
use crate::FlowModel;
use crate::text::error::{Fault, ScenarioError};
use crate::text::keys::Class;
use crate::text::keys::queue::{Acks, Queue};
use crate::text::origin::is_plain;
use crate::text::scenario::Scenario;

const FIRST: ClassId = ClassId(0);
const ACKS: ClassId = ClassId(1);
const REST: ClassId = ClassId(2);

/// The classes of packets.
pub(super) struct Classes<'a> {
    /// `gateway.class`; empty if the classes follow from `gateway.priority`.
    pub(super) own: &'a [Class],
    /// The place of `gateway.class`, for errors.
    pub(super) place: Place<'a>,
    /// Number of classes.
    pub(super) count: usize,
    /// Assigns packets to classes, if any queue has classes.
    pub(super) classifier: Option<ClassifierConfig>,
    /// Size of the largest packet.
    pub(super) mtu: ByteCount,
}

impl<'a> Classes<'a> {
    /// The classes without children, with their positions.
    pub(super) fn leaves(&self) -> impl Iterator<Item = (usize, &'a Class)> + '_ {
        self.own.iter().enumerate().filter(|(index, _)| self.is_leaf(*index))
    }

    pub(super) fn is_leaf(&self, index: usize) -> bool {
        let name = &self.own[index].name;
        self.own.iter().all(|class| class.parent.as_ref() != Some(name))
    }

    /// Position of a class's parent.
    pub(super) fn parent(&self, index: usize) -> Option<usize> {
        let parent = self.own[index].parent.as_ref()?;
        self.own.iter().position(|class| class.name == *parent)
    }
}

/// Checks classes, rules and priorities against each other. `flows` are the flows of the run, `ends` those of all
/// flows.
pub(super) fn classes<'a>(
    scenario: &'a Scenario,
    flows: &[FlowModel],
    ends: &[Ends],
    gateway: &Place<'a>,
) -> Result<Classes<'a>, ScenarioError> {
    let mut classes = Classes {
        own: scenario.gateway.class.as_deref().unwrap_or_default(),
        place: gateway.key("class"),
        count: 1,
        classifier: None,
        mtu: ByteCount(u64::from(scenario.link.mtu)),
    };
    behaviour::check_asked(scenario, gateway)?;
    let queues =
        [("up", &scenario.gateway.up), ("down", &scenario.gateway.down), ("modem", &scenario.gateway.modem)];
    let asking: Vec<_> = queues.into_iter().filter(|(_, queue)| queue.has_classes()).collect();
    let config = if scenario.gateway.class.is_some() {
        check_tree(scenario, &classes)?;
        check_own(scenario, &asking, gateway)?;
        let leaves: Vec<_> = classes.leaves().map(|(index, class)| (index, class.name.as_str())).collect();
        classes.count = leaves.len();
        rules::classifier(scenario, &leaves, ends, gateway)?
    } else {
        if scenario.gateway.rule.is_some() {
            let fault = Fault::new("rules need classes, and this scenario has none");
            let hint = "add a [[gateway.class]] for each; packets that match no rule go to the last";
            return Err(gateway.key("rule").refuse(fault.hint(hint)));
        }
        classes.count = usize::from(REST.0) + 1;
        built_in(scenario, flows, &asking, gateway)?
    };
    // Classes that no queue reads are not an error, so that queues can be compared by changing one key.
    classes.classifier = Some(config).filter(|_| !asking.is_empty());
    Ok(classes)
}

fn check_tree(scenario: &Scenario, classes: &Classes<'_>) -> Result<(), ScenarioError> {
    if classes.own.is_empty() {
        return Err(classes.place.refuse(Fault::new("the list of classes is empty").hint("remove this key")));
    }
    if classes.own.len() >= HtbConfig::MOST_CLASSES {
        let fault = Fault::new("these are too many classes");
        return Err(classes.place.refuse(fault.allowed(format!("up to {}", HtbConfig::MOST_CLASSES - 1))));
    }
    for (index, class) in classes.own.iter().enumerate() {
        let place = classes.place.index(index);
        let before = &classes.own[..index];
        if !is_plain(&class.name) {
            let fault =
                Fault::new("this name has characters that are not allowed").allowed("a-z, 0-9, _ and -");
            return Err(place.key("name").refuse(fault));
        }
        if before.iter().any(|other| other.name == class.name) {
            return Err(place.key("name").refuse(Fault::new("an earlier class has the same name")));
        }
        if class.priority > 7 {
            let fault = Fault::new("this priority is out of range").allowed("0 to 7 (0 borrows first)");
            return Err(place.key("priority").refuse(fault));
        }
        let Some(parent) = &class.parent else { continue };
        if !before.iter().any(|other| other.name == *parent) {
            let fault = match classes.own.iter().any(|other| other.name == *parent) {
                true => Fault::new("a parent must be listed before its children"),
                false => Fault::new("no such class"),
            };
            return Err(place
                .key("parent")
                .refuse(fault.one_of(parent, before.iter().map(|other| other.name.as_str()))));
        }
    }
    debug_assert_eq!(scenario.gateway.class.as_deref(), Some(classes.own));
    Ok(())
}

/// Refuses keys that exclude classes of your own.
fn check_own(
    scenario: &Scenario,
    asking: &[(&str, &Queue)],
    gateway: &Place<'_>,
) -> Result<(), ScenarioError> {
    if scenario.gateway.priority.is_some() {
        let fault = Fault::new("`priority` and your own classes exclude each other");
        let hint = "write a [[gateway.rule]] with flows = [\"…\"] and their class";
        return Err(gateway.key("priority").refuse(fault.hint(hint)));
    }
    for (key, queue) in asking {
        if queue.acks.is_some_and(|acks| acks != Acks::Plain) {
            let fault = Fault::new("`acks` and your own classes exclude each other");
            let hint = "write a [[gateway.rule]] with ack = true and their class";
            return Err(gateway.key(key).key("acks").refuse(fault.hint(hint)));
        }
    }
    Ok(())
}

/// Words of `gateway.priority` that need no flow of that name. They stand for all that behaves like a game or a call.
const KINDS: [&str; 2] = ["game", "voip"];

fn first_name(scenario: &Scenario) -> &str {
    scenario.flow.first().map_or(KINDS[0], |flow| &flow.name)
}

/// The rules that `gateway.priority` and `acks` stand for.
fn built_in(
    scenario: &Scenario,
    flows: &[FlowModel],
    asking: &[(&str, &Queue)],
    gateway: &Place<'_>,
) -> Result<ClassifierConfig, ScenarioError> {
    let place = gateway.key("priority");
    let names = scenario.gateway.priority.as_deref().unwrap_or_default();
    rules::check_names(scenario, names, &KINDS, &place)?;
    let is_flow = |name: &String| scenario.flow.iter().any(|flow| flow.name == *name);
    let kind = names.iter().find(|name| !is_flow(name));
    let has_acks = |queue: &Queue| queue.acks.is_some_and(|acks| acks != Acks::Plain);
    if let Some((key, _)) = asking.iter().find(|(_, queue)| names.is_empty() && !has_acks(queue)) {
        let fault = Fault::new("this queue needs classes, and this scenario has none");
        let hint = format!("add [gateway] priority = [\"{}\"], what to send first", first_name(scenario));
        return Err(gateway.key(key).key("queue").refuse(fault.hint(hint)));
    }
    if !asking.is_empty() {
        rules::check_servers(scenario, &place)?;
    }
    if asking.iter().any(|(_, queue)| !has_acks(queue))
        && kind.is_none()
        && flows.iter().all(|flow| names.contains(&flow.name))
    {
        let fault = Fault::new("all flows have priority, so none goes first");
        return Err(place.refuse(fault.hint("remove the flows that may wait")));
    }
    // A disabled flow has no packets.
    let named = flows.iter().filter(|flow| names.contains(&flow.name));
    let first = |flow: &FlowModel| {
        let when = Conditions { address: Some(rules::server(flow.key)), ..Conditions::default() };
        Rule { name: flow.name.clone(), class: FIRST, when }
    };
    let mut rules: Vec<Rule> = named.map(first).collect();
    if let Some(kind) = kind {
        let when = Conditions { behaviour: Some(Behaviour::RealTime), ..Conditions::default() };
        rules.push(Rule { name: kind.clone(), class: FIRST, when });
    }
    let when = Conditions { pure_ack: Some(true), ..Conditions::default() };
    rules.push(Rule { name: "pure ACKs".into(), class: ACKS, when });
    Ok(ClassifierConfig { rules, default: REST, ..ClassifierConfig::default() })
}
