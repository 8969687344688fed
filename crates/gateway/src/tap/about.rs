//! Description of a recording (`tap.json`), and the names of its files.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// A folder that is empty or does not exist.
    pub folder: PathBuf,
    /// Bytes kept of each frame.
    pub snap: u32,
    /// Most bytes on disk.
    pub size: u64,
    /// What to do when it has that size.
    pub when_full: WhenFull,
}

/// What to do when a recording has reached its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// Stop recording. The recording can be replayed.
    Stop,
    /// Delete the oldest eighth. The recording can be looked at but not replayed: the state of the queues at its start is gone.
    Rotate,
}

/// Default bytes kept of a frame: enough for every header of a VLAN or PPPoE, IPv6 and TCP with options.
pub const SNAP: u32 = 160;

/// The run that was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Version of this document.
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// Name of the first policy.
    pub policy: String,
    /// Hash of the first policy.
    pub policy_hash: String,
    /// Keys and values that override the policy's.
    pub overrides: Vec<(String, String)>,
    /// Seed of the gateway's random streams.
    pub seed: u64,
    /// When the gateway's clock started, in nanoseconds since 1970.
    pub epoch_ns: u64,
    /// Bytes kept of each frame.
    pub snap: u32,
    /// Interfaces towards the home and the internet; of Linux's queues, those where packets queue, down and up.
    pub interfaces: [String; 2],
    /// Whose queues they were.
    #[serde(default)]
    pub engine: EngineKind,
    /// Number of frames in the pool, and bytes of each; zeros for Linux's queues.
    pub pool: [usize; 2],
}

/// Whose queues were recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineKind {
    /// Those of the gateway. Their decisions can be repeated.
    #[default]
    User,
    /// Those of Linux. What they decided is recorded.
    Kernel,
}

impl About {
    /// Reads the description of a recording.
    ///
    /// # Errors
    /// If there is none, or it has another schema.
    pub fn read(folder: &Path) -> Result<Self> {
        let text = fs::read_to_string(folder.join(ABOUT))?;
        let about: Self = serde_json::from_str(&text)?;
        if about.schema != SCHEMA {
            let message = format!("its schema is {}; this program reads schema {SCHEMA}", about.schema);
            return Err(Error::new(ErrorKind::InvalidData, message));
        }
        Ok(about)
    }
}

/// Version of `tap.json` and of the log.
pub const SCHEMA: u32 = 1;
pub(crate) const ABOUT: &str = "tap.json";

/// File of a policy.
pub fn policy(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("policy-{number:04}.toml"))
}

/// File of a part's frames.
pub fn frames(folder: &Path, part: u64) -> PathBuf {
    folder.join(format!("frames-{part:04}.pcapng"))
}

/// File of a part's log.
pub fn decisions(folder: &Path, part: u64) -> PathBuf {
    folder.join(format!("decisions-{part:04}.log"))
}

/// Checks that a recording may go there.
///
/// # Errors
/// If the folder holds anything, or is not a folder.
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
