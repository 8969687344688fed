//! Cloud games: the files of `models/cloud/`, which the program contains. Rates count IP packets, sizes are UDP
//! payload.

use std::sync::LazyLock;

use gamelane_core::Bitrate;
use gamelane_traffic::config::CloudConfig;
use serde::Deserialize;

use super::error::Fault;
use super::model_file::{self, About, model_file};
use super::shipped;

/// A shipped cloud game.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CloudGame {
    pub(crate) about: About,
    pub(crate) config: CloudConfig,
}

impl CloudGame {
    /// All shipped models, by name.
    pub(crate) fn all() -> &'static [Self] {
        static GAMES: LazyLock<Vec<CloudGame>> = LazyLock::new(|| shipped::models("cloud", CloudGame::parse));
        &GAMES
    }

    /// Finds a shipped model.
    pub(crate) fn shipped(name: &str) -> Result<&'static Self, Fault> {
        Self::all().iter().find(|game| game.about.name == name).ok_or_else(|| {
            Fault::new("no such cloud game")
                .one_of(name, Self::all().iter().map(|game| game.about.name.as_str()))
        })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let file: ModelFile = model_file::sourced(text, &[])?;
        let about = file.about()?;
        let ModelFile { video, input, .. } = file;
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
        Ok(Self { about, config })
    }
}

model_file! {
    /// `models/cloud/*.toml` as written.
    ModelFile {
        video: Video,
        input: Input,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Video {
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
    rate_kbit: u64,
    payload: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn onlives_games_have_the_rates_of_table_one() {
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
        let rome = include_str!("../../../../models/cloud/rome.toml");
        for (before, after) in [("fps = 30", "fps = 0"), ("payload = 1000", "payload = 2000")] {
            let refused = CloudGame::parse(&rome.replace(before, after)).unwrap_err();
            assert_eq!(refused, "a number is out of range");
        }
    }
}
