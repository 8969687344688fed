//! When TCP's data was there for the application: a byte is delivered when it and all before it have arrived. Against the
//! moment it was first sent, and beyond what the fastest packets take, that is what loss cost the player; the cause is that
//! of the retransmission that brought the last missing byte (reference/measurement.md section 4). Nothing here tells how
//! long data waited before it was first sent.

use std::collections::BTreeMap;

use super::clock::OneWay;
use super::matching::Matched;
use super::sightings::{Repair, Sighting};
use crate::samples::Samples;
use crate::tcp::Cause;
use crate::tcp::sequence::Sequence;
use crate::tcp::stream::{Revealed, Stream};

/// Delivery of one direction's packets, as first sent.
#[derive(Clone, Debug, Default)]
pub struct Delivery {
    /// From first being sent to delivery, beyond the least one-way delay.
    pub lag: Samples,
    /// Packets delivered later than they would have been without loss, by the cause of what brought the missing data.
    pub late: [u64; 5],
    /// Their lag together, likewise.
    pub late_ns: [u64; 5],
    /// Of the late ones, those that were not lost themselves but had to wait for one before them.
    pub held_up: u64,
    /// Packets not delivered within the receiver's capture.
    pub undelivered: u64,
}

impl Delivery {
    /// Lag of late packets together.
    pub fn total_ns(&self) -> u64 {
        self.late_ns.iter().sum()
    }
}

/// A packet as first sent.
struct First {
    end: u64,
    at_ns: u64,
}

pub(super) fn delivery(
    sent: &[Sighting],
    received: &[Sighting],
    matched: &Matched,
    one_way: &OneWay,
    repairs: &[Repair],
) -> Option<Delivery> {
    let start = sent.iter().find(|packet| packet.is_tcp && packet.payload > 0)?;
    // Both points must count alike, and as the analysis of the sender's capture does: by the sender's first packet.
    let origin = origin(sent);
    let mut sequence = Sequence::from_within(origin);
    let mut stream = Stream::default();
    let mut firsts = Vec::new();
    for packet in sent.iter().filter(|packet| packet.payload > 0) {
        let Some(offset) = sequence.sent(packet.sequence) else { continue };
        let brought = stream.saw(offset, packet.payload, Revealed::default());
        if brought.new > 0 {
            firsts.push(First { end: stream.end(), at_ns: packet.at_ns });
        }
    }
    let start = Sequence::from_within(origin).offset(start.sequence)?;
    let mut partner = vec![None; received.len()];
    for pair in &matched.pairs {
        partner[pair.second] = Some(pair.first);
    }
    let causes = Causes { sent, partner, repairs };
    Some(delivered(&firsts, start, origin, received, one_way, &causes))
}

/// The number offset 1 has: that of the first byte after a SYN, or the first number seen. Sightings count the SYN in.
fn origin(sent: &[Sighting]) -> u32 {
    sent.first().map_or(0, |packet| packet.sequence)
}

fn delivered(
    firsts: &[First],
    start: u64,
    origin: u32,
    received: &[Sighting],
    one_way: &OneWay,
    causes: &Causes<'_>,
) -> Delivery {
    let mut delivery = Delivery::default();
    let mut sequence = Sequence::from_within(origin);
    // Runs received above what is delivered, by start.
    let mut waiting: BTreeMap<u64, u64> = BTreeMap::new();
    let mut to = start;
    let mut next = 0;
    for (place, packet) in received.iter().enumerate().filter(|(_, packet)| packet.payload > 0) {
        let Some(offset) = sequence.sent(packet.sequence) else { continue };
        let end = offset + u64::from(packet.payload);
        if offset > to {
            let reach = waiting.entry(offset).or_insert(end);
            *reach = (*reach).max(end);
            continue;
        }
        to = to.max(end);
        while let Some(run) = waiting.first_entry().filter(|run| *run.key() <= to) {
            to = to.max(run.remove());
        }
        while let Some(first) = firsts.get(next).filter(|first| first.end <= to) {
            let least = one_way.drift.least_at(first.at_ns);
            let took = packet.at_ns as f64 - first.at_ns as f64 - least;
            let lag = took.max(0.0) as u64;
            delivery.lag.push(lag);
            let own = first.end > offset && first.end <= end;
            if let Some(cause) = causes.of(place) {
                delivery.late[cause.index()] += 1;
                delivery.late_ns[cause.index()] += lag;
                delivery.held_up += u64::from(!own);
            }
            next += 1;
        }
    }
    delivery.undelivered = (firsts.len() - next) as u64;
    delivery
}

/// Why a packet was sent that arrived; `None` if it carried its data for the first time.
struct Causes<'a> {
    sent: &'a [Sighting],
    /// Position at the sender's point of each received packet.
    partner: Vec<Option<usize>>,
    repairs: &'a [Repair],
}

impl Causes<'_> {
    fn of(&self, received: usize) -> Option<Cause> {
        let at_ns = self.sent[self.partner[received]?].at_ns;
        let place = self.repairs.binary_search_by_key(&at_ns, |repair| repair.at_ns).ok()?;
        Some(self.repairs[place].cause)
    }
}
