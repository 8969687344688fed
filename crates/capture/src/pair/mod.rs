//! Comparison of two captures of the same traffic at two points: lost packets, variation of the delay, and the round
//! trip of any protocol, without synchronised clocks. Packets are matched by content, so both captures need the
//! headers, and the first payload bytes of UDP. Unlike the analysis of one capture it is not bounded in memory: it
//! keeps 32 bytes per packet, and 8 more for each packet that is at both points.

mod clock;
mod course;
mod delivery;
mod fate;
pub mod games;
mod losses;
mod matching;
mod one_way;
mod order;
mod partners;
mod path;
mod round_trips;
mod sides;
mod sightings;

pub use clock::Clocks;
pub use delivery::Delivery;
pub use losses::Losses;
pub use one_way::{Difference, OneWay};
pub use sightings::{Seen, Sightings, watch};

use gamelane_core::FlowKey;

use crate::analysis::timeline::Moments;
use crate::analysis::under_load::UnderLoad;
use crate::samples::Samples;
use fate::Delays;
use matching::{Matched, Pair};
use partners::Partners;
use path::Path;
use sightings::Sighting;

/// Two captures compared.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The flows that both captures have, in the order of the first.
    pub flows: Vec<PairedFlow>,
    /// Drift of the second clock against the first in nanoseconds per second; `None` if it was not measured.
    pub drift_ppb: Option<f64>,
}

/// A flow that both captures have.
#[derive(Clone, Debug)]
pub struct PairedFlow {
    /// Addresses from client to server, as in the first capture.
    pub key: FlowKey,
    /// Number of the flow in the analysis of the first and of the second capture.
    pub flows: [u32; 2],
    /// True if the first capture is closer to the client; `None` if unknown.
    pub first_is_near_client: Option<bool>,
    /// From client to server, and from server to client.
    pub directions: [PairedDirection; 2],
    /// Round trips in nanoseconds between the two points, by synthetic packet pairs (SPP).
    pub rtt: Samples,
    /// Delay above the least one, waits and losses between the points, by the load at the point near the client. The arrays
    /// for round trips have delays of one direction, and lost packets were lost after the sender's point.
    pub under_load: UnderLoad,
}

/// One direction of a [`PairedFlow`].
#[derive(Clone, Debug)]
pub struct PairedDirection {
    /// Packets in the sender's capture.
    pub seen: u64,
    /// Losses between the points, or why they are not known.
    pub losses: Result<Losses, Unknown>,
    /// Delay between the points, as far as unsynchronised clocks allow.
    pub one_way: OneWay,
    /// Delivery of TCP data to the application; `None` for UDP, or if the losses are not known.
    pub delivery: Option<Delivery>,
}

/// Why losses are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// No packet of the direction is at both points.
    NothingCommon,
    /// Too many packets have the same content, so they cannot be told apart.
    ContentsRepeat,
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NothingCommon => "no packet of this direction is in both captures",
            Self::ContentsRepeat => "too many packets have the same content to tell which of them arrived",
        })
    }
}

/// The packets of one direction, from sender to receiver.
#[derive(Clone, Debug)]
struct Way<'a> {
    sent: &'a [Sighting],
    received: &'a [Sighting],
    /// Indices at the sender's and at the receiver's point, in the order of sending.
    pairs: Vec<Pair>,
    sender_is_first: bool,
    clocks: Clocks,
}

impl Way<'_> {
    /// Sender's and receiver's time of each packet that is at both points.
    fn times(&self) -> impl Iterator<Item = (u64, u64)> {
        self.pairs
            .iter()
            .map(|pair| (self.sent[pair.first as usize].at_ns, self.received[pair.second as usize].at_ns))
    }

    /// Delays of these packets, without the clocks' drift.
    fn delays(&self) -> impl Iterator<Item = i64> {
        self.times()
            .map(|(sent_ns, received_ns)| self.clocks.delay(sent_ns, received_ns, self.sender_is_first))
    }

    fn drift_ppb(&self) -> Option<f64> {
        self.clocks.drift_ppb().map(|ppb| if self.sender_is_first { ppb } else { -ppb })
    }
}

/// A flow at both points with its matched packets.
struct Together<'a> {
    partners: Partners<'a>,
    matched: [Matched; 2],
    first_is_near_client: Option<bool>,
}

impl<'a> Together<'a> {
    /// True if packets of a direction pass the first point before the second. If it is unknown, the first point counts
    /// as the one near the client.
    fn goes_forth(&self, direction: usize) -> bool {
        self.first_is_near_client.unwrap_or(true) == (direction == 0)
    }

    /// Times at the first and at the second point of each packet that is at both.
    fn times(&self, direction: usize) -> impl Iterator<Item = (u64, u64)> {
        let [first, second] = self.partners.packets(direction);
        self.matched[direction]
            .pairs
            .iter()
            .map(|pair| (first[pair.first as usize].at_ns, second[pair.second as usize].at_ns))
    }

