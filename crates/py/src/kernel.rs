//! What Linux would run of a policy.

use gamelane_core::Duration;
use gamelane_gateway::kernel::{Forwards, Operation, Place, QueueDown, plan};
use gamelane_gateway::policy::Policy;
use pyo3::prelude::*;

use crate::error::refused;

/// Returns the names of the disciplines that Linux would need for a policy at a router, and what it cannot do: the key, the reason, and what
/// to write instead. Errors name `file`.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "a tuple of Python")]
pub(crate) fn kernel_queues(
    py: Python<'_>,
    policy: &str,
    file: &str,
) -> PyResult<(Vec<&'static str>, Option<(String, String, Option<String>)>)> {
    let policy = Policy::parse(policy, file, &[]).map_err(|refusal| refused(py, &refusal))?;
    let place = Place {
        lan: "lan".into(),
        wan: "wan".into(),
        is_ethernet: [true; 2],
        forwards: Forwards::Router,
        tracks: false,
        queue_down: Some(QueueDown::Lan),
        burst: Duration::ZERO,
    };
    Ok(match plan(&policy, &place) {
        Ok(plan) => (plan.operations.iter().filter_map(kind).collect(), None),
        Err(refused) => (Vec::new(), Some((refused.key, refused.why, refused.instead))),
    })
}

const fn kind(operation: &Operation) -> Option<&'static str> {
    match operation {
        Operation::Qdisc(qdisc) => Some(qdisc.options.kind()),
        _ => None,
    }
}
