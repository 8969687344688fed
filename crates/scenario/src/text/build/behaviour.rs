//! `[gateway] detector` to the parameters of the flow table.

use gamelane_core::{IpLen, Protocol};
use gamelane_qdisc::classify::{BehaviourParameters, FlowTableParameters};

use super::Place;
use crate::text::error::{Fault, ScenarioError};
use crate::text::keys::Detector;
use crate::text::keys::behaviour::Judged;
use crate::text::scenario::Scenario;

/// How flows are observed.
pub(super) fn flow_table(
    scenario: &Scenario,
    gateway: &Place<'_>,
) -> Result<FlowTableParameters, ScenarioError> {
    let Some(keys) = &scenario.gateway.detector else { return Ok(FlowTableParameters::default()) };
    check(keys, &gateway.key("detector"))?;
    let behaviour = BehaviourParameters {
        protocol: match keys.protocol {
            Judged::Udp => Some(Protocol::Udp),
            Judged::Tcp => Some(Protocol::Tcp),
            Judged::Any => None,
        },
        slowest_packets_per_second: keys.slowest,
        fastest_packets_per_second: keys.fastest,
        largest_mean_len: IpLen(u32::try_from(keys.largest.0.bytes()).unwrap_or(u32::MAX)),
        highest_rate: keys.rate.0,
        widest_gap_deviation_percent: keys.gap_deviation.0,
        promote_after: keys.promote_after,
        demote_after: keys.demote_after,
    };
    Ok(FlowTableParameters { window: keys.window.0, behaviour, ..FlowTableParameters::default() })
}

/// Refuses a detector that no rule uses.
pub(super) fn check_asked(scenario: &Scenario, gateway: &Place<'_>) -> Result<(), ScenarioError> {
    let rules = scenario.gateway.rule.as_deref().unwrap_or_default();
    let asked = rules.iter().any(|rule| rule.behaviour.is_some());
    if scenario.gateway.detector.is_none() || asked {
        return Ok(());
    }
    let fault = Fault::new("no rule uses the detector");
    Err(gateway.key("detector").refuse(fault.hint("add a [[gateway.rule]] with behaviour = \"real-time\"")))
}

fn check(keys: &Detector, place: &Place<'_>) -> Result<(), ScenarioError> {
    if keys.slowest > keys.fastest {
        let fault = Fault::new(format!("`slowest` is above `fastest`, {}", keys.fastest));
        return Err(place.key("slowest").refuse(fault.allowed(format!("up to {}", keys.fastest))));
    }
    for (key, windows) in [("promote_after", keys.promote_after), ("demote_after", keys.demote_after)] {
        if !(1..=250).contains(&windows) {
            let fault = Fault::new("this number of windows is out of range").allowed("1 to 250");
            return Err(place.key(key).refuse(fault));
        }
    }
    Ok(())
}
