//! The loop: two interfaces, a plane between them, one thread. It waits for frames, for room to send and for the plane's next
//! deadline, whichever comes first; the clock is read once each time round, after at most [`TURN`] frames of each side.

use std::io::{Error, Result};
use std::os::fd::{AsFd, OwnedFd};

use gamelane_core::{Direction, Duration, Instant};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::checksum;
use crate::clock::Clock;
use crate::device::{Checksum, Interface, Io, Port, Received, Refusal, RingCounters, Sent};
use crate::frames::{FrameId, Frames};
use crate::plane::Plane;

/// Frames read from one side before the other has its turn: at most some 50 µs.
const TURN: usize = 64;
/// Frames taken from the plane that an interface has not taken yet: small, since they are past its queues.
const OUTBOX: usize = 16;
/// Sources that wake it, besides the interfaces.
const OTHERS: usize = 4;
/// Turns without waiting at most: the other sources are to be heard too, some microseconds later.
const MOST_UNWAITED: u32 = 16;
/// Between two deadlines that are waited for. Arming a timer costs some 10 µs on a virtual machine; a frame of 1500 B takes as
/// long at a gigabit. Below 240 Mbit/s frames leave further apart than this.
const SLICE: Duration = Duration::from_micros(50);
/// A look at the world outside at least so often.
const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// Two interfaces and the pool between them.
#[derive(Debug)]
pub struct Engine {
    /// Home first: by the direction of what it receives.
    sides: [Side; 2],
    frames: Frames,
    /// What else wakes it.
    others: Vec<OwnedFd>,
    /// Turns since it last waited: while frames come, there is nothing to wait for.
    unwaited: u32,
    clock: Clock,
    /// When the last turn was.
    turned: Instant,
    /// When it was last seen that both interfaces are there.
    seen: Instant,
    counters: EngineCounters,
}

#[derive(Debug)]
struct Side {
    interface: Interface,
    port: Port,
    /// To be sent out here.
    outbox: Outbox,
    /// It takes nothing for now.
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

    /// There may be room again, and only trying shows it.
    const fn has_to_try(&self) -> bool {
        self.blocked && !self.port.tells_of_room()
    }
}

/// A short line of frames, first in first out.
#[derive(Debug)]
struct Outbox {
    frames: [Option<FrameId>; OUTBOX],
    len: usize,
}

/// What the engine saw that no plane did. Indexed by direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineCounters {
    /// Frames received and handed on, and those the kernel dropped because we were late.
    pub ring: [RingCounters; 2],
    /// For this machine itself: not forwarded.
    pub own: [u64; 2],
    /// Longer than the ring's slots, most likely put together by an offload: lost.
    pub too_long: [u64; 2],
    /// Sent.
    pub sent: [u64; 2],
    /// Bytes sent, from the MAC address on.
    pub sent_bytes: [u64; 2],
    /// Times an interface took nothing for a while.
    pub stalls: [u64; 2],
    /// Times round the loop.
    pub turns: u64,
    /// How late the plane was called after a deadline of its own, at most and in sum.
    pub latest: Duration,
    /// Sum of all lateness.
    pub late: Duration,
    /// Deadlines.
    pub deadlines: u64,
}

/// Why [`Engine::turn`] came back: always, so that the caller can look after its own affairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Something was done or waited for.
    Done,
    /// The same, and a source of [`Engine::also_wait_for`] is readable.
    Called,
    /// An interface is gone for good.
    Gone(Direction),
}

impl Engine {
    /// Opens `home` and `internet` for frames of the longer of their MTUs, with room for `memory` bytes of frames.
    pub fn open(home: Interface, internet: Interface, io: Io, memory: usize) -> Result<Self> {
        let longest = home.mtu.max(internet.mtu) as usize + FRAMING;
        let own = [home.mac, internet.mac];
        let slot = longest.next_multiple_of(64);
        let count = u32::try_from(memory / slot).unwrap_or(u32::MAX).max(256);
        let side = |interface: Interface| -> Result<Side> {
            let port = Port::open(&interface, io, longest, &own)
                .map_err(|error| Error::new(error.kind(), format!("{}: {error}", interface.name)))?;
            Ok(Side { interface, port, outbox: Outbox::default(), blocked: false })
        };
        let sides = [side(home)?, side(internet)?];
        Ok(Self {
            sides,
            frames: Frames::new(count, slot),
            others: Vec::new(),
            unwaited: 0,
            clock: Clock::start(),
            turned: Instant::ZERO,
            seen: Instant::ZERO,
            counters: EngineCounters::default(),
        })
    }

    /// Wakes [`Engine::turn`] when there is something to read: a pipe of signals, say.
    ///
    /// # Panics
    ///
    /// At the fifth.
    pub fn also_wait_for(&mut self, source: impl AsFd) -> Result<()> {
        assert!(self.others.len() < OTHERS, "so many sources were thought of");
        self.others.push(source.as_fd().try_clone_to_owned()?);
        Ok(())
    }

    /// Now, by the clock of the plane.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// When that clock began, in nanoseconds since 1970.
    pub const fn epoch_ns(&self) -> u64 {
        self.clock.epoch_ns()
    }

    /// The pool.
    pub const fn frames(&self) -> &Frames {
        &self.frames
    }

    /// The pool, to take a plane apart.
    pub const fn frames_mut(&mut self) -> &mut Frames {
        &mut self.frames
    }

    /// Whether the interfaces themselves read and write the memory frames lie in.
    pub fn is_zero_copy(&self) -> bool {
        self.sides.iter().all(|side| side.port.is_zero_copy().unwrap_or(false))
    }

