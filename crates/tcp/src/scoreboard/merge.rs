//! Joins neighbouring segments, so that one retransmission carries several (Linux `tcp_retrans_try_collapse`). Only
//! here segments lose their boundaries. It runs on retransmissions, never for new data.

use super::Scoreboard;

impl Scoreboard {
    /// Number of segments after `index` that fit into `room` bytes together with it, at most `limit`. They must be
    /// neither SACKed nor sent again.
    pub fn joinable(&self, index: usize, room: u64, limit: usize) -> usize {
        let Some(first) = self.segments.get(index).filter(|sent| !sent.fin) else { return 0 };
        let mut payload = u64::from(first.payload());
        let mut count = 0;
        for sent in self.segments.iter().skip(index + 1).take(limit) {
            payload += u64::from(sent.payload());
            if sent.sacked || sent.resent || payload > room {
                break;
            }
            count += 1;
            if sent.fin {
                break;
            }
        }
        count
    }

    /// Joins the next `count` segments to the one at `index`, which is lost. The state of the first one then holds for
    /// all.
    pub fn join(&mut self, index: usize, count: usize) {
        if count == 0 {
            return;
        }
        let first = self.segments[index];
        let last = self.segments[index + count];
        self.pipe -=
            self.segments.iter().skip(index).take(count + 1).map(|sent| sent.pipe(self.weight)).sum::<u64>();
        let joined = super::Sent { end: last.end, push: last.push, fin: last.fin, ..first };
        self.pipe += joined.pipe(self.weight);
        self.segments[index] = joined;
        self.segments.drain(index + 1..=index + count);
        // Positions count segments, so all positions above move down.
        let position = self.front + index as u64 + 1;
        let moved = |at: u64| if at <= position { at } else { at.saturating_sub(count as u64).max(position) };
        self.delivery.close_gap(moved);
        self.lost_below = moved(self.lost_below);
        self.sacked_below = moved(self.sacked_below);
        self.resent_below = moved(self.resent_below);
    }

    /// Extends the last segment, which is not SACKed, by `bytes` bytes of new data.
    pub fn extend_last(&mut self, bytes: u64, push: bool) {
        let Some(last) = self.segments.back_mut() else { return };
        self.pipe -= last.pipe(self.weight);
        last.end += bytes;
        last.push = push;
        self.pipe += last.pipe(self.weight);
        self.next = last.end;
    }
}
