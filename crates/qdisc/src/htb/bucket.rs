//! A token bucket counted in time: how long its rate needs for what may still be sent. It is open while it is not in
//! debt, and one packet may put it there, so it works with a depth of nothing.

use gamelane_core::{Bitrate, ByteCount, Duration, Instant, WireLen};

use crate::shaper::LATENESS_CREDIT;

#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    rate: Bitrate,
    depth: Duration,
    /// When it would be just empty: before now it holds tokens, after now it is in debt.
    empty_at: Instant,
}

impl Bucket {
    /// A full bucket of `burst` bytes at a rate above zero; it is at least as deep as a late driver's credit.
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

    /// Takes tokens for a packet, into debt if need be.
    pub(super) fn take(&mut self, len: WireLen, now: Instant) {
        // A full bucket runs over.
        let full = Instant::from_nanos(now.as_nanos().saturating_sub(self.depth.as_nanos()));
        self.empty_at = self.empty_at.max(full) + self.rate.time_to_send(len);
    }
}
