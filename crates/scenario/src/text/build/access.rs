//! `[link]` and `[gateway]` to the access: the medium, the shapers, and the queues outside the gateway.

use gamelane_core::{Bitrate, ByteCount, Catalogued, Direction, Duration};
use gamelane_link::overhead::Overhead;
use gamelane_link::trace::RateTrace;
use gamelane_link::{DocsisConfig, LinkConfig, LinkKind};
use gamelane_qdisc::Limit;

use super::classes::Classes;
use super::queue::{self, Below};
use super::{Place, docsis, files, wifi};
use crate::text::each_way::EachWay;
use crate::text::error::{Fault, ScenarioError};
use crate::text::keys::queue::Queue;
use crate::text::scenario::Scenario;
use crate::text::switch::Switch;
use crate::text::units::QueueLimit;
use crate::{Access, FlowModel, Medium};

/// Default buffer of a modem, as a time: about a second, as but2006 found.
const MODEM_BUFFER: Duration = Duration::from_secs(1);

/// Checks `[link]` against its kind and builds the medium.
pub(super) fn access(
    scenario: &Scenario,
    links: &mut [LinkConfig; 2],
    flows: &[FlowModel],
    classes: &Classes<'_>,
    top: &Place<'_>,
) -> Result<Access, ScenarioError> {
    let place = top.key("link");
    let place_of_queue = |name: &str| top.key("gateway").key(name);
    check_kind(scenario, &place)?;
    let medium = match scenario.link.kind.0 {
        LinkKind::Wired => Medium::Wired,
        LinkKind::Docsis => {
            let up = &mut links[Direction::Up.index()];
            up.overhead = Overhead::Docsis;
            let upstream = docsis::upstream(scenario.link.docsis.as_ref(), up, &place.key("docsis"))?;
            links[Direction::Down.index()].overhead = Overhead::Docsis;
            let keys = scenario.link.docsis.as_ref();
            let ethernet = keys.and_then(|keys| keys.ethernet).map_or(ETHERNET, |rate| rate.0);
            Medium::Docsis { upstream, ethernet }
        }
        LinkKind::WifiG => {
            let below = Below { direction: Direction::Up, rate: None, shape: None, overhead: Overhead::None };
            let place = place_of_queue("station");
            let queue = queue::classless(&scenario.gateway.station, &below, &place)?;
            Medium::WifiG(wifi::network(scenario, flows, queue, &top.key("link"))?)
        }
        LinkKind::Trace => Medium::Trace(traces(scenario, &place)?),
    };
    let shape = shapers(scenario, &medium, links, &top.key("gateway").key("shape"))?;
    let [shaped_up, shaped_down] = shape.each_ref().map(Option::is_some);
    let wifi = matches!(medium, Medium::WifiG(_));
    check_queues(
        scenario,
        [
            ("modem", shaped_up || matches!(medium, Medium::Docsis { .. })),
            ("isp", shaped_down || wifi),
            ("station", wifi),
        ],
        &top.key("gateway"),
    )?;
    let mut modem = scenario.gateway.modem.clone();
    if let Medium::Docsis { upstream, .. } = &medium {
        default_limit(&mut modem, upstream);
    }
    let below = |direction| medium_below(&medium, links, direction);
    let modem = queue::discipline(&modem, classes, &below(Direction::Up), &place_of_queue("modem"))?;
    let isp = queue::classless(&scenario.gateway.isp, &below(Direction::Down), &place_of_queue("isp"))?;
    Ok(Access { medium, shape, modem, isp })
}

/// The shaper or link behind the gateway's queue of a direction.
pub(super) fn below(access: &Access, links: &[LinkConfig; 2], direction: Direction) -> Below {
    match &access.shape[direction.index()] {
        Some(shaper) => {
            let rate = Some(shaper.rate);
            Below { direction, rate, shape: rate, overhead: shaper.overhead }
        }
        None => match (&access.medium, direction) {
            // The access point's radio.
            (Medium::WifiG(_), Direction::Down) => {
                Below { direction, rate: None, shape: None, overhead: Overhead::None }
            }
            _ => medium_below(&access.medium, links, direction),
        },
    }
}

/// The link to or from the provider, as the queue in front of it sees it.
fn medium_below(medium: &Medium, links: &[LinkConfig; 2], direction: Direction) -> Below {
    let link = &links[direction.index()];
    let changes = matches!(medium, Medium::Trace(traces) if traces[direction.index()].is_some());
    Below { direction, rate: (!changes).then_some(link.rate), shape: None, overhead: link.overhead }
}

const ETHERNET: Bitrate = Bitrate::from_bps(100_000_000);

fn default_limit(modem: &mut Queue, upstream: &DocsisConfig) {
    let buffer = upstream.sustained.bytes_in(MODEM_BUFFER).max(ByteCount(2 * 1522));
    modem.limit = modem.limit.or(Some(QueueLimit(Limit::Bytes(buffer))));
}

