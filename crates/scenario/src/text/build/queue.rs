//! A queue of `[gateway]` to its configuration.

use gamelane_core::headers::ETHERNET_HEADER;
use gamelane_core::{Bitrate, Catalogued, Direction, IpLen, Overhead};
use gamelane_qdisc::cake::{self, CakeConfig, config, diffserv};
use gamelane_qdisc::dualpi2::config::{L4sMarking, Scheduler};
use gamelane_qdisc::{
    AckFilterMode, Discipline, DisciplineConfig, DualPi2Config, Isolates, Limit, ParameterSet, QueueConfig,
};

use super::classes::Classes;
use super::{Place, check_readers, classful, link};
use crate::text::each_way::EachWay;
use crate::text::error::{Fault, ScenarioError};
use crate::text::keys::queue::{Acks, Grace, Isolation, Parameters, Queue, Tins};
use crate::text::switch::Switch;
use crate::text::units::Percent;

/// The shaper or link behind a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Below {
    pub(super) direction: Direction,
    /// `None` if the rate varies.
    pub(super) rate: Option<Bitrate>,
    /// Rate of the gateway's shaper. Autorate sets that of the queue, too.
    pub(super) shape: Option<Bitrate>,
    /// Bytes it counts in addition to an IP packet.
    pub(super) overhead: Overhead,
}

impl Below {
    /// Bytes that Linux counts for each packet beside its IP bytes. A shaper's size table counts `overhead`, here that
    /// of a full packet. Without a shaper, it is the Ethernet header.
    fn counted_header(&self) -> u32 {
        const FULL: IpLen = IpLen(1500);
        self.rate.map_or(ETHERNET_HEADER, |_| self.overhead.wire_len(FULL).0 - FULL.0)
    }
}

/// A queue whose packets have classes.
pub(super) fn discipline(
    queue: &Queue,
    classes: &Classes<'_>,
    below: &Below,
    place: &Place<'_>,
) -> Result<DisciplineConfig, ScenarioError> {
    if !queue.has_classes() {
        return classless(queue, below, place);
    }
    check_keys(queue, place)?;
    classful::discipline(queue, classes, below, place)
}

/// A queue whose packets have no class.
pub(super) fn classless(
    queue: &Queue,
    below: &Below,
    place: &Place<'_>,
) -> Result<DisciplineConfig, ScenarioError> {
    match queue.queue.0 {
        Discipline::Cake => {
            check_keys(queue, place)?;
            cake_config(queue, below, place).map(DisciplineConfig::Cake)
        }
        Discipline::DualPi2 => {
            check_keys(queue, place)?;
            dualpi2(queue, place).map(DisciplineConfig::DualPi2)
        }
        _ => leaf(queue, below, place).map(DisciplineConfig::Leaf),
    }
}

fn leaf(queue: &Queue, below: &Below, place: &Place<'_>) -> Result<QueueConfig, ScenarioError> {
    let Some(kind) = queue.queue.0.descriptor().facts.plain else {
        let fault = Fault::new(format!("`{}` needs classes, and packets have none here", queue.queue));
        let others = Discipline::ALL.iter().map(|one| one.descriptor());
        let others = others.filter(|one| one.facts.isolates != Isolates::Classes).map(|one| one.word);
        return Err(place.key("queue").refuse(fault.allowed(others.collect::<Vec<_>>().join(", "))));
    };
    check_keys(queue, place)?;
    if let Some(flows) = queue.flows.filter(|flows| !(1..=65_536).contains(flows)) {
        let fault = Fault::new(format!("{flows} flow queues are out of range"));
        return Err(place.key("flows").refuse(fault.allowed("1 to 65536")));
    }
    if queue.quantum.is_some_and(|quantum| quantum.0.bytes() > 1 << 20) {
        return Err(place
            .key("quantum")
            .refuse(Fault::new("this quantum is too large").allowed("up to \"1MiB\"")));
    }
    Ok(QueueConfig {
        limit: queue.limit.map(|limit| limit.0),
        target: queue.target.map(|target| target.0),
        interval: queue.interval.map(|interval| interval.0),
        update: queue.update.map(|update| update.0),
        max_burst: queue.max_burst.map(|burst| burst.0),
        ecn: queue.ecn,
        quantum: queue.quantum.map(|quantum| quantum.0),
        flows: queue.flows,
        header: below.counted_header(),
        ..QueueConfig::new(kind, parameters(queue.parameters))
    })
}

