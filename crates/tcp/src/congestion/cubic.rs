//! CUBIC (RFC 9438) in the arithmetic of Linux 6.12 (`tcp_cubic.c`): after a loss the window is a cubic function of
//! time, with its plateau at the window of the loss. It is never smaller than the window of Reno. Windows are whole
//! segments, so a window of few segments grows in steps. Where both differ, this is Linux: the target is the shortest
//! round trip ahead, Reno's growth stays at 0.53 segments per round trip above the old window, and a timeout forgets
//! everything. Left out: Linux computes at most once per tick.

use super::hystart::HyStart;
use super::{AckSample, CongestionControl, Window};
use crate::facts::{TcpDescriptor, TcpFacts};
use gamelane_core::{ByteCount, Duration, Instant};

/// CUBIC in the catalogue.
pub const CUBIC: TcpDescriptor = TcpDescriptor {
    word: "cubic",
    label: "CUBIC",
    about: "CUBIC (RFC 9438): the window is a cubic function of the time since the last loss.",
    keys: &["hystart"],
    page: "tcp",
    facts: TcpFacts { linux: Some(&[("tcp_congestion_control", "cubic")]) },
};

/// Multiplicative decrease factor in 1/1024 (section 4.6: 0.7).
const BETA: u64 = 717;
/// Constant C times 1024 (section 5.1: 0.4 segments per second cubed).
const C: u64 = 410;
/// Acknowledged segments per segment of Reno's window, in eighths of the window: 1/0.53 (section 4.3).
const RENO_EIGHTHS: u64 = 15;
/// A clock tick of the curve per second.
const TICKS: u128 = 1024;
/// While the window stays the same, the step is computed again after this time (Linux `HZ / 32`).
const KEEP: Duration = Duration::from_micros(31_250);
/// Round trips right after a reduction say nothing about the path (Linux: `HZ`).
const UNSETTLED: Duration = Duration::from_secs(1);

/// State of CUBIC. Windows inside the law are in segments.
#[derive(Clone, Debug)]
pub struct Cubic {
    window: Window,
    hystart: Option<HyStart>,
    /// Shortest round trip since the last timeout.
    shortest_rtt: Option<Duration>,
    /// Window before the last reduction; less after fast convergence (section 4.7). 0 if there was none.
    last_max: u64,
    stage: Option<Stage>,
    /// Acknowledged segments per segment of growth.
    step: u64,
    /// Window for which the step was computed last, and when.
    computed: (u64, Instant),
}

/// A stage of congestion avoidance between two reductions.
#[derive(Clone, Copy, Debug)]
struct Stage {
    start: Instant,
    /// Time to the plateau in ticks.
    k: u64,
    plateau: u64,
    /// Estimated window of Reno, and the acknowledged bytes towards its next segment.
    reno: u64,
    reno_credit: u64,
}

impl Cubic {
    /// Slow start with the `initial` window.
    pub fn new(mss: ByteCount, initial: ByteCount, hystart: bool) -> Self {
        Self {
            window: Window::new(mss, initial),
            hystart: hystart.then(HyStart::new),
            shortest_rtt: None,
            last_max: 0,
            stage: None,
            step: 1,
            computed: (0, Instant::ZERO),
        }
    }

    fn begin_stage(&self, cwnd: u64, acked: u64, now: Instant) -> Stage {
        // Equation 2, in ticks.
        let distance = self.last_max.saturating_sub(cwnd);
        let k = libm::cbrt((distance as f64) * (1u64 << 40) as f64 / C as f64) as u64;
        Stage { start: now, k, plateau: self.last_max.max(cwnd), reno: cwnd, reno_credit: acked }
    }

