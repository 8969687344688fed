//! The congestion window and the steps of RFC 5681 that all algorithms share. When to take a step is left to the
//! algorithms.

use super::AckSample;
use crate::config::SlowStart;
use gamelane_core::ByteCount;

/// Congestion window and slow start threshold, in bytes.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub(super) mss: u64,
    initial: u64,
    pub(super) cwnd: u64,
    pub(super) ssthresh: u64,
    /// Acknowledged bytes that count towards the next segment of growth.
    credit: u64,
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
        }
    }

    /// Sets both values and restarts the growth.
    pub(super) const fn set(&mut self, cwnd: u64, ssthresh: u64) {
        (self.cwnd, self.ssthresh, self.credit) = (cwnd, ssthresh, 0);
    }

    /// Grows the window in slow start. Returns false outside slow start.
    pub(super) fn slow_start(&mut self, ack: &AckSample) -> bool {
        let slow = self.cwnd < self.ssthresh;
        if slow {
            let acked = ack.acked.bytes();
            self.cwnd = match ack.slow_start {
                SlowStart::Rfc5681 => self.cwnd + acked.min(self.mss),
                SlowStart::Linux => self.ssthresh.min(self.cwnd + acked),
            };
        }
        slow
    }

    /// Grows the window by one segment for every `step` acknowledged bytes: the "another common formula" of section
    /// 3.1, as in RFC 3465.
    pub(super) const fn grow(&mut self, acked: ByteCount, step: u64) {
        self.credit += acked.bytes();
        if self.credit >= step {
            self.credit -= step;
            self.cwnd += self.mss;
        }
    }

    /// Lowers the window to `cwnd` if it is larger.
    pub(super) fn limit(&mut self, cwnd: ByteCount) {
        self.cwnd = self.cwnd.min(cwnd.bytes());
    }

    /// Applies the restart window after idle (section 4.1).
    pub(super) fn restart(&mut self) {
        self.cwnd = self.cwnd.min(self.initial);
    }
}
