//! Matches the packets at two points: those with equal content, in order, whose difference of times is close to the
//! usual one. Packets that are only at the sender's point were lost between the points. Payload beyond the content hash
//! is not compared.

use super::sightings::{Sighting, Span};
use crate::samples::Samples;

/// Pairs of packet indices, in the time order of the first point.
#[derive(Clone, Debug, Default)]
pub(super) struct Matched {
    /// Index at the first point, index at the second point, and both times.
    pub(super) pairs: Vec<Pair>,
    lens: (usize, usize),
    /// Usual difference of the times.
    offset: i128,
}

/// A packet at both points.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) first: usize,
    pub(super) second: usize,
    pub(super) first_ns: u64,
    pub(super) second_ns: u64,
}

/// Losses of one direction while both captures ran.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    /// Packets that did not arrive.
    pub lost: u64,
    /// Lost packets with data.
    pub lost_with_data: u64,
    /// Sent packets with data.
    pub sent_with_data: u64,
    /// Packets that arrived more than once.
    pub duplicated: u64,
    /// Packets that arrived after one that was sent later.
    pub reordered: u64,
    /// Packets that arrived but are not in the sender's capture.
    pub unsent: u64,
    /// Lengths of runs of lost packets.
    pub runs: Samples,
    /// Conditional loss probability P(loss | loss): lost packets after a lost one, divided by packets sent after a lost
    /// one.
    pub after_loss: Option<f64>,
    /// Largest fraction lost of the packets sent in one second.
    pub worst_second: f64,
    /// Longest time between two arrivals.
    pub longest_gap_ns: u64,
}

impl Matched {
    pub(super) const fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Number of unmatched packets at each point within the common window.
    pub(super) fn unmatched(&self) -> (usize, usize) {
        let (Some(first), Some(last)) = (self.pairs.first(), self.pairs.last()) else { return self.lens };
        let second = self.pairs.iter().map(|pair| pair.second);
        let (low, high) = (second.clone().min().unwrap_or(0), second.max().unwrap_or(0));
        (last.first + 1 - first.first - self.pairs.len(), high + 1 - low - self.pairs.len())
    }

    /// Returns the same pairs with the sender's point first.
    pub(super) fn oriented(&self, sender_is_first: bool) -> Self {
        if sender_is_first {
            return self.clone();
        }
        let turned = |pair: &Pair| Pair {
            first: pair.second,
            second: pair.first,
            first_ns: pair.second_ns,
            second_ns: pair.first_ns,
        };
        let mut pairs: Vec<Pair> = self.pairs.iter().map(turned).collect();
        pairs.sort_unstable_by_key(|pair| pair.first);
        Self { pairs, lens: (self.lens.1, self.lens.0), offset: -self.offset }
    }

    /// Range of indices at the first point while both captures ran. The other capture's recording time is corrected by
    /// the usual difference of the times.
    pub(super) fn window(&self, sent: &[Sighting], recorded: Span) -> (usize, usize) {
        let (Some(first), Some(last)) = (self.pairs.first(), self.pairs.last()) else { return (0, 0) };
        let there = |packet: &Sighting| i128::from(packet.at_ns) + self.offset;
        let from = sent.partition_point(|packet| there(packet) < i128::from(recorded.from_ns));
        let to = sent.partition_point(|packet| there(packet) <= i128::from(recorded.to_ns));
        (from.min(first.first), to.max(last.first + 1))
    }
}

/// Matches the packets of one direction at two points.
pub(super) fn matched(first: &[Sighting], second: &[Sighting]) -> Matched {
    let order = |packets: &[Sighting]| {
        let mut order: Vec<(u64, usize)> = packets.iter().map(|packet| packet.content).zip(0..).collect();
        order.sort_unstable();
        order
    };
    let (ours, theirs) = (order(first), order(second));
    let Some(offset) = usual_offset(first, second, &ours, &theirs) else {
        return Matched { lens: (first.len(), second.len()), ..Matched::default() };
    };
    let mut pairs = Vec::new();
    let mut at = 0;
    for group in ours.chunk_by(|a, b| a.0 == b.0) {
        let content = group[0].0;
        at += theirs[at..].partition_point(|&(other, _)| other < content);
        let same = &theirs[at..at + theirs[at..].partition_point(|&(other, _)| other == content)];
        let mut candidates = same.iter().map(|&(_, position)| position).peekable();
        for &(_, position) in group {
            let sent = &first[position];
            let off = |other: usize| i128::from(second[other].at_ns) - i128::from(sent.at_ns) - offset;
            while candidates.next_if(|&other| off(other) < -TOLERANCE_NS).is_some() {}
            if let Some(other) = candidates.next_if(|&other| off(other) <= TOLERANCE_NS) {
                pairs.push(Pair {
                    first: position,
                    second: other,
                    first_ns: sent.at_ns,
                    second_ns: second[other].at_ns,
                });
            }
        }
    }
    pairs.sort_unstable_by_key(|pair| pair.first);
    Matched { pairs, lens: (first.len(), second.len()), offset }
}

