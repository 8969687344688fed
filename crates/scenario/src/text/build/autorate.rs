//! `[gateway] autorate` to its configuration.

use gamelane_core::{Bitrate, Direction};
use gamelane_qdisc::Discipline;
use gamelane_stage::autorate::AutorateFault;
use gamelane_stage::{AutorateConfig, FollowerConfig, Hears};
use gamelane_traffic::App;
use gamelane_traffic::config::AppConfig;

use super::Place;
use crate::text::each_way::EachWay;
use crate::text::error::{Fault, ScenarioError};
use crate::text::keys::Autorate;
use crate::text::keys::autorate::SignalKind;
use crate::text::keys::queue::Queue;
use crate::text::scenario::Scenario;
use crate::text::switch::Switch;
use crate::text::units::Percent;
use crate::{Access, FlowModel};

/// The shapers that autorate controls.
pub(super) fn both(
    scenario: &Scenario,
    access: &Access,
    flows: &[FlowModel],
    gateway: &Place<'_>,
) -> Result<[Option<FollowerConfig>; 2], ScenarioError> {
    let given = scenario.gateway.autorate.as_ref();
    let probes = flows.iter().any(|flow| flow.app == AppConfig::Probe);
    let one = |direction: Direction| {
        let Some(keys) = keys(scenario, direction) else { return Ok(None) };
        let place = match given {
            Some(EachWay::Split(_)) => gateway.key("autorate").key(direction.name()),
            _ => gateway.key("autorate"),
        };
        let Some(shaper) = &access.shape[direction.index()] else {
            let fault = Fault::new(format!("autorate needs a shaper for direction {}", direction.name()));
            let hint = format!(
                "add [gateway] shape = {{ {direction} = \"…\" }}, the rate that autorate starts with",
                direction = direction.name()
            );
            return Err(place.refuse(fault.hint(hint)));
        };
        check_queue(scenario, direction, gateway)?;
        let law = config(keys, shaper.rate, &place)?;
        let hears = hears(keys, direction, probes, &place.key("signals"))?;
        Ok(Some(FollowerConfig { law, hears }))
    };
    let models = [one(Direction::Up)?, one(Direction::Down)?];
    if probes && !models.iter().flatten().any(|model| model.hears.probes) {
        let index = scenario.flow.iter().position(|flow| flow.app.0 == App::Probe).unwrap_or_default();
        let place = Place { origin: gateway.origin, path: Default::default() };
        let fault = Fault::new("nothing sends these probes");
        let hint = "add [gateway] autorate, with \"probe\" in its `signals` or without that key";
        return Err(place.key("flow").index(index).key("app").refuse(fault.hint(hint)));
    }
    Ok(models)
}

fn keys(scenario: &Scenario, direction: Direction) -> Option<&Autorate> {
    scenario.gateway.autorate.as_ref().and_then(|both| both.towards(direction)).and_then(Switch::on)
}

/// Refuses queues with a shaper of their own, which autorate cannot set.
fn check_queue(scenario: &Scenario, direction: Direction, gateway: &Place<'_>) -> Result<(), ScenarioError> {
    let queue: &Queue = match direction {
        Direction::Up => &scenario.gateway.up,
        Direction::Down => &scenario.gateway.down,
    };
    let own_rate =
        queue.queue.0 == Discipline::Htb || queue.bandwidth.as_ref().is_some_and(|rate| rate.on().is_some());
    if !own_rate {
        return Ok(());
    }
    let fault = Fault::new("this queue has a shaper of its own, which autorate cannot set");
    let hint = "use a queue without a shaper, and remove `bandwidth`";
    Err(gateway.key(direction.name()).key("queue").refuse(fault.hint(hint)))
}

fn config(keys: &Autorate, start: Bitrate, place: &Place<'_>) -> Result<AutorateConfig, ScenarioError> {
    let usual = AutorateConfig::default();
    let thousandths = |share: Option<Percent>, usual| {
        share.map_or(usual, |share| libm::round(share.probability() * 1000.0) as u32)
    };
    let config = AutorateConfig {
        lowest: keys.lowest.map_or(Bitrate::from_bps((start.bps() / 10).max(1)), |rate| rate.0),
        highest: keys.highest.map_or(Bitrate::from_bps(start.bps() * 4), |rate| rate.0),
        start,
        target: keys.target.map_or(usual.target, |time| time.0),
        window: keys.window.map_or(usual.window, |time| time.0),
        back_off: thousandths(keys.back_off, usual.back_off),
        rise: thousandths(keys.rise, usual.rise),
        ..usual
    };
    let (key, fault) = match config.check() {
        Ok(()) => return Ok(config),
        Err(AutorateFault::Rates) if config.lowest > start => (
            "lowest",
            Fault::new("`lowest` is above `shape`, the rate that autorate starts with")
                .allowed(format!("up to \"{start}\"")),
        ),
        Err(AutorateFault::Rates) => (
            "highest",
            Fault::new("`highest` is below `shape`, the rate that autorate starts with")
                .allowed(format!("\"{start}\" or more")),
        ),
        Err(AutorateFault::Shares) if (100..=990).contains(&config.back_off) => {
            ("rise", Fault::new("this increase is out of range").allowed("0.1% to 50%"))
        }
        Err(AutorateFault::Shares) => {
            ("back_off", Fault::new("this share is out of range").allowed("10% to 99%"))
        }
        // The type `Span` already refuses times of zero.
        Err(AutorateFault::Times) => unreachable!("a scenario cannot say {config:?}"),
    };
    Err(place.key(key).refuse(fault))
}

fn hears(
    keys: &Autorate,
    direction: Direction,
    probes: bool,
    place: &Place<'_>,
) -> Result<Hears, ScenarioError> {
    let Some(signals) = &keys.signals else {
        return Ok(Hears { tcp: true, game: direction == Direction::Down, backlog: false, probes });
    };
    if signals.is_empty() {
        let fault = Fault::new("autorate needs at least one signal").hint("remove this key");
        return Err(place.refuse(fault.allowed("tcp, game, backlog, probe")));
    }
    for (index, signal) in signals.iter().enumerate() {
        let fault = match signal {
            SignalKind::Backlog if direction == Direction::Down => {
                Fault::new("the gateway cannot see the backlog at the provider")
            }
            SignalKind::Game if direction == Direction::Up && signals.len() == 1 => {
                Fault::new("a game shows no delay upstream: the gateway sees its packets before the link")
                    .hint("add \"tcp\", \"backlog\" or \"probe\"")
            }
            SignalKind::Probe if !probes => Fault::new("probes need a flow with app = \"probe\"")
                .hint("add a [[flow]] with name = \"probes\" and app = \"probe\""),
            _ => continue,
        };
        return Err(place.index(index).refuse(fault));
    }
    let has = |signal| signals.contains(&signal);
    Ok(Hears {
        tcp: has(SignalKind::Tcp),
        game: has(SignalKind::Game) && direction == Direction::Down,
        backlog: has(SignalKind::Backlog),
        probes: has(SignalKind::Probe),
    })
}
