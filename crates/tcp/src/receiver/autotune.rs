//! The window that Linux 6.12 offers while it adapts its receive buffer: at first 64 KiB, then two segments more for each
//! that arrives, up to what the buffer holds (`tcp_grow_window`). The buffer gets room for twice the data of the last
//! round trip, and more while that grows (`tcp_rcv_space_adjust`, `tcp_rcv_rtt_update`). Timestamps show the round trip, or
//! else the time in which a window arrives (`tcp_rcv_rtt_measure`). The application reads at once.
//!
//! A buffer holds packets with their overhead. How much depends on the network driver; here a full segment takes 2304 B,
//! as between virtual Ethernet devices.

use gamelane_core::{Duration, Instant};

/// First buffer (`tcp_rmem[1]`). Half of it is offered before the first segment shows its overhead.
const FIRST_BUFFER: u64 = 131_072;
/// Share of a buffer that holds payload, in 1/256 (`scaling_ratio`: 1448 B of 2304 B).
const PAYLOAD_SHARE: u64 = 160;
/// Smallest segment that lets the window grow.
const LEAST_GROWING: u64 = 128;
/// Data of the first round trip in segments (`TCP_INIT_CWND`).
const FIRST_ROUND: u64 = 10;

/// State of the adaptation.
#[derive(Clone, Debug)]
pub(super) struct Autotune {
    mss: u64,
    /// Payload that the buffer holds, and may hold.
    payload: u64,
    largest: u64,
    /// Window that may be offered (`rcv_ssthresh`); it grows with each segment up to the payload of the buffer.
    offered: u64,
    /// Round trip as this end sees it, times 8. Zero before the first sample.
    rtt_8: Duration,
    /// Without timestamps: the end of the window whose arrival is timed, and when that began.
    timed: Option<(u64, Instant)>,
    /// Data of the round trip before, and where and when the present one began.
    space: u64,
    round: (u64, Instant),
}

impl Autotune {
    /// A buffer with room for `payload` bytes.
    pub(super) fn fixed(mss: u64, payload: u64, now: Instant) -> Self {
        Self {
            mss,
            payload,
            largest: payload,
            offered: payload,
            rtt_8: Duration::ZERO,
            timed: None,
            space: (FIRST_ROUND * mss).min(payload),
            round: (1, now),
        }
    }

    /// A buffer that may grow to `largest` bytes (`tcp_rmem[2]`).
    pub(super) fn adapting(mss: u64, largest: u64, now: Instant) -> Self {
        let first = FIRST_BUFFER.min(largest);
        let offered = (first / 2 / mss * mss).max(mss);
        let payload = |buffer: u64| (buffer.saturating_mul(PAYLOAD_SHARE) / 256).max(offered);
        Self { offered, largest: payload(largest), ..Self::fixed(mss, payload(first), now) }
    }

    /// Window that may be offered in bytes, without data above a hole.
    pub(super) const fn window(&self) -> u64 {
        self.offered
    }

    /// Round trip as this end sees it; zero before the first sample.
    pub(super) fn rtt(&self) -> Duration {
        self.rtt_8 / 8
    }

    /// Takes a round trip that a timestamp shows. A shorter one counts at once.
    pub(super) fn on_rtt(&mut self, rtt: Duration) {
        let sample_8 = rtt * 8;
        self.rtt_8 = if self.rtt_8.is_zero() || sample_8 < self.rtt_8 {
            sample_8
        } else {
            self.rtt_8 - self.rtt_8 / 8 + rtt
        };
    }

    /// Takes the time in which a window of data arrived, for a connection without timestamps. It is at least a round trip, so
    /// only a shorter one counts. The application has read everything below `next`.
    pub(super) fn on_window(&mut self, next: u64, now: Instant) {
        if let Some((end, since)) = self.timed {
            if next < end {
                return;
            }
            let sample_8 = now.saturating_since(since).max(Duration::from_micros(1)) * 8;
            if self.rtt_8.is_zero() || sample_8 < self.rtt_8 {
                self.rtt_8 = sample_8;
            }
        }
        self.timed = Some((next + self.offered, now));
    }

