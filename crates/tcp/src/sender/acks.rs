//! Handling of ACKs by the sender: window update, round-trip sample, recovery, ECN (RFC 3168 section 6.1.2), window
//! growth, timer.

use super::spurious::ForwardProbe;
use super::{Sender, Timer};
use crate::config::SlowStart;
use crate::congestion::{AckSample, CongestionControl};
use crate::observe::TcpCounters;
use crate::recovery::{LossRecovery, Phase, Recovery, Verdict};
use crate::scoreboard::Acked;
use crate::segment::{SackBlock, Segment};
use gamelane_core::{ByteCount, Duration, Instant};

impl Sender {
    /// Handles the acknowledgement in a segment. `window` is the offered window in bytes, `echo` the age of the echoed
    /// timestamp. Returns false if the segment acknowledges data that was never sent.
    pub(crate) fn on_ack(
        &mut self,
        segment: &Segment,
        window: u64,
        echo: Option<Duration>,
        counters: &mut TcpCounters,
        now: Instant,
    ) -> bool {
        let una = self.board.una();
        if segment.ack > self.board.next() {
            return false;
        }
        if segment.ack < una {
            return true;
        }
        let in_flight = self.recovery.in_flight(&self.board);
        let duplicate = segment.ack == una
            && segment.sequence_len() == 0
            && window == self.window.size
            && !self.board.is_empty();
        self.update_window(segment, window);
        let (delivered, lost) = (self.board.delivered(), self.board.lost());
        self.board.begin_ack(now);
        // SACKed segments first, as in Linux `tcp_ack`: RACK takes the round trip of the segment handled last.
        let sacked = match self.recovery {
            Recovery::Sack(_) | Recovery::Rack(_) if !segment.sack.is_empty() => {
                let above = |block: SackBlock| SackBlock { start: block.start.max(segment.ack), ..block };
                self.board.sack(segment.sack_blocks().map(above))
            }
            _ => ByteCount::ZERO,
        };
        let acked = if segment.ack > una { self.board.acknowledge(segment.ack) } else { Acked::default() };
        if self.tuning.bundling.is_some() {
            self.detect_hidden_loss(&acked, counters, now);
        } else if self.tuning.duplicate_sack && !segment.sack.is_empty() {
            self.take_duplicate_report(segment, counters);
        }
        if self.tuning.eifel && acked.bytes > ByteCount::ZERO {
            self.compare_timestamps(echo, counters, now);
        }
        let rtt = self.sample_rtt(acked, echo, now);
        counters.duplicate_acks += u64::from(duplicate);
        counters.bytes_acked += acked.bytes;
        let slow_start = match self.tuning.slow_start {
            SlowStart::Rfc3465 if self.recovery.phase() == Phase::Loss => SlowStart::Rfc5681,
            rule => rule,
        };
        let credit = match slow_start {
            SlowStart::Linux => ByteCount(self.board.delivered() - delivered),
            _ => acked.credit,
        };
        let ack = AckSample {
            una: segment.ack,
            next: self.board.next(),
            acked: acked.credit,
            sacked,
            credit,
            duplicate,
            duplicate_threshold: self.duplicate_threshold(),
            rtt,
            in_flight,
            may_grow: false,
            slow_start,
        };
        self.react(ack, segment.flags.ece(), counters, now);
        self.continue_reduction(&ack, delivered, lost);
        if matches!(self.recovery, Recovery::Rack(_)) {
            self.judge_probe(&ack, segment, now);
            self.arm_tail_probe(now);
        }
        true
    }

    /// Takes the window of the newest segment (RFC 9293 section 3.10.7.4).
    fn update_window(&mut self, segment: &Segment, window: u64) {
        let news = (segment.seq, segment.ack);
        if segment.ack > self.board.una() || self.window.updated_by <= news {
            self.window.size = window;
            self.window.edge = segment.ack + window;
            self.window.largest = self.window.largest.max(window);
            self.window.updated_by = news;
        }
    }

