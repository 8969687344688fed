//! Losses, duplicates and reordering of one direction between two points.

use std::collections::BTreeSet;

use super::Way;
use super::fate::Fate;
use crate::samples::Samples;

/// Losses of one direction while both captures ran.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    /// Sent packets that arrived or were lost.
    pub sent: u64,
    /// Packets that did not arrive.
    pub lost: u64,
    /// Sent packets that may still have been under way when the receiver's capture ended, or arrived before it began.
    /// They are not part of `sent`.
    pub undecided: u64,
    /// Lost packets with data.
    pub lost_with_data: u64,
    /// Sent packets with data.
    pub sent_with_data: u64,
    /// Packets that arrived more than once.
    pub duplicated: u64,
    /// Packets that arrived after one that was sent later.
    pub reordered: u64,
    /// Packets that arrived but are not in the sender's capture, although it ran when they were sent.
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

/// Counts the losses from the fates of the sent and of the received packets.
pub(super) fn losses(way: &Way<'_>, sent: &[Fate], received: &[Fate]) -> Losses {
    let mut losses = Losses::default();
    let mut run = 0;
    let (mut after_lost, mut both_lost) = (0u64, 0u64);
    let mut seconds = Second::default();
    for (packet, fate) in way.sent.iter().zip(sent) {
        let arrived = match fate {
            Fate::Both => true,
            Fate::Missing => false,
            Fate::Undecided => {
                losses.undecided += 1;
                continue;
            }
            Fate::Outside => continue,
        };
        let data = packet.payload > 0;
        losses.sent += 1;
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
    arrivals(way, received, &mut losses);
    losses
}

fn arrivals(way: &Way<'_>, fates: &[Fate], losses: &mut Losses) {
    let alone: Vec<usize> = (0..fates.len()).filter(|&place| fates[place] != Fate::Both).collect();
    let of_interest: BTreeSet<u64> = alone.iter().map(|&place| way.received[place].content).collect();
    let contents = way.pairs.iter().map(|pair| way.sent[pair.first as usize].content);
    let known: BTreeSet<u64> = contents.filter(|content| of_interest.contains(content)).collect();
    for place in alone {
        if known.contains(&way.received[place].content) {
            losses.duplicated += 1;
        } else if fates[place] == Fate::Missing {
            losses.unsent += 1;
        }
    }
    let mut order: Vec<(u32, u32)> = way.pairs.iter().map(|pair| (pair.second, pair.first)).collect();
    order.sort_unstable();
    let mut highest = 0;
    for (_, sent) in &order {
        losses.reordered += u64::from(*sent < highest);
        highest = highest.max(*sent);
    }
    if let (Some(first), Some(last)) = (order.first(), order.last()) {
        let between = &way.received[first.0 as usize..=last.0 as usize];
        let gaps = between.windows(2).map(|two| two[1].at_ns.saturating_sub(two[0].at_ns));
        losses.longest_gap_ns = gaps.max().unwrap_or(0);
    }
}

/// Packets sent and lost in the current second, and the worst second so far.
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
