//! Reads a recording: its events and frames, one part after the other.

use std::fs;
use std::path::{Path, PathBuf};

use gamelane_capture::{CaptureError, RawCapture};
use gamelane_core::{Direction, Instant};
use gamelane_scenario::ScenarioError;

use crate::tap::log::{self, Event};
use crate::tap::{Point, about};

/// Why a recording cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// There is no recording.
    #[error("no recording: {0}")]
    Missing(std::io::Error),
    /// It was rotated.
    #[error(
        "the start of this recording was deleted (--tap-rotate), and the state of the queues with it: its frames can be \
         viewed, but not replayed\n  hint:    record without --tap-rotate and with a larger --tap-size; \
         `gamelane analyze` explains the frames of this one"
    )]
    Rotated,
    /// It is of Linux's queues.
    #[error(
        "these are decisions of Linux, and they cannot be repeated\n  hint:    `gamelane report DIR` shows what they did"
    )]
    OfLinux,
    /// A file of it is damaged.
    #[error("{path}: {problem}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Records were asked for, and this version of the program decides otherwise than the recorded one.
    #[error(
        "the replay differs ({first}), so its records would not be those of the run\n  hint:    {}",
        if version == env!("CARGO_PKG_VERSION") {
            "the recording was changed or is damaged; `gamelane-gateway replay DIR` counts the differences".into()
        } else {
            format!("it was recorded by gamelane {version}; use that version")
        }
    )]
    Differs {
        /// The first difference.
        first: String,
        /// Version that recorded.
        version: String,
    },
    /// A policy is refused, a recorded one or the one given.
    #[error(transparent)]
    Policy(#[from] ScenarioError),
    /// The frames cannot be read.
    #[error(transparent)]
    Frames(#[from] CaptureError),
}

/// The parts of a recording, one after the other.
pub(super) struct Recording<'a> {
    pub(super) folder: &'a Path,
    part: u64,
    log: Vec<u8>,
    /// Bytes of it that were read.
    read: usize,
    frames: RawCapture,
}

impl<'a> Recording<'a> {
    pub(super) fn open(folder: &'a Path) -> Result<Self, ReplayError> {
        if !about::decisions(folder, 0).exists()
            && fs::read_dir(folder).is_ok_and(|mut files| {
                files.any(|file| {
                    file.is_ok_and(|file| file.path().extension().is_some_and(|kind| kind == "log"))
                })
            })
        {
            return Err(ReplayError::Rotated);
        }
        let (log, frames) = open_part(folder, 0)?;
        Ok(Self { folder, part: 0, log, read: log::MAGIC.len(), frames })
    }

    /// Returns the next event, of this part or the next one; `None` at the end.
    pub(super) fn next_event(&mut self) -> Result<Option<Event>, ReplayError> {
        loop {
            let mut rest = &self.log[self.read..];
            if let Some(event) = log::read(&mut rest) {
                self.read = self.log.len() - rest.len();
                return Ok(Some(event));
            }
            if !rest.is_empty() || !about::decisions(self.folder, self.part + 1).exists() {
                return Ok(None);
            }
            self.part += 1;
            (self.log, self.frames) = open_part(self.folder, self.part)?;
            self.read = log::MAGIC.len();
        }
    }

    /// Checks a moment that was just read: none goes back, or is far from the start.
    pub(super) fn check_moment(&self, before: Instant, now: Instant) -> Result<(), ReplayError> {
        if (before..=LAST_MOMENT).contains(&now) {
            return Ok(());
        }
        let (now, before) = (now.as_secs_f64(), before.as_secs_f64());
        Err(self.damaged(format!("a moment of {now} s after {before} s")))
    }

    /// What is wrong with the decisions that were just read.
    pub(super) fn damaged(&self, problem: String) -> ReplayError {
        ReplayError::Damaged { path: about::decisions(self.folder, self.part), problem }
    }

    /// Returns the recorded bytes of the next frame and its length; `None` where the file was cut by a kill.
    pub(super) fn frame(
        &mut self,
        point: Point,
        direction: Direction,
    ) -> Result<Option<(&[u8], usize)>, ReplayError> {
        let path = about::frames(self.folder, self.part);
        match self.frames.next_frame() {
            Ok(Some(frame)) if frame.interface == point.interface(direction) => {
                Ok(Some((frame.bytes, frame.original_len as usize)))
            }
            Ok(Some(frame)) => Err(ReplayError::Damaged {
                path,
                problem: format!(
                    "a frame of interface {} instead of {point:?} {direction:?}",
                    frame.interface
                ),
            }),
            Ok(None) | Err(CaptureError::Truncated { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn skip_frame(&mut self) -> Result<(), ReplayError> {
        match self.frames.next_frame() {
            Ok(_) | Err(CaptureError::Truncated { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn open_part(folder: &Path, part: u64) -> Result<(Vec<u8>, RawCapture), ReplayError> {
    let path = about::decisions(folder, part);
    let log = fs::read(&path).map_err(ReplayError::Missing)?;
    if !log.starts_with(log::MAGIC) {
        return Err(ReplayError::Damaged {
            path,
            problem: "not a log of decisions, or of another version".into(),
        });
    }
    Ok((log, RawCapture::open(&about::frames(folder, part))?))
}

/// Latest moment of a recording that can be: 30 days after its start.
const LAST_MOMENT: Instant = Instant::from_nanos(30 * 86_400 * 1_000_000_000);
