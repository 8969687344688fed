//! CUBIC (RFC 9438): after a loss the window is a cubic function of time, with its plateau at the window of the loss.
//! It is never smaller than the window of Reno. Left out: HyStart++ (slow start follows RFC 5681), and the undo of
//! spurious reductions, which the sender does.

use super::window::Window;
use super::{AckSample, CongestionControl};
use crate::facts::{TcpDescriptor, TcpFacts};
use gamelane_core::{ByteCount, Duration, Instant};

/// CUBIC in the catalogue.
pub const CUBIC: TcpDescriptor = TcpDescriptor {
    word: "cubic",
    label: "CUBIC",
    about: "CUBIC (RFC 9438): the window is a cubic function of the time since the last loss.",
    keys: &[],
    page: "tcp",
    facts: TcpFacts { linux: Some(&[("tcp_congestion_control", "cubic")]) },
};

/// Multiplicative decrease factor (section 4.6).
const BETA: f64 = 0.7;
/// Constant C in segments per second cubed (section 5.1).
const C: f64 = 0.4;
/// Growth of Reno that is fair with [`BETA`], in segments per round trip (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// State of CUBIC. Windows inside the law are in segments.
#[derive(Clone, Debug)]
pub struct Cubic {
    window: Window,
    /// Part of the growth below one byte.
    fraction: f64,
    /// Window before the last reduction; less after fast convergence (section 4.7).
    w_max: f64,
    /// The last reduction was a timeout, so the next stage starts at its plateau (section 4.8).
    from_timeout: bool,
    /// Window at the last reduction.
    prior: f64,
    stage: Option<Stage>,
    /// Smoothed round trip. The target is the window of the curve one round trip ahead.
    rtt: Duration,
    last_ack: Instant,
}

/// A stage of congestion avoidance between two reductions.
#[derive(Clone, Copy, Debug)]
struct Stage {
    start: Instant,
    /// Time to the plateau in seconds.
    k: f64,
    /// Estimated window of Reno.
    w_est: f64,
}

impl Cubic {
    /// Slow start with the `initial` window.
    pub const fn new(mss: ByteCount, initial: ByteCount) -> Self {
        Self {
            window: Window::new(mss, initial),
            fraction: 0.0,
            w_max: 0.0,
            from_timeout: false,
            prior: 0.0,
            stage: None,
            rtt: Duration::ZERO,
            last_ack: Instant::ZERO,
        }
    }

    fn segments(&self) -> f64 {
        self.window.cwnd as f64 / self.window.mss as f64
    }

    fn begin_stage(&mut self, now: Instant) -> Stage {
        let cwnd = self.segments();
        if self.from_timeout || cwnd >= self.w_max {
            self.w_max = cwnd;
        }
        self.from_timeout = false;
        // Equation 2.
        Stage { start: now, k: libm::cbrt((self.w_max - cwnd) / C), w_est: cwnd }
    }

    /// Grows the window for `acked` acknowledged segments (sections 4.2 to 4.5).
    fn avoid_congestion(&mut self, acked: f64, now: Instant) {
        let mut stage = match self.stage {
            Some(stage) => stage,
            None => self.begin_stage(now),
        };
        let cwnd = self.segments();
        let curve = |after: Duration| {
            let t = after.as_secs_f64() - stage.k;
            C * t * t * t + self.w_max
        };
        let elapsed = now.saturating_since(stage.start);
        let (present, ahead) = (curve(elapsed), curve(elapsed + self.rtt));
        let alpha = if stage.w_est >= self.prior { 1.0 } else { ALPHA };
        stage.w_est += alpha * acked / cwnd;
        let growth = if present < stage.w_est {
            (stage.w_est - cwnd).max(0.0)
        } else {
            (ahead.clamp(cwnd, 1.5 * cwnd) - cwnd) / cwnd * acked
        };
        self.stage = Some(stage);
        self.fraction += growth * self.window.mss as f64;
        let whole = self.fraction as u64;
        self.fraction -= whole as f64;
        self.window.cwnd += whole;
    }

    /// Reduces the window and the threshold (section 4.6) with fast convergence (section 4.7).
    fn reduce(&mut self, flight: ByteCount) {
        let cwnd = self.segments();
        self.w_max = if cwnd < self.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.prior = cwnd;
        self.window.ssthresh = ((flight.bytes() as f64 * BETA) as u64).max(2 * self.window.mss);
        self.stage = None;
        self.fraction = 0.0;
    }
}

impl CongestionControl for Cubic {
    fn cwnd(&self) -> ByteCount {
        ByteCount(self.window.cwnd)
    }

