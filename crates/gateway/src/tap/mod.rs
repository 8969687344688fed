//! A tap: records every call of the engine to the gateway and every decision, with its time, and the frames as they arrived, left or
//! were dropped. [`replay`](mod@replay) repeats the calls and compares the decisions; Wireshark opens the frames. Forwarding never
//! waits for the disk: what does not fit a bounded buffer is not recorded, and the loss is counted.
//!
//! ```text
//! DIR/tap.json               what ran: versions, seed, interfaces, limits
//! DIR/policy-0000.toml       the first policy; later ones have the next numbers
//! DIR/frames-0000.pcapng     frames in, out and dropped, cut to a snap length
//! DIR/decisions-0000.log     calls and decisions (`tap::log`); each event with a frame refers to the pcapng's next frame
//! ```

pub mod about;
mod folder;
pub mod log;
pub mod replay;
mod writer;

use std::io::{Result, Write as _};

use gamelane_capture::blocks::{self, Stamp};
use gamelane_core::headers::ETHERNET_HEADER;
use gamelane_core::{Direction, DropReason, Duration, Instant};
use gamelane_device::{FrameId, Frames, Plane, watch};
use gamelane_policy::Policy;
use serde::{Deserialize, Serialize};

use crate::gateway::Gateway;
use crate::watched::{self, Came, Outcome};
pub use about::{About, EngineKind, Options, WhenFull};
pub use folder::Folder;
use log::Event;
use writer::{Chunk, Writer};

/// The half of a tap in the forwarding thread.
#[derive(Debug)]
pub struct Tap {
    writer: Writer,
    chunk: Option<Chunk>,
    /// Start of the plane's clock, in nanoseconds since 1970.
    epoch_ns: u64,
    snap: usize,
    /// By slot of the pool: number and arrival of the frame there.
    came: Box<[(u64, Instant)]>,
    next_number: u64,
    now: Instant,
    /// Events lost since the last that was recorded.
    missing: u64,
    lost: u64,
}

/// State of a tap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TapStatus {
    /// Folder it writes to.
    pub folder: String,
    /// Frames that arrived while it ran.
    pub frames: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Events not recorded because the disk was too slow. The recording can be replayed up to the first.
    pub lost: u64,
    /// Whether it has reached its size and stopped.
    pub full: bool,
    /// Error that stopped it.
    pub error: Option<String>,
}

/// Where a frame was observed. Each point and direction is an interface of the pcapng, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// As it arrived.
    In,
    /// As it left.
    Out,
    /// As a queue dropped it.
    Dropped,
}

impl Point {
    /// Index of the pcapng's interface.
    pub const fn interface(self, direction: Direction) -> u32 {
        let point = match self {
            Self::In => 0,
            Self::Out => 2,
            Self::Dropped => 4,
        };
        point + direction.index() as u32
    }
}

impl Tap {
    /// Starts to write into `folder`. `about` is that of the running gateway.
    ///
    /// # Errors
    /// If a file cannot be made there.
    pub fn start(folder: Folder, options: &Options, about: &About, policy: &str) -> Result<Self> {
        let writer = Writer::start(folder, options, about, policy)?;
        let chunk = writer.free();
        Ok(Self {
            writer,
            chunk,
            epoch_ns: about.epoch_ns,
            snap: options.snap as usize,
            came: vec![(0, Instant::ZERO); about.pool[0]].into(),
            next_number: 0,
            now: Instant::ZERO,
            missing: 0,
            lost: 0,
        })
    }

    /// State of the recording.
    pub fn status(&self) -> TapStatus {
        TapStatus { frames: self.next_number, lost: self.lost, ..self.writer.status() }
    }

    /// Hands what is recorded so far to the writing thread.
    pub fn flush(&mut self) {
        if let Some(chunk) = self.chunk.take_if(|chunk| !chunk.is_empty()) {
            self.writer.hand_over(chunk);
        }
    }

    /// Records a change of the policy.
    pub fn reloaded(&mut self, policy: &str, now: Instant) {
        match self.writer.keep_policy(policy) {
            Ok(number) => self.record(Event::Reloaded(number), now),
            // Without its policy the rest cannot be replayed.
            Err(_) => self.lose(),
        }
    }

    /// Records the end and waits for the disk.
    pub fn finish(mut self, now: Instant) -> TapStatus {
        self.record(Event::End, now);
        self.flush();
        let status = self.status();
        let written = self.writer.finish();
        TapStatus { bytes: written.bytes, full: written.full, error: written.error, ..status }
    }

    fn record(&mut self, event: Event, now: Instant) {
        self.record_frame(event, now, None);
    }

