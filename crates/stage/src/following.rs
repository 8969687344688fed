//! Autorate for both directions of a gateway. Each direction gets the signals that it is configured for and that
//! concern it. The simulator and the real gateway use this same code; they differ only in how they observe packets.

use gamelane_core::time::earliest;
use gamelane_core::{Bitrate, ByteCount, Direction, Duration, Instant};

use crate::autorate::{Autorate, AutorateConfig, Signal, Source};

/// Configuration of autorate for one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowerConfig {
    /// Parameters of autorate.
    pub law: AutorateConfig,
    /// Signals that it uses.
    pub hears: Hears,
}

/// Signals that autorate uses in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hears {
    /// Round trips of passing TCP connections.
    pub tcp: bool,
    /// Lateness of streams with even send times from the internet; downstream only.
    pub game: bool,
    /// Backlog below the shaper, if the modem reports it; upstream only.
    pub backlog: bool,
    /// Probes, when there are no other signals.
    pub probes: bool,
}

impl Hears {
    const fn is_for(self, source: Source) -> bool {
        match source {
            Source::Tcp => self.tcp,
            Source::Game => self.game,
            Source::Backlog => self.backlog,
            Source::Probe => self.probes,
        }
    }
}

/// Time for which the lateness of a stream holds: a few packets of a slow one.
const RECENT: Duration = Duration::from_millis(250);

/// Autorate for both directions. The driver hands in packets sent and signals as they occur, calls
/// [`Following::handle_timeout`] when it is due, and then sets each shaper to [`Following::rate`].
#[derive(Clone, Debug)]
pub struct Following {
    /// Indexed by direction.
    shapers: [Option<Follower>; 2],
    /// Last lateness of a stream from the internet, and its time.
    lag: Option<(Instant, Duration)>,
}

/// Autorate for one direction.
#[derive(Clone, Debug)]
pub struct Follower {
    hears: Hears,
    autorate: Autorate,
    /// Integral of the rate up to `until`, in bit/s times ns.
    shaped: u128,
    until: Instant,
}

impl Following {
    /// Makes autorate from one configuration per direction, indexed by direction; `None` for a fixed rate. Returns
    /// `None` if both are `None`.
    ///
    /// # Panics
    ///
    /// If a configuration does not pass [`AutorateConfig::check`].
    pub fn new(configs: [Option<FollowerConfig>; 2], now: Instant) -> Option<Self> {
        configs.iter().any(Option::is_some).then(|| Self {
            shapers: configs.map(|config| {
                let FollowerConfig { law, hears } = config?;
                Some(Follower { hears, autorate: Autorate::new(law, now), shaped: 0, until: now })
            }),
            lag: None,
        })
    }

    /// Takes over the state of `before` after a change of configuration. A direction with the same configuration keeps
    /// its whole state. Another keeps the rate, if that is in its new range.
    pub fn succeed(&mut self, before: Self) {
        for (own, before) in self.shapers.iter_mut().zip(before.shapers) {
            let (Some(own), Some(before)) = (own, before) else { continue };
            let (law, rate) = (*own.autorate.config(), before.autorate.rate());
            if law == *before.autorate.config() && own.hears == before.hears {
                *own = before;
            } else if (law.lowest..=law.highest).contains(&rate) {
                own.autorate.continue_at(rate);
            }
        }
    }

    /// Autorate of `direction`; `None` if the rate is fixed.
    pub const fn follower(&self, direction: Direction) -> Option<&Follower> {
        self.shapers[direction.index()].as_ref()
    }

    /// Rate for the shaper of `direction`; `None` if the rate is fixed.
    pub fn rate(&self, direction: Direction) -> Option<Bitrate> {
        Some(self.follower(direction)?.autorate.rate())
    }

    /// Time for which the lowest round trip is remembered: the longer of both directions.
    pub fn memory(&self) -> Duration {
        let each = self.shapers.iter().flatten().map(|shaper| shaper.autorate.config().memory);
        each.max().unwrap_or_default()
    }

    /// Counts a packet that the shaper of `direction` sent, by its bytes on the wire.
    pub fn note_sent(&mut self, direction: Direction, bytes: ByteCount, now: Instant) {
        if let Some(shaper) = &mut self.shapers[direction.index()] {
            shaper.autorate.note_sent(bytes, now);
        }
    }

