//! Client-server games over UDP. The server sends one update per tick to each client; its size depends on the number of
//! players (Branch and Armitage, NetGames 2006). The client sends commands at its own rate. Both sides run open loop
//! from the start. Left out: joining, map download, the server's `rate` limit, and the traffic of the other players.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use gamelane_core::dist::{Dist, Mixture};
use gamelane_core::{Duration, Stream};

use crate::app::Transport;
use crate::arma::{Arma, ArmaParameters};
use crate::config::{ClientStream, CommandSize, GameConfig, Schedule, SizeSeries, UpdateSize};
use crate::facts::{AppDescriptor, AppFacts, Group};
use crate::measured::{self, Recipe, Series};
use crate::paced::{Paced, Pattern};
use crate::streams::Streams;

/// Game in the catalogue.
pub const GAME: AppDescriptor = AppDescriptor {
    word: "game",
    label: "game",
    about: "A game over UDP, from a model or a trace.",
    keys: &["model", "trace", "role", "peers", "players", "client"],
    page: "traffic",
    facts: AppFacts { group: Group::Game, transport: Transport::Udp, server_port: 27_960 },
};

impl UpdateSize {
    /// Mean UDP payload in bytes for this number of players, before truncation. `None` if the model does not cover that
    /// number.
    pub fn mean_payload(&self, players: u32) -> Option<f64> {
        match self {
            Self::Arma { fixed, per_player, .. } => Some(fixed + f64::from(players) * per_player),
            Self::Independent { size, .. } => Some(size.mean()),
            Self::Measured { matches, estimated, .. } => {
                let Recipe { parts, scale, shift } = measured::recipe(matches, estimated, players)?;
                Some(parts.iter().map(|part| part.mean()).sum::<f64>() * scale + shift)
            }
        }
    }
}

impl ClientStream {
    /// The client of TEACUP 0.9.3's packet generator, the same for all games: 60 B of UDP payload every 10 ms, which is
    /// 70.4 kbit/s of IPv4.
    pub fn pktgen() -> Self {
        Self {
            interval: vec![(1.0, Dist::Constant(0.010))],
            size: CommandSize::Mixture(vec![(1.0, Dist::Constant(60.0))]),
        }
    }
}

pub(crate) fn build(
    config: &GameConfig,
    schedule: Schedule,
    streams: Streams<'_>,
) -> (Paced<Commands>, Paced<Updates>) {
    let commands = Commands::new(&config.client, streams);
    let updates = Updates::new(config, streams, streams);
    (
        Paced::new(commands, schedule, streams.of("client/phase")),
        Paced::new(updates, schedule, streams.of("server/phase")),
    )
}

/// The server's stream to one client.
#[derive(Clone, Debug)]
pub struct Updates {
    tick: Dist,
    tick_rng: Stream,
    jitter: Option<Jitter>,
    size: Size,
}

impl Updates {
    /// A stream of updates. `server` has the random streams shared by all clients, `own` those of this client.
    pub(crate) fn new(config: &GameConfig, server: Streams<'_>, own: Streams<'_>) -> Self {
        let jitter = |off| Jitter { off, last_s: 0.0, rng: server.of("server/jitter") };
        Self {
            tick: config.server.tick,
            tick_rng: server.of("server/tick"),
            jitter: config.server.jitter.map(jitter),
            size: Size::new(&config.server.size, config.players, own),
        }
    }
}

/// Offset of updates from the grid of ticks. If one update is late, the next interval is shorter by as much.
#[derive(Clone, Debug)]
struct Jitter {
    off: Dist,
    last_s: f64,
    rng: Stream,
}

impl Jitter {
    fn change_s(&mut self) -> f64 {
        let now_s = self.off.sample(&mut self.rng);
        let change_s = now_s - self.last_s;
        self.last_s = now_s;
        change_s
    }
}

impl Pattern for Updates {
    fn mean_interval_s(&self) -> f64 {
        self.tick.mean()
    }

    fn interval(&mut self) -> Duration {
        let tick_s = self.tick.sample(&mut self.tick_rng);
        let change_s = self.jitter.as_mut().map_or(0.0, Jitter::change_s);
        Duration::from_secs_f64(tick_s + change_s)
    }

    fn payload(&mut self) -> u32 {
        self.size.next_payload()
    }
}

/// The client's stream.
#[derive(Clone, Debug)]
pub struct Commands {
    interval: Drawn,
    size: Sizes,
}

impl Commands {
    pub(crate) fn new(client: &ClientStream, streams: Streams<'_>) -> Self {
        Self {
            interval: Drawn::new(&client.interval, streams.of("client/interval")),
            size: Sizes::new(&client.size, streams.of("client/size")),
        }
    }
}

impl Pattern for Commands {
    fn mean_interval_s(&self) -> f64 {
        self.interval.mean()
    }

    fn interval(&mut self) -> Duration {
        Duration::from_secs_f64(self.interval.sample())
    }

    fn payload(&mut self) -> u32 {
        round_within(self.size.next_value(), 1, MAX_PAYLOAD)
    }
}

