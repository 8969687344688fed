//! The loop: two interfaces, a plane between them, one thread. It waits for frames, for room to send, or for the plane's next
//! deadline, whichever comes first. It reads the clock once a turn, and takes at most [`TURN`] frames of each side in a turn.

use std::io::{Error, Result};
use std::os::fd::{AsFd, OwnedFd};

use gamelane_core::{Direction, Duration, Instant};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::bpf::Heartbeat;
use crate::bypass::Bypass;
use crate::checksum;
use crate::clock::Clock;
use crate::frames::{FrameId, Frames};
use crate::interface::{Condition, FRAMING, Interface, Presence};
use crate::merged::Merged;
use crate::plane::Plane;
use crate::port::{Io, Port};
use crate::transfer::{Checksum, Received, Refusal, RingCounters, Sent};

/// Most frames read from one side before the other side has its turn: about 50 µs of work.
const TURN: usize = 64;
/// Most frames taken from the plane that an interface has not taken yet. Small, because they are already past the queues.
const OUTBOX: usize = 16;
/// Most sources that wake the loop besides the interfaces.
const OTHERS: usize = 4;
/// Most turns without `poll`, so that other sources are looked at too, some microseconds late.
const MOST_UNWAITED: u32 = 16;
/// Shortest time between two deadlines that are waited for. Arming a timer costs about 10 µs on a virtual machine, as long as a
/// frame of 1500 B at 1 Gbit/s. Below 240 Mbit/s, frames leave further apart than this.
const SLICE: Duration = Duration::from_micros(50);
/// More frames than a ring holds, so that emptying one ends although frames keep arriving.
const RING: usize = 1 << 16;
/// Before a deadline closer than this, arriving frames wake nobody: they are taken when it comes. A wake-up costs as much as a timer.
/// A frame waits at most this long, as behind one frame of 1500 B at 48 Mbit/s.
const SOON: Duration = Duration::from_micros(250);
/// Time between two looks at what else wakes the loop, however close the deadlines are.
const POLL: Duration = Duration::from_millis(5);
/// Longest wait, after which the caller looks at other things.
const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// Two interfaces and the pool between them.
#[derive(Debug)]
pub struct Engine {
    /// Home first: indexed by the direction of the frames that arrive there.
    sides: [Side; 2],
    frames: Frames,
    /// Other sources that wake the loop.
    others: Vec<OwnedFd>,
    /// When all sources were looked at last.
    polled: Instant,
    /// Turns since the last `poll`. While frames keep arriving, none is needed.
    unwaited: u32,
    clock: Clock,
    /// Time of the last turn.
    turned: Instant,
    heartbeat: Option<Heartbeat>,
    /// Lets frames pass while the program stands still, or why it cannot.
    bypass: Result<Bypass>,
    /// When both interfaces were looked at last.
    seen: Instant,
    /// A frame was too long, so the MTU may have grown.
    met_long: bool,
    counters: EngineCounters,
}

#[derive(Debug)]
struct Side {
    interface: Interface,
    presence: Presence,
    port: Port,
    /// Frames to be sent out here.
    outbox: Outbox,
    /// The interface takes nothing for now.
    blocked: bool,
}

impl Side {
    fn to_read(&self) -> PollFd<'_> {
        PollFd::from_borrowed_fd(self.port.readable(), PollFlags::IN)
    }

    fn to_write(&self) -> PollFd<'_> {
        let waits = self.blocked && self.port.tells_of_room();
        PollFd::from_borrowed_fd(
            self.port.writable(),
            if waits { PollFlags::OUT } else { PollFlags::empty() },
        )
    }

    /// Whether there may be room again and only sending shows it.
    const fn has_to_try(&self) -> bool {
        self.blocked && !self.port.tells_of_room()
    }
}

/// A short FIFO queue of frames.
#[derive(Debug)]
struct Outbox {
    frames: [Option<FrameId>; OUTBOX],
    len: usize,
}

/// Bytes of the pool for a frame of up to `longest` bytes.
const fn slot(longest: usize) -> usize {
    longest.next_multiple_of(64)
}

