//! Replays a recording without interfaces and without a clock. Its frames go into a gateway with the same seed, each call is repeated
//! at its recorded time, and every decision is compared: which frame leaves when, what is dropped and why, what is written into
//! frames. Differences are counted, and the first one is described. [`recorded`] also hands what passed to the recorder.

mod feed;
mod recording;
mod report;
mod seen;

use std::path::Path;

use gamelane_core::{Direction, DropReason, Ecn, Instant, Seed};
use gamelane_device::{Frames, Headers, Plane as _};
use gamelane_policy::Policy;

use super::log::Event;
use super::{About, EngineKind, Point, about};
use crate::gateway::{DroppedFrame, Gateway};
use feed::Feed;
pub use feed::{NAMED, REST, Recorded, recorded};
use recording::Recording;
pub use recording::ReplayError;
pub use report::{Differences, Ended, Report};

/// Replays the recording in `folder`. `policy` replaces its first policy, with the same overrides.
///
/// # Errors
/// If there is no complete recording, or a policy is refused.
pub fn replay(folder: &Path, policy: Option<&Path>) -> Result<Report, ReplayError> {
    Ok(Replay::run(folder, policy, None)?.finish().1)
}

struct Replay<'a> {
    recording: Recording<'a>,
    about: About,
    gateway: Gateway,
    frames: Frames,
    /// By slot of the pool: the number of the frame there.
    numbers: Box<[u64]>,
    zeros: Box<[u8]>,
    now: Instant,
    /// The next event, if it was read ahead.
    peeked: Option<Event>,
    report: Report,
    /// Takes what passes, if records are wanted.
    feed: Option<Feed>,
}

impl<'a> Replay<'a> {
    /// Replays everything.
    fn run(folder: &'a Path, policy: Option<&Path>, feed: Option<Feed>) -> Result<Self, ReplayError> {
        let about = About::read(folder).map_err(ReplayError::Missing)?;
        if about.engine == EngineKind::Kernel {
            return Err(ReplayError::OfLinux);
        }
        let first = about::policy(folder, 0);
        let policy = Policy::load(policy.unwrap_or(&first), &about.overrides)?;
        let mut replay = Self { feed, ..Self::new(folder, about, &policy)? };
        while let Some(event) = replay.next_event()? {
            if !replay.repeat(event)? {
                break;
            }
        }
        Ok(replay)
    }

    fn new(folder: &'a Path, about: About, policy: &Policy) -> Result<Self, ReplayError> {
        let [count, slot] = about.pool;
        let path = folder.join(about::ABOUT);
        let count =
            u32::try_from(count).ok().filter(|count| (*count as usize).saturating_mul(slot) <= MOST_MEMORY);
        let Some(count) = count else {
            return Err(ReplayError::Damaged { path, problem: "`pool` is larger than 8 GiB".into() });
        };
        let mut gateway = Gateway::new(policy, Seed(about.seed));
        gateway.watch_drops();
        let report = Report::new(policy, &about);
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
            feed: None,
        })
    }

    fn next_event(&mut self) -> Result<Option<Event>, ReplayError> {
        match self.peeked.take() {
            Some(event) => Ok(Some(event)),
            None => self.recording.next_event(),
        }
    }

    /// Repeats a call and compares; false at the end.
    fn repeat(&mut self, event: Event) -> Result<bool, ReplayError> {
        self.report.calls += u64::from(!matches!(event, Event::Now(_)));
        match event {
            Event::Now(now) => {
                self.recording.check_moment(self.now, now)?;
                self.now = now;
                if let Some(feed) = &mut self.feed {
                    feed.sample(&self.gateway, now);
                }
            }
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
            // A drop that no call of the replay caused.
            Event::Dropped(direction, number, reason) => {
                self.report.dropped += 1;
                self.recording.skip_frame()?;
                self.compare_drop(Some((direction, number, reason)), None);
            }
            Event::NoRoom(direction) => self.gateway.no_room(direction),
            Event::NotSent(direction) => self.gateway.not_sent(direction),
            Event::StoodStill => self.gateway.stood_still(self.now),
            Event::Large(_) | Event::Home(_) | Event::Past => {
                return Err(self.recording.damaged("an event of Linux's queues".into()));
            }
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
        if let Some(feed) = &mut self.feed {
            feed.called(&self.gateway, self.now);
        }
        Ok(true)
    }

    /// Gives the recorded frame to the gateway. What the snap length cut off is replaced by zeros; no decision depends on it.
    fn feed(&mut self, direction: Direction) -> Result<bool, ReplayError> {
        let Self { recording, frames, zeros, feed, .. } = self;
        let Some((bytes, len)) = recording.frame(Point::In, direction)? else { return Ok(false) };
        // The MTU grew while it was recorded.
        if len > frames.slot() && len <= LONGEST && frames.lengthen(len) {
            *zeros = vec![0; len].into();
        }
        let missing = zeros.get(..len.saturating_sub(bytes.len()));
        let id = missing.and_then(|missing| frames.fill([bytes, missing, &[]]));
        let number = self.report.frames;
        self.report.frames += 1;
        match id {
            Some(id) => {
                self.numbers[id.index()] = number;
                if let Some(feed) = feed {
                    let headers = Headers::parse(frames.bytes(id));
                    feed.came(direction, id.index() as u64, 1, &headers, self.now);
                }
                self.gateway.handle_frame(direction, id, frames, self.now);
            }
            None => {
                self.report.differences.left += 1;
                self.note(|| format!("frame {number} finds no room, recorded: it arrived"));
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
            if let Some(feed) = &mut self.feed {
                let ip = Headers::parse(self.frames.bytes(id)).ip;
                let says_ce = ip.is_some_and(|ip| ip.ecn == Ecn::Ce);
                feed.left(direction, id.index() as u64, 1, says_ce, self.now);
            }
            self.frames.give_back(id);
        }
        Ok(true)
    }

    /// Compares what the last call dropped with what was recorded.
    fn compare_drops(&mut self) -> Result<(), ReplayError> {
        let Self { gateway, numbers, feed, now, .. } = self;
        let ours = gateway.drain_drops().map(|DroppedFrame { direction, frame, reason }| {
            if let Some(feed) = feed {
                feed.dropped(direction, frame.index() as u64, 1, reason, *now);
            }
            (direction, numbers[frame.index()], reason)
        });
        let ours: Vec<Dropping> = ours.collect();
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
        // Before a loss or the end, the recording may lack drops of the last call.
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

    fn finish(self) -> (Gateway, Report) {
        let Differences { left, dropped, bytes } = self.report.differences;
        let report = Report {
            identical: left + dropped + bytes == 0,
            until_s: self.now.as_secs_f64(),
            windows_lowered: self.gateway.voap().map_or(0, |voap| voap.lowered),
            ..self.report
        };
        (self.gateway, report)
    }
}

/// A dropped frame: its direction, its number, the reason.
type Dropping = (Direction, u64, DropReason);

/// Longest frame that a gateway takes: 64 KiB and what is around it.
const LONGEST: usize = 0xffff + 64;
/// Most memory for frames.
const MOST_MEMORY: usize = 8 << 30;