    /// Takes a signal. A round trip passes the queues of both directions. If downstream listens to streams, and one told just
    /// before how long packets wait there, the rest of the round trip is upstream's; otherwise it goes to both directions.
    pub fn tell(&mut self, signal: Signal, now: Instant) {
        let source = signal.source();
        let splits = self.follower(Direction::Down).is_some_and(|down| down.hears.game);
        if let (Signal::GameLag(lag), true) = (signal, splits) {
            self.lag = Some((now, lag));
        }
        let lag = self.lag.filter(|(at, _)| now.saturating_since(*at) <= RECENT).map(|(_, lag)| lag);
        for direction in Direction::BOTH {
            let shaper = self.shapers[direction.index()].as_mut();
            let Some(shaper) = shaper.filter(|shaper| shaper.hears.is_for(source)) else { continue };
            let signal = match (signal, direction, lag) {
                (Signal::GameLag(_), Direction::Up, _) | (Signal::Backlog(_), Direction::Down, _) => continue,
                (Signal::TcpRoundTrip { .. } | Signal::Probe(_), Direction::Down, Some(_)) => continue,
                (Signal::TcpRoundTrip { seen, delay, slack }, Direction::Up, Some(lag)) => {
                    Signal::TcpRoundTrip { seen, delay: delay.saturating_sub(lag), slack }
                }
                (Signal::Probe(time), Direction::Up, Some(lag)) => Signal::Probe(time.saturating_sub(lag)),
                _ => signal,
            };
            shaper.autorate.handle_signal(signal, now);
        }
    }

    /// Time of the next call of [`Following::handle_timeout`] for `direction`.
    pub fn poll_timeout(&self, direction: Direction) -> Option<Instant> {
        self.follower(direction)?.autorate.poll_timeout()
    }

    /// Time of the next call of [`Following::handle_timeout`] for either direction.
    pub fn next_timeout(&self) -> Option<Instant> {
        let [up, down] = Direction::BOTH.map(|direction| self.poll_timeout(direction));
        earliest(up, down)
    }

    /// Makes the decision for `direction` if it is due. Returns whether to send a probe now.
    pub fn handle_timeout(&mut self, direction: Direction, now: Instant) -> bool {
        let Some(shaper) = &mut self.shapers[direction.index()] else { return false };
        if shaper.autorate.poll_timeout().is_none_or(|at| at > now) {
            return false;
        }
        shaper.elapse(now);
        shaper.autorate.handle_timeout(now);
        shaper.autorate.poll_probe(now) && shaper.hears.probes
    }
}

impl Follower {
    /// Autorate with its state.
    pub const fn autorate(&self) -> &Autorate {
        &self.autorate
    }

    /// Mean rate from the start of the run to `end`, in bit/s. If `end` is zero, the present rate.
    pub fn mean_rate_bps(&self, end: Instant) -> f64 {
        let mut own = self.clone();
        own.elapse(end);
        if end == Instant::ZERO {
            own.autorate.rate().bps() as f64
        } else {
            own.shaped as f64 / 1e9 / end.as_secs_f64()
        }
    }