/// What the engine counts and a plane cannot see. Arrays are indexed by direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineCounters {
    /// Frames received, and frames that the kernel dropped because the loop was late.
    pub ring: [RingCounters; 2],
    /// Frames for this machine itself, not forwarded.
    pub own: [u64; 2],
    /// Frames lost because they are too long, or hold several segments and cannot be split.
    pub too_long: [u64; 2],
    /// Frames discarded because the program had stood still.
    pub stale: [u64; 2],
    /// Frames sent.
    pub sent: [u64; 2],
    /// Bytes sent, from the MAC address on.
    pub sent_bytes: [u64; 2],
    /// Times an interface took nothing for a while.
    pub stalls: [u64; 2],
    /// Turns of the loop.
    pub turns: u64,
    /// Largest lateness of a call after the plane's deadline.
    pub latest: Duration,
    /// Sum of all lateness.
    pub late: Duration,
    /// Number of deadlines.
    pub deadlines: u64,
}

/// Result of [`Engine::turn`], which always returns so that the caller can do its own work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Frames were moved, or the wait ended.
    Done,
    /// The same, and a source of [`Engine::also_wait_for`] is readable.
    Called,
    /// The interface where frames of this direction arrive was removed.
    Gone(Direction),
    /// The program stood still before this turn, for this long, at least [`Heartbeat::PATIENCE`].
    StoodStill(Duration),
}

impl Engine {
    /// Opens `home` and `internet` for frames of the longer of their MTUs, with room for `memory` bytes of frames.
    pub fn open(home: Interface, internet: Interface, io: Io, memory: usize) -> Result<Self> {
        let longest = home.longest_frame().max(internet.longest_frame());
        let own = [home.mac, internet.mac];
        let slot = slot(longest);
        let count = u32::try_from(memory / slot).unwrap_or(u32::MAX).max(256);
        let heartbeat = Heartbeat::new();
        let ends = [home.index, internet.index];
        let side = |interface: Interface| -> Result<Side> {
            let port = Port::open(&interface, io, longest, &own, heartbeat.as_ref())
                .map_err(|error| Error::new(error.kind(), format!("{}: {error}", interface.name)))?;
            let presence = Presence::of(interface.index)?;
            Ok(Side { interface, presence, port, outbox: Outbox::default(), blocked: false })
        };
        let sides = [side(home)?, side(internet)?];
        let (heartbeat, bypass) = match heartbeat {
            Ok(heartbeat) => {
                let bypass = Bypass::between(ends, &heartbeat);
                (Some(heartbeat), bypass)
            }
            Err(error) => (None, Err(error)),
        };
        Ok(Self {
            sides,
            frames: Frames::new(count, slot),
            others: Vec::new(),
            polled: Instant::ZERO,
            unwaited: 0,
            clock: Clock::start(),
            turned: Instant::ZERO,
            heartbeat,
            bypass,
            seen: Instant::ZERO,
            met_long: false,
            counters: EngineCounters::default(),
        })
    }

    /// Why frames do not pass while the program stands still; `None` if they do.
    pub fn no_bypass(&self) -> Option<&Error> {
        self.bypass.as_ref().err()
    }

    /// Also wakes [`Engine::turn`] when `source` is readable, such as a pipe that signals write to.
    ///
    /// # Panics
    ///
    /// At the fifth source.
    pub fn also_wait_for(&mut self, source: impl AsFd) -> Result<()> {
        assert!(self.others.len() < OTHERS, "there is room for {OTHERS} sources");
        self.others.push(source.as_fd().try_clone_to_owned()?);
        Ok(())
    }

    /// Current time of the plane's clock.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// When the plane's clock started, in nanoseconds since 1970.
    pub const fn epoch_ns(&self) -> u64 {
        self.clock.epoch_ns()
    }

    /// The pool of frames.
    pub const fn frames(&self) -> &Frames {
        &self.frames
    }

    /// The pool of frames, for a plane that gives frames back outside of a turn.
    pub const fn frames_mut(&mut self) -> &mut Frames {
        &mut self.frames
    }

