//! Models of games over TCP: the files of `models/mmo/`, which the program contains, and model files of the same format
//! beside a scenario. Sizes are payload bytes of one write.

use std::sync::LazyLock;

use gamelane_core::dist::Mixture;
use gamelane_core::{Direction, Duration};
use gamelane_traffic::config::{MmoModel, WriteModel};
use serde::Deserialize;

use super::error::Fault;
use super::games::{Bytes, Weighted, mixture, positive};
use super::model_file;

/// A shipped model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MmoInfo {
    /// Name in a scenario.
    pub name: String,
    /// Name for readers.
    pub title: String,
    /// Source of its numbers.
    pub provenance: String,
    /// Default number of players.
    pub connections: u32,
    /// Limits to know before quoting a result of this model.
    pub notes: String,
}

/// The shipped models, by name.
pub fn mmos() -> &'static [MmoInfo] {
    static INFOS: LazyLock<Vec<MmoInfo>> =
        LazyLock::new(|| shipped().iter().map(|mmo| mmo.info.clone()).collect());
    &INFOS
}

/// A model with all values checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mmo {
    pub(crate) info: MmoInfo,
    pub(crate) connections: u32,
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
    /// Finds a shipped model.
    pub(crate) fn shipped(name: &str) -> Result<&'static Self, Fault> {
        shipped().iter().find(|mmo| mmo.info.name == name).ok_or_else(|| {
            let names = shipped().iter().map(|mmo| mmo.info.name.as_str());
            let fault = Fault::new("no such game over TCP").one_of(name, names);
            if fault.hint.is_none() {
                fault.hint("a model of your own is a file: model = \"NAME.toml\"")
            } else {
                fault
            }
        })
    }

    /// IP bits per second that one player's connection offers in one direction, without retransmissions and ACKs.
    pub(crate) fn offered_bps(&self, direction: Direction) -> f64 {
        let (rate, size) = self.writes(direction);
        rate * (size + TCP_HEADERS) * 8.0
    }

    /// Payload bits per second that one player's connection offers in one direction.
    pub(crate) fn payload_bps(&self, direction: Direction) -> f64 {
        let (rate, size) = self.writes(direction);
        rate * size * 8.0
    }

    /// Mean writes per second and their mean size in bytes.
    fn writes(&self, direction: Direction) -> (f64, f64) {
        let writes = if direction == Direction::Up { &self.streams.client } else { &self.streams.server };
        (writes.rate_per_s.mean().min(writes.most_per_s), writes.size.mean())
    }

    /// Reads a model file; the message names the key that is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        model_file::read::<ModelFile>(text)?.checked()
    }
}

fn shipped() -> &'static [Mmo] {
    static MMOS: LazyLock<Vec<Mmo>> = LazyLock::new(|| {
        let read = |text| Mmo::parse(text).expect("shipped models are parsed by a test of this module");
        SHIPPED.into_iter().map(read).collect()
    });
    &MMOS
}

/// `models/mmo/*.toml` as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelFile {
    name: String,
    title: String,
    provenance: String,
    notes: String,
    connections: u32,
    server: Writes,
    client: Writes,
    #[serde(default)]
    path: Vec<PathFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Writes {
    #[serde(rename = "provenance")]
    _provenance: String,
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
        let (server, client) = (writes(self.server, "server")?, writes(self.client, "client")?);
        Ok(Mmo {
            info: MmoInfo {
                name: self.name,
                title: self.title,
                provenance: self.provenance,
                connections: self.connections,
                notes: self.notes.trim().into(),
            },
            connections: self.connections,
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

/// Bytes of the IPv4 and TCP headers with timestamps.
const TCP_HEADERS: f64 = 52.0;
/// Largest write of a thin stream, in bytes.
const LARGEST_WRITE: u32 = 65_536;

const SHIPPED: [&str; 1] = [include_str!("../../../../models/mmo/anarchy-online.toml")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_in_models_is_shipped_and_sound() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mmo");
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".toml").map(String::from))
            .collect();
        names.sort();
        let shipped: Vec<&str> = mmos().iter().map(|mmo| mmo.name.as_str()).collect();
        assert_eq!(shipped, names);
    }

    #[test]
    fn an_invalid_model_is_refused_by_key() {
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
            assert_eq!(Mmo::parse(&SHIPPED[0].replace(before, after)).unwrap_err(), message);
        }
    }
}