    /// Adds the time up to `now`, during which the rate was constant, to the integral.
    fn elapse(&mut self, now: Instant) {
        let time = u128::from(now.saturating_since(self.until).as_nanos());
        self.shaped += u128::from(self.autorate.rate().bps()) * time;
        self.until = self.until.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Hears = Hears { tcp: true, game: true, backlog: true, probes: false };

    fn config(highest: u64, target_ms: u64) -> FollowerConfig {
        let law = AutorateConfig {
            highest: Bitrate::from_bps(highest),
            target: Duration::from_millis(target_ms),
            ..AutorateConfig::default()
        };
        FollowerConfig { law, hears: ALL }
    }

    /// Runs with load and without delay until the rate is at least 2 Mbit/s.
    fn risen(config: FollowerConfig) -> (Following, Instant) {
        let mut following = Following::new([Some(config), None], Instant::ZERO).unwrap();
        let mut now = Instant::ZERO;
        while following.rate(Direction::Up).unwrap().bps() < 2_000_000 {
            now += Duration::from_millis(10);
            following.note_sent(Direction::Up, ByteCount(3000), now);
            following.tell(Signal::Backlog(Duration::ZERO), now);
            following.handle_timeout(Direction::Up, now);
        }
        (following, now)
    }

    #[test]
    fn each_direction_hears_what_it_listens_to_and_can() {
        let tcp_only =
            FollowerConfig { hears: Hears { tcp: true, ..Hears::default() }, ..config(9_000_000, 15) };
        let mut following =
            Following::new([Some(config(9_000_000, 15)), Some(tcp_only)], Instant::ZERO).unwrap();
        let time = Duration::from_millis(1);
        let signals = [
            Signal::TcpRoundTrip { seen: time, delay: time, slack: time },
            Signal::GameLag(time),
            Signal::Backlog(time),
            Signal::Probe(time),
        ];
        let counts = signals.map(|signal| {
            let before = Direction::BOTH.map(|way| *following.follower(way).unwrap().autorate().counters());
            following.tell(signal, Instant::from_secs(1));
            let after = Direction::BOTH.map(|way| *following.follower(way).unwrap().autorate().counters());
            [0, 1]
                .map(|way| after[way].passive + after[way].probes - before[way].passive - before[way].probes)
        });
        assert_eq!(counts, [[1, 1], [0, 0], [1, 0], [0, 0]]);
    }

    #[test]
    fn a_stream_tells_which_direction_delays_a_round_trip() {
        let tcp = Hears { tcp: true, ..Hears::default() };
        let up = FollowerConfig { hears: tcp, ..config(9_000_000, 15) };
        let down = FollowerConfig { hears: Hears { game: true, ..tcp }, ..up };
        let late = |ms| Signal::TcpRoundTrip {
            seen: Duration::from_millis(100),
            delay: Duration::from_millis(ms),
            slack: Duration::ZERO,
        };
        // Each window carries a full load, and a round trip that is 60 ms too long.
        let run = |following: &mut Following, windows: u64, lag_ms: Option<u64>, from: u64| {
            for ms in from..from + 200 * windows {
                let now = Instant::from_millis(ms);
                for direction in Direction::BOTH {
                    let bytes = following.rate(direction).unwrap().bps() / 8000;
                    following.note_sent(direction, ByteCount(bytes), now);
                }
                if ms % 10 == 0 {
                    if let Some(lag) = lag_ms {
                        following.tell(Signal::GameLag(Duration::from_millis(lag)), now);
                    }
                    following.tell(late(60), now);
                }
                for direction in Direction::BOTH {
                    following.handle_timeout(direction, now);
                }
            }
            Direction::BOTH.map(|direction| following.rate(direction).unwrap().bps())
        };
        let mut following = Following::new([Some(up), Some(down)], Instant::ZERO).unwrap();
        let [first, second] = run(&mut following, 5, Some(55), 0);
        assert!(first > 1_000_000 && second < 1_000_000, "the queue is downstream: {first} {second}");
        let [lower, risen] = run(&mut following, 5, Some(0), 1000);
        assert!(lower < first && risen > second, "the queue is upstream: {lower} {risen}");
        let [first, second] = run(&mut following, 5, None, 3000);
        assert!(first < lower && second < risen, "nobody tells: {first} {second}");
        let mut deaf = Following::new([Some(up); 2], Instant::ZERO).unwrap();
        let [first, second] = run(&mut deaf, 5, Some(55), 0);
        assert!(first < 1_000_000 && second < 1_000_000, "nobody listens to it: {first} {second}");
    }

    #[test]
    fn a_rate_outlives_a_change_of_policy_if_it_is_in_range() {
        let (before, now) = risen(config(9_000_000, 15));
        let rate = before.rate(Direction::Up);
        let next = |config| {
            let mut next = Following::new([Some(config), None], now).unwrap();
            next.succeed(before.clone());
            next
        };
        let same = next(config(9_000_000, 15));
        assert_eq!(same.rate(Direction::Up), rate);
        assert!(
            same.follower(Direction::Up).unwrap().autorate().counters().raised > 0,
            "the same configuration keeps its counters"
        );
        let other = next(config(9_000_000, 30));
        assert_eq!(other.rate(Direction::Up), rate);
        assert_eq!(other.follower(Direction::Up).unwrap().autorate().counters().raised, 0);
        assert_eq!(next(config(1_500_000, 15)).rate(Direction::Up), Some(Bitrate::from_bps(1_000_000)));
    }

    #[test]
    fn the_mean_of_the_rate_is_over_all_time() {
        let (following, now) = risen(config(9_000_000, 15));
        let mean = following.follower(Direction::Up).unwrap().mean_rate_bps(now);
        assert!(
            (1.3e6..1.6e6).contains(&mean),
            "the rate rose exponentially from 1 to 2 Mbit/s, mean {mean}"
        );
    }
}
