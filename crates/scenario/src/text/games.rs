//! Game models: the files of `models/`, which the program contains, and model files of the same format beside a
//! scenario. Sizes are UDP payload in bytes. Times are in milliseconds in the file and in seconds in the model.

use std::sync::LazyLock;

use gamelane_core::dist::Dist;
use gamelane_traffic::config::{ClientStream, CommandSize, ServerStream};
use serde::Deserialize;

use super::error::Fault;
use super::model_file::{self, About, model_file};
use super::shipped;
use super::update_size::{self, MOST_PLAYERS};

/// A game model with all values checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Game {
    pub(crate) about: About,
    /// Default number of players.
    pub(crate) players: u32,
    pub(crate) least_players: u32,
    pub(crate) most_players: u32,
    pub(crate) server: ServerStream,
    pub(crate) client: ClientStream,
}

impl Game {
    /// The shipped models, by name.
    pub(crate) fn all() -> &'static [Self] {
        static GAMES: LazyLock<Vec<Game>> = LazyLock::new(|| shipped::models("", Game::parse));
        &GAMES
    }

    /// Finds a shipped model.
    pub(crate) fn shipped(name: &str) -> Result<&'static Self, Fault> {
        Self::all().iter().find(|game| game.about.name == name).ok_or_else(|| {
            let names = Self::all().iter().map(|game| game.about.name.as_str());
            Fault::new("no such game").one_of(name, names).or_hint(OWN_MODEL)
        })
    }

    /// Reads a model file; the message names the key that is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        model_file::sourced::<ModelFile>(text, &["players"])?.checked()
    }
}