/// State of an [`UpdateSize`] for a fixed number of players.
#[derive(Clone, Debug)]
struct Size {
    law: Law,
    min: u32,
    max: u32,
}

#[derive(Clone, Debug)]
enum Law {
    Arma(Arma),
    Independent {
        size: Dist,
        rng: Stream,
    },
    /// The sum of these series times `scale`, plus `shift` bytes.
    Measured {
        parts: Vec<Series>,
        scale: f64,
        shift: f64,
    },
}

impl Size {
    /// Panics if the model has no match of this number of players. The configuration was checked for that.
    fn new(size: &UpdateSize, players: u32, streams: Streams<'_>) -> Self {
        match size {
            &UpdateSize::Arma { fixed, per_player, sd_per_player, phi, theta, min, max } => {
                let mean = fixed + f64::from(players) * per_player;
                // Players move independently, so their variances add up.
                let sd = sd_per_player * libm::sqrt(f64::from(players));
                let parameters = ArmaParameters { mean, sd, phi, theta };
                Self { law: Law::Arma(Arma::new(parameters, streams.of("server/size"))), min, max }
            }
            &UpdateSize::Independent { size, min, max } => {
                Self { law: Law::Independent { size, rng: streams.of("server/size") }, min, max }
            }
            UpdateSize::Measured { matches, estimated, min, max } => {
                let Recipe { parts, scale, shift } = measured::recipe(matches, estimated, players)
                    .expect("the model was checked for these players");
                let series = |(n, part): (usize, &&SizeSeries)| {
                    Series::new((*part).clone(), streams.of(&format!("server/size/{n}")))
                };
                let parts = parts.iter().enumerate().map(series).collect();
                Self { law: Law::Measured { parts, scale, shift }, min: *min, max: *max }
            }
        }
    }

    fn next_payload(&mut self) -> u32 {
        let bytes = match &mut self.law {
            Law::Arma(arma) => arma.next_value(),
            Law::Independent { size, rng } => size.sample(rng),
            Law::Measured { parts, scale, shift } => {
                parts.iter_mut().map(Series::next_value).sum::<f64>() * *scale + *shift
            }
        };
        round_within(bytes, self.min, self.max)
    }
}

/// State of a [`CommandSize`].
#[derive(Clone, Debug)]
enum Sizes {
    Drawn(Drawn),
    Series(Series),
}

impl Sizes {
    fn new(size: &CommandSize, rng: Stream) -> Self {
        match size {
            CommandSize::Mixture(parts) => Self::Drawn(Drawn::new(parts, rng)),
            CommandSize::Series(shape) => Self::Series(Series::new(shape.clone(), rng)),
        }
    }

    fn next_value(&mut self) -> f64 {
        match self {
            Self::Drawn(drawn) => drawn.sample(),
            Self::Series(series) => series.next_value(),
        }
    }
}

/// A mixture with its random stream.
#[derive(Clone, Debug)]
struct Drawn {
    mixture: Mixture,
    rng: Stream,
}

impl Drawn {
    fn new(parts: &[(f64, Dist)], rng: Stream) -> Self {
        Self { mixture: Mixture::new(parts), rng }
    }

    fn mean(&self) -> f64 {
        self.mixture.mean()
    }

    fn sample(&mut self) -> f64 {
        self.mixture.sample(&mut self.rng)
    }
}

/// Rounds to whole bytes (half up) within the limits.
fn round_within(bytes: f64, min: u32, max: u32) -> u32 {
    ((bytes + 0.5) as u32).clamp(min, max.max(min))
}

