//! Shapers of a gateway that follow their links: both directions hear of what passes, each what it listens to. The simulator and
//! the real gateway drive this same thing, and differ only in how they see packets.

use gamelane_core::time::earliest;
use gamelane_core::{Bitrate, ByteCount, Direction, Duration, Instant};

use crate::autorate::{Autorate, AutorateConfig, Signal, Source};

/// How a shaper follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowerConfig {
    /// The law's.
    pub law: AutorateConfig,
    /// What it listens to.
    pub hears: Hears,
}

/// Signals of the link's state that an autorate listens to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hears {
    /// Round trips of TCP that passes.
    pub tcp: bool,
    /// Lateness of what the internet sends at even times; downstream only.
    pub game: bool,
    /// What waits below the shaper, where the modem tells; upstream only.
    pub backlog: bool,
    /// Probes, when the others are silent.
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

/// The shapers that follow. Driven like every component: what passes as it passes, [`Following::handle_timeout`] when due,
/// then [`Following::rate`] is the one to shape to.
#[derive(Clone, Debug)]
pub struct Following {
    /// Indexed by direction.
    shapers: [Option<Follower>; 2],
}

/// One of them.
#[derive(Clone, Debug)]
pub struct Follower {
    hears: Hears,
    autorate: Autorate,
    /// Sum of rate times time, bits and ns, up to `until`.
    shaped: u128,
    until: Instant,
}

impl Following {
    /// Shapers at their start; `None` where none follows. Indexed by direction.
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
        })
    }

    /// Takes the place of `before`: a shaper that follows as it did goes on as it was, another with its rate, if that is in its
    /// range.
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

    /// The shaper of `direction`, if it follows.
    pub const fn follower(&self, direction: Direction) -> Option<&Follower> {
        self.shapers[direction.index()].as_ref()
    }

    /// The rate of the shaper of `direction`, if it follows.
    pub fn rate(&self, direction: Direction) -> Option<Bitrate> {
        Some(self.follower(direction)?.autorate.rate())
    }

    /// How long the quickest round trip is remembered.
    pub fn memory(&self) -> Duration {
        let each = self.shapers.iter().flatten().map(|shaper| shaper.autorate.config().memory);
        each.max().unwrap_or_default()
    }

    /// The shaper of `direction` let a packet go that has so many bytes on the wire.
    pub fn note_sent(&mut self, direction: Direction, bytes: ByteCount, now: Instant) {
        if let Some(shaper) = &mut self.shapers[direction.index()] {
            shaper.autorate.note_sent(bytes, now);
        }
    }

    /// Something was seen or heard. Of round trips both directions hear, since they pass both queues.
    pub fn tell(&mut self, signal: Signal, now: Instant) {
        let source = signal.source();
        for (index, shaper) in self.shapers.iter_mut().enumerate() {
            let Some(shaper) = shaper.as_mut().filter(|shaper| shaper.hears.is_for(source)) else { continue };
            let only = match source {
                Source::Tcp | Source::Probe => None,
                Source::Game => Some(Direction::Down),
                Source::Backlog => Some(Direction::Up),
            };
            if only.is_none_or(|only| only.index() == index) {
                shaper.autorate.handle_signal(signal, now);
            }
        }
    }

    /// When the shaper of `direction` wants [`Following::handle_timeout`].
    pub fn poll_timeout(&self, direction: Direction) -> Option<Instant> {
        self.follower(direction)?.autorate.poll_timeout()
    }

    /// When either does.
    pub fn next_timeout(&self) -> Option<Instant> {
        let [up, down] = Direction::BOTH.map(|direction| self.poll_timeout(direction));
        earliest(up, down)
    }

    /// Lets the shaper of `direction` decide, if it is time; whether it asks for a probe.
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
    /// The law and its state.
    pub const fn autorate(&self) -> &Autorate {
        &self.autorate
    }

    /// Mean of its rate from the beginning to `end`, bits per second; the present one if no time has passed.
    pub fn mean_rate_bps(&self, end: Instant) -> f64 {
        let mut own = self.clone();
        own.elapse(end);
        if end == Instant::ZERO {
            own.autorate.rate().bps() as f64
        } else {
            own.shaped as f64 / 1e9 / end.as_secs_f64()
        }
    }

    /// Its rate has held until `now`.
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

    /// Load and no delay until it has risen to 2 Mbit/s and more.
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
            "it goes on as it was"
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
        assert!((1.3e6..1.6e6).contains(&mean), "1 to 2 Mbit/s, exponentially: {mean}");
    }
}