    /// The interface frames of this direction come in at.
    pub const fn interface(&self, direction: Direction) -> &Interface {
        &self.sides[direction.index()].interface
    }

    /// What was counted, with the kernel's share as of now.
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
    /// What no caller can do anything about.
    pub fn turn(&mut self, plane: &mut impl Plane) -> Result<Turn> {
        let blocked = self.blocked();
        let deadline = plane.poll_timeout(blocked);
        let called = match self.unwaited {
            // What is due within the slice after a turn leaves at its end, together: its lateness is less than the shaper makes up.
            0 => self.wait(deadline.map(|deadline| deadline.max(self.turned + SLICE)))?,
            // Frames came the last time round, and so most likely more: to look costs less than to ask the kernel.
            _ => false,
        };
        let now = self.clock.now();
        if now.saturating_since(self.seen) >= LONGEST_WAIT {
            self.seen = now;
            if let Some(gone) = self.gone() {
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
        // Who waits to send is heard by waiting only.
        let looks = any && self.unwaited < MOST_UNWAITED && self.blocked() == [false; 2];
        self.unwaited = if looks { self.unwaited + 1 } else { 0 };
        Ok(if called { Turn::Called } else { Turn::Done })
    }

    /// Whether the interface that frames of each direction leave by takes nothing for now.
    fn blocked(&self) -> [bool; 2] {
        Direction::BOTH.map(|direction| self.sides[direction.reverse().index()].blocked)
    }

    /// An interface that was removed; the kernel does not say so to who had heard that it went down.
    fn gone(&self) -> Option<Direction> {
        Direction::BOTH.into_iter().find(|direction| {
            let interface = self.interface(*direction);
            Interface::find(&interface.name).map(|now| now.index).ok() != Some(interface.index)
        })
    }

    /// Waits for what the interfaces or the deadline bring; true if one of the other sources is readable.
    fn wait(&mut self, deadline: Option<Instant>) -> Result<bool> {
        let Self { sides: [home, internet], others, clock, .. } = self;
        let now = clock.now();
        let longest = if home.has_to_try() || internet.has_to_try() { SLICE } else { LONGEST_WAIT };
        let wait = deadline.map_or(longest, |at| at.saturating_since(now).min(longest));
        let nanos = wait.as_nanos();
        let timeout =
            Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as _ };
        let count = 4 + others.len();
        let mut sources: [PollFd<'_>; 4 + OTHERS] = std::array::from_fn(|place| match place {
            0 => home.to_read(),
            1 => home.to_write(),
            2 => internet.to_read(),
            3 => internet.to_write(),
            _ => match others.get(place - 4) {
                Some(other) => PollFd::new(other, PollFlags::IN),
                // Not asked about.
                None => PollFd::from_borrowed_fd(home.port.readable(), PollFlags::empty()),
            },
        });
        // To the nanosecond; waiting by epoll knows milliseconds only, before Linux 5.11.
        match poll(&mut sources[..count], Some(&timeout)) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        let seen = sources.map(|source| source.revents());
        for (side, seen) in [home, internet].into_iter().zip(seen.chunks_exact(2)) {
            if (seen[0] | seen[1]).intersects(PollFlags::ERR | PollFlags::HUP) {
                // An interface that went down says so once, and comes back by itself.
                side.port.take_error()?;
            }
            side.blocked &= side.port.tells_of_room() && !seen[1].contains(PollFlags::OUT);
        }
        Ok(seen[4..count].iter().any(|seen| !seen.is_empty()))
    }

    /// Hands a turn's frames to the plane; whether there were any.
    fn receive(&mut self, direction: Direction, plane: &mut impl Plane, now: Instant) -> bool {
        let own = self.sides.each_ref().map(|side| side.interface.mac);
        let Self { sides, frames, counters, .. } = self;
        let index = direction.index();
        for received in 0..TURN {
            let taken = sides[index].port.next(|received| accept(&received, own, frames));
            match taken {
                None => return received > 0,
                Some(Accepted::Frame(id)) => plane.handle_frame(direction, id, frames, now),
                Some(Accepted::Own) => counters.own[index] += 1,
                Some(Accepted::TooLong) => {
                    counters.too_long[index] += 1;
                    plane.no_room(direction);
                }
                Some(Accepted::NoRoom) => plane.no_room(direction),
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

/// What became of a frame in the ring.
enum Accepted {
    Frame(FrameId),
    Own,
    TooLong,
    NoRoom,
}

/// Copies a frame into the pool, its VLAN tag back where it was. Frames for this machine itself stay here: whoever sent
/// them reached it without a bridge.
fn accept(received: &Received<'_>, own: [[u8; 6]; 2], frames: &mut Frames) -> Accepted {
    let bytes = received.bytes;
    let Some((destination, _)) = bytes.split_first_chunk::<6>() else { return Accepted::TooLong };
    if own.contains(destination) {
        return Accepted::Own;
    }
    if received.len > bytes.len() {
        return Accepted::TooLong;
    }
    let (addresses, rest) = bytes.split_at(bytes.len().min(12));
    let tag = received.vlan.as_ref().map_or(&[][..], |tag| &tag[..]);
    match frames.fill([addresses, tag, rest]) {
        Some(id) => {
            match received.checksum {
                Checksum::There => {}
                Checksum::Missing => checksum::complete(frames.bytes_mut(id)),
                Checksum::Untold => checksum::complete_if_missing(frames.bytes_mut(id)),
            }
            Accepted::Frame(id)
        }
        None => Accepted::NoRoom,
    }
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

/// What a frame is longer than the packet in it: addresses and EtherType, and two tags or PPPoE.
pub(crate) const FRAMING: usize = 14 + 2 * 4 + 8;
