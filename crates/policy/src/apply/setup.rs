//! What a Linux gateway has to do for a scenario: a rate, a framing and a queue for each direction.
//!
//! In the model the queue builds up at the gateway. On a real gateway it does so only if the gateway shapes to a rate below the
//! link's. So the rate is that of the queue (`bandwidth`), or else `gateway.shape`, or else 95 % of the link's.

use gamelane_core::{Bitrate, Catalogued, Direction, Overhead};
use gamelane_link::LinkKind;
use gamelane_qdisc::Discipline;
use gamelane_scenario::Scenario;
use gamelane_scenario::text::each_way::{EachWay, Split};
use gamelane_scenario::text::keys::link::Framing;
use gamelane_scenario::text::keys::{self, Flow, Gateway, Queue};
use gamelane_scenario::text::switch::Switch;
use gamelane_scenario::text::text_or_table::TextOrTable;
use gamelane_scenario::text::units::Rate;
use toml::{Table, Value};

/// Share of the link's rate.
const SHARE_PERCENT: u64 = 95;

/// One direction.
pub(super) struct Lane<'a> {
    pub(super) way: Direction,
    pub(super) queue: &'a Queue,
    /// The queue's keys that are set, as TOML.
    pub(super) keys: Table,
    pub(super) rate: Bitrate,
    /// The source of the rate, for a comment.
    pub(super) why: String,
    pub(super) overhead: Overhead,
}

/// The gateway of a scenario.
pub(super) struct Setup<'a> {
    pub(super) scenario: &'a Scenario,
    /// The directions that get a queue and a rate.
    pub(super) lanes: Vec<Lane<'a>>,
    /// Why no target can express the setting, a sentence for each reason. Empty if a target may.
    pub(super) refused: Vec<String>,
    /// What only gamelane's own gateway does, a sentence each.
    pub(super) unsaid: Vec<String>,
    /// What stays as it is, a sentence each: the queue is in the modem or at the provider.
    pub(super) elsewhere: Vec<String>,
}

impl Lane<'_> {
    pub(super) fn discipline(&self) -> Discipline {
        self.queue.queue.0
    }

    /// The discipline's word.
    pub(super) fn word(&self) -> &'static str {
        self.discipline().word()
    }

    pub(super) fn kbit(&self) -> u64 {
        kbit(self.rate)
    }

    /// The rate that the lines set.
    pub(super) fn set_rate(&self) -> Rate {
        Rate(Bitrate::from_bps(self.kbit() * 1000))
    }
}

/// A rate in whole kbit/s, at least one.
pub(super) fn kbit(rate: Bitrate) -> u64 {
    ((rate.bps() + 500) / 1000).max(1)
}

impl<'a> Setup<'a> {
    /// Reads a scenario. `today` is that of the gateway to be changed.
    pub(super) fn of(scenario: &'a Scenario, today: Option<&Scenario>) -> Self {
        let gateway = &scenario.gateway;
        let mut found = Self {
            scenario,
            lanes: Vec::new(),
            refused: Vec::new(),
            unsaid: unsaid(gateway),
            elsewhere: Vec::new(),
        };
        if scenario.link.kind.0 == LinkKind::WifiG {
            found.unsaid.clear();
            let why = "on Wi-Fi the queue builds up in the radio's driver, below every queue discipline.";
            found.refused.push(why.into());
            return found;
        }
        let document: Table = scenario.to_toml().parse().expect("a scenario prints TOML");
        for way in Direction::BOTH {
            if is_here(way, gateway) {
                match found.lane(way, &document) {
                    Ok(lane) => found.lanes.push(lane),
                    Err(why) => found.refused.push(why),
                }
            } else if today.is_some_and(|today| queue(&today.gateway, way) != queue(gateway, way)) {
                let way = way.name();
                found.elsewhere.push(format!(
                    "`gateway.{way}` changes a FIFO that nothing shapes. It is in the modem or at the provider and \
                     stays as it is: add `gateway.shape.{way}`, a little below the link's lowest rate."
                ));
            }
        }
        if found.lanes.is_empty() && found.refused.is_empty() {
            let why = "it is a plain FIFO without a shaper, so there is nothing to set.";
            found.refused.push(why.into());
        }
        found
    }

