//! The token bucket of RFC 8034. It stores the time at which it will be full, so it needs no timer.

use gamelane_core::{Bitrate, ByteCount, Instant, WireLen};

#[derive(Debug)]
pub(super) struct TokenBucket {
    rate: Bitrate,
    burst: u64,
    full_at: Instant,
}

impl TokenBucket {
    pub(super) const fn new(rate: Bitrate, burst: ByteCount) -> Self {
        Self { rate, burst: burst.bytes(), full_at: Instant::ZERO }
    }

    /// Number of bytes that may be sent now.
    pub(super) const fn tokens(&self, now: Instant) -> u64 {
        self.burst.saturating_sub(self.missing(now))
    }

    /// Time from which `bytes` may be sent. More than the burst counts as the burst.
    pub(super) fn ready(&self, bytes: u64) -> Instant {
        let spare = self.rate.time_to_send(WireLen((self.burst - bytes.min(self.burst)) as u32));
        Instant::from_nanos(self.full_at.as_nanos().saturating_sub(spare.as_nanos()))
    }

    /// Takes `bytes` out. The bucket goes into debt if it holds fewer.
    pub(super) fn take(&mut self, bytes: u64, now: Instant) {
        self.full_at = self.full_at.max(now) + self.rate.time_to_send(WireLen(bytes as u32));
    }

    const fn missing(&self, now: Instant) -> u64 {
        self.rate.bytes_in(self.full_at.saturating_since(now)).bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gamelane_core::Duration;

    #[test]
    fn a_bucket_lets_a_burst_through_and_then_its_rate() {
        // RFC 8034: the bytes sent in any time dt are at most dt * R / 8 + B.
        let mut bucket = TokenBucket::new(Bitrate::from_bps(192_000), ByteCount(3044));
        let (mut now, mut sent) = (Instant::from_millis(7), 0);
        let begin = now;
        for frame in 1..=100 {
            now = now.max(bucket.ready(1518));
            assert!(bucket.tokens(now) >= 1518);
            bucket.take(1518, now);
            sent += 1518;
            let limit = Bitrate::from_bps(192_000).bytes_in(now - begin).bytes() + 3044;
            // The burst has room for two frames. Each later frame leaves as soon as the bucket allows.
            assert!(sent <= limit + 1 && (frame <= 2 || sent + 1 >= limit), "{sent} of {limit}");
        }
    }

    #[test]
    fn ready_is_the_first_moment_with_enough() {
        let mut bucket = TokenBucket::new(Bitrate::from_bps(7_777_777), ByteCount(2000));
        bucket.take(1999, Instant::from_millis(1));
        for bytes in [1, 2, 64, 1518, 2000] {
            let at = bucket.ready(bytes);
            assert!(bucket.tokens(at) >= bytes, "{bytes}");
            if bytes > 1 {
                assert!(bucket.tokens(at - Duration::from_micros(2)) < bytes, "{bytes}");
            }
        }
    }
}
