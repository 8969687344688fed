//! The alpha-beta law for one flow of data (palazzi-voap section II). With a queueing delay below alpha the window
//! grows by a step, above beta it shrinks by a step, between them it stays.
//!
//! The paper does not give the first value of the window. It matters, because an advertised window cannot be taken
//! back. Our construction: until the first delay above beta, the window is limited to a multiple of the data in flight,
//! which slow start never reaches. The code calls this *leashed*. At the first delay above beta the data in flight
//! becomes the window, and the law starts from there.

use gamelane_core::{Duration, Instant};

use super::config::{Period, VoapConfig};

/// State of the law for one flow of data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    hold: Hold,
    flight: Flight,
    /// Start of the present period.
    since: Instant,
    /// Queueing delays in this period: their sum in ns and their number.
    delay: (u64, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    /// No delay above beta yet: the window is `times` the data in flight plus [`SLACK`] segments.
    Leashed { times: u64, since: Instant },
    /// The law controls the window, given in bytes.
    Window(u64),
}

/// Input of the law from one ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Bytes that it acknowledges for the first time.
    pub(super) acked: u64,
    /// Queueing delay of the data.
    pub(super) delay: Duration,
    /// Round-trip time, queues included.
    pub(super) round_trip: Duration,
    /// Maximum segment size of the connection in bytes.
    pub(super) mss: u64,
    /// Window of the receiver in bytes; the law never exceeds it.
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

    /// Returns the window in bytes after an ACK, before the limits by floor and right edge.
    pub(super) fn step(
        &mut self,
        step: Step,
        config: &VoapConfig,
        mean_window: &mut MeanWindow,
        now: Instant,
    ) -> u64 {
        let flight = self.flight.acked(step.acked, step.round_trip, now);
        if step.acked > 0 {
            // Slow start fills a buffer within a round trip, so do not wait for the end of the period.
            if matches!(self.hold, Hold::Leashed { .. }) && step.delay > config.beta {
                let floor = u64::from(config.floor) * step.mss;
                self.hold = Hold::Window(flight.clamp(floor, step.own.max(floor)));
                (self.since, self.delay) = (now, (0, 0));
                return flight.max(floor);
            }
            if let Hold::Window(window) = self.hold {
                mean_window.observe(window, now);
            }
            self.delay = (self.delay.0.saturating_add(step.delay.as_nanos()), self.delay.1.saturating_add(1));
            let length = match config.period {
                Period::Ack => Duration::ZERO,
                Period::RoundTrip => step.round_trip,
                Period::Every(time) => time,
            };
            if now.saturating_since(self.since) >= length {
                let mean = Duration::from_nanos(self.delay.0 / u64::from(self.delay.1));
                let share = match self.hold {
                    Hold::Window(window) => mean_window.share(window, config),
                    Hold::Leashed { .. } => Share::Equal,
                };
                self.hold = self.hold.after(mean, share, flight, step, config, now);
                (self.since, self.delay) = (now, (0, 0));
            }
        }
        match self.hold {
            Hold::Leashed { times, .. } => (flight + SLACK * step.mss).saturating_mul(times).min(step.own),
            Hold::Window(bytes) => bytes,
        }
    }

    /// Returns whether the law controls the window.
    #[cfg(test)]
    pub(super) const fn is_holding(&self) -> bool {
        matches!(self.hold, Hold::Window(_))
    }
}