    /// Whether both interfaces read and write the memory of frames themselves (zero copy).
    pub fn is_zero_copy(&self) -> bool {
        self.sides.iter().all(|side| side.port.is_zero_copy().unwrap_or(false))
    }

    /// The interface where frames of this direction arrive, in the condition that was seen last.
    pub const fn interface(&self, direction: Direction) -> &Interface {
        &self.sides[direction.index()].interface
    }

    /// The largest MTU whose packets can be received where frames of this direction arrive.
    pub const fn most_mtu(&self, direction: Direction) -> u32 {
        (self.sides[direction.index()].port.longest() - FRAMING) as u32
    }

    /// Counters, with the kernel's as of now.
    pub fn counters(&mut self) -> EngineCounters {
        let Self { sides, counters, .. } = self;
        for (index, side) in sides.iter_mut().enumerate() {
            if let Ok(more) = side.port.counters() {
                counters.ring[index].frames += more.frames;
                counters.ring[index].dropped += more.dropped;
                counters.own[index] += more.own;
                counters.too_long[index] += more.too_long;
            }
        }
        self.counters
    }

    /// Waits until there is something to do, at most 200 ms, and does it.
    ///
    /// # Errors
    /// Any system error of `poll` or of a socket; none is recoverable.
    pub fn turn(&mut self, plane: &mut impl Plane) -> Result<Turn> {
        let blocked = self.blocked();
        let deadline = plane.poll_timeout(blocked);
        let called = match self.unwaited {
            // Frames due within one slice leave together at its end. The shaper makes up for that lateness.
            0 => self.wait(deadline.map(|deadline| deadline.max(self.turned + SLICE)))?,
            // Frames arrived in the last turn, so more are likely. Looking costs less than a system call.
            _ => false,
        };
        let now = self.clock.now();
        let since = now.saturating_since(self.turned);
        if let Some(heartbeat) = &self.heartbeat {
            heartbeat.beat();
        }
        if since >= Heartbeat::PATIENCE {
            self.turned = now;
            self.discard_stale();
            plane.stood_still(now);
            return Ok(Turn::StoodStill(since));
        }
        if now.saturating_since(self.seen) >= LONGEST_WAIT || std::mem::take(&mut self.met_long) {
            self.seen = now;
            if let Some(gone) = self.look() {
                return Ok(Turn::Gone(gone));
            }
        }
        self.turned = now;
        self.counters.turns += 1;
        if let Some(deadline) = deadline.filter(|deadline| *deadline <= now && !deadline.as_nanos().eq(&0)) {
            let late = now - deadline;
            self.counters.deadlines += 1;
            self.counters.late += late;
            self.counters.latest = self.counters.latest.max(late);
        }
        plane.handle_timeout(&mut self.frames, now);
        let mut any = false;
        for direction in Direction::BOTH {
            any |= self.receive(direction, plane, now);
        }
        for direction in Direction::BOTH {
            self.transmit(direction, plane, now);
        }
        // A blocked interface reports room only through `poll`, so poll next time.
        let looks = any && self.unwaited < MOST_UNWAITED && self.blocked() == [false; 2];
        self.unwaited = if looks { self.unwaited + 1 } else { 0 };
        Ok(if called { Turn::Called } else { Turn::Done })
    }

    /// Discards the frames that arrived while the program stood still: they are too old, or have passed without it.
    fn discard_stale(&mut self) {
        let Self { sides, counters, .. } = self;
        for (side, stale) in sides.iter_mut().zip(&mut counters.stale) {
            for _ in 0..RING {
                if side.port.next(|_| ()).is_none() {
                    break;
                }
                *stale += 1;
            }
        }
    }

    /// For each direction, whether the interface where its frames leave takes nothing for now.
    fn blocked(&self) -> [bool; 2] {
        Direction::BOTH.map(|direction| self.sides[direction.reverse().index()].blocked)
    }