fn cake_config(queue: &Queue, below: &Below, place: &Place<'_>) -> Result<CakeConfig, ScenarioError> {
    let plain = CakeConfig::default();
    let memory = match queue.limit.map(|limit| limit.0) {
        Some(Limit::Packets(_)) => {
            let fault = Fault::new("`cake` limits bytes, not packets").allowed("a size such as \"4MiB\"");
            return Err(place.key("limit").refuse(fault));
        }
        Some(Limit::Bytes(bytes)) if bytes.bytes() < 1514 => {
            let fault = Fault::new("this limit is smaller than one packet").allowed("\"1514B\" or more");
            return Err(place.key("limit").refuse(fault));
        }
        Some(Limit::Bytes(bytes)) => Some(bytes),
        None => None,
    };
    let ack_filter = match queue.acks {
        Some(Acks::Prioritise) => {
            let fault = Fault::new("`cake` cannot prioritise ACKs");
            let fault = fault.allowed("filter, filter-aggressive");
            return Err(place.key("acks").refuse(fault.hint("use queue = \"priority\" instead")));
        }
        acks => filter(acks).unwrap_or(plain.ack_filter),
    };
    let bandwidth = match &queue.bandwidth {
        None => below.shape,
        Some(_) => bandwidth(queue, below, place)?,
    };
    if bandwidth.is_some_and(|rate| rate.bps() < 16) {
        let fault = Fault::new("this rate is too low to divide among the tins").allowed("\"16bit\" or more");
        return Err(place.key("bandwidth").refuse(fault));
    }
    Ok(CakeConfig {
        bandwidth,
        diffserv: match queue.tins {
            Some(Tins::BestEffort) => diffserv::Diffserv::BestEffort,
            Some(Tins::Diffserv4) => diffserv::Diffserv::Four,
            Some(Tins::Diffserv8) => diffserv::Diffserv::Eight,
            Some(Tins::Precedence) => diffserv::Diffserv::Precedence,
            Some(Tins::Diffserv3) | None => diffserv::Diffserv::Three,
        },
        isolation: match queue.isolation {
            Some(Isolation::Blind) => config::Isolation::Blind,
            Some(Isolation::Sources) => config::Isolation::Sources,
            Some(Isolation::Destinations) => config::Isolation::Destinations,
            Some(Isolation::Hosts) => config::Isolation::Hosts,
            Some(Isolation::Flows) => config::Isolation::Flows,
            Some(Isolation::DualSource) => config::Isolation::DualSource,
            Some(Isolation::DualDestination) => config::Isolation::DualDestination,
            Some(Isolation::Triple) | None => config::Isolation::Triple,
        },
        rtt: queue.rtt.map_or(plain.rtt, |rtt| rtt.0),
        grace: match queue.grace {
            Some(Grace::Interval) => cake::Grace::Interval,
            Some(Grace::Linux) | None => cake::Grace::Linux,
        },
        overhead: overhead(queue, below, place)?,
        ack_filter,
        ingress: queue.ingress.unwrap_or(plain.ingress),
        wash: queue.wash.unwrap_or(plain.wash),
        memory,
    })
}

/// The ACKs to drop, if any.
pub(super) fn filter(acks: Option<Acks>) -> Option<AckFilterMode> {
    match acks {
        None | Some(Acks::Plain | Acks::Prioritise) => None,
        Some(Acks::Filter) => Some(AckFilterMode::Conservative),
        Some(Acks::FilterAggressive) => Some(AckFilterMode::Aggressive),
    }
}

/// The rate of the queue's own shaper, if given.
pub(super) fn bandwidth(
    queue: &Queue,
    below: &Below,
    place: &Place<'_>,
) -> Result<Option<Bitrate>, ScenarioError> {
    let Some(rate) = queue.bandwidth.as_ref().and_then(Switch::on) else { return Ok(None) };
    match below.rate {
        Some(below) if rate.0 > below => {
            let fault =
                Fault::new(format!("a shaper above the rate of the link behind it, {below}, has no effect"));
            let hint =
                format!("set it a little below, such as \"{}\"", Bitrate::from_bps(below.bps() / 20 * 19));
            Err(place.key("bandwidth").refuse(fault.allowed(format!("up to \"{below}\"")).hint(hint)))
        }
        _ => Ok(Some(rate.0)),
    }
}

