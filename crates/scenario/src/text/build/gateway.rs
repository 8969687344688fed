//! A queue of `[gateway]` to its configuration.

use gamelane_qdisc::cake::CakeConfig;
use gamelane_qdisc::{
    AckFilterConfig, AckFilterMode, ClassMap, DisciplineConfig, DualPi2Config, Limit, ParameterSet,
    PriorityConfig, QueueConfig, QueueKind,
};

use super::{Place, listed};
use crate::text::error::{Fault, ScenarioError};
use crate::text::keys::gateway::{Acks, Discipline, Parameters, Queue};

/// A queue of the gateway's own, which may be one of several parts.
pub(super) fn discipline(queue: &Queue, place: &Place<'_>) -> Result<DisciplineConfig, ScenarioError> {
    check_keys(queue, place)?;
    let limit = queue.limit.map(|limit| limit.0);
    match queue.queue {
        Discipline::Priority => Ok(DisciplineConfig::Priority(priority(queue.acks, limit))),
        Discipline::Cake => cake(queue, place).map(DisciplineConfig::Cake),
        Discipline::DualPi2 => {
            let plain = DualPi2Config::default();
            Ok(DisciplineConfig::DualPi2(DualPi2Config { limit: limit.unwrap_or(plain.limit), ..plain }))
        }
        _ => self::queue(queue, place).map(DisciplineConfig::Leaf),
    }
}

/// Bands for the classes that [`super::classes`] makes.
fn priority(acks: Option<Acks>, limit: Option<Limit>) -> PriorityConfig {
    let mut config = match acks {
        None => PriorityConfig { classes: ClassMap(vec![0, 1, 1]), ..PriorityConfig::altq(2) },
        Some(_) => PriorityConfig { classes: ClassMap(vec![0, 1, 2]), ..PriorityConfig::altq(3) },
    };
    if let Some(limit) = limit {
        let fifo =
            QueueConfig { limit: Some(limit), ..QueueConfig::new(QueueKind::Fifo, ParameterSet::Linux) };
        config.bands.fill(fifo.into());
    }
    if acks == Some(Acks::Filter) {
        let limit = limit.unwrap_or(Limit::Packets(50));
        config.bands[1] =
            DisciplineConfig::AckFilter(AckFilterConfig { mode: AckFilterMode::Conservative, limit });
    }
    config
}

fn cake(queue: &Queue, place: &Place<'_>) -> Result<CakeConfig, ScenarioError> {
    let plain = CakeConfig::default();
    let memory = match queue.limit.map(|limit| limit.0) {
        Some(Limit::Packets(_)) => {
            let fault = Fault::new("`cake` counts bytes").allowed("a size such as \"4MiB\"");
            return Err(place.key("limit").refuse(fault));
        }
        Some(Limit::Bytes(bytes)) if bytes.bytes() < 1514 => {
            let fault = Fault::new("no packet would fit").allowed("\"1514B\" or more");
            return Err(place.key("limit").refuse(fault));
        }
        Some(Limit::Bytes(bytes)) => Some(bytes),
        None => None,
    };
    let ack_filter = match queue.acks {
        Some(Acks::Prioritise) => {
            let fault = Fault::new("`cake` does not tell ACKs from other packets").allowed("filter");
            return Err(place.key("acks").refuse(fault.hint("prioritise them with queue = \"priority\"")));
        }
        Some(Acks::Filter) => AckFilterMode::Conservative,
        None => plain.ack_filter,
    };
    Ok(CakeConfig { memory, ack_filter, ..plain })
}

/// One queue, of one part.
pub(super) fn queue(queue: &Queue, place: &Place<'_>) -> Result<QueueConfig, ScenarioError> {
    let Some(kind) = kind(queue.queue) else {
        let fault = Fault::new(format!("`{}` is for `gateway.up` and `gateway.down`", queue.queue));
        return Err(place.key("queue").refuse(fault.allowed("fifo, codel, pie, fq_codel, fq_pie")));
    };
    check_keys(queue, place)?;
    if let Some(flows) = queue.flows.filter(|flows| !(1..=65_536).contains(flows)) {
        let fault = Fault::new(format!("{flows} flow queues are out of reach"));
        return Err(place.key("flows").refuse(fault.allowed("1 to 65536")));
    }
    if queue.quantum.is_some_and(|quantum| quantum.0.bytes() > 1 << 20) {
        return Err(place
            .key("quantum")
            .refuse(Fault::new("so large a quantum is out of reach").allowed("up to \"1MiB\"")));
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
        ..QueueConfig::new(kind, parameters(queue.parameters))
    })
}

/// Keys this queue does not read.
fn check_keys(queue: &Queue, place: &Place<'_>) -> Result<(), ScenarioError> {
    let Some((key, readers)) = queue.selective().find(|(_, readers)| !readers.contains(&queue.queue)) else {
        return Ok(());
    };
    let readers = listed(readers.iter().map(|reader| reader.word()));
    let fault = Fault::new(format!("`{}` has no `{key}`; it applies to {readers}", queue.queue));
    Err(place.key(key).refuse(fault))
}

fn kind(discipline: Discipline) -> Option<QueueKind> {
    match discipline {
        Discipline::Fifo => Some(QueueKind::Fifo),
        Discipline::Codel => Some(QueueKind::Codel),
        Discipline::Pie => Some(QueueKind::Pie),
        Discipline::FqCodel => Some(QueueKind::FqCodel),
        Discipline::FqPie => Some(QueueKind::FqPie),
        Discipline::Priority | Discipline::Cake | Discipline::DualPi2 => None,
    }
}

fn parameters(parameters: Parameters) -> ParameterSet {
    match parameters {
        Parameters::Rfc => ParameterSet::Rfc,
        Parameters::Linux => ParameterSet::Linux,
        Parameters::Dummynet => ParameterSet::Dummynet,
        Parameters::Ns3 => ParameterSet::Ns3,
    }
}
