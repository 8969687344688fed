//! The files of `models/`: what all of them have, and how they are read.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toml::Table;

use super::deserialize::{Refused, deserialize};
use super::device::Device;
use super::error::Fault;
use super::ports::Ports;
use super::source::{self, Sources};

/// What every model says about itself.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct About {
    pub(super) name: String,
    pub(super) title: String,
    /// Limits to know before quoting a result of this model.
    pub(super) notes: String,
    pub(super) sources: Sources,
    pub(super) ports: Vec<Ports>,
    pub(super) quality: Option<Quality>,
    pub(super) host: Option<Device>,
}

/// Round trip times that players of this game accept, at the 99th percentile and with the whole path, in ms. Above
/// `bad_ms` the game is unplayable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Quality {
    /// Good up to this.
    pub good_ms: u32,
    /// Playable up to this.
    pub playable_ms: u32,
    /// Degraded up to this.
    pub bad_ms: u32,
}

impl Quality {
    /// Checks that the limits rise.
    pub(super) fn checked(self) -> Result<Self, String> {
        let rises = 0 < self.good_ms && self.good_ms < self.playable_ms && self.playable_ms < self.bad_ms;
        let sound = rises && self.bad_ms <= SLOWEST_MS;
        sound.then_some(self).ok_or_else(|| {
            format!("`quality`: required is 0 < good_ms < playable_ms < bad_ms ≤ {SLOWEST_MS}")
        })
    }
}

/// Declares a model file as written: the keys of every model, then those of one application.
macro_rules! model_file {
    ($(#[$doc:meta])* $file:ident { $($(#[$attribute:meta])* $key:ident: $type:ty,)+ }) => {
        $(#[$doc])*
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct $file {
            name: String,
            title: String,
            notes: String,
            #[serde(default)]
            ports: Vec<$crate::text::ports::Ports>,
            quality: Option<$crate::text::model_file::Quality>,
            host: Option<$crate::text::device::Device>,
            #[serde(default)]
            source: $crate::text::source::Sources,
            $($(#[$attribute])* $key: $type,)+
        }

        impl $file {
            /// What the file says about itself.
            fn about(&self) -> Result<$crate::text::model_file::About, String> {
                Ok($crate::text::model_file::About {
                    name: self.name.clone(),
                    title: self.title.clone(),
                    notes: self.notes.trim().into(),
                    sources: self.source.clone(),
                    ports: self.ports.clone(),
                    quality: self.quality.map(|quality| quality.checked()).transpose()?,
                    host: self.host,
                })
            }
        }

        impl $crate::text::model_file::Sourced for $file {
            fn sources(&self) -> &$crate::text::source::Sources {
                &self.source
            }
        }
    };
}

pub(super) use model_file;

/// A file with a table `[source]`.
pub(super) trait Sourced: DeserializeOwned {
    /// Where its numbers come from.
    fn sources(&self) -> &Sources;
}

/// Reads a file in which every number has a source, except those of the keys `words` at the top. The message of an error
/// names the key.
pub(super) fn sourced<T: Sourced>(text: &str, words: &[&str]) -> Result<T, String> {
    let table = parsed(text)?;
    refuse_provenance(&table)?;
    let words = [&["name", "title", "notes", "source"], words].concat();
    let figures = source::figures(&table, &words);
    let file: T = from_table(table)?;
    let checked = file.sources().check(&figures);
    checked.map_err(|fault| format!("`source`: {}", fault.on_one_line()))?;
    Ok(file)
}

/// Reads a TOML file. The message of an error names the key.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    from_table(parsed(text)?)
}

fn parsed(text: &str) -> Result<Table, String> {
    text.parse().map_err(|error: toml::de::Error| format!("not TOML: {}", error.message()))
}

fn from_table<T: DeserializeOwned>(table: Table) -> Result<T, String> {
    deserialize(table).map_err(|Refused { path, message }| {
        let key = match message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next()) {
            // The path ends at the table that lacks the key.
            Some(missing) => path.key(missing).to_string(),
            None => path.to_string(),
        };
        format!("`{key}`: {}", Fault::read(&message).on_one_line())
    })
}

fn refuse_provenance(table: &Table) -> Result<(), String> {
    let below = table.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_table()?)));
    if let Some((key, _)) = below.into_iter().find(|(_, table)| table.contains_key("provenance")) {
        return Err(format!("`{key}.provenance`: {}", source::instead_of_provenance(key).on_one_line()));
    }
    if table.contains_key("provenance") {
        return Err(format!("`provenance`: {}", source::instead_of_provenance("server").on_one_line()));
    }
    Ok(())
}

const SLOWEST_MS: u32 = 60_000;

#[cfg(test)]
mod tests {
    use crate::text::games::Game;

    #[test]
    fn what_a_model_says_about_itself_is_refused_by_key() {
        let quake3 = include_str!("../../../../models/quake3.toml");
        let refuse = |before: &str, after: &str| {
            assert!(quake3.contains(before), "{before}");
            Game::parse(&quake3.replace(before, after)).unwrap_err()
        };
        let with = |keys: &str| refuse("[server]\n", &format!("{keys}\n[server]\n"));
        let limits = |limits: &str| {
            let file = quake3.replace("[server]\n", &format!("quality = {{ {limits} }}\n[server]\n"));
            Game::parse(&(file + "quality = 'estimate: a'\n")).unwrap_err()
        };
        insta::assert_snapshot!(
            [
                with("ports = ['udp 7000..7500']"),
                with("ports = ['udp 7500..7000']"),
                with("ports = 'udp 7000'"),
                with("host = 'computer'"),
                with("prots = ['udp 7000']"),
                limits("good_ms = 50, playable_ms = 50, bad_ms = 150"),
                limits("good_ms = 50, playable_ms = 100"),
                with("tcp = 'linux-6.12'"),
                refuse("\"client.size\" = \"measured:", "\"client.size\" = \"measurd:"),
                refuse("\"client.size\"", "\"client.sizes\""),
                refuse("[source]\n", "[sources]\n"),
                refuse("title = ", "# title = "),
                with("provenance = 'capture'"),
                refuse("[client]\n", "[client]\nprovenance = 'from memory'\n"),
            ]
            .join("\n")
        );
    }
}
