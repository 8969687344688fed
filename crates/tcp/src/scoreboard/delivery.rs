//! Delivery information for RACK (RFC 8985 section 6.2, steps 1 to 5): which delivered segment was sent last, its round
//! trip, the shortest round trip, and whether segments were reordered. It is kept only if requested. The choice of the
//! reordering window is left to `recovery::rack`.

use super::{Scoreboard, Sent};
use gamelane_core::{Duration, Instant};

/// What a search by time found.
#[derive(Clone, Copy, Debug, Default)]
pub struct LostByTime {
    /// Segments count as lost, by this search or before, and are not acknowledged (Linux `lost_out`).
    pub any: bool,
    /// One of them had been sent again before.
    pub resent: bool,
    /// Time when all remaining doubts will be decided.
    pub wait: Option<Instant>,
}

/// RACK's state about delivered segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivery {
    on: bool,
    /// Arrival time of the current ACK.
    now: Instant,
    /// Send time and end of the delivered segment that was sent last (`RACK.xmit_ts`, `RACK.end_seq`).
    newest: (Instant, u64),
    /// Round trip of the delivered segment that was handled last (`RACK.rtt`, Linux `tcp_rack_advance`).
    rtt: Duration,
    shortest_rtt: Option<Duration>,
    /// Send time of the oldest segment that the current ACK SACKs and that was sent once.
    first_sacked: Option<Instant>,
    /// End of the highest delivered segment (`RACK.fack`).
    forward: u64,
    reordered: bool,
    /// Number of SACKed segments.
    sacked: u32,
    /// Range of positions of the segments to send again: the lowest, and one after the highest.
    resend: (u64, u64),
}

impl Delivery {
    /// Records a newly SACKed segment.
    #[inline]
    pub(super) fn note_sacked(&mut self, sent: &Sent) {
        if self.on {
            self.sacked += 1;
            if !sent.ambiguous {
                self.first_sacked = Some(self.first_sacked.map_or(sent.sent_at, |at| at.min(sent.sent_at)));
            }
            self.take(sent);
        }
    }

    /// Records a cumulatively acknowledged segment, whether SACKed before or not.
    #[inline]
    pub(super) fn note_acknowledged(&mut self, sent: &Sent) {
        if self.on {
            if sent.sacked {
                self.sacked -= 1;
            } else {
                self.take(sent);
            }
        }
    }

    fn take(&mut self, sent: &Sent) {
        let rtt = self.now.saturating_since(sent.sent_at);
        if sent.ambiguous {
            // The ACK comes too early to answer the retransmission, so it answers the original.
            if self.shortest_rtt.is_some_and(|shortest| rtt < shortest) {
                return;
            }
        } else {
            self.note_round_trip(rtt);
            self.reordered |= sent.end < self.forward;
        }
        self.forward = self.forward.max(sent.end);
        self.rtt = rtt;
        if (sent.sent_at, sent.end) > self.newest {
            self.newest = (sent.sent_at, sent.end);
        }
    }

    fn note_round_trip(&mut self, rtt: Duration) {
        self.shortest_rtt = Some(self.shortest_rtt.map_or(rtt, |shortest| shortest.min(rtt)));
    }

    pub(super) fn forget_sacked(&mut self) {
        self.sacked = 0;
    }

    /// Adapts positions after segments were joined.
    pub(super) fn close_gap(&mut self, moved: impl Fn(u64) -> u64) {
        self.resend = (moved(self.resend.0), moved(self.resend.1));
    }
}

impl Scoreboard {
    /// Starts to record deliveries.
    pub fn watch_deliveries(&mut self) {
        self.delivery.on = true;
    }

    /// Sets the arrival time of the current ACK.
    #[inline]
    pub fn begin_ack(&mut self, now: Instant) {
        self.delivery.now = now;
        self.delivery.first_sacked = None;
    }

    /// Send time of the oldest segment that the current ACK SACKs and that was sent once. Only recorded for RACK.
    pub const fn first_sacked(&self) -> Option<Instant> {
        self.delivery.first_sacked
    }

    /// Takes the round trip of a segment that is not on the board: a SYN (Linux `tcp_synack_rtt_meas`).
    pub fn note_round_trip(&mut self, rtt: Duration) {
        self.delivery.note_round_trip(rtt);
    }

    /// Shortest round trip so far of a segment that was sent once.
    pub const fn shortest_rtt(&self) -> Option<Duration> {
        self.delivery.shortest_rtt
    }

    /// True if segments that were sent once arrived out of order.
    pub const fn has_reordered(&self) -> bool {
        self.delivery.reordered
    }

    /// Number of SACKed segments.
    pub const fn sacked_segments(&self) -> u32 {
        self.delivery.sacked
    }

    /// Marks segments as lost that were sent long enough before the last delivered one (section 6.2 step 5). Searches
    /// from the oldest segment to the first original sent after the last delivered one.
    pub fn lose_by_time(&mut self, reordering: Duration, now: Instant) -> LostByTime {
        let mut found = LostByTime::default();
        for index in 0..self.segments.len() {
            let sent = self.segments[index];
            found.any |= sent.lost && !sent.sacked;
            if (sent.sent_at, sent.end) >= self.delivery.newest {
                if sent.ambiguous {
                    continue;
                }
                break;
            }
            if sent.sacked || sent.lost && !sent.resent {
                continue;
            }
            let due = sent.sent_at.saturating_add(self.delivery.rtt).saturating_add(reordering);
            if due <= now {
                self.lose(index);
                (found.any, found.resent) = (true, found.resent || sent.resent);
            } else {
                found.wait = found.wait.max(Some(due));
            }
        }
        found
    }

    /// Marks the oldest segment, and all that were sent more than a round trip ago, as lost. If the receiver has
    /// reneged, all are (Linux `tcp_timeout_mark_lost`).
    pub fn lose_old(&mut self, now: Instant) {
        if self.segments.front().is_none_or(|sent| sent.sacked) {
            self.mark_all_lost();
            self.delivery.resend = (self.front, self.front + self.segments.len() as u64);
            return;
        }
        self.delivery.resend = (u64::MAX, 0);
        for index in 0..self.segments.len() {
            let sent = self.segments[index];
            let old = index == 0 || sent.sent_at.saturating_add(self.delivery.rtt) <= now;
            if !sent.sacked && (old || sent.lost && !sent.resent) {
                self.lose(index);
            }
        }
    }

    /// Marks a segment as lost, also if its retransmission was lost.
    fn lose(&mut self, index: usize) {
        let sent = &mut self.segments[index];
        self.pipe -= sent.pipe(self.weight);
        self.lost_count += u64::from(!sent.lost || sent.resent);
        (sent.lost, sent.resent) = (true, false);
        self.pipe += sent.pipe(self.weight);
        let position = self.front + index as u64;
        let (low, high) = self.delivery.resend;
        self.delivery.resend = (low.min(position), high.max(position + 1));
        self.resent_below = self.resent_below.min(position);
    }

    /// Lowest segment that [`lose_by_time`](Self::lose_by_time) marked and that was not sent again since.
    pub fn next_lost_by_time(&mut self) -> Option<usize> {
        let (low, high) = self.delivery.resend;
        let end = self.front + self.segments.len() as u64;
        for position in low.max(self.front)..high.min(end) {
            let sent = &self.segments[(position - self.front) as usize];
            if sent.lost && !sent.sacked && !sent.resent {
                self.delivery.resend.0 = position;
                return Some((position - self.front) as usize);
            }
        }
        self.delivery.resend = (u64::MAX, 0);
        None
    }
}