    /// Records an event at `now`, with its frame if it has one.
    fn record_frame(&mut self, event: Event, now: Instant, frame: Option<(Stamp, &[u8], &str)>) {
        if self.chunk.as_ref().is_some_and(Chunk::is_nearly_full) {
            self.flush();
        }
        if self.chunk.is_none() {
            self.chunk = self.writer.free();
        }
        let Some(chunk) = &mut self.chunk else { return self.lose() };
        if self.missing > 0 {
            log::write(&mut chunk.log, Event::Lost(self.missing));
            self.missing = 0;
        }
        if now != self.now {
            log::write(&mut chunk.log, Event::Now(now));
            self.now = now;
        }
        log::write(&mut chunk.log, event);
        if let Some((stamp, bytes, comment)) = frame {
            let cut = &bytes[..bytes.len().min(self.snap)];
            let written = blocks::commented_packet(&mut chunk.frames, &stamp, cut, comment);
            written.expect("memory takes what is written, and comments are short");
        }
    }

    const fn lose(&mut self) {
        self.missing += 1;
        self.lost += 1;
    }

    fn stamp(&self, point: Point, direction: Direction, len: usize, now: Instant) -> Stamp {
        Stamp {
            interface: point.interface(direction),
            at_ns: self.epoch_ns.saturating_add(now.as_nanos()),
            original_len: len as u32,
        }
    }

    fn arrived(&mut self, direction: Direction, frame: FrameId, bytes: &[u8], now: Instant) {
        self.came[frame.index()] = (self.next_number, now);
        self.next_number += 1;
        let stamp = self.stamp(Point::In, direction, bytes.len(), now);
        self.record_frame(Event::Arrived(direction), now, Some((stamp, bytes, "")));
    }

    fn decided(
        &mut self,
        decision: Decision,
        direction: Direction,
        frame: FrameId,
        frames: &Frames,
        now: Instant,
    ) {
        let (number, came) = self.came[frame.index()];
        let (event, point, verb) = match decision {
            Decision::Leaves => (Event::Left(direction, number), Point::Out, "left"),
            Decision::Dropped(reason) => {
                (Event::Dropped(direction, number, reason), Point::Dropped, reason.name())
            }
        };
        let comment = Comment::new(number, verb, now.saturating_since(came));
        let bytes = frames.bytes(frame);
        let stamp = self.stamp(point, direction, bytes.len(), now);
        self.record_frame(event, now, Some((stamp, bytes, comment.as_str())));
    }
}

impl Tap {
    /// Records an event of Linux's queues, and what it means.
    pub fn saw(&mut self, event: &watch::Event<'_>, direction: Direction, outcome: &Outcome, now: Instant) {
        let now = now.max(self.now);
        let len = ETHERNET_HEADER as usize + event.len as usize;
        let stamp = |point| self.stamp(point, direction, len, now);
        match *outcome {
            Outcome::Passed(came) => {
                self.saw(event, direction, &Outcome::Came(came), now);
                let left = Outcome::Left { number: came.number, waited: Duration::ZERO };
                self.saw(event, direction, &left, now);
            }
            Outcome::Came(Came { number, packets, home }) => {
                let stamp = stamp(Point::In);
                self.next_number = number + 1;
                if packets > 1 {
                    self.record(Event::Large(packets), now);
                }
                if let Some(home) = home {
                    self.record(Event::Home(home), now);
                }
                self.record_frame(Event::Arrived(direction), now, Some((stamp, event.frame, "")));
            }
            Outcome::Left { number, waited } => {
                let (stamp, comment) = (stamp(Point::Out), Comment::new(number, "left", waited));
                if event.priority == watched::PAST_THE_SHAPER {
                    self.record(Event::Past, now);
                }
                let frame = Some((stamp, event.frame, comment.as_str()));
                self.record_frame(Event::Left(direction, number), now, frame);
            }
            Outcome::Dropped { number, waited, reason } => {
                let (stamp, comment) = (stamp(Point::Dropped), Comment::new(number, reason.name(), waited));
                let frame = Some((stamp, event.frame, comment.as_str()));
                self.record_frame(Event::Dropped(direction, number, reason), now, frame);
            }
            Outcome::Unknown => {}
        }
    }

    /// Records that shapers which follow their link may decide.
    pub fn followed(&mut self, now: Instant) {
        self.record(Event::Timeout, now.max(self.now));
    }
}

#[derive(Clone, Copy)]
enum Decision {
    Leaves,
    Dropped(DropReason),
}

/// A gateway with every call recorded.
#[derive(Debug)]
pub struct Tapped<'a> {
    /// The gateway. [`Gateway::watch_drops`] must have been called.
    pub gateway: &'a mut Gateway,
    /// The tap.
    pub tap: &'a mut Tap,
}

impl Tapped<'_> {
    /// Records and calls [`Gateway::reload`]; `text` is the policy's.
    pub fn reload(&mut self, policy: &Policy, text: &str, now: Instant) {
        self.tap.reloaded(text, now);
        self.gateway.reload(policy, now);
    }

    /// Records what the call before dropped. The bytes of a frame stay until its slot is taken again.
    fn note_drops(&mut self, frames: &Frames, now: Instant) {
        for dropped in self.gateway.drain_drops() {
            let decision = Decision::Dropped(dropped.reason);
            self.tap.decided(decision, dropped.direction, dropped.frame, frames, now);
        }
    }
}

