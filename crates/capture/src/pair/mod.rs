//! Two captures of the same traffic at two points: which packets were lost between them, how the delay varied, and the round
//! trip of any protocol, without clocks that agree (reference/measurement.md sections 2 and 3). Packets are matched by
//! content, so both captures must hold the headers, and of UDP the first payload bytes. Keeps 32 bytes per packet: it is
//! not bounded as the analysis of one capture is.

mod clock;
mod delivery;
mod matching;
mod round_trips;
mod sightings;

pub use clock::{Drift, OneWay};
pub use delivery::Delivery;
pub use matching::Losses;
pub use sightings::{Seen, Sightings, watch};

use gamelane_core::FlowKey;

use crate::samples::Samples;
use matching::Matched;

/// A flow that both captures saw.
#[derive(Clone, Debug)]
pub struct PairedFlow {
    /// From the client to the server, as the first capture has it.
    pub key: FlowKey,
    /// Number of the flow in the first and in the second capture's analysis.
    pub flows: [u32; 2],
    /// Whether the first capture is the one nearer to the client; `None` if nothing tells.
    pub first_is_near_client: Option<bool>,
    /// Client to server, server to client.
    pub directions: [PairedDirection; 2],
    /// Round trips between the two points, by synthetic packet pairs (SPP): when the answer passed the point near the
    /// client, since that capture's start, and how long.
    pub round_trips: Vec<(u64, u64)>,
    /// Their distribution.
    pub rtt: Samples,
}

/// One direction of a [`PairedFlow`].
#[derive(Clone, Debug, Default)]
pub struct PairedDirection {
    /// Packets in the sender's capture, while both captures ran.
    pub sent: u64,
    /// What became of them.
    pub losses: Losses,
    /// Delay between the points, as far as clocks that do not agree allow.
    pub one_way: OneWay,
    /// When TCP's data was there for the application.
    pub delivery: Option<Delivery>,
}

/// Compares what two capture points saw.
pub fn compare(first: &Seen, second: &Seen) -> Vec<PairedFlow> {
    first.flows().filter_map(|flow| paired(first, second, flow)).collect()
}

fn paired(first: &Seen, second: &Seen, flow: &Sightings) -> Option<PairedFlow> {
    let other = second.flow(flow.key)?;
    let matched = [0, 1].map(|direction| {
        let theirs = if other.key == flow.key { direction } else { 1 - direction };
        matching::matched(&flow.directions[direction], &other.directions[theirs])
    });
    if matched.iter().all(Matched::is_empty) {
        return None;
    }
    let first_is_near_client = near_client(&matched);
    let client_first = first_is_near_client.unwrap_or(true);
    let mut directions = [PairedDirection::default(), PairedDirection::default()];
    for (direction, result) in directions.iter_mut().enumerate() {
        // Up goes from the client's point to the server's.
        let sender_is_first = client_first == (direction == 0);
        let matched = &matched[direction];
        let theirs = if other.key == flow.key { direction } else { 1 - direction };
        let (ours, theirs) = (&flow.directions[direction], &other.directions[theirs]);
        let (sent, received) = if sender_is_first { (ours, theirs) } else { (theirs, ours) };
        let oriented = matched.oriented(sender_is_first);
        let recorded = if sender_is_first { second.span() } else { first.span() };
        let window = oriented.window(sent, recorded);
        result.sent = (window.1 - window.0) as u64;
        result.losses = matching::losses(sent, received, &oriented, window);
        result.one_way = clock::one_way(&oriented);
        let sender = if sender_is_first { first } else { second };
        let number = if sender_is_first { flow.number } else { other.number };
        let sender_direction =
            if sender_is_first || other.key == flow.key { direction } else { 1 - direction };
        result.delivery = delivery::delivery(
            sent,
            received,
            &oriented,
            &result.one_way,
            sender.retransmissions(number, sender_direction as u8),
        );
    }
    let round_trips = round_trips::synthetic_pairs(flow, other, &matched, client_first);
    let mut rtt = Samples::default();
    round_trips.iter().for_each(|&(_, took)| rtt.push(took));
    Some(PairedFlow {
        key: flow.key,
        flows: [flow.number, other.number],
        first_is_near_client,
        directions,
        round_trips,
        rtt,
    })
}

/// The point nearer to the client sees more time pass between a packet to the server and the next one back: the round trip
/// to the other point lies between. Without both directions, the point that misses packets is the far one.
fn near_client(matched: &[Matched; 2]) -> Option<bool> {
    let [up, down] = matched;
    if let Some(longer) = round_trips::longer_at_first(up, down) {
        return Some(longer);
    }
    match up.unmatched() {
        (first, second) if first > second => Some(true),
        (first, second) if first < second => Some(false),
        _ => match down.unmatched() {
            (first, second) if first < second => Some(true),
            (first, second) if first > second => Some(false),
            _ => None,
        },
    }
}
