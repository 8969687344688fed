//! The alpha-beta law of one flow of data (palazzi-voap section II): below alpha the window grows by a step, above beta it
//! shrinks by one, between them it stays. The paper leaves the window's first value open, and a right edge that must not
//! move left makes it matter: what has been advertised cannot be taken back. So, as our construction, a flow that has met
//! no delay above beta is *leashed* to a few times what it had acknowledged in its last round trip, which slow start never
//! uses up; the first delay above beta makes what is in flight the window, and the law begins there.

use gamelane_core::{Duration, Instant};

use super::config::{Period, VoapConfig};

/// The law's state for one flow of data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    hold: Hold,
    flight: Flight,
    /// Start of the period under way.
    since: Instant,
    /// Queueing delay in this period: sum in nanoseconds and count.
    delay: (u64, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    /// No delay above beta yet: the window is so many times the flight.
    Leashed { times: u64, since: Instant },
    /// The law decides: bytes.
    Window(u64),
}

/// What one segment tells the law.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Bytes it acknowledges for the first time.
    pub(super) acked: u64,
    /// Queueing delay that the data meets.
    pub(super) delay: Duration,
    /// A round trip, queues included.
    pub(super) round_trip: Duration,
    /// Largest segment of the connection.
    pub(super) mss: u64,
    /// The receiver's own window in bytes, which the law never passes.
    pub(super) own: u64,
}

impl Law {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            hold: Hold::Leashed { times: LEASH, since: now },
            flight: Flight::new(now),
            since: now,
            delay: (0, 0),
        }
    }

    /// The window in bytes after a segment, before floors and edges.
    pub(super) fn step(&mut self, step: Step, config: &VoapConfig, now: Instant) -> u64 {
        let flight = self.flight.acked(step.acked, step.round_trip, now);
        if step.acked > 0 {
            self.delay = (self.delay.0.saturating_add(step.delay.as_nanos()), self.delay.1.saturating_add(1));
            let length = match config.period {
                Period::Ack => Duration::ZERO,
                Period::RoundTrip => step.round_trip,
                Period::Every(time) => time,
            };
            if now.saturating_since(self.since) >= length {
                let mean = Duration::from_nanos(self.delay.0 / u64::from(self.delay.1));
                self.hold = self.hold.after(mean, flight, step, config, now);
                (self.since, self.delay) = (now, (0, 0));
            }
        }
        match self.hold {
            Hold::Leashed { times, .. } => (flight + SLACK * step.mss).saturating_mul(times),
            Hold::Window(bytes) => bytes,
        }
    }

    /// True once the law and no longer the leash decides.
    #[cfg(test)]
    pub(super) const fn is_holding(&self) -> bool {
        matches!(self.hold, Hold::Window(_))
    }
}

impl Hold {
    /// What holds after a period of this mean delay.
    fn after(self, delay: Duration, flight: u64, step: Step, config: &VoapConfig, now: Instant) -> Self {
        let by = u64::from(config.step) * step.mss;
        let floor = u64::from(config.floor) * step.mss;
        let most = step.own.max(floor);
        match self {
            Self::Leashed { .. } if delay > config.beta => Self::Window(flight.clamp(floor, most)),
            // A round trip that has grown since the handshake makes the flight look small. What it costs is bounded.
            Self::Leashed { times, since }
                if now.saturating_since(since) >= step.round_trip.saturating_mul(PATIENCE) =>
            {
                Self::Leashed { times: times.saturating_mul(2), since: now }
            }
            Self::Leashed { .. } => self,
            // A window that nothing fills is brought down to what is in flight first: less would change nothing.
            Self::Window(bytes) if delay > config.beta && bytes / 2 > flight => {
                Self::Window(flight.clamp(floor, most))
            }
            Self::Window(bytes) if delay > config.beta => Self::Window(bytes.saturating_sub(by).max(floor)),
            Self::Window(bytes) if delay < config.alpha => Self::Window((bytes + by).min(most)),
            Self::Window(_) => self,
        }
    }
}

/// Bytes acknowledged within the last round trip: what was in flight. Two counts, of this span and the one before, stand
/// for a sliding window.
#[derive(Clone, Copy, Debug)]
struct Flight {
    since: Instant,
    now: u64,
    before: u64,
}

impl Flight {
    const fn new(now: Instant) -> Self {
        Self { since: now, now: 0, before: 0 }
    }

    fn acked(&mut self, bytes: u64, round_trip: Duration, now: Instant) -> u64 {
        let span = round_trip.as_nanos().max(1);
        let mut elapsed = now.saturating_since(self.since).as_nanos();
        if elapsed >= span {
            self.before = if elapsed < 2 * span { self.now } else { 0 };
            self.now = 0;
            elapsed %= span;
            self.since = Instant::from_nanos(now.as_nanos() - elapsed);
        }
        self.now += bytes;
        let rest = u128::from(self.before) * u128::from(span - elapsed) / u128::from(span);
        self.now + rest as u64
    }
}

