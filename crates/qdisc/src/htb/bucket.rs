//! A token bucket that stores time instead of tokens. It is open while it has no debt, and a packet may take it into
//! debt. So a bucket of depth zero works too: it sends one packet, then closes for the time of that packet.

use gamelane_core::{Bitrate, ByteCount, Duration, Instant, WireLen};

use crate::pacer::LATENESS_CREDIT;

#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    rate: Bitrate,
    depth: Duration,
    /// Time at which the bucket is exactly empty. In the past: it holds tokens. In the future: it is in debt.
    empty_at: Instant,
}

impl Bucket {
    /// Makes a full bucket of `burst` bytes. `rate` must be above zero. The depth is at least [`LATENESS_CREDIT`], so
    /// that a late driver does not lose rate.
    pub(super) fn new(rate: Bitrate, burst: ByteCount) -> Self {
        let depth = rate.time_to_send(WireLen(u32::try_from(burst.bytes()).unwrap_or(u32::MAX)));
        Self { rate, depth: depth.max(LATENESS_CREDIT), empty_at: Instant::ZERO }
    }

    pub(super) fn is_open(&self, now: Instant) -> bool {
        self.opens_at() <= now
    }

    pub(super) const fn opens_at(&self) -> Instant {
        self.empty_at
    }

    /// Takes tokens for a packet; the bucket may go into debt.
    pub(super) fn take(&mut self, len: WireLen, now: Instant) {
        // A full bucket collects no more tokens.
        let full = Instant::from_nanos(now.as_nanos().saturating_sub(self.depth.as_nanos()));
        self.empty_at = self.empty_at.max(full) + self.rate.time_to_send(len);
    }
}