    fn way(&self, direction: usize, clocks: Clocks) -> Way<'a> {
        let [first, second] = self.partners.packets(direction);
        let pairs = self.matched[direction].pairs.clone();
        if self.goes_forth(direction) {
            return Way { sent: first, received: second, pairs, sender_is_first: true, clocks };
        }
        let turned = |pair: Pair| Pair { first: pair.second, second: pair.first };
        let mut pairs: Vec<Pair> = pairs.into_iter().map(turned).collect();
        pairs.sort_unstable();
        Way { sent: second, received: first, pairs, sender_is_first: false, clocks }
    }
}

/// Compares the packets seen at two capture points.
pub fn compare(first: &Seen, second: &Seen) -> Comparison {
    let mut flows: Vec<Together<'_>> = partners::partners(first, second)
        .into_iter()
        .map(|partners| {
            let matched = [0, 1].map(|direction| {
                let [first, second] = partners.packets(direction);
                matching::matched(first, second, None)
            });
            Together { partners, matched, first_is_near_client: None }
        })
        .collect();
    sides::by_round_trips(&mut flows);
    let clocks = Clocks::compare(|found| {
        for flow in flows.iter().filter(|flow| flow.first_is_near_client.is_some()) {
            for direction in [0, 1] {
                let forth = flow.goes_forth(direction);
                flow.times(direction).for_each(|(first_ns, second_ns)| found(forth, first_ns, second_ns));
            }
        }
    });
    sides::by_other_flows(&mut flows, clocks);
    match_by_other_flows(&mut flows);
    flows.retain(|flow| flow.matched.iter().any(|matched| !matched.pairs.is_empty() || matched.unclear));
    // Delays of all flows: from the second point to the first, and from the first to the second.
    let mut delays: [Option<Delays>; 2] = [None; 2];
    for flow in &flows {
        for direction in [0, 1] {
            let way = flow.way(direction, clocks);
            let range = &mut delays[usize::from(way.sender_is_first)];
            way.delays().for_each(|delay| Delays::widen(range, delay));
        }
    }
    Comparison {
        flows: flows.iter().map(|flow| paired(flow, [first, second], clocks, delays)).collect(),
        drift_ppb: clocks.drift_ppb(),
    }
}

/// Matches directions whose contents repeat too often. The delay of other flows in the same direction decides.
fn match_by_other_flows(flows: &mut [Together<'_>]) {
    if !flows.iter().any(|flow| flow.matched.iter().any(|matched| matched.unclear)) {
        return;
    }
    let path = |forth: bool| {
        let known = flows.iter().filter(|flow| flow.first_is_near_client.is_some());
        let ways = known.flat_map(|flow| [0, 1].map(|direction| (flow, direction)));
        let same = ways.filter(|(flow, direction)| flow.goes_forth(*direction) == forth);
        Path::new(same.flat_map(|(flow, direction)| flow.times(direction)))
    };
    let paths = [false, true].map(path);
    for flow in flows.iter_mut().filter(|flow| flow.first_is_near_client.is_some()) {
        for direction in [0, 1] {
            if flow.matched[direction].unclear {
                let [first, second] = flow.partners.packets(direction);
                let path = paths[usize::from(flow.goes_forth(direction))].as_ref();
                flow.matched[direction] = matching::matched(first, second, path);
            }
        }
    }
}

fn paired(
    flow: &Together<'_>,
    captures: [&Seen; 2],
    clocks: Clocks,
    delays: [Option<Delays>; 2],
) -> PairedFlow {
    let ways = [0, 1].map(|direction| flow.way(direction, clocks));
    let near = captures[usize::from(flow.first_is_near_client == Some(false))];
    let mut moments = [(); 2].map(|()| Moments::default());
    let directions = [0, 1].map(|direction| {
        let way = &ways[direction];
        let (sender, receiver) = if way.sender_is_first { (0, 1) } else { (1, 0) };
        let unknown = if flow.matched[direction].unclear {
            Some(Unknown::ContentsRepeat)
        } else {
            // If one point has no packet of the direction, all were lost, and the losses are known.
            (way.pairs.is_empty() && !way.sent.is_empty() && !way.received.is_empty())
                .then_some(Unknown::NothingCommon)
        };
        let delays = delays[usize::from(way.sender_is_first)];
        let losses = match (unknown, delays) {
            (Some(unknown), _) => Err(unknown),
            (None, None) => Err(Unknown::NothingCommon),
            (None, Some(delays)) => {
                let sent = fate::of_sent(way, delays, captures[receiver].span());
                let received = fate::of_received(way, delays, captures[sender].span());
                moments[direction] = course::moments(way, &sent, near, direction == 0);
                Ok(losses::losses(way, &sent, &received))
            }
        };
        let numbers = [flow.partners.first.number, flow.partners.second.number];
        let its = if sender == 0 { direction } else { flow.partners.in_second(direction) };
        let repairs = captures[sender].retransmissions(numbers[sender], its as u8);
        PairedDirection {
            seen: way.sent.len() as u64,
            one_way: one_way::one_way(way),
            delivery: if losses.is_ok() { delivery::delivery(way, repairs) } else { None },
            losses,
        }
    });
    PairedFlow {
        key: flow.partners.first.key,
        flows: [flow.partners.first.number, flow.partners.second.number],
        first_is_near_client: flow.first_is_near_client,
        directions,
        rtt: round_trips::synthetic_pairs(&ways[0], &ways[1]),
        under_load: course::under_load(&moments, near),
    }
}