/// Maximum UDP payload of a 1500 B IPv4 packet.
const MAX_PAYLOAD: u32 = 1472;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{AppAction, TrafficSource};
    use crate::config::ServerStream;
    use gamelane_core::Instant;
    use std::vec::Vec;

    fn quake3(players: u32) -> GameConfig {
        GameConfig {
            players,
            server: ServerStream {
                tick: Dist::Constant(0.050),
                jitter: None,
                size: UpdateSize::Arma {
                    fixed: 40.0,
                    per_player: 28.0,
                    sd_per_player: 12.6,
                    phi: 0.7,
                    theta: -0.3,
                    min: 40,
                    max: 1400,
                },
            },
            client: ClientStream {
                interval: vec![(0.6, Dist::Exponential { mean: 0.00429 }), (0.4, Dist::Constant(0.01075))],
                size: CommandSize::Mixture(vec![(1.0, Dist::Normal { mean: 64.15, sd: 3.2 })]),
            },
        }
    }

    /// Times and payloads of the first `n` packets.
    fn packets(source: &mut dyn TrafficSource, n: usize) -> Vec<(Instant, u32)> {
        let mut sent = Vec::new();
        while sent.len() < n {
            let now = source.poll_timeout().expect("a game never ends by itself");
            source.handle_timeout(now);
            while let Some(action) = source.poll_action(now) {
                let AppAction::SendDatagram { payload } = action else { panic!("{action:?} from a game") };
                sent.push((now, payload));
            }
        }
        sent
    }

    fn sides(config: GameConfig) -> (Paced<Commands>, Paced<Updates>) {
        let schedule = Schedule { start: Duration::from_secs(3), stop: None };
        build(&config, schedule, Streams::for_test(11, "flow/game"))
    }

    fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
        let n = values.len() as f64;
        values.sum::<f64>() / n
    }

    #[test]
    fn updates_stand_on_a_tick_grid_that_begins_within_one_tick() {
        let sent = packets(&mut sides(quake3(4)).1, 1000);
        let first = sent[0].0;
        assert!(first >= Instant::from_secs(3) && first < Instant::from_millis(3050));
        for (n, (at, _)) in sent.iter().enumerate() {
            assert_eq!(*at, first + Duration::from_millis(50) * n as u64);
        }
    }

    #[test]
    fn mean_and_variance_of_updates_grow_linearly_with_players() {
        for players in [2, 4, 8, 16, 32] {
            let sizes: Vec<f64> =
                packets(&mut sides(quake3(players)).1, 100_000).iter().map(|p| f64::from(p.1)).collect();
            let average = mean(sizes.iter().copied());
            let variance = mean(sizes.iter().map(|s| (s - average) * (s - average)));
            let expected = 40.0 + 28.0 * f64::from(players);
            assert!((average / expected - 1.0).abs() < 0.02, "{players} players: {average} B");
            let expected = 12.6 * 12.6 * f64::from(players);
            assert!((variance / expected - 1.0).abs() < 0.05, "{players} players: variance {variance}");
        }
    }

    #[test]
    fn the_client_does_not_depend_on_players() {
        assert_eq!(packets(&mut sides(quake3(2)).0, 500), packets(&mut sides(quake3(32)).0, 500));
    }

    #[test]
    fn the_ditg_quake3_mixture_is_per_packet_and_has_its_mean() {
        // D-ITG 2.8.1: 0.6 * 4.29 + 0.4 * 10.75 = 6.874 ms.
        let sent = packets(&mut sides(quake3(4)).0, 100_000);
        let gaps: Vec<f64> = sent.windows(2).map(|w| (w[1].0 - w[0].0).as_millis_f64()).collect();
        let average = mean(gaps.iter().copied());
        assert!((average / 6.874 - 1.0).abs() < 0.02, "{average} ms");
        // The mixture is drawn per packet: after a constant gap, the next one is constant with probability 0.4.
        let constant = |gap: &f64| (gap - 10.75).abs() < 1e-4;
        let pairs = gaps.windows(2).filter(|w| constant(&w[0])).count() as f64;
        let again = gaps.windows(2).filter(|w| constant(&w[0]) && constant(&w[1])).count() as f64;
        assert!((again / pairs - 0.4).abs() < 0.02, "{}", again / pairs);
        let size = mean(sent.iter().map(|p| f64::from(p.1)));
        assert!((size / 64.15 - 1.0).abs() < 0.02, "{size} B");
    }

    #[test]
    fn the_ngmn_model_has_its_published_rates() {
        // NGMN gaming model: 140.8 B every 58.5 ms downstream, 48.3 B every 40 ms upstream.
        let config = GameConfig {
            players: 2,
            server: ServerStream {
                tick: Dist::Lev { a: 0.055, b: 0.006 },
                jitter: None,
                size: UpdateSize::Independent { size: Dist::Lev { a: 120.0, b: 36.0 }, min: 28, max: 1472 },
            },
            client: ClientStream {
                interval: vec![(1.0, Dist::Constant(0.040))],
                size: CommandSize::Mixture(vec![(1.0, Dist::Lev { a: 45.0, b: 5.7 })]),
            },
        };
        let (mut client, mut server) = sides(config);
        for (source, size_b, gap_ms) in
            [(&mut server as &mut dyn TrafficSource, 140.8, 58.46), (&mut client, 48.3, 40.0)]
        {
            let sent = packets(source, 50_000);
            let size = mean(sent.iter().map(|p| f64::from(p.1)));
            let gap = (sent[sent.len() - 1].0 - sent[0].0).as_millis_f64() / (sent.len() - 1) as f64;
            assert!((size / size_b - 1.0).abs() < 0.02, "{size} B");
            assert!((gap / gap_ms - 1.0).abs() < 0.02, "{gap} ms");
        }
    }

    #[test]
    fn the_pktgen_client_sends_60_bytes_every_10_ms() {
        let sent = packets(&mut sides(GameConfig { client: ClientStream::pktgen(), ..quake3(4) }).0, 100);
        assert!(sent.iter().all(|p| p.1 == 60));
        assert!(sent.windows(2).all(|w| w[1].0 - w[0].0 == Duration::from_millis(10)));
    }

    #[test]
    fn sides_draw_from_streams_of_their_own() {
        // Another client leaves the server's packets unchanged.
        let other = GameConfig { client: ClientStream::pktgen(), ..quake3(4) };
        assert_eq!(packets(&mut sides(quake3(4)).1, 500), packets(&mut sides(other).1, 500));
    }
}
