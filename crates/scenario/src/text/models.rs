//! The models that ship under `models/`: games, cloud games and games over TCP.

use super::cloud::CloudGame;
use super::games::games;
use super::mmos::mmos;

/// A shipped model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelInfo {
    /// The `app` of its flows.
    pub app: &'static str,
    /// Name in a scenario.
    pub name: &'static str,
    /// Name for readers.
    pub title: &'static str,
    /// Source of its numbers: `capture`, `literature`, `unverified` or `synthetic-default`.
    pub provenance: &'static str,
    /// Default number of players; `None` for a cloud game, which has one.
    pub players: Option<u32>,
    /// Limits to know before quoting a result of this model.
    pub notes: &'static str,
}

/// All shipped models, by application and name.
pub fn models() -> Vec<ModelInfo> {
    let matches = games().iter().map(|game| ModelInfo {
        app: "game",
        name: &game.name,
        title: &game.title,
        provenance: &game.provenance,
        players: Some(game.players),
        notes: &game.notes,
    });
    let clouds = CloudGame::all().iter().map(|game| ModelInfo {
        app: "cloud",
        name: &game.name,
        title: &game.title,
        provenance: &game.provenance,
        players: None,
        notes: &game.notes,
    });
    let mmos = mmos().iter().map(|mmo| ModelInfo {
        app: "mmo",
        name: &mmo.name,
        title: &mmo.title,
        provenance: &mmo.provenance,
        players: Some(mmo.connections),
        notes: &mmo.notes,
    });
    matches.chain(clouds).chain(mmos).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_each_says_where_it_comes_from() {
        let mut names: Vec<_> = models().iter().map(|model| model.name).collect();
        assert!(names.contains(&"quake3") && names.contains(&"ut-2-3") && names.contains(&"anarchy-online"));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), models().len());
        let known = ["capture", "literature", "unverified", "synthetic-default"];
        assert!(models().iter().all(|model| known.contains(&model.provenance) && !model.notes.is_empty()));
    }
}
