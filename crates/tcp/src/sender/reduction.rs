//! Proportional rate reduction (RFC 6937, Linux `tcp_cwnd_reduction`): in fast recovery and after an ECN echo, the
//! sender sends a part of what the receiver got, so that the flight falls to the threshold over one round trip. If the
//! flight fell below it, the sender fills it up again, at most as fast as in slow start. As in Linux, the part is
//! threshold / window before the reduction.

use super::Sender;
use crate::config::Reduction;
use crate::congestion::{AckSample, CongestionControl};
use crate::recovery::Phase;
use gamelane_core::{ByteCount, Instant};

/// State of one reduction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proportional {
    /// Congestion window before the reduction.
    prior: u64,
    /// Bytes that the receiver got, and bytes sent, since the reduction began.
    delivered: u64,
    sent: u64,
    window: u64,
    /// An ECN echo caused it. It ends when more than this offset is acknowledged.
    echoed_at: Option<u64>,
}

impl Proportional {
    /// Counts `delivered` bytes and computes the window. `progress` is true if the ACK acknowledges new data and shows
    /// no new loss.
    fn advance(&mut self, delivered: u64, pipe: u64, ssthresh: u64, mss: u64, progress: bool) {
        if delivered == 0 {
            return;
        }
        self.delivered += delivered;
        let quota = if pipe > ssthresh {
            let part = u128::from(ssthresh) * u128::from(self.delivered);
            let part = part.div_ceil(u128::from(self.prior.max(1))) as u64;
            // Linux counts segments and rounds up.
            (part.div_ceil(mss) * mss).saturating_sub(self.sent)
        } else {
            let owed = self.delivered.saturating_sub(self.sent).max(delivered);
            (owed + if progress { mss } else { 0 }).min(ssthresh - pipe)
        };
        // The first retransmission always goes out.
        self.window = pipe + quota.max(if self.sent == 0 { mss } else { 0 });
    }
}

impl Sender {
    /// Congestion window, also while it is being reduced.
    pub(super) fn cwnd(&self) -> ByteCount {
        self.falling.map_or_else(|| self.congestion.cwnd(), |falling| ByteCount(falling.window))
    }

    /// Reduces the window after a loss or an ECN echo. `flight` counts if the reduction is at once, and the window
    /// itself if it is proportional.
    pub(super) fn reduce(&mut self, flight: ByteCount, echo: bool, now: Instant) {
        let prior = self.cwnd();
        match self.tuning.reduction {
            Reduction::AtOnce => self.congestion.on_congestion(flight, now),
            Reduction::Proportional => {
                // CUBIC and BIC take the window itself.
                self.congestion.window_mut().limit(prior);
                self.congestion.on_congestion(prior, now);
                let echoed_at = echo.then(|| self.board.next());
                self.falling = Some(Proportional {
                    prior: prior.bytes(),
                    delivered: 0,
                    sent: 0,
                    window: prior.bytes(),
                    echoed_at,
                });
            }
        }
        self.on_reduced();
    }

    /// Continues the reduction after an ACK, or ends it. The counters are those of the scoreboard before the ACK.
    pub(super) fn continue_reduction(&mut self, ack: &AckSample, delivered_before: u64, lost_before: u64) {
        let Some(mut falling) = self.falling else { return };
        let over = match falling.echoed_at {
            Some(point) => self.recovery.phase() != Phase::Recovery && ack.una > point,
            None => self.recovery.phase() != Phase::Recovery,
        };
        self.falling = if over {
            None
        } else {
            let delivered = self.board.delivered() - delivered_before;
            let progress = ack.acked > ByteCount::ZERO && self.board.lost() == lost_before;
            let ssthresh = self.congestion.ssthresh().bytes();
            falling.advance(delivered, self.board.pipe().bytes(), ssthresh, self.mss, progress);
            Some(falling)
        };
    }

    /// Allows the first retransmission after the reordering timer found losses (Linux `tcp_rack_reo_timeout`).
    pub(super) fn begin_reduction(&mut self) {
        let (ssthresh, mss) = (self.congestion.ssthresh().bytes(), self.mss);
        if let Some(falling) = &mut self.falling {
            falling.advance(mss, self.board.pipe().bytes(), ssthresh, mss, false);
        }
    }

    /// Counts bytes sent during a reduction, in units of the congestion window.
    #[inline]
    pub(super) fn note_sent(&mut self, bytes: u64) {
        if let Some(falling) = &mut self.falling {
            falling.sent += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn after_loss_at_10() -> Proportional {
        let prior = 10 * MSS;
        Proportional { prior, delivered: 0, sent: 0, window: prior, echoed_at: None }
    }

    /// An ACK that delivers one segment; returns how many segments may be sent, and counts them as sent.
    fn deliver(reduction: &mut Proportional, pipe: &mut u64, ssthresh: u64) -> u64 {
        *pipe -= 1;
        reduction.advance(MSS, *pipe * MSS, ssthresh * MSS, MSS, false);
        let quota = reduction.window / MSS - *pipe;
        reduction.sent += quota * MSS;
        *pipe += quota;
        quota
    }

    #[test]
    fn the_flight_falls_to_the_threshold_by_sending_less_than_arrives() {
        // A window of 10, one lost, CUBIC's threshold 7. The lost segment left the pipe: 9. While the pipe is above 7, n
        // SACKs send ceil(7 x n / 10): 1, 2, 3, 3. Then one goes out for each that arrives.
        let (mut reduction, mut pipe) = (after_loss_at_10(), 9);
        let sent: std::vec::Vec<u64> = (0..4).map(|_| deliver(&mut reduction, &mut pipe, 7)).collect();
        assert_eq!((sent.as_slice(), pipe), ([1, 1, 1, 0].as_slice(), 8));
        let rest: u64 = (0..4).map(|_| deliver(&mut reduction, &mut pipe, 7)).sum();
        assert_eq!((rest, pipe), (3, 7));
    }

    #[test]
    fn a_flight_below_the_threshold_is_filled_up_by_one_more_than_was_delivered() {
        // Eight of ten lost at once: pipe 2, threshold 5.
        let mut reduction = after_loss_at_10();
        reduction.advance(MSS, 2 * MSS, 5 * MSS, MSS, false);
        assert_eq!(reduction.window, 3 * MSS);
        reduction.sent += MSS;
        reduction.advance(MSS, 2 * MSS, 5 * MSS, MSS, true);
        assert_eq!(reduction.window, 4 * MSS);
        reduction.sent += 2 * MSS;
        // Never above the threshold.
        reduction.advance(9 * MSS, 4 * MSS, 5 * MSS, MSS, true);
        assert_eq!(reduction.window, 5 * MSS);
    }
}
