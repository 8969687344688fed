//! The queues with classes, built from the classes of `[gateway]`: `priority` reads their order, `drr` their quanta,
//! `htb` their rates, ceilings and parents.

use gamelane_core::{Bitrate, ByteCount};
use gamelane_qdisc::drr::DrrClass;
use gamelane_qdisc::htb::HtbClass;
use gamelane_qdisc::{
    AckFilterConfig, ClassMap, ConfigError, Discipline, DisciplineConfig, DrrConfig, HtbConfig, Limit,
    ParameterSet, PriorityConfig, QueueConfig, QueueKind,
};

use super::Place;
use super::classes::Classes;
use super::queue::{Below, bandwidth, classless, filter, overhead};
use crate::text::each_way::EachWay;
use crate::text::error::{Fault, ScenarioError};
use crate::text::keys::Class;
use crate::text::keys::queue::{Acks, Queue};
use crate::text::share::RateShare;

/// A queue of one of these three disciplines.
pub(super) fn discipline(
    queue: &Queue,
    classes: &Classes<'_>,
    below: &Below,
    place: &Place<'_>,
) -> Result<DisciplineConfig, ScenarioError> {
    let parts = if classes.own.is_empty() { built_in(queue, classes) } else { own(queue, classes, below)? };
    match queue.queue.0 {
        Discipline::Htb => htb(queue, parts, classes, below, place).map(DisciplineConfig::Htb),
        Discipline::Drr => {
            let share = |part: Part<'_>| DrrClass { quantum: part.quantum(classes), queue: part.queue };
            let map = parts.map;
            Ok(DisciplineConfig::Drr(DrrConfig {
                shares: parts.parts.into_iter().map(share).collect(),
                classes: map,
            }))
        }
        _ => {
            let bands: Vec<_> = parts.parts.into_iter().map(|part| part.queue).collect();
            if bands.len() > MOST_BANDS {
                let fault = Fault::new(format!(
                    "`priority` has one band per class, and there are {} classes",
                    bands.len()
                ));
                return Err(place.key("queue").refuse(fault.allowed(format!("up to {MOST_BANDS} classes"))));
            }
            Ok(DisciplineConfig::Priority(PriorityConfig { bands, classes: parts.map }))
        }
    }
}

/// Most bands of a `priority` queue (ALTQ PRIQ).
const MOST_BANDS: usize = 16;

/// The queues of the classes, in the order of the classes.
struct Parts<'a> {
    parts: Vec<Part<'a>>,
    map: ClassMap,
}

struct Part<'a> {
    /// `None` for a class that follows from `gateway.priority`.
    class: Option<&'a Class>,
    queue: DisciplineConfig,
}

impl Part<'_> {
    fn quantum(&self, classes: &Classes<'_>) -> ByteCount {
        self.class.and_then(|class| class.quantum).map_or(classes.mtu, |quantum| quantum.0)
    }
}

/// One queue for the flows of `gateway.priority`, one for pure ACKs if they are treated apart, one for the rest: see
/// [`super::classes`].
fn built_in<'a>(queue: &Queue, classes: &Classes<'_>) -> Parts<'a> {
    let fifo = || Part { class: None, queue: fifo(queue) };
    match queue.acks {
        None | Some(Acks::Plain) => Parts { parts: vec![fifo(), fifo()], map: ClassMap(vec![0, 1, 1]) },
        acks => {
            let acks = match filter(acks) {
                None => fifo(),
                Some(mode) => {
                    let config = AckFilterConfig { mode, limit: limit(queue) };
                    Part { class: None, queue: DisciplineConfig::AckFilter(config) }
                }
            };
            debug_assert_eq!(classes.count, 3);
            Parts { parts: vec![fifo(), acks, fifo()], map: ClassMap(vec![0, 1, 2]) }
        }
    }
}

fn own<'a>(queue: &Queue, classes: &Classes<'a>, below: &Below) -> Result<Parts<'a>, ScenarioError> {
    // The shaper has the rate of all classes.
    let below = &Below { shape: None, ..*below };
    let part = |(index, class): (usize, &'a Class)| -> Result<Part<'a>, ScenarioError> {
        let place = classes.place.index(index).key("queue");
        let queue = match &class.queue {
            None => fifo(queue),
            Some(own) if own.queue().has_classes() => {
                let fault = Fault::new("the queue of a class must be a discipline without classes");
                return Err(
                    place.refuse(fault.hint("to divide a class, name it as the `parent` of other classes"))
                );
            }
            Some(own) => classless(&own.queue(), below, &place)?,
        };
        Ok(Part { class: Some(class), queue })
    };
    Ok(Parts { parts: classes.leaves().map(part).collect::<Result<_, _>>()?, map: ClassMap::default() })
}

fn fifo(queue: &Queue) -> DisciplineConfig {
    let plain = QueueConfig::new(QueueKind::Fifo, ParameterSet::Linux);
    QueueConfig { limit: Some(limit(queue)), ..plain }.into()
}

