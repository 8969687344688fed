//! `[gateway]` to queue configurations.

use gamelane_qdisc::{ParameterSet, QueueConfig, QueueKind};

use super::{Place, listed};
use crate::text::error::{Fault, ScenarioError};
use crate::text::keys::gateway::{Discipline, Parameters, Queue};

/// One queue.
pub(super) fn queue(queue: &Queue, place: &Place<'_>) -> Result<QueueConfig, ScenarioError> {
    if let Some((key, readers)) = queue.selective().find(|(_, readers)| !readers.contains(&queue.queue)) {
        let readers = listed(readers.iter().map(|reader| reader.word()));
        let fault = Fault::new(format!("`{}` has no `{key}`; it applies to {readers}", queue.queue));
        return Err(place.key(key).refuse(fault));
    }
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
        ..QueueConfig::new(kind(queue.queue), parameters(queue.parameters))
    })
}

fn kind(discipline: Discipline) -> QueueKind {
    match discipline {
        Discipline::Fifo => QueueKind::Fifo,
        Discipline::Codel => QueueKind::Codel,
        Discipline::Pie => QueueKind::Pie,
        Discipline::FqCodel => QueueKind::FqCodel,
        Discipline::FqPie => QueueKind::FqPie,
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