impl Hold {
    /// Returns the new state after a period with this mean delay.
    fn after(
        self,
        delay: Duration,
        share: Share,
        flight: u64,
        step: Step,
        config: &VoapConfig,
        now: Instant,
    ) -> Self {
        let by = u64::from(config.step) * step.mss;
        let floor = u64::from(config.floor) * step.mss;
        let most = step.own.max(floor);
        match self {
            // If the round trip has grown since the handshake, the data in flight is underestimated and the limit too
            // low. Doubling it after some round trips bounds the harm.
            Self::Leashed { times, since }
                if now.saturating_since(since) >= step.round_trip.saturating_mul(PATIENCE) =>
            {
                Self::Leashed { times: times.saturating_mul(2), since: now }
            }
            Self::Leashed { .. } => self,
            // A window that is mostly unused goes down to the data in flight at once. Smaller steps would have no
            // effect.
            Self::Window(bytes) if delay > config.beta && bytes / 2 > flight => {
                Self::Window(flight.clamp(floor, most))
            }
            Self::Window(bytes) => match (zone(delay, config), share) {
                (Zone::AboveBeta, Share::Equal | Share::Above) | (Zone::Between, Share::Above) => {
                    Self::Window(bytes.saturating_sub(by).max(floor))
                }
                (Zone::BelowAlpha, Share::Equal | Share::Below) | (Zone::Between, Share::Below) => {
                    Self::Window((bytes + by).min(most))
                }
                _ => self,
            },
        }
    }
}

enum Zone {
    BelowAlpha,
    Between,
    AboveBeta,
}

fn zone(delay: Duration, config: &VoapConfig) -> Zone {
    if delay < config.alpha {
        Zone::BelowAlpha
    } else if delay > config.beta {
        Zone::AboveBeta
    } else {
        Zone::Between
    }
}

/// Comparison of a window with the mean window of all flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Share {
    Below,
    Equal,
    Above,
}

/// Mean window of all flows over the last half second. Flows that send more ACKs have more weight, so no count of
/// active flows is needed. Our construction: steps of equal size keep the differences between windows, so with the
/// paper's law alone a late flow starves. With the mean, larger windows shrink first and smaller ones grow first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MeanWindow {
    bytes: u64,
    at: Instant,
}

impl MeanWindow {
    fn observe(&mut self, window: u64, now: Instant) {
        if self.bytes == 0 {
            self.bytes = window;
        }
        let elapsed = now.saturating_since(self.at).as_nanos().min(MEMORY.as_nanos());
        let change = (i128::from(window) - i128::from(self.bytes)) * i128::from(elapsed);
        let change = change / i128::from(MEMORY.as_nanos());
        self.bytes = self.bytes.saturating_add_signed(change as i64);
        self.at = now;
    }

    fn share(&self, window: u64, config: &VoapConfig) -> Share {
        let tolerance = self.bytes / 8;
        if !config.even || window.abs_diff(self.bytes) <= tolerance {
            Share::Equal
        } else if window > self.bytes {
            Share::Above
        } else {
            Share::Below
        }
    }
}

/// Bytes acknowledged within the last round trip, which are the data in flight. Two counts, for the present and the
/// previous round trip, approximate a sliding window.
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

