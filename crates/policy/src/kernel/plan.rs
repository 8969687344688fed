//! What a policy needs of a machine. Pure.

use gamelane_core::{Bitrate, Direction, Duration, Overhead};
use gamelane_qdisc::classify::Rule;
use gamelane_qdisc::{ClassMap, DisciplineConfig, HtbConfig, PriorityConfig};

use super::framing::{SizeTable, header, rate_by_table};
use super::operation::{
    Chain, Class, Handle, Htb, NftRule, Operation, Options, Qdisc, Share, Table, TableName,
};
use super::place::{Forwards, Place, QueueDown};
use super::queue::{self, Around};
use super::refused::Refused;
use super::test::{self, Test};
use crate::{LanePolicy, Policy};

/// What to do, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The steps.
    pub operations: Vec<Operation>,
    /// Interfaces where packets queue, indexed by [`Direction::index`].
    pub devices: [String; 2],
    /// What the owner should know.
    pub notes: Vec<String>,
}

/// Plans a policy.
///
/// # Errors
/// The first part that Linux cannot do.
pub fn plan(policy: &Policy, place: &Place) -> Result<Plan, Refused> {
    refuse_stages(policy)?;
    let has_classes = |direction: Direction| is_classful(&policy.lanes[direction.index()].queue);
    let at = place.queue_down.unwrap_or(match has_classes(Direction::Down) {
        true => QueueDown::Lan,
        false => QueueDown::Wan,
    });
    if at == QueueDown::Wan && has_classes(Direction::Down) {
        let why = "it has classes, and nftables sees no packet that an IFB interface queues";
        let instead = format!("write --queue-down lan, so that packets queue at {}", place.lan);
        return Err(Refused::new("gateway.down", why).or(instead));
    }
    let ifb = &place.ifb;
    let devices = match at {
        QueueDown::Wan => [place.wan.clone(), ifb.clone()],
        QueueDown::Lan => [place.wan.clone(), place.lan.clone()],
    };
    let (mut operations, mut chains, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    if at == QueueDown::Wan {
        operations.push(Operation::Ifb { name: ifb.clone() });
    }
    for direction in Direction::BOTH {
        let is_ethernet = match (direction, at) {
            (Direction::Down, QueueDown::Lan) => place.is_ethernet[0],
            _ => place.is_ethernet[1],
        };
        let lane = Lane {
            policy: &policy.lanes[direction.index()],
            key: &format!("gateway.{}", direction.name()),
            classes: &policy.own_classes,
            device: &devices[direction.index()],
            header: header(is_ethernet),
            nat: place.forwards == Forwards::Router && place.tracks,
            burst: place.burst,
        };
        let built = lane.build()?;
        operations.extend(built.operations);
        let mut rules = Vec::new();
        if direction == Direction::Down && at == QueueDown::Lan {
            rules.extend(past_the_shaper(place, built.is_htb));
            notes.extend(shapes_itself(place, built.is_shaped, built.is_htb));
        }
        rules.extend(classify(policy, direction, &built.places, built.default)?);
        if !rules.is_empty() {
            let (name, device) = (direction.name(), devices[direction.index()].clone());
            chains.push(Chain { name, device, rules });
        }
    }
    if at == QueueDown::Wan {
        let (parent, handle) = (Handle::INGRESS, Handle::INGRESS_QDISC);
        let device = place.wan.clone();
        operations.push(Operation::Qdisc(Qdisc {
            device,
            parent,
            handle,
            sizes: None,
            options: Options::Ingress,
        }));
        operations.push(Operation::Redirect { from: place.wan.clone(), to: ifb.clone() });
    }
    if !chains.is_empty() {
        let table = Table::new(TableName::of(place.forwards.family(), &place.wan), chains);
        if !table.sets.is_empty() {
            notes.push("games are recognised, and get their class, only while this program runs".into());
        }
        operations.push(Operation::Table(table));
    }
    Ok(Plan { operations, devices, notes })
}

/// Whether the queues of these steps count packets that offloads have joined as one. Then offloads must be off.
pub fn joins_hurt(operations: &[Operation]) -> bool {
    // CAKE takes them apart again.
    let counts_joined = |operation: &Operation| matches!(operation, Operation::Qdisc(Qdisc { parent: Handle::ROOT, options, .. }) if options.kind() != "cake");
    operations.iter().any(counts_joined)
}

fn refuse_stages(policy: &Policy) -> Result<(), Refused> {
    if policy.voap.is_some() {
        return Err(Refused::new("gateway.voap", "Linux cannot lower the TCP windows of others"));
    }
    Ok(())
}

const fn is_classful(queue: &DisciplineConfig) -> bool {
    matches!(queue, DisciplineConfig::Priority(_) | DisciplineConfig::Drr(_) | DisciplineConfig::Htb(_))
}

/// Packets to the home that do not come from the internet pass HTB's classes.
fn past_the_shaper(place: &Place, is_htb: bool) -> Option<NftRule> {
    is_htb.then(|| NftRule {
        name: "not from the internet: not shaped".into(),
        tests: vec![Test::NotFrom(place.wan.clone())],
        class: Handle::OWN,
    })
}

/// Says that packets of this machine itself are shaped too. Only HTB at a router tells them from those of the internet.
fn shapes_itself(place: &Place, is_shaped: bool, is_htb: bool) -> Option<String> {
    let is_told = is_htb && place.forwards == Forwards::Router;
    (is_shaped && !is_told).then(|| {
        let lan = &place.lan;
        format!(
            "packets of this machine itself to {lan} are shaped, too; --queue-down wan would leave them alone"
        )
    })
}

/// The rules that put packets into `places`. Rules at the end that name the default change nothing.
fn classify(
    policy: &Policy,
    direction: Direction,
    places: &Places,
    default: usize,
) -> Result<Vec<NftRule>, Refused> {
    let Places { map, handles } = places;
    let rules = policy.classifier.as_ref().map_or(&[][..], |config| &config.rules);
    let is_apart = |rule: &Rule| !handles.is_empty() && map.place(rule.class, handles.len()) != default;
    let count = rules.iter().rposition(is_apart).map_or(0, |last| last + 1);
    let mut found = Vec::new();
    for rule in &rules[..count] {
        let class = handles[map.place(rule.class, handles.len())];
        let alternatives = test::tests(rule, direction)?;
        found.extend(alternatives.into_iter().map(|tests| NftRule { name: rule.name.clone(), tests, class }));
    }
    Ok(found)
}

/// The classes of a discipline.
#[derive(Default)]
struct Places {
    map: ClassMap,
    /// Empty for a discipline without classes.
    handles: Vec<Handle>,
}

/// One direction.
struct Lane<'a> {
    policy: &'a LanePolicy,
    key: &'a str,
    /// Names of the policy's own classes.
    classes: &'a [String],
    device: &'a str,
    /// Bytes of header that the length of a frame includes.
    header: u32,
    nat: bool,
    burst: Duration,
}

