//! `[link]` and `[gateway]` to the access: the medium, shapers, and the queues that are not the gateway's.

use gamelane_core::{Bitrate, ByteCount, Direction, Duration};
use gamelane_link::overhead::Overhead;
use gamelane_link::trace::RateTrace;
use gamelane_link::{DocsisConfig, LinkConfig};
use gamelane_qdisc::{Limit, QueueConfig};

use super::{Place, docsis, files, gateway, wifi};
use crate::text::each_way::EachWay;
use crate::text::error::{Fault, ScenarioError};
use crate::text::keys::link::LinkKind;
use crate::text::scenario::Scenario;
use crate::{Access, FlowModel, HopModel, Medium};

/// How much a modem holds that is not told: about a second, what but2006 found.
const MODEM_BUFFER: Duration = Duration::from_secs(1);

/// Checks `[link]` against its kind and builds what carries the packets.
pub(super) fn access(
    scenario: &Scenario,
    hops: &mut [HopModel; 2],
    flows: &[FlowModel],
    top: &Place<'_>,
) -> Result<Access, ScenarioError> {
    let place = top.key("link");
    check_kind(scenario, &place)?;
    let medium = match scenario.link.kind {
        LinkKind::Wired => Medium::Wired,
        LinkKind::Docsis => {
            let up = &mut hops[Direction::Up.index()].link;
            up.overhead = Overhead::Docsis;
            let upstream = docsis::upstream(scenario.link.docsis.as_ref(), up, &place.key("docsis"))?;
            hops[Direction::Down.index()].link.overhead = Overhead::Docsis;
            let keys = scenario.link.docsis.as_ref();
            let ethernet = keys.and_then(|keys| keys.ethernet).map_or(ETHERNET, |rate| rate.0);
            Medium::Docsis { upstream, ethernet }
        }
        LinkKind::WifiG => {
            let queue = gateway::queue(&scenario.gateway.station, &top.key("gateway").key("station"))?;
            Medium::WifiG(wifi::network(scenario, flows, queue, &place)?)
        }
        LinkKind::Trace => Medium::Trace(traces(scenario, &place)?),
    };
    let shape = shapers(scenario, &medium, hops, &top.key("gateway").key("shape"))?;
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
    let own = |name: &str, queue| gateway::queue(queue, &top.key("gateway").key(name));
    let mut modem = own("modem", &scenario.gateway.modem)?;
    if let Medium::Docsis { upstream, .. } = &medium {
        default_limit(&mut modem, upstream);
    }
    Ok(Access { medium, shape, modem, isp: own("isp", &scenario.gateway.isp)? })
}

const ETHERNET: Bitrate = Bitrate::from_bps(100_000_000);

fn default_limit(modem: &mut QueueConfig, upstream: &DocsisConfig) {
    let buffer = upstream.sustained.bytes_in(MODEM_BUFFER).max(ByteCount(2 * 1522));
    modem.limit = modem.limit.or(Some(Limit::Bytes(buffer)));
}

/// Keys that belong to another kind of link.
fn check_kind(scenario: &Scenario, place: &Place<'_>) -> Result<(), ScenarioError> {
    let link = &scenario.link;
    let kind = link.kind;
    let own = [
        ("docsis", link.docsis.is_some(), LinkKind::Docsis),
        ("wifi", link.wifi.is_some(), LinkKind::WifiG),
        ("trace", link.trace.is_some(), LinkKind::Trace),
    ];
    for (key, given, owner) in own {
        if given && owner != kind {
            let fault = Fault::new(format!("a link of kind `{kind}` has no `{key}`"));
            return Err(place.key(key).refuse(fault.hint(format!("write kind = \"{owner}\""))));
        }
    }
    let docsis = kind == LinkKind::Docsis;
    if docsis && link.overhead != EachWay::default() {
        let fault = Fault::new("a link of kind `docsis` has its own framing").hint("leave `overhead` out");
        return Err(place.key("overhead").refuse(fault));
    }
    if docsis && link.jitter != EachWay::default() {
        let fault = Fault::new("the upstream of kind `docsis` has its own jitter");
        return Err(place
            .key("jitter")
            .refuse(fault.hint("leave `jitter` out; `docsis.load` brings more of it")));
    }
    Ok(())
}

/// The traces of both directions, at least one.
fn traces(scenario: &Scenario, place: &Place<'_>) -> Result<[Option<RateTrace>; 2], ScenarioError> {
    let Some(names) = &scenario.link.trace else {
        let fault = Fault::new("a link of kind `trace` follows one").hint("trace = { down = \"lte.trace\" }");
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
            let fault = Fault::new("the trace of this direction says the rate").hint("leave this key out");
            return Err(place.key(direction.name()).refuse(fault));
        }
    }
    Ok(traces)
}

fn shapers(
    scenario: &Scenario,
    medium: &Medium,
    hops: &[HopModel; 2],
    place: &Place<'_>,
) -> Result<[Option<LinkConfig>; 2], ScenarioError> {
    let shaper = |direction: Direction| {
        let shape = scenario.gateway.shape.as_ref();
        let Some(rate) = shape.and_then(|shape| shape.towards(direction)) else { return Ok(None) };
        let place = match shape {
            Some(EachWay::Both(_)) | None => Place { origin: place.origin, path: place.path.clone() },
            Some(EachWay::Split(_)) => place.key(direction.name()),
        };
        let below = &hops[direction.index()].link;
        let link_rate = match medium {
            Medium::WifiG(_) if direction == Direction::Down => {
                let fault = Fault::new("downstream the gateway's queue stands in front of its own radio")
                    .hint("leave `down` out; `link.down` sets the rate of the wired link before it");
                return Err(place.refuse(fault));
            }
            Medium::Trace(traces) => traces[direction.index()].as_ref().map_or(below.rate, RateTrace::peak),
            _ => below.rate,
        };
        if rate.0 > link_rate {
            let fault = Fault::new(format!(
                "a shaper above the link's rate of {link_rate} shapes nothing: the queue forms below it"
            ));
            let hint =
                format!("a little below it, such as \"{}\"", Bitrate::from_bps(link_rate.bps() / 20 * 19));
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

/// Queues that are given and would be nowhere.
fn check_queues(
    scenario: &Scenario,
    used: [(&str, bool); 3],
    place: &Place<'_>,
) -> Result<(), ScenarioError> {
    let plain = Default::default();
    for (key, used) in used {
        let (queue, hint) = match key {
            "modem" => {
                (&scenario.gateway.modem, "it stands below a shaper (`shape.up`) or in a `docsis` modem")
            }
            "isp" => {
                (&scenario.gateway.isp, "it stands above a shaper (`shape.down`) or a `wifi-g` access point")
            }
            _ => (&scenario.gateway.station, "it stands in the stations of a `wifi-g` link"),
        };
        if !used && *queue != plain {
            let fault = Fault::new("this household has no such queue").hint(hint);
            return Err(place.key(key).refuse(fault));
        }
    }
    Ok(())
}