    /// Looks at the interfaces and follows a larger MTU. Returns an interface that no longer exists: the kernel reports no removal
    /// after it reported that an interface is down.
    fn look(&mut self) -> Option<Direction> {
        // A receiver looks after its ring there.
        self.counters();
        for direction in Direction::BOTH {
            let Side { interface, presence, port, .. } = &mut self.sides[direction.index()];
            let Some(Condition { mtu, is_up, has_link }) = presence.condition() else {
                return Some(direction);
            };
            // If too many frames wait now, the next look tries again.
            self.frames.lengthen(slot((mtu as usize + FRAMING).min(port.longest())));
            (interface.mtu, interface.is_up, interface.has_link) = (mtu, is_up, has_link);
        }
        None
    }

    /// Waits for the interfaces or the deadline; true if another source is readable.
    fn wait(&mut self, deadline: Option<Instant>) -> Result<bool> {
        let blocked = self.blocked() != [false; 2];
        let Self { sides: [home, internet], others, clock, polled, .. } = self;
        let now = clock.now();
        let longest = if home.has_to_try() || internet.has_to_try() { SLICE } else { LONGEST_WAIT };
        let wait = deadline.map_or(longest, |at| at.saturating_since(now).min(longest));
        let nanos = wait.as_nanos();
        let timeout =
            Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as _ };
        if wait <= SOON && !blocked && now.saturating_since(*polled) < POLL {
            // Without sources this only sleeps. A signal may end it early, and the next wait goes on.
            let _ = poll(&mut [], Some(&timeout));
            return Ok(false);
        }
        *polled = now;
        let count = 4 + others.len();
        let mut sources: [PollFd<'_>; 4 + OTHERS] = std::array::from_fn(|place| match place {
            0 => home.to_read(),
            1 => home.to_write(),
            2 => internet.to_read(),
            3 => internet.to_write(),
            _ => match others.get(place - 4) {
                Some(other) => PollFd::new(other, PollFlags::IN),
                // An unused place: no event is asked for.
                None => PollFd::from_borrowed_fd(home.port.readable(), PollFlags::empty()),
            },
        });
        // `ppoll` takes nanoseconds. `epoll_wait` takes milliseconds (`epoll_pwait2` needs Linux 5.11).
        match poll(&mut sources[..count], Some(&timeout)) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        let seen = sources.map(|source| source.revents());
        for (side, seen) in [home, internet].into_iter().zip(seen.chunks_exact(2)) {
            if (seen[0] | seen[1]).intersects(PollFlags::ERR | PollFlags::HUP) {
                // An interface that went down reports it once, and comes back by itself.
                side.port.take_error()?;
            }
            side.blocked &= side.port.tells_of_room() && !seen[1].contains(PollFlags::OUT);
        }
        Ok(seen[4..count].iter().any(|seen| !seen.is_empty()))
    }

    /// Hands at most [`TURN`] frames to the plane; true if there were any.
    fn receive(&mut self, direction: Direction, plane: &mut impl Plane, now: Instant) -> bool {
        let own = self.sides.each_ref().map(|side| side.interface.mac);
        let Self { sides, frames, counters, met_long, .. } = self;
        let index = direction.index();
        let longest = sides[index].port.longest();
        let mut received = 0;
        while received < TURN {
            let plane = &mut *plane;
            let taken = sides[index].port.next(|received| {
                accept(&received, own, frames, |frame, frames| match frame {
                    Some(id) => plane.handle_frame(direction, id, frames, now),
                    None => plane.no_room(direction),
                })
            });
            match taken {
                None => return received > 0,
                Some(Accepted::Taken(count)) => received += count,
                Some(Accepted::Own) => {
                    counters.own[index] += 1;
                    received += 1;
                }
                // Its copy found the socket's queue full.
                Some(Accepted::Cut(len)) if len <= longest => {
                    counters.ring[index].dropped += 1;
                    received += 1;
                }
                Some(Accepted::Cut(_) | Accepted::TooLong) => {
                    counters.too_long[index] += 1;
                    *met_long = true;
                    received += 1;
                }
                Some(Accepted::Unsplit) => {
                    counters.too_long[index] += 1;
                    received += 1;
                }
            }
        }
        true
    }

    fn transmit(&mut self, direction: Direction, plane: &mut impl Plane, now: Instant) {
        let Self { sides, frames, counters, .. } = self;
        let (index, out) = (direction.index(), direction.reverse().index());
        let side = &mut sides[out];
        while !side.blocked {
            while !side.outbox.is_full()
                && let Some(id) = plane.poll_transmit(direction, frames, now)
            {
                side.outbox.push(id);
            }
            let waiting: [FrameId; OUTBOX];
            let ids = match side.outbox.first() {
                None => break,
                Some(first) => {
                    waiting = side.outbox.frames.map(|id| id.unwrap_or(first));
                    &waiting[..side.outbox.len]
                }
            };
            match side.port.send(frames, ids) {
                Ok(Sent { taken, lost }) => {
                    for id in &ids[..taken] {
                        counters.sent_bytes[index] += frames.bytes(*id).len() as u64;
                        frames.give_back(*id);
                    }
                    counters.sent[index] += taken as u64;
                    side.outbox.remove(taken);
                    for _ in 0..lost {
                        plane.not_sent(direction);
                    }
                }
                Err(Refusal::Full) => {
                    side.blocked = true;
                    counters.stalls[index] += 1;
                }
                Err(Refusal::Lost(_)) => {
                    frames.give_back(ids[0]);
                    side.outbox.remove(1);
                    plane.not_sent(direction);
                }
            }
        }
    }
}