/// The steps of one direction.
struct Built {
    operations: Vec<Operation>,
    places: Places,
    /// Place of packets without a class.
    default: usize,
    is_shaped: bool,
    /// Whether HTB is outermost.
    is_htb: bool,
}

impl Lane<'_> {
    fn build(&self) -> Result<Built, Refused> {
        let shape = self.policy.shaper();
        let mut built = Built {
            operations: Vec::new(),
            places: Places::default(),
            default: 0,
            is_shaped: shape.is_some(),
            is_htb: false,
        };
        let queue = &self.policy.queue;
        match queue {
            DisciplineConfig::Htb(config) => self.tree(config, &mut built)?,
            // CAKE's targets and shares follow from its own rate (`cake_set_rate`). Without one, HTB above it holds the rate.
            DisciplineConfig::Cake(own) if own.bandwidth.is_some() || shape.is_none() => {
                let options = self.options(queue, shape)?;
                built.operations.push(self.qdisc(Handle::ROOT, Handle::OWN, options));
            }
            _ => {
                let (parent, handle) = match shape {
                    None => (Handle::ROOT, Handle::OWN),
                    Some((rate, overhead)) => {
                        self.root(overhead, 1, &mut built);
                        let class = Handle::OWN.class(1);
                        let rate = rate_by_table(rate, overhead);
                        let share = Share::Htb(self.whole(rate));
                        built.operations.push(self.class(Handle::OWN, class, share, "the link"));
                        (class, INNER)
                    }
                };
                self.inner(queue, parent, handle, &mut built)?;
            }
        }
        Ok(built)
    }

    /// HTB as the outermost discipline.
    fn root(&self, overhead: Overhead, default: u16, built: &mut Built) {
        built.is_htb = true;
        built.operations.push(Operation::Qdisc(Qdisc {
            device: self.device.into(),
            parent: Handle::ROOT,
            handle: Handle::OWN,
            sizes: Some(SizeTable::of(overhead, self.header)),
            options: Options::Htb { default },
        }));
    }

    /// A queue at its place.
    fn inner(
        &self,
        queue: &DisciplineConfig,
        parent: Handle,
        handle: Handle,
        built: &mut Built,
    ) -> Result<(), Refused> {
        match queue {
            DisciplineConfig::Priority(PriorityConfig { bands, classes }) => {
                // Linux has no prio of one band.
                let count = bands.len().max(2) as u8;
                built.operations.push(self.qdisc(parent, handle, Options::Prio { bands: count }));
                built.places = Places { map: classes.clone(), handles: minors(handle, bands.len()) };
                built.default = bands.len() - 1;
                self.leaves(bands.iter(), built)
            }
            DisciplineConfig::Drr(config) => {
                built.operations.push(self.qdisc(parent, handle, Options::Drr));
                let handles = minors(handle, config.shares.len());
                for (class, share) in handles.iter().zip(&config.shares) {
                    let quantum = u32::try_from(share.quantum.bytes()).unwrap_or(u32::MAX);
                    built.operations.push(self.class(handle, *class, Share::Drr { quantum }, "a class"));
                }
                built.default = handles.len() - 1;
                let rest = handles[built.default];
                built.places = Places { map: config.classes.clone(), handles };
                self.leaves(config.shares.iter().map(|share| &share.queue), built)?;
                let device = self.device.into();
                built.operations.push(Operation::Rest { device, parent: handle, class: rest });
                Ok(())
            }
            _ => {
                let options = self.options(queue, None)?;
                built.operations.push(self.qdisc(parent, handle, options));
                Ok(())
            }
        }
    }

    /// A tree of HTB.
    fn tree(&self, config: &HtbConfig, built: &mut Built) -> Result<(), Refused> {
        let overhead = config.overhead;
        built.is_shaped = true;
        let handle = |index: usize| Handle::OWN.class(index as u16 + 1);
        let leaves: Vec<usize> =
            (0..config.tree.len()).filter(|index| config.tree[*index].queue.is_some()).collect();
        built.default = leaves.len() - 1;
        self.root(overhead, leaves[built.default] as u16 + 1, built);
        for (index, class) in config.tree.iter().enumerate() {
            let parent = class.parent.map_or(Handle::OWN, handle);
            let [rate, ceil] = [class.rate, class.ceil].map(|rate| rate_by_table(rate, overhead));
            let more = class.burst.map_or(0, |burst| u32::try_from(burst.bytes()).unwrap_or(u32::MAX));
            let share = Htb {
                rate,
                ceil,
                burst: self.burst(rate).saturating_add(more),
                cburst: self.burst(ceil),
                priority: class.priority,
                quantum: class.quantum.map_or(self.frame(), |quantum| quantum.bytes() as u32),
            };
            built.operations.push(self.class(parent, handle(index), Share::Htb(share), &class.name));
        }
        built.places = Places {
            map: config.classes.clone(),
            handles: leaves.iter().map(|index| handle(*index)).collect(),
        };
        self.leaves(config.tree.iter().filter_map(|class| class.queue.as_deref()), built)
    }

    /// The queues of the classes in [`Built::places`].
    fn leaves<'a>(
        &self,
        queues: impl Iterator<Item = &'a DisciplineConfig>,
        built: &mut Built,
    ) -> Result<(), Refused> {
        for (number, queue) in queues.enumerate() {
            let (parent, handle) = (built.places.handles[number], Handle::of(LEAVES + number as u16, 0));
            let key = self.classes.get(number).map(|name| format!("gateway.class.{name}.queue"));
            let around = Around { key: key.as_deref().unwrap_or(self.key), ..self.around(None) };
            built.operations.push(self.qdisc(parent, handle, queue::options(queue, &around)?));
        }
        Ok(())
    }

    fn options(
        &self,
        queue: &DisciplineConfig,
        shape: Option<(Bitrate, Overhead)>,
    ) -> Result<Options, Refused> {
        queue::options(queue, &self.around(shape))
    }

    fn around(&self, shape: Option<(Bitrate, Overhead)>) -> Around<'_> {
        Around { key: self.key, mtu: self.policy.mtu, shape, nat: self.nat }
    }

    fn qdisc(&self, parent: Handle, handle: Handle, options: Options) -> Operation {
        Operation::Qdisc(Qdisc { device: self.device.into(), parent, handle, sizes: None, options })
    }

    fn class(&self, parent: Handle, handle: Handle, share: Share, name: &str) -> Operation {
        Operation::Class(Class { device: self.device.into(), parent, handle, share, name: name.into() })
    }

    /// The class of a shaper.
    fn whole(&self, rate: Bitrate) -> Htb {
        let burst = self.burst(rate);
        Htb { rate, ceil: rate, burst, cburst: burst, priority: 0, quantum: self.frame() }
    }

    /// Bytes that may leave at once. HTB sends a packet if any of them are left (`htb_class_mode`), so fewer than a packet are enough. A
    /// packet that leaves ahead waits in the modem.
    fn burst(&self, rate: Bitrate) -> u32 {
        rate.bytes_in(self.burst).bytes().clamp(1, u32::MAX.into()) as u32
    }

    /// Bytes of a full frame.
    fn frame(&self) -> u32 {
        self.policy.mtu.0 + header(true)
    }
}

/// The queue below a shaper.
const INNER: Handle = Handle::of(0x6a1, 0);
/// Number of the first queue of a class.
const LEAVES: u16 = 0x6b0;

fn minors(handle: Handle, count: usize) -> Vec<Handle> {
    (1..=count as u16).map(|minor| handle.class(minor)).collect()
}