/// Slow start needs twice the flight; the rest is for what two counts miss of a doubling rate.
const LEASH: u64 = 3;
/// Segments on top of the flight: an initial window (RFC 6928).
const SLACK: u64 = 10;
/// Round trips after which the leash doubles. Slow start on a home link is over by then.
const PATIENCE: u64 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;
    const OWN: u64 = 1_000_000;

    fn config(period: Period) -> VoapConfig {
        VoapConfig { step: 1, period, floor: 2, ..VoapConfig::default() }
    }

    fn step(delay_ms: u64) -> Step {
        Step {
            acked: 2 * MSS,
            delay: Duration::from_millis(delay_ms),
            round_trip: Duration::from_millis(100),
            mss: MSS,
            own: OWN,
        }
    }

    /// One ACK per millisecond; the window after each.
    fn run(law: &mut Law, config: &VoapConfig, from_ms: u64, delays: &[u64]) -> std::vec::Vec<u64> {
        (from_ms..)
            .zip(delays)
            .map(|(at, delay)| law.step(step(*delay), config, Instant::from_millis(at)))
            .collect()
    }

    #[test]
    fn the_three_zones_of_the_paper_per_ack() {
        let config = config(Period::Ack);
        let mut law = Law::new(Instant::ZERO);
        // 16 ms is the first delay above beta: the flight becomes the window, one ACK of 2000 B.
        assert_eq!(run(&mut law, &config, 0, &[16]), [2000]);
        assert!(law.is_holding());
        assert_eq!(run(&mut law, &config, 1, &[4, 4, 4]), [3000, 4000, 5000]);
        assert_eq!(run(&mut law, &config, 4, &[5, 10, 15]), [5000, 5000, 5000]);
        assert_eq!(run(&mut law, &config, 7, &[16, 16, 16, 16, 16]), [4000, 3000, 2000, 2000, 2000]);
    }

    #[test]
    fn a_window_that_nothing_fills_comes_down_to_the_flight_at_once() {
        let config = config(Period::RoundTrip);
        let mut law = Law::new(Instant::ZERO);
        run(&mut law, &config, 0, &[20; 101]);
        // A second in which a tenth of the data flows, then delay again.
        let slow = |acked| Step { acked, ..step(0) };
        for ms in 101..1101 {
            law.step(slow(MSS / 5), &config, Instant::from_millis(ms));
        }
        for ms in 1101..1301 {
            law.step(
                Step { delay: Duration::from_millis(20), ..slow(MSS / 5) },
                &config,
                Instant::from_millis(ms),
            );
        }
        let window = law.step(slow(0), &config, Instant::from_millis(1301));
        assert!((18 * MSS..=20 * MSS).contains(&window), "{window}");
    }

    #[test]
    fn a_step_per_round_trip_is_taken_once_in_a_round_trip_on_its_mean_delay() {
        let config = config(Period::RoundTrip);
        let mut law = Law::new(Instant::ZERO);
        // 100 ms at 2000 B per ms: 200 kB in flight.
        let windows = run(&mut law, &config, 0, &[20; 101]);
        assert!((196_000..=202_000).contains(&windows[100]), "{}", windows[100]);
        // The mean of 90 x 16 and 10 x 0 is 14.4 ms: no step, although the period ends below alpha.
        let mixed: std::vec::Vec<u64> =
            core::iter::repeat_n(16, 90).chain(core::iter::repeat_n(0, 10)).collect();
        let after = run(&mut law, &config, 101, &mixed);
        assert_eq!(after[99], windows[100]);
        let after = run(&mut law, &config, 201, &[20; 100]);
        assert_eq!(after[99], windows[100] - MSS);
    }

    #[test]
    fn the_leash_doubles_where_no_queue_calls_for_it() {
        let config = config(Period::RoundTrip);
        let mut law = Law::new(Instant::ZERO);
        let loose = run(&mut law, &config, 0, &[0; 901]);
        // 200 kB in flight and ten segments: three times that, six times that after eight round trips.
        let near = |window: u64, times: u64| window.abs_diff(times * 210 * MSS) <= times * 2 * MSS;
        assert!(near(loose[700], 3) && near(loose[900], 6), "{} {}", loose[700], loose[900]);
        assert!(!law.is_holding());
    }

    #[test]
    fn a_flight_that_ends_is_forgotten() {
        let mut flight = Flight::new(Instant::ZERO);
        let round_trip = Duration::from_millis(100);
        for ms in 0..100 {
            flight.acked(1000, round_trip, Instant::from_millis(ms));
        }
        assert_eq!(flight.acked(0, round_trip, Instant::from_millis(150)), 50_000);
        assert_eq!(flight.acked(0, round_trip, Instant::from_millis(300)), 0);
        assert_eq!(flight.acked(0, round_trip, Instant::from_secs(300)), 0);
    }
}
