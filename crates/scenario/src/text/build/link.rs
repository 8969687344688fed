//! `[link]` to link and path configurations.

use gamelane_core::loss::LossModel;
use gamelane_core::{Bitrate, Direction};
use gamelane_link::{LinkConfig, Overhead, PathConfig};

use super::Place;
use crate::text::each_way::EachWay;
use crate::text::error::{Fault, ScenarioError};
use crate::text::keys::link::GilbertElliott;
use crate::text::keys::{Flow, Link, Loss, link};
use crate::text::mmos::PlayerPath;
use crate::text::text_or_table::TextOrTable;
use crate::text::units::Time;

/// Checks the keys that concern both directions.
pub(super) fn check(link: &Link, place: &Place<'_>) -> Result<(), ScenarioError> {
    if (576..=65_535).contains(&link.mtu) {
        return Ok(());
    }
    let fault = Fault::new("this packet size is out of range").allowed("576 to 65535 (bytes)");
    Err(place.key("mtu").refuse(fault))
}

/// One direction of the link.
pub(super) fn link(
    link: &Link,
    direction: Direction,
    place: &Place<'_>,
) -> Result<LinkConfig, ScenarioError> {
    let given = match direction {
        Direction::Up => link.up,
        Direction::Down => link.down,
    };
    let traced = link.trace.as_ref().is_some_and(|trace| trace.towards(direction).is_some());
    let rate = match given {
        Some(rate) => rate.0,
        // Unused: the trace sets the rate.
        None if traced => Bitrate::default(),
        None => return Err(place.key(direction.name()).refuse(Fault::new("this key is required"))),
    };
    Ok(LinkConfig {
        rate,
        delay: link.delay.0,
        jitter: jitter(&link.jitter, direction),
        loss: loss_model(&link.loss, direction),
        overhead: overhead(&link.overhead, direction, &place.key("overhead"))?,
    })
}

/// One direction of a flow's path beyond the link.
pub(super) fn path(link: &Link, flow: &Flow, direction: Direction) -> PathConfig {
    let rtt = flow.rtt.unwrap_or(link.rtt).0;
    let delay = match direction {
        Direction::Up => rtt / 2,
        // The odd nanosecond goes here, so that the two halves add up.
        Direction::Down => rtt.saturating_sub(rtt / 2),
    };
    PathConfig {
        delay,
        jitter: jitter(&flow.path_jitter, direction),
        loss: loss_model(&flow.loss, direction),
    }
}

/// Paths that groups of players share, by weight: the delays of the model, the losses of the flow.
pub(super) fn player_paths(link: &Link, flow: &Flow, paths: &[PlayerPath]) -> Vec<(f64, [PathConfig; 2])> {
    let each = |shared: &PlayerPath| {
        let own = Flow { rtt: Some(Time(shared.rtt)), ..flow.clone() };
        let path = |direction| PathConfig { jitter: shared.jitter, ..path(link, &own, direction) };
        (shared.share, Direction::BOTH.map(path))
    };
    paths.iter().map(each).collect()
}

fn jitter(jitter: &EachWay<Time>, direction: Direction) -> gamelane_core::Duration {
    jitter.towards(direction).copied().unwrap_or_default().0
}

/// The loss of one direction.
pub(in crate::text) fn loss_model(loss: &EachWay<Loss>, direction: Direction) -> LossModel {
    match loss.towards(direction).map(|loss| &loss.0) {
        None => LossModel::None,
        Some(TextOrTable::Text(share)) if share.probability() == 0.0 => LossModel::None,
        Some(TextOrTable::Text(share)) => LossModel::Random(share.probability()),
        Some(TextOrTable::Table(GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad })) => {
            LossModel::GilbertElliott {
                good_to_bad: good_to_bad.probability(),
                bad_to_good: bad_to_good.probability(),
                loss_good: loss_good.probability(),
                loss_bad: loss_bad.probability(),
            }
        }
    }
}

/// The framing of one direction.
pub(super) fn overhead(
    overhead: &EachWay<link::Overhead>,
    direction: Direction,
    place: &Place<'_>,
) -> Result<Overhead, ScenarioError> {
    let place = match overhead {
        EachWay::Both(_) => place.key("kind"),
        EachWay::Split(_) => place.key(direction.name()).key("kind"),
    };
    framing(overhead, direction).map_err(|fault| place.refuse(fault))
}

/// The framing of one direction, or what is wrong with it.
pub(in crate::text) fn framing(
    overhead: &EachWay<link::Overhead>,
    direction: Direction,
) -> Result<Overhead, Fault> {
    overhead.towards(direction).map_or(Ok(Overhead::None), link::Overhead::framing)
}