model_file! {
    /// A model file as written.
    ModelFile {
        players: Players,
        server: Server,
        client: Client,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Players {
    min: u32,
    max: u32,
    default: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Server {
    tick: Millis,
    jitter: Option<Millis>,
    size: update_size::Updates,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Client {
    interval: Vec<Weighted<Millis>>,
    size: Option<Vec<Weighted<Bytes>>>,
    series: Option<update_size::Series>,
}

#[derive(Deserialize)]
pub(super) struct Weighted<D> {
    weight: f64,
    #[serde(flatten)]
    dist: D,
}

/// A distribution of times.
#[derive(Clone, Copy, Deserialize)]
#[serde(tag = "dist", rename_all = "lowercase", deny_unknown_fields)]
enum Millis {
    Constant { value_ms: f64 },
    Uniform { lo_ms: f64, hi_ms: f64 },
    Normal { mean_ms: f64, sd_ms: f64 },
    LogNormal { mu_ln_ms: f64, sigma: f64 },
    Exponential { mean_ms: f64 },
    Lev { a_ms: f64, b_ms: f64 },
    ExGaussian { mu_ms: f64, sigma_ms: f64, tau_ms: f64 },
}

/// A distribution of payload bytes.
#[derive(Clone, Copy, Deserialize)]
#[serde(tag = "dist", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Bytes {
    Constant { value: f64 },
    Uniform { lo: f64, hi: f64 },
    Normal { mean: f64, sd: f64 },
    LogNormal { mu: f64, sigma: f64 },
    Exponential { mean: f64 },
    Lev { a: f64, b: f64 },
    ExGaussian { mu: f64, sigma: f64, tau: f64 },
}

impl ModelFile {
    fn checked(self) -> Result<Game, String> {
        let Players { min: least_players, max: most_players, default } = self.players;
        let ordered = 1 <= least_players && least_players <= default && default <= most_players;
        if !(ordered && most_players <= MOST_PLAYERS) {
            return Err(format!("`players`: required is 1 ≤ min ≤ default ≤ max ≤ {MOST_PLAYERS}"));
        }
        let about = self.about()?;
        let tick = positive(self.server.tick.into()).map_err(|why| format!("`server.tick`: {why}"))?;
        let jitter = self.server.jitter.map(|jitter| spread(jitter.into())).transpose();
        let jitter = jitter.map_err(|why| format!("`server.jitter`: {why}"))?;
        let size =
            update_size::updates(self.server.size, default).map_err(|why| format!("`server.size`: {why}"))?;
        let interval = mixture(self.client.interval).map_err(|why| format!("`client.interval`: {why}"))?;
        let sizes = match (self.client.size, self.client.series) {
            (Some(size), None) => mixture(size).map(CommandSize::Mixture).map_err(|why| ("size", why)),
            (None, Some(series)) => {
                update_size::series(series).map(CommandSize::Series).map_err(|why| ("series", why))
            }
            _ => return Err("`client`: give either `size` or `series`".into()),
        };
        let sizes = sizes.map_err(|(key, why)| format!("`client.{key}`: {why}"))?;
        Ok(Game {
            about,
            players: default,
            least_players,
            most_players,
            server: ServerStream { tick, jitter, size },
            client: ClientStream { interval, size: sizes },
        })
    }
}

pub(super) fn mixture<D: Into<Dist>>(parts: Vec<Weighted<D>>) -> Result<Vec<(f64, Dist)>, String> {
    if parts.is_empty() {
        return Err("a mixture needs at least one part".into());
    }
    parts
        .into_iter()
        .map(|part| {
            let weighty = part.weight > 0.0 && part.weight.is_finite();
            if weighty {
                Ok((part.weight, positive(part.dist.into())?))
            } else {
                Err("a weight must be above 0".into())
            }
        })
        .collect()
}

/// Checks that a distribution has a finite mean above 0 and no negative spread.
pub(super) fn positive(dist: Dist) -> Result<Dist, String> {
    let sound = spread(dist).is_ok_and(|dist| dist.mean() > 0.0);
    if sound { Ok(dist) } else { Err("a distribution needs a mean above 0 and no negative spread".into()) }
}

/// Checks that a distribution has a finite mean and no negative spread.
fn spread(dist: Dist) -> Result<Dist, String> {
    let (spreads, ordered) = match dist {
        Dist::Constant(_) | Dist::Exponential { .. } => ([0.0, 0.0], true),
        Dist::Uniform { lo, hi } => ([lo, 0.0], lo <= hi),
        Dist::Normal { sd, .. } => ([sd, 0.0], true),
        Dist::LogNormal { sigma, .. } => ([sigma, 0.0], true),
        Dist::Lev { b, .. } => ([b, 0.0], true),
        Dist::ExGaussian { sigma, tau, .. } => ([sigma, tau], true),
    };
    let sound = ordered && dist.mean().is_finite() && spreads.iter().all(|spread| *spread >= 0.0);
    if sound { Ok(dist) } else { Err("a distribution needs a finite mean and no negative spread".into()) }
}

impl From<Millis> for Dist {
    fn from(millis: Millis) -> Self {
        match millis {
            Millis::Constant { value_ms } => Self::Constant(value_ms / 1e3),
            Millis::Uniform { lo_ms, hi_ms } => Self::Uniform { lo: lo_ms / 1e3, hi: hi_ms / 1e3 },
            Millis::Normal { mean_ms, sd_ms } => Self::Normal { mean: mean_ms / 1e3, sd: sd_ms / 1e3 },
            // Scaling a log-normal variable shifts its logarithm.
            Millis::LogNormal { mu_ln_ms, sigma } => Self::LogNormal { mu: mu_ln_ms - LN_1000, sigma },
            Millis::Exponential { mean_ms } => Self::Exponential { mean: mean_ms / 1e3 },
            Millis::Lev { a_ms, b_ms } => Self::Lev { a: a_ms / 1e3, b: b_ms / 1e3 },
            Millis::ExGaussian { mu_ms, sigma_ms, tau_ms } => {
                Self::ExGaussian { mu: mu_ms / 1e3, sigma: sigma_ms / 1e3, tau: tau_ms / 1e3 }
            }
        }
    }
}

impl From<Bytes> for Dist {
    fn from(bytes: Bytes) -> Self {
        match bytes {
            Bytes::Constant { value } => Self::Constant(value),
            Bytes::Uniform { lo, hi } => Self::Uniform { lo, hi },
            Bytes::Normal { mean, sd } => Self::Normal { mean, sd },
            Bytes::LogNormal { mu, sigma } => Self::LogNormal { mu, sigma },
            Bytes::Exponential { mean } => Self::Exponential { mean },
            Bytes::Lev { a, b } => Self::Lev { a, b },
            Bytes::ExGaussian { mu, sigma, tau } => Self::ExGaussian { mu, sigma, tau },
        }
    }
}

/// A hint for a name that ships with nothing.
pub(super) const OWN_MODEL: &str = "a model of your own is a file: model = \"NAME.toml\"";

/// ln 1000.
const LN_1000: f64 = 6.907_755_278_982_137;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quake3_is_as_its_file_says() {
        let game = Game::shipped("quake3").unwrap();
        assert_eq!(game.server.tick, Dist::Constant(0.05));
        assert!(matches!(&game.client.size, CommandSize::Mixture(parts) if parts.len() == 3));
        assert_eq!(game.players, 4);
    }

    #[test]
    fn times_are_in_seconds() {
        let mean = Dist::from(Millis::LogNormal { mu_ln_ms: LN_1000, sigma: 0.0 }).mean();
        assert!((mean - 1.0).abs() < 1e-12);
    }

    #[test]
    fn an_invalid_model_is_refused_by_key() {
        let quake3 = include_str!("../../../../models/quake3.toml");
        let cases = [
            (
                "value_ms = 50",
                "value_ms = -50",
                "`server.tick`: a distribution needs a mean above 0 and no negative spread",
            ),
            (
                "phi = 0.7",
                "phi = 1.7",
                "`server.size`: an ARMA series needs finite numbers, |phi| < 1 and sd_per_player ≥ 0",
            ),
            ("min = 40", "min = 4000", "`server.size`: required is 1 ≤ min ≤ max ≤ 1472 (bytes)"),
            ("weight = 1.0", "weight = 0", "`client.interval`: a weight must be above 0"),
        ];
        for (before, after, message) in cases {
            assert_eq!(Game::parse(&quake3.replace(before, after)).unwrap_err(), message);
        }
    }
}
