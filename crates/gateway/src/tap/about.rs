//! What a recording says of itself, `tap.json`, and where its parts lie.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Where to: a folder that is empty or not there yet.
    pub folder: PathBuf,
    /// Bytes kept of each frame.
    pub snap: u32,
    /// Bytes on disk at most.
    pub size: u64,
    /// What then.
    pub when_full: WhenFull,
}

/// What to do when a recording has reached its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// Record no more: what there is can be replayed.
    Stop,
    /// Delete the oldest eighth: what there is can be looked at, but its beginning, and so the state of the queues, is gone.
    Rotate,
}

/// Of a frame: what holds every header of one VLAN or PPPoE, IPv6 and TCP with options.
pub const SNAP: u32 = 160;

/// The run that was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Of this document.
    pub schema: u32,
    /// Of the program.
    pub version: String,
    /// The policy's name and hash at the beginning.
    pub policy: String,
    /// Changes when the policy does.
    pub policy_hash: String,
    /// Keys and values that were put over the policy's own.
    pub overrides: Vec<(String, String)>,
    /// Of the gateway's random streams.
    pub seed: u64,
    /// When the gateway's clock began, in nanoseconds since 1970.
    pub epoch_ns: u64,
    /// Bytes kept of each frame.
    pub snap: u32,
    /// Towards the home and the internet.
    pub interfaces: [String; 2],
    /// Frames the gateway had room for, and bytes of each.
    pub pool: [usize; 2],
}

impl About {
    /// Reads a recording's.
    ///
    /// # Errors
    /// If there is none, or of another schema.
    pub fn read(folder: &Path) -> Result<Self> {
        let text = fs::read_to_string(folder.join(ABOUT))?;
        let about: Self = serde_json::from_str(&text)?;
        if about.schema != SCHEMA {
            let message = format!("a recording of schema {}, and this reads {SCHEMA}", about.schema);
            return Err(Error::new(ErrorKind::InvalidData, message));
        }
        Ok(about)
    }
}

/// Of `tap.json` and the log.
pub const SCHEMA: u32 = 1;
pub(crate) const ABOUT: &str = "tap.json";

/// The policy of a number.
pub fn policy(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("policy-{number:04}.toml"))
}

/// The frames of a part.
pub fn frames(folder: &Path, part: u64) -> PathBuf {
    folder.join(format!("frames-{part:04}.pcapng"))
}

/// The log of a part.
pub fn decisions(folder: &Path, part: u64) -> PathBuf {
    folder.join(format!("decisions-{part:04}.log"))
}

/// Whether a recording may go there.
///
/// # Errors
/// If the folder holds anything, or is none.
pub fn check_folder(folder: &Path) -> Result<()> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(Error::new(ErrorKind::AlreadyExists, "it is not empty")),
        },
    }
}
