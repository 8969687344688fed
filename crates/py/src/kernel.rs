//! What Linux would run of a policy.

use gamelane_core::{Direction, Duration};
use gamelane_gateway::kernel::{
    Forwards, Handle, Operation, Place, Plan, QueueDown, ifb_name, joins_hurt, plan, text,
};
use gamelane_gateway::policy::Policy;
use pyo3::prelude::*;

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
    let place = Place { queue_down: Some(QueueDown::Lan), ..router("lan", "wan") };
    Ok(match planned(py, policy, file, &place)? {
        Ok(plan) => (plan.operations.iter().filter_map(kind).collect(), None),
        Err(refusal) => (Vec::new(), Some(refusal)),
    })
}

/// Lines of a shell: those that undo whatever a gateway set up, and those that set up a policy; whether its queues count joined packets as
/// one.
type Lines = (Vec<String>, Vec<String>, bool);

/// Returns the lines for a policy at a router, and what Linux cannot do; then they are empty. `interfaces` are those towards the home and
/// the internet, and the IFB interface. `directions` ("up", "down") are those to set; the others stay as they are.
#[pyfunction]
pub(crate) fn kernel_lines(
    py: Python<'_>,
    policy: &str,
    file: &str,
    interfaces: [String; 3],
    directions: Vec<String>,
) -> PyResult<(Lines, Option<Refusal>)> {
    let [lan, wan, ifb] = interfaces;
    let place = Place { ifb, tracks: true, burst: Duration::from_millis(1), ..router(&lan, &wan) };
    Ok(match planned(py, policy, file, &place)? {
        Ok(plan) => {
            let is_left = |way: Direction| directions.iter().all(|own| own != way.name());
            let mut own = plan.operations.clone();
            own.retain(|operation| !direction(operation, &plan).is_some_and(is_left));
            ((text::undo(&place), text::lines(&own), joins_hurt(&own)), None)
        }
        Err(refusal) => (Lines::default(), Some(refusal)),
    })
}

fn router(lan: &str, wan: &str) -> Place {
    Place {
        lan: lan.into(),
        wan: wan.into(),
        ifb: ifb_name(wan),
        is_ethernet: [true; 2],
        forwards: Forwards::Router,
        tracks: false,
        queue_down: None,
        burst: Duration::ZERO,
    }
}

fn planned(py: Python<'_>, policy: &str, file: &str, place: &Place) -> PyResult<Result<Plan, Refusal>> {
    let policy = Policy::parse(policy, file, &[]).map_err(|refusal| refused(py, &refusal))?;
    Ok(plan(&policy, place).map_err(|refused| (refused.key, refused.why, refused.instead)))
}

const fn kind(operation: &Operation) -> Option<&'static str> {
    match operation {
        Operation::Qdisc(qdisc) => Some(qdisc.options.kind()),
        _ => None,
    }
}

/// The direction that a step is for; `None` for a table, which has rules for the directions with classes.
fn direction(operation: &Operation, plan: &Plan) -> Option<Direction> {
    let device = match operation {
        Operation::Qdisc(qdisc) if qdisc.parent != Handle::INGRESS => &qdisc.device,
        Operation::Class(class) => &class.device,
        Operation::Rest { device, .. } => device,
        Operation::Table(_) => return None,
        Operation::Qdisc(_) | Operation::Ifb { .. } | Operation::Redirect { .. } => {
            return Some(Direction::Down);
        }
    };
    let is_up = *device == plan.devices[Direction::Up.index()];
    Some(if is_up { Direction::Up } else { Direction::Down })
}
