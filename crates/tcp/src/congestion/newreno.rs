//! Reno congestion control (RFC 5681 section 3.1): slow start, congestion avoidance by counted bytes, half the flight
//! size after a loss. Window inflation during fast recovery is left to RFC 6582's recovery.

use super::window::Window;
use super::{AckSample, CongestionControl};
use crate::facts::{TcpDescriptor, TcpFacts};
use gamelane_core::{ByteCount, Instant};

/// NewReno in the catalogue.
pub const NEWRENO: TcpDescriptor = TcpDescriptor {
    word: "newreno",
    label: "NewReno",
    about: "NewReno (RFC 5681): slow start, congestion avoidance, half the window after a loss.",
    keys: &[],
    page: "tcp",
    facts: TcpFacts { linux: Some(&[("tcp_congestion_control", "reno")]) },
};

/// Slow start, additive increase, multiplicative decrease by one half.
#[derive(Clone, Debug)]
pub struct NewReno {
    window: Window,
}

impl NewReno {
    /// Slow start with the `initial` window.
    pub const fn new(mss: ByteCount, initial: ByteCount) -> Self {
        Self { window: Window::new(mss, initial) }
    }

    /// Sets both values, for algorithms built on this one.
    pub(super) const fn set(&mut self, cwnd: u64, ssthresh: u64) {
        self.window.set(cwnd, ssthresh);
    }

    /// Half the flight size, at least two segments (equation 4).
    fn half(&self, flight: ByteCount) -> u64 {
        (flight.bytes() / 2).max(2 * self.window.mss)
    }
}

impl CongestionControl for NewReno {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn on_ack(&mut self, ack: &AckSample, _now: Instant) {
        if ack.may_grow {
            let left = self.window.slow_start(ack);
            if left > 0 {
                self.window.grow(ack.slow_start, left, self.window.cwnd);
            }
        }
    }

    fn on_congestion(&mut self, flight: ByteCount, _now: Instant) {
        let half = self.half(flight);
        self.window.set(half, half);
    }

    fn on_timeout(&mut self, flight: ByteCount, repeated: bool, _now: Instant) {
        let ssthresh = if repeated { self.window.ssthresh } else { self.half(flight) };
        self.window.set(self.window.mss, ssthresh);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SlowStart;

    const MSS: u64 = 1000;

    fn ack(segments: u64) -> AckSample {
        AckSample { credit: ByteCount(segments * MSS), may_grow: true, ..AckSample::default() }
    }

    fn rule() -> NewReno {
        NewReno::new(ByteCount(MSS), ByteCount(10 * MSS))
    }

    #[test]
    fn half_a_window_of_whole_segments_is_whole() {
        // Linux: `max(cwnd >> 1, 2)`.
        let mut rule = NewReno::new(ByteCount(MSS), ByteCount(5 * MSS));
        rule.window.count_segments();
        rule.on_congestion(ByteCount(5 * MSS), Instant::ZERO);
        assert_eq!((rule.window.cwnd, rule.window.ssthresh), (2 * MSS, 2 * MSS));
        rule.on_timeout(ByteCount(7 * MSS), false, Instant::ZERO);
        assert_eq!((rule.window.cwnd, rule.window.ssthresh), (MSS, 3 * MSS));
    }

    #[test]
    fn in_linux_slow_start_adds_all_that_an_ack_acknowledges_up_to_its_end() {
        let mut rule = NewReno::new(ByteCount(MSS), ByteCount(10 * MSS));
        let linux = |segments| AckSample { slow_start: SlowStart::Linux, ..ack(segments) };
        rule.on_ack(&linux(2), Instant::ZERO);
        assert_eq!(rule.cwnd(), ByteCount(12 * MSS));
        rule.on_congestion(ByteCount(12 * MSS), Instant::ZERO);
        rule.on_timeout(ByteCount(6 * MSS), false, Instant::ZERO);
        assert_eq!(rule.ssthresh(), ByteCount(3 * MSS));
        // Of nine segments, two reach the threshold of three, and six of the rest give two more (tcp_cong_avoid_ai).
        rule.on_ack(&linux(9), Instant::ZERO);
        assert_eq!(rule.cwnd(), ByteCount(5 * MSS));
    }

    #[test]
    fn slow_start_adds_at_most_a_segment_per_ack() {
        let mut rule = rule();
        rule.on_ack(&ack(2), Instant::ZERO);
        assert_eq!(rule.cwnd(), ByteCount(11 * MSS));
        rule.on_ack(&AckSample { may_grow: false, ..ack(2) }, Instant::ZERO);
        assert_eq!(rule.cwnd(), ByteCount(11 * MSS));
    }

    #[test]
    fn congestion_avoidance_adds_a_segment_per_window() {
        let mut rule = rule();
        rule.on_congestion(ByteCount(20 * MSS), Instant::ZERO);
        assert_eq!((rule.cwnd(), rule.ssthresh()), (ByteCount(10 * MSS), ByteCount(10 * MSS)));
        for _ in 0..10 {
            assert_eq!(rule.cwnd(), ByteCount(10 * MSS));
            rule.on_ack(&ack(1), Instant::ZERO);
        }
        assert_eq!(rule.cwnd(), ByteCount(11 * MSS));
    }

    #[test]
    fn only_the_first_timeout_moves_the_threshold() {
        let mut rule = rule();
        rule.on_timeout(ByteCount(20 * MSS), false, Instant::ZERO);
        rule.on_timeout(ByteCount(MSS), true, Instant::ZERO);
        assert_eq!((rule.cwnd(), rule.ssthresh()), (ByteCount(MSS), ByteCount(10 * MSS)));
        rule.on_timeout(ByteCount(MSS), false, Instant::ZERO);
        assert_eq!(rule.ssthresh(), ByteCount(2 * MSS));
    }
}
