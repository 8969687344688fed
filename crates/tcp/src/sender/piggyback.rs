//! Piggybacking: the retransmission of a small segment carries its small neighbours too (griwodz2006 figure 6).
//! Repeating unacknowledged data costs only its bytes, and can save it a timeout of its own. Linux 2.6 adds one
//! segment, later versions all that fit. [`Piggyback::AllThatFit`] also adds data that was never sent. A FIN is never moved.

use super::Sender;
use crate::config::Piggyback;
use crate::observe::TcpCounters;

impl Sender {
    /// Extends the segment at `index`, which is about to be sent again.
    pub(super) fn take_neighbours_along(&mut self, index: usize, counters: &mut TcpCounters) {
        let payload = u64::from(self.board.segment(index).payload());
        let limit = match self.tuning.piggyback {
            Piggyback::Off => 0,
            // Linux: `skb->len < (cur_mss >> 1)`.
            Piggyback::Next => usize::from(payload < self.mss / 2),
            Piggyback::Sent | Piggyback::AllThatFit => usize::MAX,
        };
        let count = self.board.joinable(index, self.mss, limit);
        self.board.join(index, count);
        counters.included_retransmissions += count as u64;
        if self.tuning.piggyback == Piggyback::AllThatFit && index + 1 == self.board.len() {
            self.add_unsent_writes(index);
        }
    }

    /// Adds whole unsent writes while the segment and the peer's window have room.
    fn add_unsent_writes(&mut self, index: usize) {
        loop {
            let next = self.board.next();
            let sent = self.board.segment(index);
            let (payload, fin) = (u64::from(sent.payload()), sent.fin);
            if fin || self.outbox.unsent(next) == 0 {
                return;
            }
            let write = self.outbox.rest_of_write(next);
            if write > self.mss.saturating_sub(payload) || next + write > self.window.edge {
                return;
            }
            let push = self.outbox.sent(next + write);
            self.board.extend_last(write, push);
        }
    }
}