    /// Takes an RTT sample: from the send time of an acknowledged segment that was sent once, else from that of a SACKed
    /// one (with RACK), else from the timestamp of an ACK of new data (Linux `tcp_ack_update_rtt`). The correction of
    /// RFC 7323 appendix G for many samples per round trip is left out, as in Linux.
    fn sample_rtt(&mut self, acked: Acked, echo: Option<Duration>, now: Instant) -> Option<Duration> {
        let advances = acked.bytes > ByteCount::ZERO;
        if advances {
            self.retries = 0;
        }
        let sent_at = acked.sent_at.or_else(|| self.board.first_sacked());
        let rtt = sent_at.map(|at| now.saturating_since(at)).or(echo.filter(|_| advances));
        if let Some(rtt) = rtt {
            self.timeout.on_sample(rtt, self.board.una(), self.board.next());
        }
        rtt
    }

    /// Updates recovery, congestion window and timer after an ACK.
    fn react(&mut self, mut ack: AckSample, echo: bool, counters: &mut TcpCounters, now: Instant) {
        if self.undo.probe != ForwardProbe::Off {
            self.probe_forward(&ack, counters);
        }
        let cwnd = self.cwnd();
        let verdict = self.recovery.on_ack(&ack, &mut self.board, now);
        match verdict {
            Verdict::Unchanged => {}
            Verdict::Entered => self.on_recovery(cwnd, counters, now),
            Verdict::Again => {
                self.falling = None;
                self.on_recovery(self.cwnd(), counters, now);
            }
            Verdict::Left { limit } => {
                self.note_repaired();
                if let Some(limit) = limit {
                    self.congestion.window_mut().limit(limit);
                }
            }
        }
        let open = self.recovery.phase() == Phase::Open;
        if echo && self.ecn.enabled && open && ack.una > self.ecn.point {
            counters.ecn_reductions += 1;
            self.reduce((self.board.outstanding() + ack.acked).min(cwnd), true, now);
        }
        if ack.acked > ByteCount::ZERO {
            ack.may_grow = self.is_settled(verdict, ack.slow_start)
                && !echo
                && self.is_window_limited(ack.in_flight, cwnd);
            self.congestion.on_ack(&ack, now);
            if self.board.is_empty() {
                self.timer = Timer::Idle;
            } else if self.recovery.restarts_timer() {
                self.start_timer(now);
            }
        } else if self.sacked_before_the_front() {
            self.start_timer(now);
        } else if matches!(self.timer, Timer::Persist { .. }) {
            // The peer answered a window probe.
            self.retries = 0;
        }
    }

    /// True if this ACK may let the window grow. In Linux, the ACK that ends a recovery already may (`tcp_cong_control`).
    fn is_settled(&self, verdict: Verdict, rule: SlowStart) -> bool {
        let reducing = match verdict {
            Verdict::Unchanged => self.falling.is_some(),
            Verdict::Left { .. } => rule != SlowStart::Linux,
            Verdict::Entered | Verdict::Again => true,
        };
        !reducing && self.recovery.phase() != Phase::Recovery
    }

    /// True if the ACK SACKs a segment that was sent before the oldest one was last sent. Then the timer starts again; a
    /// SACK of later data must not put off the repair of the oldest segment (Linux `tcp_clean_rtx_queue`).
    fn sacked_before_the_front(&self) -> bool {
        let sacked = self.board.first_sacked();
        sacked.is_some_and(|at| self.board.front().is_some_and(|front| at < front.sent_at))
    }

    /// Starts fast recovery; `cwnd` is the congestion window before it.
    pub(super) fn on_recovery(&mut self, cwnd: ByteCount, counters: &mut TcpCounters, now: Instant) {
        counters.fast_recoveries += 1;
        self.keep_for_undo(false);
        // FlightSize without the segments of limited transmit (RFC 5681 section 3.2 step 2).
        self.reduce(self.board.outstanding().min(cwnd), false, now);
    }

    pub(super) fn on_reduced(&mut self) {
        self.ecn.point = self.board.next();
        self.ecn.cwr_due = self.ecn.enabled;
    }
}
