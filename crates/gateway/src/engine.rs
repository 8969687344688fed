//! The loop: two interfaces, a plane between them, one thread. It waits for frames, for room to send and for the plane's next
//! deadline, whichever comes first; the clock is read once each time round, after at most [`TURN`] frames of each side.

use std::io::Result;
use std::os::fd::AsFd;

use gamelane_core::{Direction, Duration, Instant};
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};

use crate::clock::Clock;
use crate::device::{Interface, Received, Receiver, Refusal, RingCounters, Sender};
use crate::frames::{FrameId, Frames};
use crate::plane::Plane;

/// Frames read from one side before the other has its turn: at most some 50 µs.
const TURN: usize = 64;
/// Frames taken from the plane that an interface has not taken yet: small, since they are past its queues.
const OUTBOX: usize = 16;
/// Bytes in the interface's own queue, as the kernel counts: some 25 frames of 1500 B.
const SEND_BUFFER: u32 = 64 << 10;
/// A look at the world outside at least so often.
const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// Two interfaces and the pool between them.
#[derive(Debug)]
pub struct Engine {
    /// Home first: by the direction of what it receives.
    sides: [Side; 2],
    frames: Frames,
    epoll: std::os::fd::OwnedFd,
    clock: Clock,
    /// When it was last seen that both interfaces are there.
    seen: Instant,
    counters: EngineCounters,
}

#[derive(Debug)]
struct Side {
    interface: Interface,
    receiver: Receiver,
    sender: Sender,
    /// To be sent out here.
    outbox: Outbox,
    /// It takes nothing for now.
    blocked: bool,
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
    /// An interface is gone for good.
    Gone(Direction),
}

impl Engine {
    /// Opens `home` and `internet` for frames of the longer of their MTUs, with room for `memory` bytes of frames.
    pub fn open(home: Interface, internet: Interface, memory: usize) -> Result<Self> {
        let longest = home.mtu.max(internet.mtu) as usize + FRAMING;
        let slot = longest.next_multiple_of(64);
        let count = u32::try_from(memory / slot).unwrap_or(u32::MAX).max(256);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let side = |interface: Interface, direction: Direction| -> Result<Side> {
            let sender = Sender::open(&interface, SEND_BUFFER)?;
            let receiver = Receiver::open(&interface, longest)?;
            let token = |what: u64| epoll::EventData::new_u64(direction.index() as u64 * 2 + what);
            epoll::add(&epoll, &receiver, token(0), epoll::EventFlags::IN)?;
            epoll::add(&epoll, &sender, token(1), epoll::EventFlags::empty())?;
            Ok(Side { interface, receiver, sender, outbox: Outbox::default(), blocked: false })
        };
        let sides = [side(home, Direction::Up)?, side(internet, Direction::Down)?];
        Ok(Self {
            sides,
            frames: Frames::new(count, slot),
            epoll,
            clock: Clock::start(),
            seen: Instant::ZERO,
            counters: EngineCounters::default(),
        })
    }

