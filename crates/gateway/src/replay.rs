//! A recording of [`crate::tap`] once more, without interfaces and without a clock: its frames go into a gateway of the same
//! seed, each call is made at its recorded moment, and every decision is compared: which frame leaves when, what is dropped
//! and why, what is written into frames. What differs is counted, and the first difference told.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use gamelane_capture::{CaptureError, RawCapture};
use gamelane_core::{Direction, DropReason, Instant, Seed};
use gamelane_scenario::ScenarioError;
use serde::Serialize;

use crate::frames::{FrameId, Frames};
use crate::gateway::Gateway;
use crate::plane::Plane as _;
use crate::policy::Policy;
use crate::tap::log::{self, Event};
use crate::tap::{About, Point, about};

/// Why a recording cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// No recording.
    #[error("no recording: {0}")]
    Missing(std::io::Error),
    /// It was rotated.
    #[error(
        "the beginning of this recording was deleted (--tap-rotate), and with it the state of the queues: its frames can be \
         looked at, not replayed"
    )]
    Rotated,
    /// A part of it.
    #[error("{path}: {problem}")]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A policy, the recorded or the one given.
    #[error(transparent)]
    Policy(#[from] ScenarioError),
    /// The frames.
    #[error(transparent)]
    Frames(#[from] CaptureError),
}

/// What came of a replay, schema 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Of this document.
    pub schema: u32,
    /// Name of the policy it began with.
    pub policy: String,
    /// That policy's hash.
    pub policy_hash: String,
    /// Hash of the policy that was recorded.
    pub recorded_hash: String,
    /// No decision differs.
    pub identical: bool,
    /// Calls made.
    pub calls: u64,
    /// Frames fed.
    pub frames: u64,
    /// Frames that left, as recorded.
    pub left: u64,
    /// Frames dropped, as recorded.
    pub dropped: u64,
    /// Windows lowered, as replayed.
    pub windows_lowered: u64,
    /// Policies that came after the first.
    pub reloads: u64,
    /// Until when it was checked, in seconds since the start.
    pub until_s: f64,
    /// Why the check ended there.
    pub ended: Ended,
    /// What differs.
    pub differences: Differences,
    /// The first difference.
    pub first: Option<String>,
}

/// How a recording ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// With the gateway.
    Whole,
    /// Before it: the gateway was killed, or the recording reached its size.
    Cut,
    /// Something is missing from here on: the disk was too slow.
    Lost,
}

/// Decisions that differ, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Differences {
    /// Another frame left, or one did or did not.
    pub left: u64,
    /// Another frame was dropped, or for another reason, or was or was not.
    pub dropped: u64,
    /// The same frame left with other bytes: a window, a congestion mark.
    pub bytes: u64,
}

impl Report {
    /// For people.
    pub fn describe(&self) -> String {
        let mut out = String::new();
        let verdict = if self.identical { "identical" } else { "differs" };
        let recorded =
            if self.policy_hash == self.recorded_hash { "as recorded" } else { "not the one recorded" };
        let _ = writeln!(out, "{verdict}: policy {} ({}), {recorded}", self.policy, self.policy_hash);
        let _ = writeln!(
            out,
            "{} calls, {} frames, {} left, {} dropped, {} windows lowered, {} reloads, until {:.3} s",
            self.calls,
            self.frames,
            self.left,
            self.dropped,
            self.windows_lowered,
            self.reloads,
            self.until_s
        );
        let Differences { left, dropped, bytes } = self.differences;
        if !self.identical {
            let _ = writeln!(
                out,
                "differences: {left} in what leaves, {dropped} in what is dropped, {bytes} in bytes"
            );
        }
        if let Some(first) = &self.first {
            let _ = writeln!(out, "the first: {first}");
        }
        match self.ended {
            Ended::Whole => {}
            Ended::Cut => out
                .push_str("the recording ends before the gateway did: it reached its size, or was killed\n"),
            Ended::Lost => {
                out.push_str("checked up to there only: the disk was too slow for what followed\n")
            }
        }
        out
    }
}

/// Replays the recording in `folder`. `policy` takes the place of the one it began with, with the same overrides.
///
/// # Errors
/// If there is no whole recording, or a policy is refused.
pub fn replay(folder: &Path, policy: Option<&Path>) -> Result<Report, ReplayError> {
    let about = About::read(folder).map_err(ReplayError::Missing)?;
    let first = about::policy(folder, 0);
    let policy = Policy::load(policy.unwrap_or(&first), &about.overrides)?;
    let mut replay = Replay::new(folder, about, &policy)?;
    while let Some(event) = replay.next_event()? {
        if !replay.repeat(event)? {
            break;
        }
    }
    Ok(replay.finish())
}