/// Bytes that the queue's own shaper counts in addition to an IP packet.
pub(super) fn overhead(queue: &Queue, below: &Below, place: &Place<'_>) -> Result<Overhead, ScenarioError> {
    match &queue.overhead {
        Some(own) => link::overhead(&EachWay::Both(own.clone()), below.direction, &place.key("overhead")),
        None => Ok(below.overhead),
    }
}

fn dualpi2(queue: &Queue, place: &Place<'_>) -> Result<DualPi2Config, ScenarioError> {
    let plain = DualPi2Config::default();
    let number = |key: &str, given: Option<f64>, plain: f64| match given {
        Some(number) if !number.is_finite() || number < 0.0 || (number == 0.0 && key == "coupling") => {
            let fault = Fault::new("this number is out of range").allowed(if key == "coupling" {
                "more than 0, such as 2.0"
            } else {
                "0 or more, such as 0.16"
            });
            Err(place.key(key).refuse(fault))
        }
        given => Ok(given.unwrap_or(plain)),
    };
    let mut pi2 = plain.pi2;
    pi2.target = queue.target.map_or(pi2.target, |target| target.0);
    pi2.update = queue.update.map_or(pi2.update, |update| update.0);
    pi2.coupling = number("coupling", queue.coupling, pi2.coupling)?;
    pi2.alpha = number("alpha", queue.alpha, pi2.alpha)?;
    pi2.beta = number("beta", queue.beta, pi2.beta)?;
    let marking = match queue.step {
        None => plain.marking,
        Some(step) => {
            let (Some(from), Some(to)) = (step.low, step.high) else {
                let fault = Fault::new("this range needs both ends")
                    .allowed("a time such as \"1ms\", or a range such as \"800us..1200us\"");
                return Err(place.key("step").refuse(fault));
            };
            if to.0 < from.0 {
                let fault = Fault::new("this range ends before it begins");
                let hint = format!("write \"{to}..{from}\"");
                return Err(place.key("step").refuse(fault.hint(hint)));
            }
            L4sMarking { from: from.0, to: to.0, ..plain.marking }
        }
    };
    Ok(DualPi2Config {
        limit: queue.limit.map_or(plain.limit, |limit| limit.0),
        pi2,
        marking,
        scheduler: scheduler(queue, place)?.unwrap_or(plain.scheduler),
    })
}

fn scheduler(queue: &Queue, place: &Place<'_>) -> Result<Option<Scheduler>, ScenarioError> {
    match (queue.classic_share, queue.time_shift) {
        (Some(_), Some(_)) => {
            let fault = Fault::new("`classic_share` and `time_shift` exclude each other");
            Err(place.key("time_shift").refuse(fault.hint("remove one of them")))
        }
        (Some(share), None) => match whole(share) {
            Some(percent @ 1..=99) => Ok(Some(Scheduler::Weighted { classic_percent: percent })),
            _ => {
                let fault = Fault::new("this share is out of range, or is not a whole per cent");
                Err(place.key("classic_share").refuse(fault.allowed("\"1%\" to \"99%\"")))
            }
        },
        (None, Some(shift)) => Ok(Some(Scheduler::TimeShifted { shift: shift.0 })),
        (None, None) => Ok(None),
    }
}

fn whole(share: Percent) -> Option<u8> {
    let percent = share.probability() * 100.0;
    let rounded = percent.round();
    ((percent - rounded).abs() < 1e-6).then_some(rounded as u8)
}

/// Refuses keys that this queue does not read.
fn check_keys(queue: &Queue, place: &Place<'_>) -> Result<(), ScenarioError> {
    check_readers(queue.selective(), queue.queue, "", place)
}

fn parameters(parameters: Parameters) -> ParameterSet {
    match parameters {
        Parameters::Rfc => ParameterSet::Rfc,
        Parameters::Linux => ParameterSet::Linux,
        Parameters::Dummynet => ParameterSet::Dummynet,
        Parameters::Ns3 => ParameterSet::Ns3,
    }
}
