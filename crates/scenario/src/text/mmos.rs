//! Models of games over TCP: the files of `models/mmo/`, which the program contains, and model files of the same format
//! beside a scenario. Sizes are payload bytes of one write.

use std::sync::LazyLock;

use gamelane_core::Duration;
use gamelane_core::dist::Mixture;
use gamelane_tcp::Stack;
use gamelane_traffic::config::{MmoModel, WriteModel};
use serde::Deserialize;

use super::error::Fault;
use super::games::{Bytes, OWN_MODEL, Weighted, mixture, positive};
use super::model_file::{self, About, model_file};
use super::shipped;
use super::words::Word;

/// A model with all values checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mmo {
    pub(crate) about: About,
    /// Default number of players.
    pub(crate) connections: u32,
    /// TCP stack of the server.
    pub(crate) tcp: Option<Stack>,
    pub(crate) streams: MmoModel,
    pub(crate) paths: Vec<PlayerPath>,
}

/// A path that some of the players share.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlayerPath {
    pub(crate) share: f64,
    pub(crate) rtt: Duration,
    pub(crate) jitter: Duration,
}

impl Mmo {
    /// The shipped models, by name.
    pub(crate) fn all() -> &'static [Self] {
        static MMOS: LazyLock<Vec<Mmo>> = LazyLock::new(|| shipped::models("mmo", Mmo::parse));
        &MMOS
    }

    /// Finds a shipped model.
    pub(crate) fn shipped(name: &str) -> Result<&'static Self, Fault> {
        Self::all().iter().find(|mmo| mmo.about.name == name).ok_or_else(|| {
            let names = Self::all().iter().map(|mmo| mmo.about.name.as_str());
            Fault::new("no such game over TCP").one_of(name, names).or_hint(OWN_MODEL)
        })
    }

    /// Reads a model file; the message names the key that is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        model_file::sourced::<ModelFile>(text, &["connections"])?.checked()
    }
}

model_file! {
    /// `models/mmo/*.toml` as written.
    ModelFile {
        connections: u32,
        tcp: Option<Word<Stack>>,
        server: Writes,
        client: Writes,
        #[serde(default)]
        path: Vec<PathFile>,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Writes {
    writes_per_second: Bytes,
    most_per_second: f64,
    gap: Vec<Weighted<Bytes>>,
    size: Vec<Weighted<Bytes>>,
    min: u32,
    max: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PathFile {
    #[serde(rename = "name")]
    _name: String,
    share: f64,
    rtt_ms: f64,
    jitter_ms: f64,
}

impl ModelFile {
    fn checked(self) -> Result<Mmo, String> {
        if !(1..=200_000).contains(&self.connections) {
            return Err("`connections`: allowed are 1 to 200000".into());
        }
        let paths = self.path.iter().map(|path| {
            let sound = path.share > 0.0 && path.share.is_finite();
            let times = [path.rtt_ms, path.jitter_ms].iter().all(|time| (0.0..=60_000.0).contains(time));
            if !(sound && times) {
                return Err("`path`: required are a share above 0 and times of 0 to 60000 ms".into());
            }
            let millis = |value: f64| Duration::from_secs_f64(value / 1e3);
            Ok(PlayerPath { share: path.share, rtt: millis(path.rtt_ms), jitter: millis(path.jitter_ms) })
        });
        let paths = paths.collect::<Result<_, String>>()?;
        let about = self.about()?;
        let (server, client) = (writes(self.server, "server")?, writes(self.client, "client")?);
        Ok(Mmo {
            about,
            connections: self.connections,
            tcp: self.tcp.map(|stack| stack.0),
            streams: MmoModel { server, client },
            paths,
        })
    }
}

fn writes(file: Writes, side: &str) -> Result<WriteModel, String> {
    let named = |key: &'static str| move |why: String| format!("`{side}.{key}`: {why}");
    if !(1 <= file.min && file.min <= file.max && file.max <= LARGEST_WRITE) {
        return Err(format!("`{side}`: required is 1 ≤ min ≤ max ≤ {LARGEST_WRITE} (bytes)"));
    }
    if !(file.most_per_second > 0.0 && file.most_per_second.is_finite()) {
        return Err(format!("`{side}.most_per_second`: this must be above 0"));
    }
    Ok(WriteModel {
        rate_per_s: positive(file.writes_per_second.into()).map_err(named("writes_per_second"))?,
        most_per_s: file.most_per_second,
        gap: Mixture::new(&mixture(file.gap).map_err(named("gap"))?),
        size: Mixture::new(&mixture(file.size).map_err(named("size"))?),
        min: file.min,
        max: file.max,
    })
}

/// Largest write of a thin stream, in bytes.
const LARGEST_WRITE: u32 = 65_536;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_model_is_refused_by_key() {
        let anarchy_online = include_str!("../../../../models/mmo/anarchy-online.toml");
        let cases = [
            ("connections = 175", "connections = 0", "`connections`: allowed are 1 to 200000"),
            (
                "most_per_second = 3.0",
                "most_per_second = 0",
                "`server.most_per_second`: this must be above 0",
            ),
            ("share = 0.16", "share = -1", "`path`: required are a share above 0 and times of 0 to 60000 ms"),
            ("weight = 0.58", "weight = 0", "`server.gap`: a weight must be above 0"),
        ];
        for (before, after, message) in cases {
            assert_eq!(Mmo::parse(&anarchy_online.replace(before, after)).unwrap_err(), message);
        }
    }
}
