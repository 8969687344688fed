//! `[link.wifi]` to the Wi-Fi network.

use gamelane_core::Bitrate;
use gamelane_link::wifi::{PhyRate, Preamble, Radio, Slot};
use gamelane_qdisc::DisciplineConfig;

use super::Place;
use crate::FlowModel;
use crate::access::{Station, WifiModel};
use crate::text::error::{Fault, ScenarioError};
use crate::text::keys::medium::{PreambleLength, Protection, SlotTime};
use crate::text::scenario::Scenario;
use crate::text::units::Rate;

/// The network. Its stations are the hosts of flows, in order of appearance. `place` is the place of `[link]`.
pub(super) fn network(
    scenario: &Scenario,
    flows: &[FlowModel],
    queue: DisciplineConfig,
    place: &Place<'_>,
) -> Result<WifiModel, ScenarioError> {
    let keys = scenario.link.wifi.clone().unwrap_or_default();
    let place = place.key("wifi");
    let rate = phy(keys.rate, "54mbit", &place.key("rate"))?;
    let common = Radio { rate, error: keys.error.probability() };
    let (names, station_of) = hosts(scenario, flows);
    if names.is_empty() {
        let fault = Fault::new("a Wi-Fi network needs at least one station");
        return Err(place.refuse(fault.hint("add a [[flow]]")));
    }
    let mut stations: Vec<Station> = names.into_iter().map(|name| Station { name, radio: common }).collect();
    if keys.stations.as_ref().is_some_and(Vec::is_empty) {
        let fault = Fault::new("the list of stations is empty");
        return Err(place
            .key("stations")
            .refuse(fault.hint("remove this key: every host of a flow is a station")));
    }
    for (index, own) in keys.stations.iter().flatten().enumerate() {
        let place = place.key("stations").index(index);
        let names: Vec<String> = stations.iter().map(|station| station.name.clone()).collect();
        let Some(station) = stations.iter_mut().find(|station| station.name == own.host) else {
            let fault =
                Fault::new("no flow uses this host").one_of(&own.host, names.iter().map(String::as_str));
            return Err(place.key("host").refuse(fault));
        };
        if own.rate.is_some() {
            station.radio.rate = phy(own.rate, "", &place.key("rate"))?;
        }
        station.radio.error = own.error.map_or(station.radio.error, |share| share.probability());
    }
    if keys.relays > 8 {
        return Err(place.key("relays").refuse(Fault::new("these are too many relays").allowed("0 to 8")));
    }
    if keys.attempts == Some(0) {
        return Err(place
            .key("attempts")
            .refuse(Fault::new("a frame needs at least one attempt").allowed("1 or more")));
    }
    let relay_rate = match keys.relay_rate {
        Some(_) if keys.relays == 0 => {
            let fault =
                Fault::new("there are no relays").hint("set `relays` to their number, or remove this key");
            return Err(place.key("relay_rate").refuse(fault));
        }
        Some(_) => phy(keys.relay_rate, "", &place.key("relay_rate"))?,
        None => rate,
    };
    let old = stations.iter().any(|station| station.radio.rate.is_dsss());
    let cts = phy(keys.cts_rate, "11mbit", &place.key("cts_rate"))?;
    let protection = keys.protection.unwrap_or(if old { Protection::CtsToSelf } else { Protection::None });
    Ok(WifiModel {
        slot: match keys.slot {
            Some(SlotTime::Long) => Slot::Long,
            None if old => Slot::Long,
            _ => Slot::Short,
        },
        protection: (protection == Protection::CtsToSelf).then_some(cts),
        preamble: match keys.preamble {
            Some(PreambleLength::Short) => Preamble::Short,
            _ => Preamble::Long,
        },
        retry_limit: keys.attempts.unwrap_or(7),
        stations,
        station_of,
        relays: keys.relays,
        backbone: Radio { rate: relay_rate, error: common.error },
        queue,
    })
}

/// The hosts of all flows, and the host of each flow that runs. A flow without a host is a host of its own. A disabled
/// flow keeps its station, which then sends nothing.
fn hosts(scenario: &Scenario, flows: &[FlowModel]) -> (Vec<String>, Vec<usize>) {
    let mut names: Vec<(bool, &str)> = Vec::new();
    let mut stations = Vec::new();
    for flow in &scenario.flow {
        let own = flow.host.as_deref().map_or((false, flow.name.as_str()), |host| (true, host));
        stations.push(names.iter().position(|known| *known == own).unwrap_or_else(|| {
            names.push(own);
            names.len() - 1
        }));
    }
    let station_of = |model: &FlowModel| {
        let index = scenario.flow.iter().position(|flow| flow.name == model.name);
        stations[index.expect("a model's flow is one of its scenario")]
    };
    let station_of = flows.iter().map(station_of).collect();
    (names.into_iter().map(|(_, name)| name.to_owned()).collect(), station_of)
}

fn phy(given: Option<Rate>, default: &str, place: &Place<'_>) -> Result<PhyRate, ScenarioError> {
    let rate = given.map_or_else(|| default.parse().map(|rate: Rate| rate.0), |rate| Ok(rate.0));
    let rate = rate.unwrap_or(Bitrate::from_bps(0));
    PhyRate::of(rate).ok_or_else(|| {
        let fault = Fault::new("this is not a rate of 802.11g or 802.11b");
        place.refuse(
            fault.allowed("6, 9, 12, 18, 24, 36, 48 or 54 mbit (802.11g); 1, 2, 5.5 or 11 mbit (802.11b)"),
        )
    })
}
