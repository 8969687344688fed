//! Joining neighbours, so that one retransmission carries several segments (Linux, `tcp_retrans_try_collapse`). The only place
//! where segments lose their boundaries; it runs when something is resent, never on the way of new data.

use super::Scoreboard;

impl Scoreboard {
    /// How many segments after this one could join it within `room` bytes of payload: neither sacked nor sent again, at
    /// most `limit`.
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

    /// Joins so many segments to the one before them, which is lost. What is known of the first holds for all.
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
        // Positions count segments: those above moved down.
        let position = self.front + index as u64 + 1;
        let moved = |at: u64| if at <= position { at } else { at.saturating_sub(count as u64).max(position) };
        self.delivery.close_gap(moved);
        self.lost_below = moved(self.lost_below);
        self.sacked_below = moved(self.sacked_below);
        self.resent_below = moved(self.resent_below);
    }

    /// The last segment, which is not sacked, carries so many bytes more, never sent before.
    pub fn extend_last(&mut self, bytes: u64, push: bool) {
        let Some(last) = self.segments.back_mut() else { return };
        self.pipe -= last.pipe(self.weight);
        last.end += bytes;
        last.push = push;
        self.pipe += last.pipe(self.weight);
        self.next = last.end;
    }
}