impl Plane for Tapped<'_> {
    fn handle_frame(&mut self, direction: Direction, frame: FrameId, frames: &mut Frames, now: Instant) {
        self.tap.arrived(direction, frame, frames.bytes(frame), now);
        self.gateway.handle_frame(direction, frame, frames, now);
        self.note_drops(frames, now);
    }

    fn poll_transmit(&mut self, direction: Direction, frames: &mut Frames, now: Instant) -> Option<FrameId> {
        let leaves = self.gateway.poll_transmit(direction, frames, now);
        match leaves {
            Some(frame) => self.tap.decided(Decision::Leaves, direction, frame, frames, now),
            None => self.tap.record(Event::Nothing(direction), now),
        }
        self.note_drops(frames, now);
        leaves
    }

    fn poll_timeout(&self, blocked: [bool; 2]) -> Option<Instant> {
        self.gateway.poll_timeout(blocked)
    }

    fn handle_timeout(&mut self, frames: &mut Frames, now: Instant) {
        self.tap.record(Event::Timeout, now);
        self.gateway.handle_timeout(frames, now);
        self.note_drops(frames, now);
    }

    fn stood_still(&mut self, now: Instant) {
        self.tap.record(Event::StoodStill, now);
        self.gateway.stood_still(now);
    }

    fn no_room(&mut self, direction: Direction) {
        self.tap.record(Event::NoRoom(direction), self.tap.now);
        self.gateway.no_room(direction);
    }

    fn not_sent(&mut self, direction: Direction) {
        self.tap.record(Event::NotSent(direction), self.tap.now);
        self.gateway.not_sent(direction);
    }
}

/// A short comment, without allocation.
struct Comment {
    bytes: [u8; 64],
    len: usize,
}

impl Comment {
    fn new(number: u64, what: &str, waited: Duration) -> Self {
        let mut bytes = [0; 64];
        let mut rest = &mut bytes[..];
        let micros = waited.as_nanos() / 1000;
        write!(rest, "frame {number}: {what} after {micros} us").expect("20 + 20 digits and a word");
        let len = 64 - rest.len();
        Self { bytes, len }
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).expect("it was formatted")
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use gamelane_core::Seed;
    use gamelane_device::watch::What;

    use super::*;
    use crate::watched::Watched;

    /// A recording that begins in a folder.
    fn recording(path: &Path) -> Tap {
        let about = About {
            schema: about::SCHEMA,
            version: String::new(),
            policy: String::new(),
            policy_hash: String::new(),
            overrides: Vec::new(),
            seed: 0,
            epoch_ns: 0,
            snap: 160,
            interfaces: Default::default(),
            engine: EngineKind::User,
            pool: [1, 64],
        };
        let folder = path.to_owned();
        let options = Options { folder, snap: 160, size: 1 << 30, when_full: WhenFull::Stop };
        Tap::start(Folder::make(path, None).unwrap(), &options, &about, "").unwrap()
    }

    fn recorded(path: &Path) -> Vec<Event> {
        let log = std::fs::read(about::decisions(path, 0)).unwrap();
        let mut rest = &log[log::MAGIC.len()..];
        std::iter::from_fn(|| log::read(&mut rest)).collect()
    }

    #[test]
    fn a_packet_past_no_queue_is_recorded_as_it_comes_and_as_it_leaves() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tap");
        let mut tap = recording(&path);
        let mut watched = Watched::new(None, Seed(1), Instant::ZERO);
        let now = Instant::from_millis(1);
        let event = watch::Event {
            at: now,
            what: What::Passed,
            packet: 7,
            interface: 2,
            len: 100,
            priority: 0,
            segments: None,
            source: None,
            frame: &[0; 114],
        };
        let outcome = watched.take(&event, Direction::Down, None);
        tap.saw(&event, Direction::Down, &outcome, now);
        let end = tap.finish(now);
        assert_eq!((end.lost, end.error), (0, None));
        let events =
            [Event::Now(now), Event::Arrived(Direction::Down), Event::Left(Direction::Down, 0), Event::End];
        assert_eq!(recorded(&path), events);
    }

    #[test]
    fn who_finds_no_chunk_loses_events_and_says_so_with_the_next_that_is_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tap");
        let mut tap = recording(&path);
        tap.record(Event::Timeout, Instant::ZERO);
        tap.flush();
        // As if the disk were busy with all chunks.
        let mut held: Vec<Chunk> = Vec::new();
        let mut free = || {
            while let Some(chunk) = tap.writer.free() {
                held.push(chunk);
            }
            held.len()
        };
        while free() < writer::CHUNKS {}
        let now = Instant::from_millis(1);
        for _ in 0..5 {
            tap.record(Event::Timeout, now);
        }
        assert_eq!(tap.status().lost, 5);
        tap.writer.hand_over(held.pop().unwrap());
        while tap.chunk.is_none() {
            tap.chunk = tap.writer.free();
        }
        let status = tap.finish(now);
        assert_eq!((status.lost, status.error), (5, None));
        assert_eq!(recorded(&path), [Event::Timeout, Event::Lost(5), Event::Now(now), Event::End]);
    }
}