    /// Computes how many acknowledged segments the window needs to grow by one (`bictcp_update`).
    fn update(&mut self, acked: u64, now: Instant) {
        let cwnd = self.window.segments().max(1);
        if let Some(stage) = &mut self.stage {
            stage.reno_credit += acked;
        }
        if self.computed.0 == cwnd && now.saturating_since(self.computed.1) <= KEEP && self.stage.is_some() {
            return;
        }
        self.computed = (cwnd, now);
        let mut stage = self.stage.unwrap_or_else(|| self.begin_stage(cwnd, acked, now));
        let ahead = now.saturating_since(stage.start) + self.shortest_rtt.unwrap_or_default();
        let ticks = (u128::from(ahead.as_nanos()) * TICKS / 1_000_000_000) as u64;
        let away = u128::from(ticks.abs_diff(stage.k));
        let growth = (u128::from(C) * away * away * away) >> 40;
        let growth = u64::try_from(growth).unwrap_or(u64::MAX);
        let target = if ticks < stage.k {
            stage.plateau.saturating_sub(growth)
        } else {
            stage.plateau.saturating_add(growth)
        };
        self.step = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.last_max == 0 {
            self.step = self.step.min(20);
        }
        let per_segment = cwnd * RENO_EIGHTHS / 8 * self.window.mss;
        while stage.reno_credit > per_segment {
            stage.reno_credit -= per_segment;
            stage.reno += 1;
        }
        if stage.reno > cwnd {
            self.step = self.step.min(cwnd / (stage.reno - cwnd));
        }
        self.step = self.step.max(2);
        self.stage = Some(stage);
    }

    /// Returns the new threshold (section 4.6) and notes the old window with fast convergence (section 4.7).
    fn reduced(&mut self) -> u64 {
        let cwnd = self.window.segments();
        self.last_max = if cwnd < self.last_max { cwnd * (1024 + BETA) / 2048 } else { cwnd };
        self.stage = None;
        (cwnd * BETA / 1024).max(2) * self.window.mss
    }

    fn take_rtt(&mut self, ack: &AckSample, rtt: Duration, now: Instant) {
        if self.stage.is_some_and(|stage| now.saturating_since(stage.start) < UNSETTLED) {
            return;
        }
        let shortest = self.shortest_rtt.map_or(rtt, |shortest| shortest.min(rtt));
        self.shortest_rtt = Some(shortest);
        if self.window.cwnd < self.window.ssthresh
            && let Some(hystart) = &mut self.hystart
            && hystart.on_sample(ack, rtt, shortest, self.window.segments(), now)
        {
            self.window.ssthresh = self.window.cwnd;
        }
    }
}

impl CongestionControl for Cubic {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn on_ack(&mut self, ack: &AckSample, now: Instant) {
        if let Some(rtt) = ack.rtt {
            self.take_rtt(ack, rtt, now);
        }
        if !ack.may_grow {
            return;
        }
        let left = self.window.slow_start(ack);
        if left > 0 {
            self.update(left, now);
            self.window.grow(ack.slow_start, left, self.step * self.window.mss);
        }
    }

    fn on_congestion(&mut self, _flight: ByteCount, _now: Instant) {
        let reduced = self.reduced();
        self.window.set(reduced, reduced);
    }

    fn on_timeout(&mut self, _flight: ByteCount, repeated: bool, _now: Instant) {
        let ssthresh = if repeated { self.window.ssthresh } else { self.reduced() };
        self.window.set(self.window.mss, ssthresh);
        (self.last_max, self.shortest_rtt, self.stage) = (0, None, None);
        self.hystart = self.hystart.map(|_| HyStart::new());
    }