/// First multiple of the data in flight. Slow start needs 2; the rest covers the error of [`Flight`] at a doubling
/// rate.
const LEASH: u64 = 3;
/// Segments added to the data in flight: an initial window (RFC 6928).
const SLACK: u64 = 10;
/// Number of round trips after which the multiple doubles. By then slow start on a home link is over.
const PATIENCE: u64 = 8;
/// Time constant of [`MeanWindow`].
const MEMORY: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;
    const OWN: u64 = 2_000_000;

    fn config(period: Period) -> VoapConfig {
        VoapConfig { step: 1, period, floor: 2, even: false, ..VoapConfig::default() }
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

    /// Sends one ACK per millisecond with these delays in ms. Returns the window after each.
    fn run(law: &mut Law, config: &VoapConfig, from_ms: u64, delays: &[u64]) -> std::vec::Vec<u64> {
        let mut mean = MeanWindow::default();
        (from_ms..)
            .zip(delays)
            .map(|(at, delay)| law.step(step(*delay), config, &mut mean, Instant::from_millis(at)))
            .collect()
    }

    #[test]
    fn the_three_zones_of_the_paper_per_ack() {
        let config = config(Period::Ack);
        let mut law = Law::new(Instant::ZERO);
        // 16 ms is the first delay above beta. The data in flight, one ACK of 2000 B, becomes the window.
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
        run(&mut law, &config, 0, &[0; 101]);
        run(&mut law, &config, 101, &[20]);
        // A second with a tenth of the data, then delay again.
        let mut mean = MeanWindow::default();
        let slow = Step { acked: MSS / 5, ..step(0) };
        for ms in 102..1302 {
            let delay = Duration::from_millis(if ms < 1101 { 0 } else { 20 });
            law.step(Step { delay, ..slow }, &config, &mut mean, Instant::from_millis(ms));
        }
        let window = law.step(Step { acked: 0, ..slow }, &config, &mut mean, Instant::from_millis(1302));
        assert!((18 * MSS..=20 * MSS).contains(&window), "{window}");
    }

    #[test]
    fn a_step_per_round_trip_is_taken_once_in_a_round_trip_on_its_mean_delay() {
        let config = config(Period::RoundTrip);
        let mut law = Law::new(Instant::ZERO);
        // 100 ms at 2000 B per ms are 200 kB in flight at the first delay above beta.
        run(&mut law, &config, 0, &[0; 101]);
        let held = run(&mut law, &config, 101, &[20])[0];
        assert!((196_000..=202_000).contains(&held), "{held}");
        // The mean of 90 x 16 ms and 11 x 0 ms is below beta: no step, although most samples are above beta.
        let mixed: std::vec::Vec<u64> =
            core::iter::repeat_n(16, 90).chain(core::iter::repeat_n(0, 11)).collect();
        assert_eq!(run(&mut law, &config, 102, &mixed)[100], held);
        assert_eq!(run(&mut law, &config, 203, &[20; 100])[99], held - MSS);
    }

    #[test]
    fn the_leash_doubles_where_no_queue_calls_for_it() {
        let config = config(Period::RoundTrip);
        let mut law = Law::new(Instant::ZERO);
        let loose = run(&mut law, &config, 0, &[0; 901]);
        // 200 kB in flight plus ten segments: three times that, and six times that after eight round trips.
        let near = |window: u64, times: u64| window.abs_diff(times * 210 * MSS) <= times * 2 * MSS;
        assert!(near(loose[700], 3) && near(loose[900], 6), "{} {}", loose[700], loose[900]);
        assert!(!law.is_holding());
        // It never exceeds the receiver's own window, however long no queue calls for it.
        let free = run(&mut law, &config, 901, &[0; 100_000]);
        assert!(free[1_000..].iter().all(|window| *window == OWN), "{:?}", free.last());
    }

    #[test]
    fn two_flows_come_to_equal_windows_and_with_the_papers_law_stay_apart() {
        for even in [true, false] {
            let config = VoapConfig { even, ..config(Period::RoundTrip) };
            let mut mean = MeanWindow::default();
            let mut laws = [Law::new(Instant::ZERO), Law::new(Instant::ZERO)];
            laws[0].hold = Hold::Window(180 * MSS);
            laws[1].hold = Hold::Window(20 * MSS);
            let mut windows = [180 * MSS, 20 * MSS];
            for ms in 1..20_000 {
                // Each flow sends ACKs in proportion to its window.
                let which = usize::from(
                    ms * windows[1] / (windows[0] + windows[1]).max(1)
                        > (ms - 1) * windows[1] / (windows[0] + windows[1]).max(1),
                );
                let delay = Duration::from_millis(if windows[0] + windows[1] > 200 * MSS { 20 } else { 10 });
                let step = Step { delay, ..step(0) };
                windows[which] = laws[which].step(step, &config, &mut mean, Instant::from_millis(ms));
            }
            let apart = windows[0].abs_diff(windows[1]) / MSS;
            assert!(if even { apart < 40 } else { apart > 150 }, "{even}: {windows:?}");
        }
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