/// Median difference of the times of packets whose content is unique at both points.
fn usual_offset(
    first: &[Sighting],
    second: &[Sighting],
    ours: &[(u64, usize)],
    theirs: &[(u64, usize)],
) -> Option<i128> {
    let mut offsets: Vec<i128> = Vec::new();
    let mut at = 0;
    for group in ours.chunk_by(|a, b| a.0 == b.0) {
        let &[(content, position)] = group else { continue };
        at += theirs[at..].partition_point(|&(other, _)| other < content);
        let same = theirs[at..].partition_point(|&(other, _)| other == content);
        if same == 1 {
            let other = &second[theirs[at].1];
            offsets.push(i128::from(other.at_ns) - i128::from(first[position].at_ns));
        }
    }
    if offsets.is_empty() {
        return None;
    }
    let middle = offsets.len() / 2;
    Some(*offsets.select_nth_unstable(middle).1)
}

/// Compares the sender's point with the receiver's: losses, duplicates, reordering.
pub(super) fn losses(
    sent: &[Sighting],
    received: &[Sighting],
    matched: &Matched,
    (from, to): (usize, usize),
) -> Losses {
    let mut losses = Losses::default();
    let mut arrived = vec![false; to - from];
    for pair in &matched.pairs {
        arrived[pair.first - from] = true;
    }
    let mut run = 0;
    let (mut after_lost, mut both_lost) = (0u64, 0u64);
    let mut seconds = Second::default();
    for (packet, &arrived) in sent[from..to].iter().zip(&arrived) {
        let data = packet.payload > 0;
        losses.sent_with_data += u64::from(data);
        seconds.sent(packet.at_ns, !arrived);
        if run > 0 {
            after_lost += 1;
            both_lost += u64::from(!arrived);
        }
        if arrived {
            if run > 0 {
                losses.runs.push(run);
            }
            run = 0;
        } else {
            run += 1;
            losses.lost += 1;
            losses.lost_with_data += u64::from(data);
        }
    }
    if run > 0 {
        losses.runs.push(run);
    }
    losses.after_loss = (after_lost > 0).then(|| both_lost as f64 / after_lost as f64);
    losses.worst_second = seconds.worst();
    arrivals(received, sent, matched, &mut losses);
    losses
}

fn arrivals(received: &[Sighting], sent: &[Sighting], matched: &Matched, losses: &mut Losses) {
    let mut partner = vec![None; received.len()];
    for pair in &matched.pairs {
        partner[pair.second] = Some(pair.first);
    }
    let Some(first) = partner.iter().position(Option::is_some) else { return };
    let last = partner.iter().rposition(Option::is_some).unwrap_or(first);
    let known: std::collections::BTreeSet<u64> =
        matched.pairs.iter().map(|pair| sent[pair.first].content).collect();
    let mut highest = 0;
    for place in first..=last {
        if place > first {
            let gap = received[place].at_ns.saturating_sub(received[place - 1].at_ns);
            losses.longest_gap_ns = losses.longest_gap_ns.max(gap);
        }
        match partner[place] {
            Some(position) => {
                losses.reordered += u64::from(position < highest);
                highest = highest.max(position);
            }
            None if known.contains(&received[place].content) => losses.duplicated += 1,
            None => losses.unsent += 1,
        }
    }
}

/// Packets sent and lost in the current second.
#[derive(Default)]
struct Second {
    start_ns: u64,
    sent: u64,
    lost: u64,
    worst: f64,
}

impl Second {
    fn sent(&mut self, at_ns: u64, lost: bool) {
        if at_ns.saturating_sub(self.start_ns) >= 1_000_000_000 {
            self.close();
            (self.start_ns, self.sent, self.lost) = (at_ns, 0, 0);
        }
        self.sent += 1;
        self.lost += u64::from(lost);
    }

    fn close(&mut self) {
        if self.sent > 0 {
            self.worst = self.worst.max(self.lost as f64 / self.sent as f64);
        }
    }

    fn worst(mut self) -> f64 {
        self.close();
        self.worst
    }
}

/// Maximum time between two sightings of the same packet; no path keeps packets longer.
const TOLERANCE_NS: i128 = 5_000_000_000;
