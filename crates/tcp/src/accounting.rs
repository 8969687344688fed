//! Accounting of retransmissions per packet, from the sender's side of a connection only. A simulation and a capture
//! use the same rules, those of griwodz2006 (section 4.2, figures 2 to 5, table 2).
//!
//! A packet is data as it was first sent. A later segment that covers the packet is a retransmission of it. It counts
//! as *itself* if the segment begins with the packet, otherwise as *included*. A segment that ends in new data is not a
//! retransmission; the old data in front is a *bundled* copy. Left out: which copy arrived, because only the receiver
//! knows.

use alloc::collections::VecDeque;
use gamelane_core::{Duration, Instant};

/// Number of retransmission numbers counted separately: first, second, and so on. Later ones count with the last.
pub const NUMBERED: usize = 8;

/// The unacknowledged packets of one direction of a connection.
#[derive(Clone, Debug)]
pub struct RetransmissionLedger {
    packets: VecDeque<PacketHistory>,
    /// Offset after the highest byte sent.
    next: u64,
    acknowledged_to: u64,
}

/// History of one packet, until it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketHistory {
    /// Offset of its first byte.
    pub start: u64,
    /// Offset after its last byte.
    pub end: u64,
    /// Time of the first transmission.
    pub first_sent: Instant,
    /// Time of the last retransmission; `first_sent` if there was none.
    pub last_sent: Instant,
    /// Time when all of it was acknowledged; [`Instant::MAX`] until then.
    pub acknowledged_at: Instant,
    /// Number of retransmissions: `itself` plus `included`.
    pub retransmissions: u16,
    /// Retransmissions at the head of a segment.
    pub itself: u16,
    /// Retransmissions inside the retransmission of another packet.
    pub included: u16,
    /// Copies in front of new data.
    pub bundled: u16,
}

impl PacketHistory {
    /// Time from the first transmission to the last retransmission before the ACK (griwodz2006 section 4.2).
    pub fn retransmission_delay(&self) -> Duration {
        self.last_sent.saturating_since(self.first_sent)
    }

    /// Time from the first transmission to the ACK: the application delay of griwodz2006.
    pub fn application_delay(&self) -> Duration {
        self.acknowledged_at.saturating_since(self.first_sent)
    }
}

/// Counts for the n-th retransmission of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NthRetransmission {
    /// Retransmissions at the head of a segment.
    pub itself: u64,
    /// Retransmissions inside the retransmission of another packet.
    pub included: u64,
    /// Packets for which this was the last retransmission before the ACK.
    pub successful: u64,
    /// Sum of [`PacketHistory::retransmission_delay`] of these packets.
    pub delay: Duration,
    /// Of these packets, those that were never included in the retransmission of another packet.
    pub successful_itself: u64,
    /// Sum of the delay of those.
    pub delay_itself: Duration,
}

/// Totals of one or more connections: one row of table 2 of griwodz2006.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetransmissionTotals {
    /// Packets sent for the first time.
    pub packets: u64,
    /// Segments without new data.
    pub retransmitted_segments: u64,
    /// Counts for the first, second, … retransmission of a packet.
    pub nth: [NthRetransmission; NUMBERED],
    /// Largest number of retransmissions of one packet.
    pub most: u16,
    /// Copies of packets in front of new data.
    pub bundled: u64,
}

impl RetransmissionTotals {
    /// Adds the totals of another connection.
    pub fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.retransmitted_segments += other.retransmitted_segments;
        self.bundled += other.bundled;
        self.most = self.most.max(other.most);
        for (mine, theirs) in self.nth.iter_mut().zip(&other.nth) {
            mine.itself += theirs.itself;
            mine.included += theirs.included;
            mine.successful += theirs.successful;
            mine.delay += theirs.delay;
            mine.successful_itself += theirs.successful_itself;
            mine.delay_itself += theirs.delay_itself;
        }
    }
}

impl RetransmissionLedger {
    /// A ledger without packets; the first byte has offset `first`.
    pub fn new(first: u64) -> Self {
        Self { packets: VecDeque::new(), next: first, acknowledged_to: first }
    }

    /// Removes all packets and begins again with offset `first`. The memory is kept.
    pub fn restart(&mut self, first: u64) {
        self.packets.clear();
        (self.next, self.acknowledged_to) = (first, first);
    }

    /// Number of packets that fit without an allocation.
    pub fn capacity(&self) -> usize {
        self.packets.capacity()
    }

    /// Highest acknowledgement so far.
    pub const fn acknowledged_to(&self) -> u64 {
        self.acknowledged_to
    }

    /// Unacknowledged packets, oldest first.
    pub fn outstanding(&self) -> impl Iterator<Item = &PacketHistory> {
        self.packets.iter()
    }

    /// The oldest unacknowledged packet.
    #[inline]
    pub fn oldest(&self) -> Option<&PacketHistory> {
        self.packets.front()
    }