struct Replay<'a> {
    recording: Recording<'a>,
    about: About,
    gateway: Gateway,
    frames: Frames,
    /// By place in the pool: the number of the frame there.
    numbers: Box<[u64]>,
    zeros: Box<[u8]>,
    now: Instant,
    /// The next, if it was looked at already.
    peeked: Option<Event>,
    report: Report,
}

impl<'a> Replay<'a> {
    fn new(folder: &'a Path, about: About, policy: &Policy) -> Result<Self, ReplayError> {
        let [count, slot] = about.pool;
        let path = folder.join(about::ABOUT);
        let count =
            u32::try_from(count).ok().filter(|count| (*count as usize).saturating_mul(slot) <= MOST_MEMORY);
        let Some(count) = count else {
            return Err(ReplayError::Damaged { path, problem: "it has no such room for frames".into() });
        };
        let mut gateway = Gateway::new(policy, Seed(about.seed));
        gateway.watch_drops();
        let report = Report {
            schema: 1,
            policy: policy.name.clone(),
            policy_hash: policy.hash.clone(),
            recorded_hash: about.policy_hash.clone(),
            identical: false,
            calls: 0,
            frames: 0,
            left: 0,
            dropped: 0,
            windows_lowered: 0,
            reloads: 0,
            until_s: 0.0,
            ended: Ended::Cut,
            differences: Differences::default(),
            first: None,
        };
        Ok(Self {
            recording: Recording::open(folder)?,
            about,
            gateway,
            frames: Frames::new(count, slot),
            numbers: vec![0; count as usize].into(),
            zeros: vec![0; slot].into(),
            now: Instant::ZERO,
            peeked: None,
            report,
        })
    }

    fn next_event(&mut self) -> Result<Option<Event>, ReplayError> {
        match self.peeked.take() {
            Some(event) => Ok(Some(event)),
            None => self.recording.next_event(),
        }
    }

    /// Makes a call again and compares; false at the end.
    fn repeat(&mut self, event: Event) -> Result<bool, ReplayError> {
        self.report.calls += u64::from(!matches!(event, Event::Now(_)));
        match event {
            Event::Now(now) => self.now = now,
            Event::Timeout => self.gateway.handle_timeout(&mut self.frames, self.now),
            Event::Arrived(direction) => {
                if !self.feed(direction)? {
                    return Ok(false);
                }
            }
            Event::Left(direction, number) => {
                self.report.left += 1;
                if !self.compare_left(direction, number)? {
                    return Ok(false);
                }
            }
            Event::Nothing(direction) => {
                if let Some(frame) = self.gateway.poll_transmit(direction, &mut self.frames, self.now) {
                    let number = self.numbers[frame.index()];
                    self.report.differences.left += 1;
                    self.note(|| format!("frame {number} leaves {}, recorded: nothing", direction.name()));
                    self.frames.give_back(frame);
                }
            }
            // A drop that no call of the replay made.
            Event::Dropped(direction, number, reason) => {
                self.report.dropped += 1;
                self.recording.skip_frame()?;
                self.compare_drop(Some((direction, number, reason)), None);
            }
            Event::NoRoom(direction) => self.gateway.no_room(direction),
            Event::NotSent(direction) => self.gateway.not_sent(direction),
            Event::Reloaded(number) => {
                self.report.reloads += 1;
                let policy =
                    Policy::load(&about::policy(self.recording.folder, number), &self.about.overrides)?;
                self.gateway.reload(&policy, self.now);
            }
            Event::Lost(_) => {
                self.report.ended = Ended::Lost;
                return Ok(false);
            }
            Event::End => {
                self.report.ended = Ended::Whole;
                return Ok(false);
            }
        }
        self.compare_drops()?;
        Ok(true)
    }

    /// Gives the recorded frame to the gateway. What the snap length cut off is zeros: no decision looks at it.
    fn feed(&mut self, direction: Direction) -> Result<bool, ReplayError> {
        let Self { recording, frames, zeros, .. } = self;
        let Some((bytes, len)) = recording.frame(Point::In, direction)? else { return Ok(false) };
        let missing = zeros.get(..len.saturating_sub(bytes.len()));
        let id = missing.and_then(|missing| frames.fill([bytes, missing, &[]]));
        let number = self.report.frames;
        self.report.frames += 1;
        match id {
            Some(id) => {
                self.numbers[id.index()] = number;
                self.gateway.handle_frame(direction, id, &mut self.frames, self.now);
            }
            None => {
                self.report.differences.left += 1;
                self.note(|| format!("frame {number} finds no room, recorded: it did"));
            }
        }
        Ok(true)
    }