    /// Wakes [`Engine::turn`] when there is something to read: a pipe of signals, say.
    pub fn also_wait_for(&self, source: impl AsFd) -> Result<()> {
        epoll::add(&self.epoll, source, epoll::EventData::new_u64(u64::MAX), epoll::EventFlags::IN)?;
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

    /// The interface frames of this direction come in at.
    pub const fn interface(&self, direction: Direction) -> &Interface {
        &self.sides[direction.index()].interface
    }

    /// What was counted, with the kernel's share as of now.
    pub fn counters(&mut self) -> EngineCounters {
        for (side, ring) in self.sides.iter().zip(&mut self.counters.ring) {
            if let Ok(more) = side.receiver.counters() {
                ring.frames += more.frames;
                ring.dropped += more.dropped;
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
        self.wait(deadline)?;
        let now = self.clock.now();
        if now.saturating_since(self.seen) >= LONGEST_WAIT {
            self.seen = now;
            if let Some(gone) = self.gone() {
                return Ok(Turn::Gone(gone));
            }
        }
        self.counters.turns += 1;
        if let Some(deadline) = deadline.filter(|deadline| *deadline <= now && !deadline.as_nanos().eq(&0)) {
            let late = now - deadline;
            self.counters.deadlines += 1;
            self.counters.late += late;
            self.counters.latest = self.counters.latest.max(late);
        }
        plane.handle_timeout(&mut self.frames, now);
        for direction in Direction::BOTH {
            self.receive(direction, plane, now);
        }
        for direction in Direction::BOTH {
            self.transmit(direction, plane, now)?;
        }
        Ok(Turn::Done)
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

    fn wait(&mut self, deadline: Option<Instant>) -> Result<()> {
        let now = self.clock.now();
        let wait = deadline.map_or(LONGEST_WAIT, |at| at.saturating_since(now).min(LONGEST_WAIT));
        let nanos = wait.as_nanos();
        let timeout =
            Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as _ };
        let mut space =
            [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }; 8];
        let ready = |space: &mut [epoll::Event]| match epoll::wait(&self.epoll, space, Some(&AT_ONCE)) {
            Err(rustix::io::Errno::INTR) => Ok(0),
            result => result,
        };
        let mut count = ready(&mut space)?;
        if count == 0 && !wait.is_zero() {
            // To the nanosecond; waiting by epoll itself knows milliseconds only, before Linux 5.11.
            match poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            count = ready(&mut space)?;
        }
        for event in &space[..count] {
            let (token, flags) = (event.data.u64(), event.flags);
            let Some(side) = self.sides.get_mut((token / 2) as usize) else { continue };
            if flags.intersects(epoll::EventFlags::ERR | epoll::EventFlags::HUP) {
                // An interface that went down says so once, and comes back by itself.
                side.receiver.take_error()?;
                side.sender.take_error()?;
            }
            if token % 2 == 1 && flags.contains(epoll::EventFlags::OUT) {
                side.blocked = false;
                let token = epoll::EventData::new_u64(token);
                epoll::modify(&self.epoll, &side.sender, token, epoll::EventFlags::empty())?;
            }
        }
        Ok(())
    }

    fn receive(&mut self, direction: Direction, plane: &mut impl Plane, now: Instant) {
        let own = self.sides.each_ref().map(|side| side.interface.mac);
        let Self { sides, frames, counters, .. } = self;
        let index = direction.index();
        for _ in 0..TURN {
            let taken = sides[index].receiver.next(|received| accept(&received, own, frames));
            match taken {
                None => break,
                Some(Accepted::Frame(id)) => plane.handle_frame(direction, id, frames, now),
                Some(Accepted::Own) => counters.own[index] += 1,
                Some(Accepted::TooLong) => {
                    counters.too_long[index] += 1;
                    plane.no_room(direction);
                }
                Some(Accepted::NoRoom) => plane.no_room(direction),
            }
        }
    }

    fn transmit(&mut self, direction: Direction, plane: &mut impl Plane, now: Instant) -> Result<()> {
        let Self { sides, frames, counters, epoll, .. } = self;
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
            match side.sender.send(frames, ids) {
                Ok(sent) => {
                    for id in &ids[..sent] {
                        counters.sent_bytes[index] += frames.bytes(*id).len() as u64;
                        frames.give_back(*id);
                    }
                    counters.sent[index] += sent as u64;
                    side.outbox.remove(sent);
                }
                Err(Refusal::Full) => {
                    side.blocked = true;
                    counters.stalls[index] += 1;
                    let token = epoll::EventData::new_u64(out as u64 * 2 + 1);
                    epoll::modify(&*epoll, &side.sender, token, epoll::EventFlags::OUT)?;
                }
                Err(Refusal::Lost(_)) => {
                    frames.give_back(ids[0]);
                    side.outbox.remove(1);
                    plane.not_sent(direction);
                }
            }
        }
        Ok(())
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
            if received.checksum_missing {
                crate::checksum::complete(frames.bytes_mut(id));
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

const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// What a frame is longer than the packet in it: addresses and EtherType, and two tags or PPPoE.
const FRAMING: usize = 14 + 2 * 4 + 8;