/// Limit of each class (ALTQ `qlimit`, by default 50 packets).
fn limit(queue: &Queue) -> Limit {
    queue.limit.map_or(Limit::Packets(50), |limit| limit.0)
}

/// The tree of an HTB queue, with the link as its root.
fn htb(
    queue: &Queue,
    parts: Parts<'_>,
    classes: &Classes<'_>,
    below: &Below,
    place: &Place<'_>,
) -> Result<HtbConfig, ScenarioError> {
    let Some(whole) = bandwidth(queue, below, place)?.or(below.rate) else {
        let fault = Fault::new("`htb` needs a fixed rate, and the rate of this link varies");
        let hint = "add bandwidth, such as bandwidth = \"20mbit\"";
        return Err(place.key("bandwidth").refuse(fault.hint(hint)));
    };
    let mut tree = vec![HtbClass::new("the link", None, whole)];
    let mut queues = parts.parts.into_iter().map(|part| Some(Box::new(part.queue)));
    if classes.own.is_empty() {
        let count = queues.len() as u64;
        for (index, queue) in queues.by_ref().enumerate() {
            tree.push(HtbClass {
                ceil: whole,
                priority: u8::from(index + 1 == count as usize),
                queue,
                ..HtbClass::new(BUILT_IN[index], Some(0), Bitrate::from_bps(whole.bps() / count))
            });
        }
    }
    for (index, class) in classes.own.iter().enumerate() {
        let parent = classes.parent(index).map_or(0, |parent| parent + 1);
        let place = classes.place.index(index);
        let Some(rate) = class.rate.as_ref().and_then(|rate| rate.towards(below.direction)) else {
            let fault = Fault::new("`htb` requires this key");
            return Err(place
                .key("rate")
                .refuse(fault.allowed("a rate or a share of the whole, such as \"200kbit\" or \"20%\"")));
        };
        if rate.of(whole) > whole {
            let fault = Fault::new("this rate is above the whole rate");
            let place = towards(place.key("rate"), class.rate.as_ref(), below);
            return Err(place.refuse(fault.allowed(format!("up to \"{whole}\""))));
        }
        let ceil = class.ceil.as_ref().and_then(|ceil| ceil.towards(below.direction));
        tree.push(HtbClass {
            ceil: ceil.map_or(tree[parent].ceil, |ceil| ceil.of(whole)),
            burst: class.burst.map(|burst| burst.0),
            priority: class.priority,
            quantum: class.quantum.map(|quantum| quantum.0),
            queue: if classes.is_leaf(index) { queues.next().flatten() } else { None },
            ..HtbClass::new(&class.name, Some(parent), rate.of(whole))
        });
    }
    let config = HtbConfig { tree, classes: parts.map, overhead: overhead(queue, below, place)? };
    config.check(classes.count).map_err(|error| refuse(&error, classes, below))?;
    Ok(config)
}

/// Names in errors for classes that have none.
const BUILT_IN: [&str; 3] = ["first", "second", "third"];

/// The error for a tree, at the class that is wrong.
fn refuse(error: &ConfigError, classes: &Classes<'_>, below: &Below) -> ScenarioError {
    let index = |name: &str| classes.own.iter().position(|class| class.name == name);
    let at = |name: &str, key: &str| match index(name) {
        Some(index) => {
            let class = &classes.own[index];
            let given = if key == "ceil" { &class.ceil } else { &class.rate };
            towards(classes.place.index(index).key(key), given.as_ref(), below)
        }
        None => classes.place.itself(),
    };
    match error {
        ConfigError::ZeroRate { name } => {
            at(name, "rate").refuse(Fault::new("this class has a rate of zero").hint("set 1% or more"))
        }
        ConfigError::CeilBelowRate { name, rate, .. } => {
            let fault = Fault::new(format!("`ceil` is below the rate of this class, {rate}"));
            at(name, "ceil").refuse(fault.allowed(format!("\"{rate}\" or more")))
        }
        ConfigError::CeilAboveParent { name, parent, .. } => {
            let fault = Fault::new("`ceil` is above that of the parent class");
            at(name, "ceil").refuse(fault.allowed(format!("up to \"{parent}\"")))
        }
        ConfigError::ChildrenAboveParent { parent, rate, children } => {
            let fault = Fault::new(format!(
                "in direction {}, the rates of the classes in `{parent}` add up to {children}, more than its own {rate}",
                below.direction.name()
            ));
            at(parent, "rate")
                .refuse(fault.hint("lower some rates; a class can borrow more, up to its `ceil`"))
        }
        ConfigError::TooDeep { name } => {
            let fault =
                Fault::new("the classes are nested too deeply").allowed("up to 7 levels below the root");
            match index(name) {
                Some(index) => classes.place.index(index).key("parent").refuse(fault),
                None => classes.place.refuse(fault),
            }
        }
        other => classes.place.refuse(Fault::new(other.to_string())),
    }
}

/// The place of a direction's value.
fn towards<'a>(place: Place<'a>, given: Option<&EachWay<RateShare>>, below: &Below) -> Place<'a> {
    match given {
        Some(EachWay::Split(_)) => place.key(below.direction.name()),
        _ => place,
    }
}