    /// Records a segment of `len` payload bytes sent at `at`.
    pub fn sent(&mut self, at: Instant, start: u64, len: u32, totals: &mut RetransmissionTotals) {
        let end = start + u64::from(len);
        if len == 0 {
            return;
        }
        let fresh = end > self.next;
        if start < self.next {
            totals.retransmitted_segments += u64::from(!fresh);
            self.repeated(at, start, end, fresh, totals);
        }
        if fresh {
            totals.packets += 1;
            self.packets.push_back(PacketHistory {
                start: start.max(self.next),
                end,
                first_sent: at,
                last_sent: at,
                acknowledged_at: Instant::MAX,
                retransmissions: 0,
                itself: 0,
                included: 0,
                bundled: 0,
            });
            self.next = end;
        }
    }

    fn repeated(
        &mut self,
        at: Instant,
        start: u64,
        end: u64,
        bundle: bool,
        totals: &mut RetransmissionTotals,
    ) {
        let first = self.packets.partition_point(|packet| packet.end <= start);
        let touched = self.packets.iter_mut().skip(first).take_while(|packet| packet.start < end);
        for (place, packet) in touched.enumerate() {
            if bundle {
                packet.bundled = packet.bundled.saturating_add(1);
                totals.bundled += 1;
                continue;
            }
            packet.retransmissions = packet.retransmissions.saturating_add(1);
            packet.last_sent = at;
            totals.most = totals.most.max(packet.retransmissions);
            let nth = &mut totals.nth[nth_index(packet.retransmissions)];
            if place == 0 {
                packet.itself = packet.itself.saturating_add(1);
                nth.itself += 1;
            } else {
                packet.included = packet.included.saturating_add(1);
                nth.included += 1;
            }
        }
    }

    /// Records that all bytes below `ack` are acknowledged. `closed` gets each packet that this completes.
    pub fn acknowledged(
        &mut self,
        at: Instant,
        ack: u64,
        totals: &mut RetransmissionTotals,
        mut closed: impl FnMut(&PacketHistory),
    ) {
        self.acknowledged_to = self.acknowledged_to.max(ack.min(self.next));
        while let Some(packet) = self.packets.front_mut().filter(|packet| packet.end <= ack) {
            packet.acknowledged_at = at;
            if packet.retransmissions > 0 {
                let nth = &mut totals.nth[nth_index(packet.retransmissions)];
                nth.successful += 1;
                nth.delay += packet.retransmission_delay();
                if packet.included == 0 {
                    nth.successful_itself += 1;
                    nth.delay_itself += packet.retransmission_delay();
                }
            }
            closed(packet);
            self.packets.pop_front();
        }
    }
}

fn nth_index(retransmissions: u16) -> usize {
    usize::from(retransmissions).min(NUMBERED) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const MS: fn(u64) -> Instant = Instant::from_millis;

    fn ledger(packets: &[(u64, u32)]) -> (RetransmissionLedger, RetransmissionTotals) {
        let (mut ledger, mut totals) = (RetransmissionLedger::new(1), RetransmissionTotals::default());
        let mut start = 1;
        for &(at, len) in packets {
            ledger.sent(MS(at), start, len, &mut totals);
            start += u64::from(len);
        }
        (ledger, totals)
    }

    #[test]
    fn the_first_of_a_joint_retransmission_counts_as_itself() {
        let (mut ledger, mut totals) = ledger(&[(0, 100), (10, 50), (20, 30)]);
        ledger.sent(MS(400), 1, 150, &mut totals);
        ledger.sent(MS(1200), 1, 150, &mut totals);
        ledger.sent(MS(1200), 151, 30, &mut totals);
        assert_eq!((totals.packets, totals.retransmitted_segments, totals.most), (3, 3, 2));
        let counts = |n: usize| (totals.nth[n].itself, totals.nth[n].included);
        assert_eq!((counts(0), counts(1), counts(2)), ((2, 1), (1, 1), (0, 0)));
        let mut closed = Vec::new();
        ledger.acknowledged(MS(1400), 151, &mut totals, |packet| closed.push(*packet));
        assert_eq!(closed.len(), 2);
        assert_eq!(closed[0].retransmission_delay(), Duration::from_millis(1200));
        assert_eq!(closed[1].application_delay(), Duration::from_millis(1390));
        assert_eq!((totals.nth[0].successful, totals.nth[1].successful), (0, 2));
        assert_eq!(totals.nth[1].delay, Duration::from_millis(1200 + 1190));
        ledger.acknowledged(MS(1400), 181, &mut totals, |_| {});
        assert_eq!((totals.nth[0].successful, ledger.outstanding().count()), (1, 0));
    }

    #[test]
    fn what_ends_in_new_data_is_a_bundle() {
        let (mut ledger, mut totals) = ledger(&[(0, 100)]);
        ledger.sent(MS(50), 1, 250, &mut totals);
        assert_eq!((totals.packets, totals.bundled, totals.nth[0]), (2, 1, NthRetransmission::default()));
        let bounds: Vec<_> = ledger.outstanding().map(|packet| (packet.start, packet.end)).collect();
        assert_eq!(bounds, [(1, 101), (101, 251)]);
    }
}
