//! The models that ship under `models/`: games, cloud games and games over TCP.

use gamelane_core::Catalogued;

use super::cloud::CloudGame;
use super::games::Game;
use super::mmos::Mmo;
use super::model_file::{About, Quality};
use super::ports::Ports;
use super::source::Sources;

/// A shipped model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelInfo {
    /// The `app` of its flows.
    pub app: &'static str,
    /// Name in a scenario.
    pub name: &'static str,
    /// Name for readers.
    pub title: &'static str,
    /// Where each of its numbers comes from.
    pub sources: &'static Sources,
    /// Default number of players; `None` for a cloud game, which has one.
    pub players: Option<u32>,
    /// Ports of its servers.
    pub ports: &'static [Ports],
    /// Round trip times that its players accept.
    pub quality: Option<Quality>,
    /// Kind of device that plays it.
    pub host: Option<&'static str>,
    /// TCP stack of its servers.
    pub tcp: Option<&'static str>,
    /// Limits to know before quoting a result of this model.
    pub notes: &'static str,
}

impl ModelInfo {
    fn new(app: &'static str, about: &'static About) -> Self {
        Self {
            app,
            name: &about.name,
            title: &about.title,
            sources: &about.sources,
            players: None,
            ports: &about.ports,
            quality: about.quality,
            host: about.host.map(|host| host.word()),
            tcp: None,
            notes: &about.notes,
        }
    }
}

/// All shipped models, by application and name.
pub fn models() -> Vec<ModelInfo> {
    let matches = Game::all()
        .iter()
        .map(|game| ModelInfo { players: Some(game.players), ..ModelInfo::new("game", &game.about) });
    let clouds = CloudGame::all().iter().map(|game| ModelInfo::new("cloud", &game.about));
    let mmos = Mmo::all().iter().map(|mmo| ModelInfo {
        players: Some(mmo.connections),
        tcp: mmo.tcp.map(|stack| stack.word()),
        ..ModelInfo::new("mmo", &mmo.about)
    });
    matches.chain(clouds).chain(mmos).collect()
}

#[cfg(test)]
mod tests {
    use super::super::shipped::{MODELS, texts};
    use super::*;

    /// Reading also checks that each number has a source.
    #[test]
    fn every_file_is_shipped_and_sound_under_its_own_name() {
        let models = models();
        for (app, folder) in [("game", ""), ("cloud", "cloud"), ("mmo", "mmo")] {
            let names: Vec<_> =
                models.iter().filter(|model| model.app == app).map(|model| model.name).collect();
            let files: Vec<_> = texts(&MODELS, folder, "toml").into_iter().map(|(name, _)| name).collect();
            let on_disk =
                std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/").to_owned() + folder);
            let on_disk = on_disk.unwrap().filter(|entry| {
                entry.as_ref().unwrap().path().extension().is_some_and(|ending| ending == "toml")
            });
            assert_eq!(names, files);
            assert_eq!(on_disk.count(), files.len(), "models/{folder}: build.rs does not watch it");
        }
    }

    #[test]
    fn names_are_unique_and_each_has_notes() {
        let mut names: Vec<_> = models().iter().map(|model| model.name).collect();
        assert!(names.contains(&"quake3") && names.contains(&"ut-2-3") && names.contains(&"anarchy-online"));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), models().len());
        assert!(models().iter().all(|model| !model.notes.is_empty()));
    }
}
