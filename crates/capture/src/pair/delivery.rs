//! Delivery of TCP data to the application: a byte is delivered when it and all bytes before it have arrived. The lag
//! is the time from the first transmission to delivery, beyond the delay of the fastest packets: the cost of losses to
//! the player. Its cause is that of the retransmission that brought the last missing byte (griwodz2006 section 4.2
//! measures the same with ACKs). The time that data waited before its first transmission is left out.

use std::collections::BTreeMap;

use super::Way;
use super::sightings::{Repair, Sighting};
use crate::samples::Samples;
use crate::tcp::Cause;
use crate::tcp::sequence::Sequence;
use crate::tcp::stream::{Revealed, Stream};

/// Delivery of one direction's packets; each counts from its first transmission.
#[derive(Clone, Debug, Default)]
pub struct Delivery {
    /// Time from the first transmission to delivery beyond the minimum one-way delay, in nanoseconds.
    pub lag: Samples,
    /// Packets delivered late because of a loss, by the cause of the retransmission that brought the missing data.
    pub late: [u64; 5],
    /// Sum of their lag in nanoseconds, by the same cause.
    pub late_ns: [u64; 5],
    /// Late packets that were not lost themselves, but waited for an earlier one.
    pub held_up: u64,
    /// Packets that are not delivered by the end of the receiver's capture.
    pub undelivered: u64,
}

impl Delivery {
    /// Sum of the lag of all late packets.
    pub fn total_ns(&self) -> u64 {
        self.late_ns.iter().sum()
    }
}

/// First transmission of a packet.
struct First {
    end: u64,
    at_ns: u64,
}

pub(super) fn delivery(way: &Way<'_>, repairs: &[Repair]) -> Option<Delivery> {
    let start = way.sent.iter().find(|packet| packet.is_tcp && packet.payload > 0)?;
    // Both points must use the same origin, and so must the analysis of the sender's capture: the sender's first
    // packet.
    let origin = origin(way.sent);
    let mut sequence = Sequence::from_within(origin);
    let mut stream = Stream::default();
    let mut firsts = Vec::new();
    for packet in way.sent.iter().filter(|packet| packet.payload > 0) {
        let Some(offset) = sequence.sent(packet.sequence) else { continue };
        let brought = stream.saw(offset, packet.payload, Revealed::default());
        if brought.new > 0 {
            firsts.push(First { end: stream.end(), at_ns: packet.at_ns });
        }
    }
    let start = Sequence::from_within(origin).offset(start.sequence)?;
    let mut partner = vec![None; way.received.len()];
    for pair in &way.pairs {
        partner[pair.second as usize] = Some(pair.first as usize);
    }
    let causes = Causes { sent: way.sent, partner, repairs };
    Some(delivered(&firsts, start, origin, way, &causes))
}

/// Sequence number of offset 1: the first byte after the SYN, or the first number seen. Sightings already count the
/// SYN.
fn origin(sent: &[Sighting]) -> u32 {
    sent.first().map_or(0, |packet| packet.sequence)
}

fn delivered(firsts: &[First], start: u64, origin: u32, way: &Way<'_>, causes: &Causes<'_>) -> Delivery {
    let mut delivery = Delivery::default();
    let least = way.delays().min().unwrap_or(0);
    let mut sequence = Sequence::from_within(origin);
    // Ranges received above the delivered data, by start.
    let mut waiting: BTreeMap<u64, u64> = BTreeMap::new();
    let mut to = start;
    let mut next = 0;
    for (place, packet) in way.received.iter().enumerate().filter(|(_, packet)| packet.payload > 0) {
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
            let took = way.clocks.delay(first.at_ns, packet.at_ns, way.sender_is_first);
            let lag = took.saturating_sub(least).max(0) as u64;
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

/// Finds the cause of the transmission of a received packet.
struct Causes<'a> {
    sent: &'a [Sighting],
    /// Index at the sender's point of each received packet.
    partner: Vec<Option<usize>>,
    repairs: &'a [Repair],
}

impl Causes<'_> {
    /// Returns `None` if it was the first transmission of its data.
    fn of(&self, received: usize) -> Option<Cause> {
        let at_ns = self.sent[self.partner[received]?].at_ns;
        let place = self.repairs.binary_search_by_key(&at_ns, |repair| repair.at_ns).ok()?;
        Some(self.repairs[place].cause)
    }
}