    fn ssthresh(&self) -> ByteCount {
        ByteCount(self.window.ssthresh)
    }

    fn on_ack(&mut self, ack: &AckSample, now: Instant) {
        if let Some(rtt) = ack.rtt {
            self.rtt = if self.rtt.is_zero() { rtt } else { (self.rtt * 7 + rtt) / 8 };
        }
        let since_last = now.saturating_since(self.last_ack);
        self.last_ack = now;
        if !ack.may_grow {
            // Time while the application limits the sender does not count (section 5.8).
            if let Some(stage) = &mut self.stage {
                stage.start += since_last;
            }
        } else if !self.window.slow_start(ack) {
            self.avoid_congestion(ack.acked.bytes() as f64 / self.window.mss as f64, now);
        }
    }

    fn on_congestion(&mut self, flight: ByteCount, _now: Instant) {
        self.reduce(flight);
        self.window.cwnd = self.window.ssthresh;
    }

    fn on_timeout(&mut self, flight: ByteCount, repeated: bool, _now: Instant) {
        if !repeated {
            self.reduce(flight);
        }
        self.from_timeout = true;
        self.stage = None;
        self.window.cwnd = self.window.mss;
    }

    fn limit(&mut self, cwnd: ByteCount) {
        self.window.limit(cwnd);
    }

    fn on_idle(&mut self, _now: Instant) {
        self.window.restart();
        self.stage = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn at_100() -> Cubic {
        let mut rule = Cubic::new(ByteCount(MSS), ByteCount(100 * MSS));
        rule.on_congestion(ByteCount(100 * MSS), Instant::ZERO);
        rule
    }

    /// Acknowledges one window every 100 ms; returns the window in segments at the end.
    fn run(rule: &mut Cubic, from_ms: u64, to_ms: u64) -> f64 {
        for at in (from_ms..to_ms).step_by(100) {
            let window = rule.cwnd().bytes() / MSS;
            for part in 0..window {
                let now = Instant::from_micros(at * 1000 + part * 100_000 / window);
                let rtt = Some(Duration::from_millis(100));
                rule.on_ack(
                    &AckSample { acked: ByteCount(MSS), may_grow: true, rtt, ..AckSample::default() },
                    now,
                );
            }
        }
        rule.segments()
    }

    #[test]
    fn a_loss_at_100_segments_has_its_plateau_after_4_217_s() {
        let mut rule = at_100();
        assert_eq!(rule.cwnd(), ByteCount(70 * MSS));
        run(&mut rule, 0, 100);
        // The cube root of (100 - 70) / 0.4.
        let k = rule.stage.unwrap().k;
        assert!((k - 4.217).abs() < 0.001, "{k}");
        // 100 - 0.4 x 2.217^3 = 95.6 after 2 s, 100 at the plateau, 100 + 0.4 x 1.783^3 = 102.3 after 6 s.
        for (from, to, expected) in [(100, 2_000, 95.6), (2_000, 4_200, 100.0), (4_200, 6_000, 102.3)] {
            let window = run(&mut rule, from, to);
            assert!((window - expected).abs() < 0.5, "{window} at {to} ms");
        }
    }

    #[test]
    fn a_second_loss_below_the_plateau_makes_room() {
        let mut rule = at_100();
        rule.on_congestion(ByteCount(70 * MSS), Instant::ZERO);
        // 70 x 1.7 / 2.
        assert!((rule.w_max - 59.5).abs() < 1e-9);
        assert_eq!(rule.cwnd(), ByteCount(49 * MSS));
    }

    #[test]
    fn a_small_window_grows_as_reno_s() {
        let mut rule = Cubic::new(ByteCount(MSS), ByteCount(10 * MSS));
        rule.on_congestion(ByteCount(10 * MSS), Instant::ZERO);
        // K = cbrt(3 / 0.4) = 1.957 s. Reno with alpha 9/17 has 7 + 10 x 0.53 = 12.3 after ten round trips, but the
        // curve has 10 - 0.4 x 0.957^3 = 9.6. Above 10, the old window, alpha is 1.
        let window = run(&mut rule, 0, 1_000);
        assert!((11.0..14.0).contains(&window), "{window}");
    }

    #[test]
    fn after_a_timeout_the_stage_starts_on_its_plateau() {
        let mut rule = at_100();
        rule.on_timeout(ByteCount(70 * MSS), false, Instant::ZERO);
        assert_eq!((rule.cwnd(), rule.ssthresh()), (ByteCount(MSS), ByteCount(49 * MSS)));
        run(&mut rule, 0, 1_000);
        assert!(rule.stage.unwrap().k.abs() < 1e-9);
    }
}