    /// Time without anything in flight does not count (section 5.8).
    fn on_resume(&mut self, idle: Duration, _long: bool) {
        if let Some(stage) = &mut self.stage {
            stage.start += idle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn at_100() -> Cubic {
        let mut rule = Cubic::new(ByteCount(MSS), ByteCount(100 * MSS), false);
        rule.on_congestion(ByteCount(100 * MSS), Instant::ZERO);
        rule
    }

    /// Acknowledges one window every 100 ms; returns the window in segments at the end.
    fn run(rule: &mut Cubic, from_ms: u64, to_ms: u64) -> u64 {
        for at in (from_ms..to_ms).step_by(100) {
            let window = rule.cwnd().bytes() / MSS;
            for part in 0..window {
                let now = Instant::from_micros(at * 1000 + part * 100_000 / window);
                let rtt = Some(Duration::from_millis(100));
                rule.on_ack(
                    &AckSample { credit: ByteCount(MSS), may_grow: true, rtt, ..AckSample::default() },
                    now,
                );
            }
        }
        rule.window.segments()
    }

    #[test]
    fn a_loss_at_100_segments_has_its_plateau_after_4_217_s() {
        let mut rule = at_100();
        assert_eq!(rule.cwnd(), ByteCount(70 * MSS));
        run(&mut rule, 0, 100);
        // The cube root of (100 - 70) / 0.4, in ticks of 1/1024 s.
        assert_eq!(rule.stage.unwrap().k, 4316);
        // A round trip ahead, with the distance to the plateau rounded down: 100 - 0.4 x 2.117^3 = 97 after 2 s, 100 at
        // the plateau, 100 + 0.4 x 1.883^3 = 102 after 6 s.
        for (from, to, expected) in [(100, 2_000, 97), (2_000, 4_200, 100), (4_200, 6_000, 102)] {
            let window = run(&mut rule, from, to);
            assert!(window.abs_diff(expected) <= 1, "{window} at {to} ms");
        }
    }

    #[test]
    fn a_second_loss_below_the_plateau_makes_room() {
        let mut rule = at_100();
        rule.on_congestion(ByteCount(70 * MSS), Instant::ZERO);
        // 70 x 1741 / 2048 = 59.5, and 70 x 717 / 1024 = 49.01.
        assert_eq!((rule.last_max, rule.cwnd()), (59, ByteCount(49 * MSS)));
    }

    #[test]
    fn a_small_window_grows_as_reno_s() {
        let mut rule = Cubic::new(ByteCount(MSS), ByteCount(10 * MSS), false);
        rule.on_congestion(ByteCount(10 * MSS), Instant::ZERO);
        // Reno with 8/15 has 7 + 20 x 0.53 = 17.6 after twenty round trips, but the curve, with its plateau of 10 after
        // cbrt(3 / 0.4) = 1.957 s, has 10.
        let window = run(&mut rule, 0, 2_000);
        assert!((16..=18).contains(&window), "{window}");
    }

    #[test]
    fn a_timeout_forgets_the_old_window() {
        let mut rule = at_100();
        rule.on_timeout(ByteCount(70 * MSS), false, Instant::ZERO);
        assert_eq!((rule.cwnd(), rule.ssthresh()), (ByteCount(MSS), ByteCount(49 * MSS)));
        run(&mut rule, 0, 1_000);
        assert_eq!(rule.stage.unwrap().k, 0);
    }

    #[test]
    fn idle_time_does_not_move_the_window_along_the_curve() {
        let (mut busy, mut idle) = (at_100(), at_100());
        run(&mut busy, 0, 1_000);
        run(&mut idle, 0, 1_000);
        idle.on_resume(Duration::from_secs(60), true);
        let (busy, idle) = (run(&mut busy, 1_000, 2_000), run(&mut idle, 61_000, 62_000));
        assert_eq!(busy, idle);
    }

    #[test]
    fn with_hystart_slow_start_ends_where_the_round_trip_grows() {
        let mut rule = Cubic::new(ByteCount(MSS), ByteCount(20 * MSS), true);
        for number in 1..=30 {
            // The first sample is the shortest; all later ones are 20 ms longer.
            let rtt = Some(Duration::from_millis(if number == 1 { 40 } else { 60 }));
            let una = if number == 1 { 1 } else { 1000 + number };
            let next = if number == 1 { 1000 } else { 9000 };
            let ack =
                AckSample { una, next, rtt, credit: ByteCount(MSS), may_grow: true, ..AckSample::default() };
            rule.on_ack(&ack, Instant::from_millis(100 + 3 * number));
        }
        assert!(rule.ssthresh() < ByteCount(40 * MSS), "{:?}", rule.ssthresh());
    }
}
