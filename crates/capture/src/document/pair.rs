//! Two capture points compared, in the document.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::capture::Findings;
use super::flow::{NS_PER_MS, Trouble};
use super::games::Sums;
use super::listed::LISTED;
use super::ms;
use super::summary::Summary;
use super::tcp::ByCause;
use crate::analysis::{Games, Kind};
use crate::blame::{self, Blame};
use crate::pair::games::joined;
use crate::pair::{self as points, Comparison, PairedDirection, PairedFlow};

/// `pair`.
#[derive(Debug, Deserialize, Serialize)]
pub struct Paired {
    clock_drift_ppm: Option<f64>,
    flows_total: usize,
    pub(crate) flows: Vec<PairFlow>,
    pub(crate) games: PairSums,
    #[serde(skip)]
    pub(super) blame: Option<Blame>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct PairSums {
    #[serde(flatten)]
    pub(crate) sums: Sums,
    pub(crate) only_in: [u64; 2],
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct PairFlow {
    pub(crate) kind: Kind,
    pub(crate) client: String,
    pub(crate) server: String,
    pub(crate) ids: [u32; 2],
    pub(crate) near_client: Option<u8>,
    pub(crate) rtt_ms: Summary,
    pub(crate) up: PairDirection,
    pub(crate) down: PairDirection,
    /// `None` if one of the captures does not list the flow.
    pub(crate) trouble: Option<Trouble>,
}

/// One direction between the points. What is unknown is null.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct PairDirection {
    seen: u64,
    unknown: Option<String>,
    pub(crate) sent: Option<u64>,
    pub(crate) lost: Option<u64>,
    pub(crate) undecided: Option<u64>,
    loss: Option<f64>,
    sent_with_data: Option<u64>,
    lost_with_data: Option<u64>,
    loss_of_data: Option<f64>,
    pub(crate) duplicated: Option<u64>,
    pub(crate) reordered: Option<u64>,
    unsent: Option<u64>,
    loss_runs: Option<Summary>,
    loss_after_loss: Option<f64>,
    worst_second: Option<f64>,
    longest_gap_ms: Option<f64>,
    pub(crate) delay_above_least_ms: Summary,
    clock_difference_ms: ClockDifference,
    clock_drift_ppm: Option<f64>,
    jitter_ms: f64,
    pub(crate) delivery: Option<Delivery>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct ClockDifference {
    least: Option<f64>,
    median: Option<f64>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Delivery {
    lag_ms: Summary,
    pub(crate) late: ByCause<Late>,
    late_lag_ms: f64,
    held_up: u64,
    undelivered: u64,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Late {
    packets: u64,
    pub(crate) lag_ms: f64,
}

impl Paired {
    /// Describes a comparison. Both captures were read with [`Findings::of_two`].
    pub fn of(comparison: &Comparison, captures: [&Findings; 2]) -> Self {
        let alone = captures.map(|findings| findings.listed().each.as_ref());
        let mut all = Games::default();
        let mut paired = [(); 2].map(|()| BTreeSet::new());
        let mut kinds = Vec::with_capacity(comparison.flows.len());
        for flow in &comparison.flows {
            let seen = [0, 1].map(|n| {
                paired[n].insert(flow.flows[n]);
                alone[n].and_then(|games| games.get(&flow.flows[n])).copied().unwrap_or_default()
            });
            let game = joined(flow, [&seen[0], &seen[1]]);
            all.add(&game);
            kinds.push(game.kind);
        }
        let only_in = [0, 1].map(|n| {
            let games = alone[n].into_iter().flatten();
            games.filter(|(id, game)| game.kind != Kind::Other && !paired[n].contains(id)).count() as u64
        });
        Self {
            clock_drift_ppm: comparison.drift_ppb.map(|ppb| ppb / 1e3),
            flows_total: comparison.flows.len(),
            flows: listed(comparison, &kinds),
            games: PairSums { sums: Sums::of(&all), only_in },
            blame: Some(blame::of_two(captures.map(Findings::evidence), comparison)),
        }
    }
}

/// The flows that are listed, in the order of the first capture: games first, then those with the most packets.
fn listed(comparison: &Comparison, kinds: &[Kind]) -> Vec<PairFlow> {
    let mut places: Vec<usize> = (0..comparison.flows.len()).collect();
    if places.len() > LISTED {
        places.sort_by_key(|&at| {
            let packets: u64 = comparison.flows[at].directions.iter().map(|direction| direction.seen).sum();
            (kinds[at] == Kind::Other, u64::MAX - packets)
        });
        places.truncate(LISTED);
        places.sort_unstable();
    }
    places.into_iter().map(|at| PairFlow::of(&comparison.flows[at], kinds[at])).collect()
}

impl PairFlow {
    fn of(flow: &PairedFlow, kind: Kind) -> Self {
        let [up, down] = &flow.directions;
        Self {
            kind,
            client: flow.key.source.to_string(),
            server: flow.key.destination.to_string(),
            ids: flow.flows,
            near_client: flow.first_is_near_client.map(|first| u8::from(!first)),
            rtt_ms: Summary::of(&flow.rtt, NS_PER_MS),
            up: PairDirection::of(up),
            down: PairDirection::of(down),
            trouble: None,
        }
    }

    /// One direction: 0 from the client, 1 from the server.
    pub(crate) const fn way(&self, direction: usize) -> &PairDirection {
        if direction == 0 { &self.up } else { &self.down }
    }
}

impl PairDirection {
    fn of(of: &PairedDirection) -> Self {
        let losses = of.losses.as_ref().ok();
        let share = |lost: u64, sent: u64| (sent > 0).then(|| lost as f64 / sent as f64);
        let difference = of.one_way.difference;
        Self {
            seen: of.seen,
            unknown: of.losses.as_ref().err().map(ToString::to_string),
            sent: losses.map(|of| of.sent),
            lost: losses.map(|of| of.lost),
            undecided: losses.map(|of| of.undecided),
            loss: losses.and_then(|of| share(of.lost, of.sent)),
            sent_with_data: losses.map(|of| of.sent_with_data),
            lost_with_data: losses.map(|of| of.lost_with_data),
            loss_of_data: losses.and_then(|of| share(of.lost_with_data, of.sent_with_data)),
            duplicated: losses.map(|of| of.duplicated),
            reordered: losses.map(|of| of.reordered),
            unsent: losses.map(|of| of.unsent),
            loss_runs: losses.map(|of| Summary::of(&of.runs, 1.0)),
            loss_after_loss: losses.and_then(|of| of.after_loss),
            worst_second: losses.map(|of| of.worst_second),
            longest_gap_ms: losses.map(|of| ms(of.longest_gap_ns)),
            delay_above_least_ms: Summary::of(&of.one_way.above_least, NS_PER_MS),
            clock_difference_ms: ClockDifference {
                least: difference.map(|difference| difference.least_ns as f64 / NS_PER_MS),
                median: difference.map(|difference| difference.median_ns as f64 / NS_PER_MS),
            },
            clock_drift_ppm: of.one_way.drift_ppb.map(|ppb| ppb / 1e3),
            jitter_ms: of.one_way.jitter_ns / NS_PER_MS,
            delivery: of.delivery.as_ref().map(Delivery::of),
        }
    }
}

impl Delivery {
    fn of(of: &points::Delivery) -> Self {
        let late = |n: usize| Late { packets: of.late[n], lag_ms: ms(of.late_ns[n]) };
        Self {
            lag_ms: Summary::of(&of.lag, NS_PER_MS),
            late: ByCause(std::array::from_fn(late)),
            late_lag_ms: ms(of.total_ns()),
            held_up: of.held_up,
            undelivered: of.undelivered,
        }
    }
}