    fn compare_left(&mut self, direction: Direction, number: u64) -> Result<bool, ReplayError> {
        let got = self.gateway.poll_transmit(direction, &mut self.frames, self.now);
        let Some((bytes, len)) = self.recording.frame(Point::Out, direction)? else { return Ok(false) };
        let got_number = got.map(|id| self.numbers[id.index()]);
        let way = direction.name();
        if got_number != Some(number) {
            self.report.differences.left += 1;
            let got = got_number.map_or("nothing".into(), |number| format!("frame {number}"));
            self.note(|| format!("{got} leaves {way}, recorded: frame {number}"));
        } else if let Some(id) = got {
            let ours = self.frames.bytes(id);
            if ours.len() != len || ours.get(..bytes.len()) != Some(bytes) {
                let at = ours.iter().zip(bytes).position(|(ours, theirs)| ours != theirs);
                self.report.differences.bytes += 1;
                self.note(|| format!("frame {number} leaves {way} with another byte {at:?}"));
            }
        }
        if let Some(id) = got {
            self.frames.give_back(id);
        }
        Ok(true)
    }

    /// What the call just made dropped, beside what was recorded behind it.
    fn compare_drops(&mut self) -> Result<(), ReplayError> {
        let numbers = &self.numbers;
        let number = |frame: FrameId| numbers[frame.index()];
        let ours: Vec<Dropping> = self
            .gateway
            .drain_drops()
            .map(|dropped| (dropped.direction, number(dropped.frame), dropped.reason))
            .collect();
        let mut ours = ours.into_iter();
        loop {
            match self.next_event()? {
                Some(Event::Dropped(direction, number, reason)) => {
                    self.report.dropped += 1;
                    self.recording.skip_frame()?;
                    self.compare_drop(Some((direction, number, reason)), ours.next());
                }
                other => {
                    self.peeked = other;
                    break;
                }
            }
        }
        // After a loss or the end nobody knows what the last call dropped.
        if matches!(self.peeked, Some(Event::Lost(_)) | None) {
            return Ok(());
        }
        for extra in ours {
            self.compare_drop(None, Some(extra));
        }
        Ok(())
    }

    fn compare_drop(&mut self, recorded: Option<Dropping>, ours: Option<Dropping>) {
        if recorded == ours {
            return;
        }
        self.report.differences.dropped += 1;
        let say = |dropping: Option<Dropping>| match dropping {
            None => "nothing dropped".into(),
            Some((way, number, reason)) => {
                format!("frame {number} dropped {}: {}", way.name(), reason.name())
            }
        };
        self.note(|| format!("{}, recorded: {}", say(ours), say(recorded)));
    }

    fn note(&mut self, what: impl FnOnce() -> String) {
        if self.report.first.is_none() {
            self.report.first = Some(format!("at {:.9} s {}", self.now.as_secs_f64(), what()));
        }
    }

    fn finish(self) -> Report {
        let Differences { left, dropped, bytes } = self.report.differences;
        Report {
            identical: left + dropped + bytes == 0,
            until_s: self.now.as_secs_f64(),
            windows_lowered: self.gateway.voap().map_or(0, |voap| voap.lowered),
            ..self.report
        }
    }
}

/// A frame, where it was going, and why it was dropped.
type Dropping = (Direction, u64, DropReason);

/// The parts of a recording, one after the other.
struct Recording<'a> {
    folder: &'a Path,
    part: u64,
    log: Vec<u8>,
    /// Read of it.
    read: usize,
    frames: RawCapture,
}

impl<'a> Recording<'a> {
    fn open(folder: &'a Path) -> Result<Self, ReplayError> {
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

    /// The next, of this part or the part after it; `None` at the end of the last.
    fn next_event(&mut self) -> Result<Option<Event>, ReplayError> {
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

    /// The next frame, as much of it as there is, and how long it was; `None` where the file was cut by a kill.
    fn frame(&mut self, point: Point, direction: Direction) -> Result<Option<(&[u8], usize)>, ReplayError> {
        let path = about::frames(self.folder, self.part);
        match self.frames.next_frame() {
            Ok(Some(frame)) if frame.interface == point.interface(direction) => {
                Ok(Some((frame.bytes, frame.original_len as usize)))
            }
            Ok(Some(frame)) => Err(ReplayError::Damaged {
                path,
                problem: format!(
                    "a frame of interface {} where {point:?} {direction:?} was to be",
                    frame.interface
                ),
            }),
            Ok(None) | Err(CaptureError::Truncated { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn skip_frame(&mut self) -> Result<(), ReplayError> {
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
            problem: "no log of decisions, or of another version".into(),
        });
    }
    Ok((log, RawCapture::open(&about::frames(folder, part))?))
}

/// Of frames, at once.
const MOST_MEMORY: usize = 8 << 30;
