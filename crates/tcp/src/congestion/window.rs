//! The window itself, which every rule moves in the ways of RFC 5681 and each in one of its own.

use gamelane_core::ByteCount;

/// Congestion window and slow start threshold, in bytes.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub(super) mss: u64,
    initial: u64,
    pub(super) cwnd: u64,
    pub(super) ssthresh: u64,
    /// Bytes acknowledged towards the next segment of growth.
    credit: u64,
}

impl Window {
    /// In slow start with the `initial` window.
    pub(super) const fn new(mss: ByteCount, initial: ByteCount) -> Self {
        Self {
            mss: mss.bytes(),
            initial: initial.bytes(),
            cwnd: initial.bytes(),
            // Arbitrarily high (section 3.1).
            ssthresh: u64::MAX,
            credit: 0,
        }
    }

    /// Moves both; growth starts anew.
    pub(super) const fn set(&mut self, cwnd: u64, ssthresh: u64) {
        (self.cwnd, self.ssthresh, self.credit) = (cwnd, ssthresh, 0);
    }

    /// Equation 2, if in slow start; otherwise false.
    pub(super) fn slow_start(&mut self, acked: ByteCount) -> bool {
        let slow = self.cwnd < self.ssthresh;
        if slow {
            self.cwnd += acked.bytes().min(self.mss);
        }
        slow
    }

    /// One segment more for every `step` acknowledged bytes: "another common formula" of section 3.1, as RFC 3465.
    pub(super) const fn grow(&mut self, acked: ByteCount, step: u64) {
        self.credit += acked.bytes();
        if self.credit >= step {
            self.credit -= step;
            self.cwnd += self.mss;
        }
    }

    /// Never above this.
    pub(super) fn limit(&mut self, cwnd: ByteCount) {
        self.cwnd = self.cwnd.min(cwnd.bytes());
    }

    /// The restart window (section 4.1).
    pub(super) fn restart(&mut self) {
        self.cwnd = self.cwnd.min(self.initial);
    }
}
