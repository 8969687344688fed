//! What RACK (RFC 8985 section 6.2, steps 1 to 5) wants to know of deliveries: the segment sent last among those delivered, the
//! round trip it took, the shortest one, and whether originals overtook each other. Kept only if asked for.

use super::{Scoreboard, Sent};
use gamelane_core::{Duration, Instant};

/// RACK's view of what has arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivery {
    on: bool,
    /// When the present ACK arrived.
    now: Instant,
    /// Send time and end of the segment sent last of all delivered (`RACK.xmit_ts`, `RACK.end_seq`).
    newest: (Instant, u64),
    /// The round trip it took (`RACK.rtt`).
    rtt: Duration,
    shortest_rtt: Option<Duration>,
    /// End of the highest segment delivered (`RACK.fack`).
    forward: u64,
    reordered: bool,
    /// Segments sacked now.
    sacked: u32,
    /// Positions of the lowest segment to resend and after the highest.
    resend: (u64, u64),
}

impl Delivery {
    /// A segment is newly sacked.
    #[inline]
    pub(super) fn note_sacked(&mut self, sent: &Sent) {
        if self.on {
            self.sacked += 1;
            self.take(sent);
        }
    }

    /// A segment is cumulatively acknowledged, perhaps after it was sacked.
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
            // An ACK so soon must be for the original.
            if self.shortest_rtt.is_some_and(|shortest| rtt < shortest) {
                return;
            }
        } else {
            self.shortest_rtt = Some(self.shortest_rtt.map_or(rtt, |shortest| shortest.min(rtt)));
            self.reordered |= sent.end < self.forward;
        }
        self.forward = self.forward.max(sent.end);
        if (sent.sent_at, sent.end) > self.newest {
            self.newest = (sent.sent_at, sent.end);
            self.rtt = rtt;
        }
    }

    pub(super) fn forget_sacked(&mut self) {
        self.sacked = 0;
    }

    /// Positions have moved.
    pub(super) fn close_gap(&mut self, moved: impl Fn(u64) -> u64) {
        self.resend = (moved(self.resend.0), moved(self.resend.1));
    }
}

impl Scoreboard {
    /// From now on deliveries are watched.
    pub fn watch_deliveries(&mut self) {
        self.delivery.on = true;
    }

    /// An ACK arrived.
    #[inline]
    pub fn begin_ack(&mut self, now: Instant) {
        self.delivery.now = now;
    }

    /// Shortest round trip so far of a segment sent once.
    pub const fn shortest_rtt(&self) -> Option<Duration> {
        self.delivery.shortest_rtt
    }

    /// Originals have overtaken each other.
    pub const fn has_reordered(&self) -> bool {
        self.delivery.reordered
    }

    /// Segments sacked now.
    pub const fn sacked_segments(&self) -> u32 {
        self.delivery.sacked
    }

    /// Section 6.2 step 5: takes for lost what was sent long enough before the newest delivery. Gives the time at which all
    /// that is still in doubt will be, and whether something was found. Walks from the oldest segment to the first original sent
    /// after the newest delivery.
    pub fn lose_by_time(&mut self, reordering: Duration, now: Instant) -> (bool, Option<Instant>) {
        let (mut found, mut wait) = (false, None);
        for index in 0..self.segments.len() {
            let sent = self.segments[index];
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
                found = true;
            } else {
                wait = wait.max(Some(due));
            }
        }
        (found, wait)
    }

    /// Lost, or lost again.
    fn lose(&mut self, index: usize) {
        let sent = &mut self.segments[index];
        self.pipe -= sent.pipe(self.weight);
        (sent.lost, sent.resent) = (true, false);
        self.pipe += sent.pipe(self.weight);
        let position = self.front + index as u64;
        let (low, high) = self.delivery.resend;
        self.delivery.resend = (low.min(position), high.max(position + 1));
        self.resent_below = self.resent_below.min(position);
    }

    /// Lowest segment that [`lose_by_time`](Self::lose_by_time) found and that was not resent since.
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