/// Refuses keys that belong to another kind of link.
fn check_kind(scenario: &Scenario, place: &Place<'_>) -> Result<(), ScenarioError> {
    let link = &scenario.link;
    let kind = link.kind.0;
    let own =
        [("docsis", link.docsis.is_some()), ("wifi", link.wifi.is_some()), ("trace", link.trace.is_some())];
    let foreign = |(key, given): &(&str, bool)| *given && !kind.descriptor().keys.contains(key);
    if let Some((key, _)) = own.into_iter().find(foreign) {
        let fault = Fault::new(format!("a link of kind `{}` does not read this key", kind.word()));
        let owners: Vec<_> = LinkKind::readers(key).map(|owner| format!("\"{owner}\"")).collect();
        let hint = format!("set kind = {}, or remove this key", owners.join(" or "));
        return Err(place.key(key).refuse(fault.hint(hint)));
    }
    let docsis = kind == LinkKind::Docsis;
    if docsis && link.overhead != EachWay::default() {
        let fault = Fault::new("a link of kind `docsis` has a fixed framing").hint("remove this key");
        return Err(place.key("overhead").refuse(fault));
    }
    if docsis && link.jitter != EachWay::default() {
        let fault = Fault::new("a link of kind `docsis` makes its own jitter");
        return Err(place
            .key("jitter")
            .refuse(fault.hint("remove this key; `docsis.load` increases the jitter")));
    }
    Ok(())
}

/// The traces of both directions, at least one.
fn traces(scenario: &Scenario, place: &Place<'_>) -> Result<[Option<RateTrace>; 2], ScenarioError> {
    let Some(names) = &scenario.link.trace else {
        let fault = Fault::new("a link of kind `trace` requires this key")
            .hint("add trace = { down = \"lte.trace\" }");
        return Err(place.key("trace").refuse(fault));
    };
    let read = |direction: Direction| {
        let place = match names {
            EachWay::Both(_) => place.key("trace"),
            EachWay::Split(_) => place.key("trace").key(direction.name()),
        };
        names.towards(direction).map(|name| files::rate_trace(name, &place)).transpose()
    };
    let traces = [read(Direction::Up)?, read(Direction::Down)?];
    for direction in Direction::BOTH {
        let fixed = match direction {
            Direction::Up => scenario.link.up,
            Direction::Down => scenario.link.down,
        };
        if fixed.is_some() && traces[direction.index()].is_some() {
            let fault = Fault::new("the trace sets the rate of this direction").hint("remove this key");
            return Err(place.key(direction.name()).refuse(fault));
        }
    }
    Ok(traces)
}

fn shapers(
    scenario: &Scenario,
    medium: &Medium,
    links: &[LinkConfig; 2],
    place: &Place<'_>,
) -> Result<[Option<LinkConfig>; 2], ScenarioError> {
    let shaper = |direction: Direction| {
        let shape = scenario.gateway.shape.as_ref();
        let given = shape.and_then(|shape| shape.towards(direction));
        let Some(rate) = given.and_then(Switch::on) else { return Ok(None) };
        let place = match shape {
            Some(EachWay::Both(_)) | None => place.itself(),
            Some(EachWay::Split(_)) => place.key(direction.name()),
        };
        let below = &links[direction.index()];
        let link_rate = match medium {
            Medium::WifiG(_) if direction == Direction::Down => {
                let fault = Fault::new(
                    "with kind `wifi-g` the gateway cannot shape downstream: its queue feeds the radio",
                )
                .hint("remove `down`; `link.down` sets the rate of the wired link");
                return Err(place.refuse(fault));
            }
            Medium::Trace(traces) => traces[direction.index()].as_ref().map_or(below.rate, RateTrace::peak),
            _ => below.rate,
        };
        if rate.0 > link_rate {
            let fault = Fault::new(format!("a shaper above the link's rate, {link_rate}, has no effect"));
            let below = link_rate.bps() / 20 * 19;
            let whole = if below < 10_000 { below } else { below / 1000 * 1000 };
            let hint = format!("set it a little below, such as \"{}\"", Bitrate::from_bps(whole));
            return Err(place.refuse(fault.allowed(format!("up to \"{link_rate}\"")).hint(hint)));
        }
        Ok(Some(LinkConfig {
            rate: rate.0,
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            loss: gamelane_core::loss::LossModel::None,
            overhead: below.overhead,
        }))
    };
    Ok([shaper(Direction::Up)?, shaper(Direction::Down)?])
}

/// Refuses queues that are given but do not exist in this household.
fn check_queues(
    scenario: &Scenario,
    used: [(&str, bool); 3],
    place: &Place<'_>,
) -> Result<(), ScenarioError> {
    let plain = Default::default();
    for (key, used) in used {
        let (queue, hint) = match key {
            "modem" => (&scenario.gateway.modem, "remove it or `gateway.up`, or set `gateway.shape.up`"),
            "isp" => (&scenario.gateway.isp, "remove it or `gateway.down`, or set `gateway.shape.down`"),
            _ => (&scenario.gateway.station, "this queue exists with kind `wifi-g`"),
        };
        if !used && *queue != plain {
            let what = match key {
                "station" => "this household does not have this queue",
                _ => "without a shaper this direction has one queue, and it is given twice",
            };
            let fault = Fault::new(what).hint(hint);
            return Err(place.key(key).refuse(fault));
        }
    }
    Ok(())
}
