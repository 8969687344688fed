//! The classes of `[gateway]` and the rules that put packets into them: `class` and `rule` as they are written, or what
//! `priority` stands for: 0 for the flows it names, 1 for pure ACKs, 2 for the rest.

use gamelane_core::{ByteCount, ClassId};
use gamelane_qdisc::classify::{Conditions, Rule};
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

/// The classes packets are put in.
pub(super) struct Classes<'a> {
    /// `gateway.class`; empty if the classes are those of `gateway.priority`.
    pub(super) own: &'a [Class],
    /// Where it is.
    pub(super) place: Place<'a>,
    /// How many classes there are.
    pub(super) count: usize,
    /// Puts packets into them, if a queue tells them apart.
    pub(super) classifier: Option<ClassifierConfig>,
    /// The largest packet.
    pub(super) mtu: ByteCount,
}

impl<'a> Classes<'a> {
    /// Those without children, with their positions.
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

/// Checks classes, rules and priorities against each other. `flows` are those of the run, `ends` those of all flows.
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
    let asking: Vec<_> = queues.into_iter().filter(|(_, queue)| queue.queue.has_classes()).collect();
    let config = if scenario.gateway.class.is_some() {
        check_tree(scenario, &classes)?;
        check_own(scenario, &asking, gateway)?;
        let leaves: Vec<_> = classes.leaves().map(|(index, class)| (index, class.name.as_str())).collect();
        classes.count = leaves.len();
        rules::classifier(scenario, &leaves, ends, gateway)?
    } else {
        if scenario.gateway.rule.is_some() {
            let fault = Fault::new("there are no classes these rules could put packets in");
            let hint =
                "add a [[gateway.class]] with a name for each, and what no rule takes goes to the last";
            return Err(gateway.key("rule").refuse(fault.hint(hint)));
        }
        classes.count = usize::from(REST.0) + 1;
        built_in(scenario, flows, &asking, gateway)?
    };
    // Left as they are where no queue reads them, so that queues can be compared by one key.
    classes.classifier = Some(config).filter(|_| !asking.is_empty());
    Ok(classes)
}

fn check_tree(scenario: &Scenario, classes: &Classes<'_>) -> Result<(), ScenarioError> {
    if classes.own.is_empty() {
        return Err(classes.place.refuse(Fault::new("no class is listed here").hint("leave it out")));
    }
    if classes.own.len() >= HtbConfig::MOST_CLASSES {
        let fault = Fault::new("so many classes are out of reach");
        return Err(classes.place.refuse(fault.allowed(format!("up to {}", HtbConfig::MOST_CLASSES - 1))));
    }
    for (index, class) in classes.own.iter().enumerate() {
        let place = classes.place.index(index);
        let before = &classes.own[..index];
        if !is_plain(&class.name) {
            let fault = Fault::new("this is not a short name").allowed("a to z, 0 to 9, `_` and `-`");
            return Err(place.key("name").refuse(fault));
        }
        if before.iter().any(|other| other.name == class.name) {
            return Err(place.key("name").refuse(Fault::new("another class has this name")));
        }
        if class.priority > 7 {
            let fault = Fault::new("there is no such priority").allowed("0 to 7; 0 borrows first");
            return Err(place.key("priority").refuse(fault));
        }
        let Some(parent) = &class.parent else { continue };
        if !before.iter().any(|other| other.name == *parent) {
            let fault = match classes.own.iter().any(|other| other.name == *parent) {
                true => Fault::new("a parent is listed before its children"),
                false => Fault::new("there is no such class before this one"),
            };
            return Err(place
                .key("parent")
                .refuse(fault.one_of(parent, before.iter().map(|other| other.name.as_str()))));
        }
    }
    debug_assert_eq!(scenario.gateway.class.as_deref(), Some(classes.own));
    Ok(())
}

/// What does not go with classes of one's own.
fn check_own(
    scenario: &Scenario,
    asking: &[(&str, &Queue)],
    gateway: &Place<'_>,
) -> Result<(), ScenarioError> {
    if scenario.gateway.priority.is_some() {
        let fault = Fault::new("the classes here are the file's own: this would be another");
        let hint = "write a [[gateway.rule]] with flows = [\"…\"] and the class they go to";
        return Err(gateway.key("priority").refuse(fault.hint(hint)));
    }
    for (key, queue) in asking {
        if queue.acks.is_some_and(|acks| acks != Acks::Plain) {
            let fault = Fault::new("the classes here are the file's own: this would be another");
            let hint = "write a [[gateway.rule]] with ack = true and the class they go to";
            return Err(gateway.key(key).key("acks").refuse(fault.hint(hint)));
        }
    }
    Ok(())
}

/// What `gateway.priority` and `acks` stand for.
fn built_in(
    scenario: &Scenario,
    flows: &[FlowModel],
    asking: &[(&str, &Queue)],
    gateway: &Place<'_>,
) -> Result<ClassifierConfig, ScenarioError> {
    let place = gateway.key("priority");
    let names = scenario.gateway.priority.as_deref().unwrap_or_default();
    rules::check_names(scenario, names, &place)?;
    let has_acks = |queue: &Queue| queue.acks.is_some_and(|acks| acks != Acks::Plain);
    if let Some((key, _)) = asking.iter().find(|(_, queue)| names.is_empty() && !has_acks(queue)) {
        let fault = Fault::new("this queue is told of nothing that goes first");
        let hint = format!("[gateway] priority = [\"{}\"]", scenario.flow[0].name);
        return Err(gateway.key(key).key("queue").refuse(fault.hint(hint)));
    }
    if !asking.is_empty() {
        rules::check_servers(scenario, &place)?;
    }
    if asking.iter().any(|(_, queue)| !has_acks(queue)) && flows.iter().all(|flow| names.contains(&flow.name))
    {
        let fault = Fault::new("every flow goes first: none would go before another");
        return Err(place.refuse(fault.hint("leave out what may wait")));
    }
    // A flow that is switched off has no packets.
    let named = flows.iter().filter(|flow| names.contains(&flow.name));
    let first = |flow: &FlowModel| {
        let when = Conditions { address: Some(rules::server(flow.key)), ..Conditions::default() };
        Rule { name: flow.name.clone(), class: FIRST, when }
    };
    let mut rules: Vec<Rule> = named.map(first).collect();
    let when = Conditions { pure_ack: Some(true), ..Conditions::default() };
    rules.push(Rule { name: "pure ACKs".into(), class: ACKS, when });
    Ok(ClassifierConfig { rules, default: REST, ..ClassifierConfig::default() })
}
