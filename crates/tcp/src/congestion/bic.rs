//! BIC, binary increase congestion control (Xu, Harfoush and Rhee, INFOCOM 2004), with the constants of Linux
//! (`tcp_bic.c`). Below the window of the last loss, each step is a quarter of the distance to it, within limits. Above
//! it, the search continues outwards. Small windows follow Reno. Growth is counted in acknowledged bytes, so Linux's
//! delayed-ACK ratio is left out.

use super::window::Window;
use super::{AckSample, CongestionControl};
use crate::facts::{TcpDescriptor, TcpFacts};
use gamelane_core::{ByteCount, Instant};

/// BIC in the catalogue.
pub const BIC: TcpDescriptor = TcpDescriptor {
    word: "bic",
    label: "BIC",
    about: "BIC (Linux `tcp_bic.c`): binary search towards the window of the last loss.",
    keys: &[],
    page: "tcp",
    facts: TcpFacts { linux: Some(&[("tcp_congestion_control", "bic")]) },
};

/// Windows up to this many segments follow Reno.
const LOW_WINDOW: u64 = 14;
/// Maximum growth per round trip, in segments.
const MAX_INCREMENT: u64 = 16;
/// Multiplicative decrease, in 1/1024.
const BETA: u64 = 819;
/// One step is the distance divided by this.
const DIVISOR: u64 = 4;
/// Round trips for the last segments before the old maximum, times [`DIVISOR`].
const SMOOTH_PART: u64 = 20;

/// BIC.
#[derive(Clone, Debug)]
pub struct Bic {
    window: Window,
    /// Window of the last loss in segments; 0 if there was none since the last timeout.
    last_max: u64,
}

impl Bic {
    /// Slow start with the `initial` window.
    pub const fn new(mss: ByteCount, initial: ByteCount) -> Self {
        Self { window: Window::new(mss, initial), last_max: 0 }
    }

    /// Number of acknowledged segments for which the window grows by one segment.
    fn segments_per_step(&self) -> u64 {
        let cwnd = self.window.segments();
        if cwnd <= LOW_WINDOW {
            return cwnd.max(1);
        }
        let count = if cwnd < self.last_max {
            match (self.last_max - cwnd) / DIVISOR {
                distance if distance > MAX_INCREMENT => cwnd / MAX_INCREMENT,
                0 | 1 => cwnd * SMOOTH_PART / DIVISOR,
                distance => cwnd / distance,
            }
        } else if cwnd < self.last_max + DIVISOR {
            cwnd * SMOOTH_PART / DIVISOR
        } else if cwnd < self.last_max + MAX_INCREMENT * (DIVISOR - 1) {
            cwnd * (DIVISOR - 1) / (cwnd - self.last_max)
        } else {
            cwnd / MAX_INCREMENT
        };
        // Without a known loss, the window grows by at least 5 % per round trip.
        let count = if self.last_max == 0 { count.min(20) } else { count };
        count.max(1)
    }

    /// Returns the new slow start threshold in bytes.
    fn reduced(&mut self) -> u64 {
        let cwnd = self.window.segments();
        // Fast convergence: a second loss at a smaller window lowers the target.
        self.last_max = if cwnd < self.last_max { cwnd * (1024 + BETA) / 2048 } else { cwnd };
        let reduced = if cwnd <= LOW_WINDOW { cwnd / 2 } else { cwnd * BETA / 1024 };
        reduced.max(2) * self.window.mss
    }
}

impl CongestionControl for Bic {
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
                self.window.grow(ack.slow_start, left, self.segments_per_step() * self.window.mss);
            }
        }
    }

    fn on_congestion(&mut self, _flight: ByteCount, _now: Instant) {
        let reduced = self.reduced();
        self.window.set(reduced, reduced);
    }

    fn on_timeout(&mut self, _flight: ByteCount, repeated: bool, _now: Instant) {
        let ssthresh = if repeated { self.window.ssthresh } else { self.reduced() };
        self.window.set(self.window.mss, ssthresh);
        self.last_max = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// A rule with this window, and the last loss at `last_max`.
    fn at(cwnd: u64, last_max: u64) -> Bic {
        let mut rule = Bic::new(ByteCount(MSS), ByteCount(cwnd * MSS));
        rule.last_max = last_max;
        rule
    }

    #[test]
    fn the_step_is_a_quarter_of_the_distance_within_bounds() {
        // Far away: 16 segments per round trip. From 200 to 240: 40 / 4 = 10 per round trip. Near: one in five.
        for (cwnd, last_max, per_step) in [
            (320, 640, 20),
            (200, 240, 20),
            (200, 204, 1000),
            (200, 198, 1000),
            (200, 190, 60),
            (320, 100, 20),
            (14, 100, 14),
            (400, 0, 20),
        ] {
            assert_eq!(at(cwnd, last_max).segments_per_step(), per_step, "{cwnd} {last_max}");
        }
    }

    #[test]
    fn a_loss_takes_a_fifth_and_a_second_one_lowers_the_aim() {
        let mut rule = at(100, 0);
        rule.on_congestion(ByteCount(100 * MSS), Instant::ZERO);
        // 100 x 819 / 1024 = 79; 79 x 1843 / 2048 = 71.
        assert_eq!((rule.cwnd(), rule.last_max), (ByteCount(79 * MSS), 100));
        rule.on_congestion(ByteCount(79 * MSS), Instant::ZERO);
        assert_eq!((rule.cwnd(), rule.last_max), (ByteCount(63 * MSS), 71));
        let mut small = at(10, 0);
        small.on_congestion(ByteCount(10 * MSS), Instant::ZERO);
        assert_eq!(small.cwnd(), ByteCount(5 * MSS));
    }
}
