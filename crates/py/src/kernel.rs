//! What Linux would run of a policy, and what the lab's kernel needs to run a scenario.

use gamelane_core::Direction;
use gamelane_policy::Policy;
use gamelane_policy::apply::classes::spell_out;
use gamelane_policy::kernel::framing::{SizeTable, header, rate_by_table};
use gamelane_policy::kernel::{Forwards, Operation, Place, QueueDown, ifb_name, plan};
use gamelane_scenario::text::keys::{Gateway, Link};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::de::DeserializeOwned;

use crate::error::refused;

/// What Linux cannot do: the key, the reason, and what to write instead.
type Refusal = (String, String, Option<String>);

/// Returns the names of the disciplines that Linux would need for a policy at a router, and what it cannot do. Errors name `file`.
#[pyfunction]
pub(crate) fn kernel_queues(
    py: Python<'_>,
    policy: &str,
    file: &str,
) -> PyResult<(Vec<&'static str>, Option<Refusal>)> {
    let place = Place {
        lan: "lan".into(),
        wan: "wan".into(),
        ifb: ifb_name("wan"),
        is_ethernet: [true; 2],
        forwards: Forwards::Router,
        tracks: false,
        queue_down: Some(QueueDown::Lan),
        burst: gamelane_core::Duration::ZERO,
    };
    let policy = Policy::parse(policy, file, &[]).map_err(|refusal| refused(py, &refusal))?;
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

/// Returns a `[gateway]` in TOML with `class` and `rule` in place of `priority`. Names that are not in `flows` stand for a behaviour.
#[pyfunction]
pub(crate) fn classes_of_priority(gateway: &str, flows: Vec<String>) -> PyResult<String> {
    let mut gateway: Gateway = read(gateway)?;
    spell_out(&mut gateway, |name| flows.iter().any(|flow| flow == name));
    Ok(toml::to_string(&gateway).expect("every key of a gateway is text, a number, a list or a table"))
}

/// Returns the size table that counts a link's framing on Ethernet, as `tc` writes it, and the rate in bit/s by that table. `link` is
/// the TOML of a `[link]`, `direction` is "up" or "down".
#[pyfunction]
pub(crate) fn size_table(link: &str, direction: &str) -> PyResult<(String, u64)> {
    let link: Link = read(link)?;
    let direction = Direction::BOTH
        .into_iter()
        .find(|way| way.name() == direction)
        .ok_or_else(|| PyValueError::new_err("the direction is up or down"))?;
    let rate = match direction {
        Direction::Up => link.up,
        Direction::Down => link.down,
    };
    let rate = rate.ok_or_else(|| PyValueError::new_err("this direction of the link has no fixed rate"))?;
    let overhead = link.overhead.towards(direction).cloned().unwrap_or_default();
    let overhead = overhead.framing().map_err(|fault| PyValueError::new_err(fault.message))?;
    let table = SizeTable::of(overhead, header(true));
    Ok((table.to_string(), rate_by_table(rate.0, overhead).bps()))
}

fn read<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    toml::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))
}
