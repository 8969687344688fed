//! What retransmissions did to each packet, from the sender's side of a connection alone, so that a simulation and a capture
//! are counted alike (S4 section 4.2, figures 2 to 5, table 2). A packet here is data as it was first sent; a later segment
//! that covers it is a retransmission of it: of *itself* if the segment begins with it, *included* in another's
//! otherwise. A segment that ends in new data is not a retransmission: what it repeats in front is a *bundled* copy.
//! Leaves out what only the receiver can tell: which copy arrived.

use alloc::collections::VecDeque;
use gamelane_core::{Duration, Instant};

/// Retransmissions told apart by number: the first, the second and so on; later ones count with the last.
pub const NUMBERED: usize = 8;

/// The packets of one direction of a connection that are not yet acknowledged.
#[derive(Clone, Debug)]
pub struct RetransmissionLedger {
    packets: VecDeque<PacketHistory>,
    /// Offset after the highest byte sent.
    next: u64,
    acknowledged_to: u64,
}

/// The life of one packet, up to its acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketHistory {
    /// Offset of its first byte.
    pub start: u64,
    /// Offset after its last byte.
    pub end: u64,
    /// When it was first sent.
    pub first_sent: Instant,
    /// When a retransmission last carried it; `first_sent` if none did.
    pub last_sent: Instant,
    /// When all of it was acknowledged; [`Instant::MAX`] until then.
    pub acknowledged_at: Instant,
    /// Times it was retransmitted: `itself` and `included`.
    pub retransmissions: u16,
    /// Of those, at the head of the segment.
    pub itself: u16,
    /// Of those, inside another packet's retransmission.
    pub included: u16,
    /// Copies in front of new data.
    pub bundled: u16,
}

impl PacketHistory {
    /// From its first transmission to the retransmission that was finally acknowledged (S4 section 4.2).
    pub fn retransmission_delay(&self) -> Duration {
        self.last_sent.saturating_since(self.first_sent)
    }

    /// From its first transmission to its acknowledgement: S4's application delay.
    pub fn application_delay(&self) -> Duration {
        self.acknowledged_at.saturating_since(self.first_sent)
    }
}

/// How often packets were retransmitted for the n-th time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NthRetransmission {
    /// At the head of the segment.
    pub itself: u64,
    /// Inside another packet's retransmission.
    pub included: u64,
    /// Packets for which it was the last, by their acknowledgement.
    pub successful: u64,
    /// Sum of [`PacketHistory::retransmission_delay`] over those.
    pub delay: Duration,
    /// Of the successful, those never included in another's retransmission.
    pub successful_itself: u64,
    /// Sum of the delay over those.
    pub delay_itself: Duration,
}

/// Sums over connections: a row of S4's table 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetransmissionTotals {
    /// Packets sent for the first time.
    pub packets: u64,
    /// Segments that carried nothing new.
    pub retransmitted_segments: u64,
    /// The first, second … retransmission of a packet.
    pub nth: [NthRetransmission; NUMBERED],
    /// Most retransmissions of one packet.
    pub most: u16,
    /// Copies of packets in front of new data.
    pub bundled: u64,
}

impl RetransmissionTotals {
    /// Adds those of another connection.
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
    /// Nothing sent yet; the first byte has this offset.
    pub fn new(first: u64) -> Self {
        Self { packets: VecDeque::new(), next: first, acknowledged_to: first }
    }

    /// Highest acknowledgement so far.
    pub const fn acknowledged_to(&self) -> u64 {
        self.acknowledged_to
    }

    /// Packets not yet acknowledged, oldest first.
    pub fn outstanding(&self) -> impl Iterator<Item = &PacketHistory> {
        self.packets.iter()
    }

    /// The first of them.
    #[inline]
    pub fn oldest(&self) -> Option<&PacketHistory> {
        self.packets.front()
    }

    /// A segment of `len` payload bytes left at `at`.
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

    /// Everything before `ack` is acknowledged; `closed` gets each packet whose last byte that covers.
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