/// What became of a received frame.
enum Accepted {
    /// As this many frames.
    Taken(usize),
    Own,
    /// Not all of its bytes came; this is its length.
    Cut(usize),
    /// Too long for the pool: the MTU may have grown.
    TooLong,
    /// It holds several segments and cannot be split, or it is no frame.
    Unsplit,
}

/// Copies a frame into the pool, or each segment of it, and puts its VLAN tag back. `each` gets them, and `None` for one that
/// finds the pool full. Frames for this machine itself are not forwarded: their sender reached it without a bridge.
fn accept(
    received: &Received<'_>,
    own: [[u8; 6]; 2],
    frames: &mut Frames,
    mut each: impl FnMut(Option<FrameId>, &mut Frames),
) -> Accepted {
    let bytes = received.bytes;
    let Some((destination, _)) = bytes.split_first_chunk::<6>() else { return Accepted::Unsplit };
    if own.contains(destination) {
        return Accepted::Own;
    }
    if received.len > bytes.len() {
        return Accepted::Cut(received.len);
    }
    let tag = received.vlan.as_ref().map_or(&[][..], |tag| &tag[..]);
    if let Some(segments) = received.segments {
        let Some(merged) = Merged::of(bytes, tag, segments) else { return Accepted::Unsplit };
        if merged.longest() > frames.slot() {
            return Accepted::TooLong;
        }
        for number in 0..merged.count() {
            let frame = merged.segment(number, frames);
            each(frame, frames);
        }
        return Accepted::Taken(merged.count());
    }
    if tag.len() + bytes.len() > frames.slot() {
        return Accepted::TooLong;
    }
    let (addresses, rest) = bytes.split_at(bytes.len().min(12));
    let frame = frames.fill([addresses, tag, rest]);
    if let Some(id) = frame {
        match received.checksum {
            Checksum::Present => {}
            Checksum::Missing => checksum::complete(frames.bytes_mut(id)),
            Checksum::Unknown => checksum::complete_if_missing(frames.bytes_mut(id)),
        }
    }
    each(frame, frames);
    Accepted::Taken(1)
}

impl Default for Outbox {
    fn default() -> Self {
        Self { frames: [None; OUTBOX], len: 0 }
    }
}

impl Outbox {
    const fn is_full(&self) -> bool {
        self.len == OUTBOX
    }

    const fn first(&self) -> Option<FrameId> {
        self.frames[0]
    }

    const fn push(&mut self, id: FrameId) {
        self.frames[self.len] = Some(id);
        self.len += 1;
    }

    fn remove(&mut self, count: usize) {
        self.frames.copy_within(count..self.len, 0);
        self.len -= count;
        self.frames[self.len..].fill(None);
    }
}