    /// The lane of a direction; `None` if the lines set nothing there.
    pub(super) fn towards(&self, way: Direction) -> Option<&Lane<'a>> {
        self.lanes.iter().find(|lane| lane.way == way)
    }

    /// The rates of the lanes, as a value of the key `gateway.shape`.
    pub(super) fn shape(&self) -> EachWay<Switch<Rate>> {
        let [up, down] = Direction::BOTH.map(|way| Some(Switch::On(self.towards(way)?.set_rate())));
        EachWay::Split(Split { up, down })
    }

    /// The flows that take part.
    pub(super) fn flows(&self) -> impl Iterator<Item = &'a Flow> {
        self.scenario.flow.iter().filter(|flow| flow.enabled)
    }

    /// The link's framing.
    pub(super) fn overhead(&self) -> EachWay<keys::Overhead> {
        match self.scenario.link.kind.0 {
            LinkKind::Docsis => EachWay::Both(keys::Overhead(TextOrTable::Text(Framing::Docsis))),
            _ => self.scenario.link.overhead.clone(),
        }
    }

    fn lane(&self, way: Direction, document: &Table) -> Result<Lane<'a>, String> {
        let (link, gateway) = (&self.scenario.link, &self.scenario.gateway);
        let (queue, name) = (queue(gateway, way), way.name());
        let whole = self.overhead();
        let overhead = match queue.overhead.as_ref().or(whole.towards(way)) {
            None => Overhead::None,
            Some(overhead) => overhead.framing().map_err(|fault| format!("{}.", fault.message))?,
        };
        let keys = document.get("gateway").and_then(|gateway| gateway.get(name)).and_then(Value::as_table);
        let keys = keys.cloned().unwrap_or_default();
        let lane = |rate, why| Lane { way, queue, keys, rate, why, overhead };
        let of_link = match way {
            Direction::Up => link.up,
            Direction::Down => link.down,
        };
        let is_traced = link.trace.as_ref().is_some_and(|trace| trace.towards(way).is_some());
        let of_link = of_link.filter(|_| !is_traced);
        let beside_the_link = |rate: Bitrate| match of_link {
            Some(whole) => {
                let percent = 100.0 * rate.bps() as f64 / whole.0.bps() as f64;
                format!(", {percent:.0}% of the link's {whole}")
            }
            None => "; the link's rate varies".into(),
        };
        if let Some(Rate(rate)) = queue.bandwidth.as_ref().and_then(Switch::on) {
            return Ok(lane(
                *rate,
                format!("the rate of gateway.{name}.bandwidth{}", beside_the_link(*rate)),
            ));
        }
        if let Some(rate) = shape(gateway, way) {
            return Ok(lane(rate, format!("the rate of gateway.shape{}", beside_the_link(rate))));
        }
        match of_link {
            Some(rate) => {
                let why = format!("{SHARE_PERCENT}% of the link's {rate}, so that packets queue here");
                Ok(lane(Bitrate::from_bps(rate.0.bps() * SHARE_PERCENT / 100), why))
            }
            None => Err(format!(
                "the rate of this link varies ({name}), and a shaper needs a fixed one: add `gateway.shape.{name}`, a \
                 little below the lowest rate."
            )),
        }
    }
}

/// The queue of a direction.
pub(super) fn queue(gateway: &Gateway, way: Direction) -> &Queue {
    match way {
        Direction::Up => &gateway.up,
        Direction::Down => &gateway.down,
    }
}

fn shape(gateway: &Gateway, way: Direction) -> Option<Bitrate> {
    gateway.shape.as_ref()?.towards(way)?.on().map(|rate| rate.0)
}

/// Whether the queue of a direction is the gateway's. A FIFO may be that of the modem or of the provider.
fn is_here(way: Direction, gateway: &Gateway) -> bool {
    let queue = queue(gateway, way);
    let is_shaped = |way| shape(gateway, way).is_some();
    queue.queue.0 != Discipline::Fifo
        || is_shaped(way)
        || (queue.limit.is_some() && !Direction::BOTH.into_iter().any(is_shaped))
}

fn unsaid(gateway: &Gateway) -> Vec<String> {
    let mut found = Vec::new();
    if gateway.voap.as_ref().and_then(Switch::on).is_some() {
        found.push("VoAP lowers TCP windows, and Linux cannot; `gamelane gateway` can.".into());
    }
    let adapts = |way| gateway.autorate.as_ref().and_then(|each| each.towards(way)).and_then(Switch::on);
    if Direction::BOTH.into_iter().any(|way| adapts(way).is_some()) {
        found.push(
            "autorate adapts the rate to the link, and these lines keep it; `gamelane gateway` adapts it."
                .into(),
        );
    }
    found
}
