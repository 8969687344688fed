//! Cloud games: the files of `models/cloud/`, which the program contains. Rates count IP packets, sizes are UDP
//! payload.

use std::sync::LazyLock;

use gamelane_core::Bitrate;
use gamelane_traffic::config::CloudConfig;
use serde::Deserialize;

use super::error::Fault;

/// A shipped cloud game.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CloudGame {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) provenance: String,
    pub(crate) notes: String,
    pub(crate) config: CloudConfig,
}

impl CloudGame {
    /// All shipped models, by name.
    pub(crate) fn all() -> &'static [Self] {
        static GAMES: LazyLock<Vec<CloudGame>> = LazyLock::new(|| {
            let read =
                |text| CloudGame::parse(text).expect("shipped models are parsed by a test of this module");
            SHIPPED.into_iter().map(read).collect()
        });
        &GAMES
    }

    /// Finds a shipped model.
    pub(crate) fn shipped(name: &str) -> Result<&'static Self, Fault> {
        Self::all().iter().find(|game| game.name == name).ok_or_else(|| {
            Fault::new("no such cloud game").one_of(name, Self::all().iter().map(|game| game.name.as_str()))
        })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let file: ModelFile = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        let ModelFile { name, title, provenance, notes, video, input } = file;
        let sound = video.rate_kbit > 0
            && input.rate_kbit > 0
            && (1..=240).contains(&video.fps)
            && (1..=1472).contains(&video.payload)
            && (1..=1472).contains(&input.payload)
            && (0.0..=2.0).contains(&video.variation)
            && (1.0..=100.0).contains(&video.key_frame_size);
        if !sound {
            return Err("a number is out of range".into());
        }
        let config = CloudConfig {
            rate: Bitrate::from_bps(video.rate_kbit * 1000),
            frames_per_second: video.fps,
            payload: video.payload,
            variation: video.variation,
            key_frame_every: video.key_frame_every.filter(|every| *every > 1),
            key_frame_size: video.key_frame_size,
            input_rate: Bitrate::from_bps(input.rate_kbit * 1000),
            input_payload: input.payload,
        };
        Ok(Self { name, title, provenance, notes, config })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelFile {
    name: String,
    title: String,
    provenance: String,
    notes: String,
    video: Video,
    input: Input,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Video {
    #[serde(rename = "provenance")]
    _provenance: String,
    rate_kbit: u64,
    fps: u32,
    payload: u32,
    variation: f64,
    key_frame_every: Option<u32>,
    key_frame_size: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    #[serde(rename = "provenance")]
    _provenance: String,
    rate_kbit: u64,
    payload: u32,
}

const SHIPPED: [&str; 5] = [
    include_str!("../../../../models/cloud/rome.toml"),
    include_str!("../../../../models/cloud/rome-1-3.toml"),
    include_str!("../../../../models/cloud/rome-2-3.toml"),
    include_str!("../../../../models/cloud/ut-1-3.toml"),
    include_str!("../../../../models/cloud/ut-2-3.toml"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_shipped_and_sound_and_has_the_rates_of_table_one() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/cloud");
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), SHIPPED.len());
        for text in SHIPPED {
            CloudGame::parse(text).unwrap();
        }
        let kbit = |name| {
            let config = CloudGame::shipped(name).unwrap().config;
            (config.rate.bps() / 1000, config.input_rate.bps() / 1000)
        };
        // palazzi-voap Table I. It has no row of Unreal Tournament without a limit.
        assert_eq!(kbit("ut-2-3"), (4200, 125));
        assert_eq!(kbit("ut-1-3"), (2000, 125));
        assert_eq!(kbit("rome"), (3817, 100));
        assert_eq!(kbit("rome-2-3"), (2500, 100));
        assert_eq!(kbit("rome-1-3"), (1270, 100));
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        assert!(CloudGame::parse(&SHIPPED[0].replace("fps = 30", "fps = 0")).is_err());
        assert!(CloudGame::parse(&SHIPPED[0].replace("payload = 1000", "payload = 2000")).is_err());
    }
}