    /// Lets the window grow after a segment of `len` bytes, while `held` bytes lie above a hole. Returns true if it grew.
    pub(super) fn on_segment(&mut self, len: u64, held: u64) -> bool {
        let room = self.payload.saturating_sub(held).saturating_sub(self.offered);
        if len < LEAST_GROWING || room == 0 {
            return false;
        }
        self.offered += room.min(2 * self.mss);
        true
    }

    /// Adapts the buffer once per round trip. The application has read everything below `next`.
    pub(super) fn on_read(&mut self, next: u64, now: Instant) {
        let (start, since) = self.round;
        if self.rtt_8.is_zero() || now.saturating_since(since) < self.rtt_8 / 8 {
            return;
        }
        let copied = next - start;
        if copied > self.space {
            // Twice the data, and twice the growth since the round trip before.
            let window = 2 * copied + 16 * self.mss;
            let growth = u128::from(window) * u128::from(copied - self.space) / u128::from(self.space.max(1));
            let window = u128::from(window) + 2 * growth;
            let window = u64::try_from(window).unwrap_or(u64::MAX);
            self.payload = self.payload.max(window.min(self.largest));
            self.space = copied;
        }
        self.round = (next, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    fn fresh() -> Autotune {
        Autotune::adapting(MSS, 6 << 20, Instant::ZERO)
    }

    #[test]
    fn the_first_window_is_45_segments_and_grows_by_two_a_segment() {
        let mut window = fresh();
        assert_eq!(window.window(), 65_160);
        assert!(window.on_segment(MSS, 0));
        assert_eq!(window.window(), 65_160 + 2 * MSS);
        assert!(!window.on_segment(100, 0));
        // 131072 x 160 / 256.
        (0..10).for_each(|_| {
            window.on_segment(MSS, 0);
        });
        assert_eq!(window.window(), 81_920);
    }

    #[test]
    fn a_round_trip_with_more_data_makes_room_for_four_times_as_much() {
        let mut window = fresh();
        window.on_rtt(Duration::from_millis(40));
        // 20 segments after 10: 2 x 20 + 16 = 56, and twice 56 x (20 - 10) / 10: 168 segments.
        window.on_read(1 + 20 * MSS, Instant::from_millis(39));
        assert_eq!(window.payload, 81_920);
        window.on_read(1 + 20 * MSS, Instant::from_millis(40));
        assert!(window.payload.abs_diff(168 * MSS) < 2, "{}", window.payload);
        // As much data as before: no change.
        window.on_read(1 + 40 * MSS, Instant::from_millis(80));
        assert!(window.payload.abs_diff(168 * MSS) < 2);
    }

    #[test]
    fn without_timestamps_the_quickest_window_is_the_round_trip() {
        let mut window = fresh();
        let ms = Instant::from_millis;
        window.on_window(1 + MSS, ms(0));
        window.on_window(65_160, ms(70));
        assert_eq!(window.rtt(), Duration::ZERO);
        for (next, at_ms, expected_ms) in [(MSS + 65_161, 80, 80), (200_000, 120, 40), (300_000, 300, 40)] {
            window.on_window(next, ms(at_ms));
            assert_eq!(window.rtt(), Duration::from_millis(expected_ms));
        }
    }

    #[test]
    fn a_longer_round_trip_counts_slowly_and_a_shorter_one_at_once() {
        let mut window = fresh();
        for (sample_ms, expected_us) in [(80, 80_000), (160, 90_000), (40, 40_000)] {
            window.on_rtt(Duration::from_millis(sample_ms));
            assert_eq!(window.rtt_8 / 8, Duration::from_micros(expected_us));
        }
    }
}
