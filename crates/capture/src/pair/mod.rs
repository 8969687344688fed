//! Comparison of two captures of the same traffic at two points: lost packets, variation of the delay, and the round
//! trip of any protocol, without synchronised clocks. Packets are matched by content, so both captures need the
//! headers, and the first payload bytes of UDP. Unlike the analysis of one capture it is not bounded in memory: it
//! keeps 32 bytes per packet.

mod clock;
mod delivery;
pub mod games;
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
    /// Round trips between the two points, by synthetic packet pairs (SPP). Each has the time when the answer passed
    /// the point close to the client, since the start of that capture, and the length in nanoseconds.
    pub round_trips: Vec<(u64, u64)>,
    /// Distribution of these round trips in nanoseconds.
    pub rtt: Samples,
}

/// One direction of a [`PairedFlow`].
#[derive(Clone, Debug, Default)]
pub struct PairedDirection {
    /// Packets in the sender's capture while both captures ran.
    pub sent: u64,
    /// Losses between the points.
    pub losses: Losses,
    /// Delay between the points, as far as unsynchronised clocks allow.
    pub one_way: OneWay,
    /// Delivery of TCP data to the application; `None` for UDP.
    pub delivery: Option<Delivery>,
}

/// Compares the packets seen at two capture points.
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
        // The client's data goes from the client's point to the server's.
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

/// Finds the point closer to the client. More time passes there between a packet to the server and the next one back,
/// because the round trip to the other point lies between. Without both directions, the point that misses packets is
/// the far one.
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
