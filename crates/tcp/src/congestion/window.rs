//! The congestion window and the steps that all algorithms share. When to take a step is left to the algorithms and the
//! sender.

use super::AckSample;
use crate::config::SlowStart;
use gamelane_core::ByteCount;

/// Congestion window and slow start threshold, in bytes.
#[derive(Clone, Debug)]
pub struct Window {
    pub(super) mss: u64,
    initial: u64,
    pub(super) cwnd: u64,
    pub(super) ssthresh: u64,
    /// Acknowledged bytes that count towards the next segment of growth.
    credit: u64,
    /// Both values are whole segments, as in Linux: half of 5 segments is 2.
    whole: bool,
}

impl Window {
    /// Slow start with the `initial` window.
    pub(super) const fn new(mss: ByteCount, initial: ByteCount) -> Self {
        Self {
            mss: mss.bytes(),
            initial: initial.bytes(),
            cwnd: initial.bytes(),
            // Arbitrarily high (RFC 5681 section 3.1).
            ssthresh: u64::MAX,
            credit: 0,
            whole: false,
        }
    }

    /// From now on the window counts whole segments.
    pub(crate) const fn count_segments(&mut self) {
        self.whole = true;
    }

    /// The window in whole segments.
    pub(super) const fn segments(&self) -> u64 {
        self.cwnd / self.mss
    }

    /// Sets both values and restarts the growth.
    pub(super) const fn set(&mut self, cwnd: u64, ssthresh: u64) {
        let unit = if self.whole { self.mss } else { 1 };
        (self.cwnd, self.credit) = (cwnd - cwnd % unit, 0);
        self.ssthresh = if ssthresh == u64::MAX { ssthresh } else { ssthresh - ssthresh % unit };
    }

    /// Grows the window in slow start. Returns the acknowledged bytes that are left for congestion avoidance.
    pub(super) fn slow_start(&mut self, ack: &AckSample) -> u64 {
        let acked = ack.credit.bytes();
        if self.cwnd >= self.ssthresh {
            return acked;
        }
        match ack.slow_start {
            SlowStart::Rfc5681 => {
                self.cwnd += acked.min(self.mss);
                0
            }
            SlowStart::Rfc3465 => {
                self.cwnd += acked.min(2 * self.mss);
                0
            }
            SlowStart::Linux => {
                let before = self.cwnd;
                self.cwnd = self.ssthresh.min(self.cwnd + acked);
                acked - (self.cwnd - before)
            }
        }
    }

    /// Grows the window by one segment for every `step` acknowledged bytes: the "another common formula" of RFC 5681
    /// section 3.1, as in RFC 3465. Linux (`tcp_cong_avoid_ai`) may grow it by more at once, and spends credit that a
    /// larger step collected on one segment.
    pub(super) fn grow(&mut self, rule: SlowStart, acked: u64, step: u64) {
        if rule != SlowStart::Linux {
            self.credit += acked;
            if self.credit >= step {
                self.credit -= step;
                self.cwnd += self.mss;
            }
            return;
        }
        if self.credit >= step {
            self.credit = 0;
            self.cwnd += self.mss;
        }
        self.credit += acked;
        self.cwnd += self.credit / step * self.mss;
        self.credit %= step;
    }

    /// Lowers the window to `cwnd` if it is larger.
    pub(crate) fn limit(&mut self, cwnd: ByteCount) {
        self.cwnd = self.cwnd.min(cwnd.bytes());
    }

    /// Leaves room for one segment beside the `in_flight` bytes that a timeout did not count as lost (Linux
    /// `tcp_enter_loss`).
    pub(crate) fn after_timeout(&mut self, in_flight: ByteCount) {
        self.cwnd = self.mss + in_flight.bytes();
    }

    /// Applies the restart window after idle (RFC 5681 section 4.1).
    pub(crate) fn restart(&mut self) {
        self.cwnd = self.cwnd.min(self.initial);
    }

    /// Halves the window `times` times, not below the initial window (RFC 2861, Linux `tcp_cwnd_restart`).
    pub(crate) fn decay(&mut self, times: u64) {
        self.remember();
        let least = self.cwnd.min(self.initial);
        let halved = (self.segments() >> times.min(63)) * self.mss;
        self.cwnd = halved.max(least);
    }

    /// Moves the window halfway to what was used (RFC 2861, Linux `tcp_cwnd_application_limited`).
    pub(crate) fn approach(&mut self, used: ByteCount) {
        let used = used.bytes().max(self.initial);
        if used < self.cwnd {
            self.remember();
            self.cwnd = (self.cwnd + used) / 2 / self.mss * self.mss;
        }
    }

    /// Keeps three quarters of the window as threshold, so that slow start returns there (Linux
    /// `tcp_current_ssthresh`).
    fn remember(&mut self) {
        let segments = self.segments();
        self.ssthresh = self.ssthresh.max((segments / 2 + segments / 4) * self.mss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn window(segments: u64) -> Window {
        Window {
            cwnd: segments * MSS,
            ssthresh: 20 * MSS,
            ..Window::new(ByteCount(MSS), ByteCount(10 * MSS))
        }
    }

    #[test]
    fn an_idle_time_halves_the_window_for_each_timeout_and_keeps_three_quarters_as_threshold() {
        // Linux 6.12 with a window of 80 segments: idle for one timeout 40, for two 20, for ten the initial 10.
        for (times, segments) in [(0, 80), (1, 40), (2, 20), (10, 10)] {
            let mut window = window(80);
            window.decay(times);
            assert_eq!((window.cwnd, window.ssthresh), (segments * MSS, 60 * MSS));
        }
        let mut small = window(6);
        small.decay(1);
        assert_eq!((small.cwnd, small.ssthresh), (6 * MSS, 20 * MSS));
    }

    #[test]
    fn partial_use_moves_the_window_halfway_to_what_was_used() {
        let mut window = window(80);
        window.approach(ByteCount(30 * MSS));
        assert_eq!((window.cwnd, window.ssthresh), (55 * MSS, 60 * MSS));
        // Less than the initial window counts as the initial window.
        window.approach(ByteCount(MSS));
        assert_eq!(window.cwnd, 32 * MSS);
    }

    #[test]
    fn what_slow_start_leaves_and_old_credit_count_in_congestion_avoidance() {
        let mut window = window(19);
        let ack =
            AckSample { credit: ByteCount(3 * MSS), slow_start: SlowStart::Linux, ..AckSample::default() };
        assert_eq!((window.slow_start(&ack), window.cwnd), (2 * MSS, 20 * MSS));
        window.grow(SlowStart::Linux, 19 * MSS, 20 * MSS);
        assert_eq!(window.cwnd, 20 * MSS);
        // 19 segments of credit are enough for a step of 10, once.
        window.grow(SlowStart::Linux, MSS, 10 * MSS);
        assert_eq!((window.cwnd, window.credit), (21 * MSS, MSS));
    }
}
