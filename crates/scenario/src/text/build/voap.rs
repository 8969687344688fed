//! `[gateway] voap` to its configuration.

use gamelane_stage::voap::{VoapConfig, VoapFault};

use super::Place;
use crate::text::error::{Fault, ScenarioError};
use crate::text::keys::voap::SteeredData;
use crate::text::scenario::Scenario;
use crate::text::switch::Switch;

/// VoAP of the gateway, if switched on.
pub(super) fn voap(scenario: &Scenario, place: &Place<'_>) -> Result<Option<VoapConfig>, ScenarioError> {
    let Some(voap) = scenario.gateway.voap.as_ref().and_then(Switch::on) else { return Ok(None) };
    let config = VoapConfig {
        alpha: voap.alpha.0,
        beta: voap.beta.0,
        step: voap.step,
        period: voap.period.0,
        floor: voap.floor,
        even: voap.even,
        data: match voap.data {
            SteeredData::Down => [false, true],
            SteeredData::Up => [true, false],
            SteeredData::Both => [true, true],
        },
        ..VoapConfig::default()
    };
    let (key, fault) = match config.check() {
        Ok(()) => return Ok(Some(config)),
        Err(VoapFault::AlphaAboveBeta) => (
            "alpha",
            Fault::new(format!("`alpha` is above `beta`, which is {}", voap.beta))
                .allowed(format!("up to \"{}\"", voap.beta))
                .hint("the paper has alpha = \"5ms\" and beta = \"15ms\""),
        ),
        Err(VoapFault::Step) => {
            ("step", Fault::new("this step is out of range").allowed("1 to 1000 (segments)"))
        }
        Err(VoapFault::Floor) => (
            "floor",
            Fault::new(
                "this window is out of range: with less than 2 segments, delayed ACKs stall the sender",
            )
            .allowed("2 to 1000 (segments)"),
        ),
        // Units and words already refuse the remaining cases.
        Err(VoapFault::NoBeta | VoapFault::Period | VoapFault::NoData | VoapFault::Connections) => {
            unreachable!("a scenario cannot say {config:?}")
        }
    };
    Err(place.key(key).refuse(fault))
}
