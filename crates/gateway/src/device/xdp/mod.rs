//! AF_XDP: frames come from the driver before the kernel's network stack sees them, into memory shared with it, and go to
//! the driver the same way. `Documentation/networking/af_xdp.rst`. What it leaves out: frames longer than a piece of that
//! memory, tags that the interface takes out of frames (that is switched off, see [`super::VLAN_STRIPPING`]), and drivers
//! without XDP, where the kernel could only imitate it.

mod program;
mod ring;
mod socket;

use std::io::{Error, Result};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::event::epoll;

use self::program::Program;
pub use self::socket::Sent;
use self::socket::Socket;
use super::interface::Interface;
use super::receiver::{Checksum, Received, RingCounters};
use super::sender::Refusal;
use super::socket::{packet_socket, receive_all};
use crate::engine::FRAMING;
use crate::frames::{FrameId, Frames};

/// An interface whose frames come and go by AF_XDP.
#[derive(Debug)]
pub struct XdpPort {
    /// Ends first: frames then go to the machine again, not to sockets that are gone.
    program: Program,
    /// One for each of the interface's receive queues. The first sends, too.
    queues: Vec<Socket>,
    /// Whose turn it is.
    turn: usize,
    /// Readable when a queue is, if there are several.
    any: Option<OwnedFd>,
    checksum: Checksum,
    shown: u64,
    told: RingCounters,
    /// Keeps the interface promiscuous.
    _promiscuous: OwnedFd,
}

impl XdpPort {
    /// Opens an interface for frames of up to `longest` bytes. Those to one of `own` stay with this machine. The interface is
    /// promiscuous as long as this lives, and its frames come here instead of to this machine.
    ///
    /// # Errors
    /// Why it cannot be. Some of that can be known before: [`XdpPort::unfit`].
    pub fn open(interface: &Interface, longest: usize, own: &[[u8; 6]]) -> Result<Self> {
        if longest + HEADROOM > LONG_PIECE {
            return Err(Error::other(format!("frames of up to {longest} B do not fit AF_XDP's memory")));
        }
        let piece = if longest + HEADROOM <= SHORT_PIECE { SHORT_PIECE } else { LONG_PIECE };
        let count = queues(&interface.name);
        let slots = (SLOTS / count).next_power_of_two().max(FEWEST_SLOTS);
        let queues: Vec<_> = (0..count as u32)
            .map(|queue| Socket::open(interface.index, queue, piece, slots as u32))
            .collect::<Result<_>>()?;
        let any = if queues.len() > 1 { Some(wait_for_any(&queues)?) } else { None };
        let promiscuous = packet_socket(interface.index, 0)?;
        receive_all(&promiscuous, interface.index)?;
        let sockets: Vec<_> = queues.iter().map(AsRawFd::as_raw_fd).collect();
        let program = Program::attach(interface.index, &sockets, own)?;
        let checksum = if interface.is_software() { Checksum::Untold } else { Checksum::There };
        Ok(Self {
            program,
            queues,
            turn: 0,
            any,
            checksum,
            shown: 0,
            told: RingCounters::default(),
            _promiscuous: promiscuous,
        })
    }

    /// Why an interface cannot be opened, as far as can be known by looking, and what helps.
    pub fn unfit(interface: &Interface) -> Option<String> {
        let (mtu, count) = (interface.mtu as usize, queues(&interface.name));
        if mtu > MOST_MTU {
            Some(format!(
                "its MTU of {mtu} B is more than the {MOST_MTU} B that fit AF_XDP's memory\n  hint:    `ip link set {} mtu {MOST_MTU}`",
                interface.name
            ))
        } else if count > MOST_QUEUES {
            Some(format!(
                "{count} receive queues are more than one thread should ask\n  hint:    `ethtool -L {} combined 1`",
                interface.name
            ))
        } else {
            None
        }
    }

    /// Whether the interface itself reads and writes the shared memory, rather than the kernel for it.
    pub fn is_zero_copy(&self) -> Result<bool> {
        self.queues[0].is_zero_copy()
    }

    /// Shows the next frame to `look`, and hands its place back to the kernel; `None` if there is none.
    pub fn next<R>(&mut self, look: impl FnOnce(Received<'_>) -> R) -> Option<R> {
        let checksum = self.checksum;
        let mut look = Some(look);
        for _ in 0..self.queues.len() {
            let turn = self.turn;
            self.turn = if turn + 1 == self.queues.len() { 0 } else { turn + 1 };
            let result = self.queues[turn].next(|bytes| {
                look.take().map(|look| look(Received { bytes, vlan: None, len: bytes.len(), checksum }))
            });
            if let Some(result) = result {
                self.shown += 1;
                return result;
            }
        }
        None
    }

    /// Sends the first of `ids`, as many as there is room for. Those taken may be given back at once.
    ///
    /// # Errors
    /// If it takes not even the first, why. There is no waiting for room: who is told [`Refusal::Full`] tries again.
    pub fn send(&mut self, frames: &Frames, ids: &[FrameId]) -> std::result::Result<Sent, Refusal> {
        self.queues[0].send(frames, ids)
    }

    /// What was received and lost since the last call.
    pub fn counters(&mut self) -> Result<RingCounters> {
        let mut now = RingCounters { own: self.program.passed(), ..RingCounters::default() };
        for queue in &self.queues {
            let counted = queue.statistics()?;
            // A frame that finds no memory to lie in is among the dropped ones, too; the others did not fit.
            let no_memory = counted.rx_dropped.min(counted.rx_fill_ring_empty_descs);
            now.dropped += counted.rx_ring_full + no_memory;
            now.too_long += counted.rx_dropped - no_memory;
        }
        now.frames = self.shown + now.own + now.dropped + now.too_long;
        let told = std::mem::replace(&mut self.told, now);
        Ok(RingCounters {
            frames: now.frames - told.frames,
            dropped: now.dropped - told.dropped,
            own: now.own - told.own,
            too_long: now.too_long - told.too_long,
        })
    }

    /// Takes the error that the end of the interface leaves, so that waiting works again.
    pub fn take_error(&self) -> Result<Option<Error>> {
        let mut taken = None;
        for queue in &self.queues {
            taken = queue.take_error()?.or(taken);
        }
        Ok(taken)
    }

    /// Readable when a frame is there.
    pub fn readable(&self) -> BorrowedFd<'_> {
        self.any.as_ref().map_or_else(|| self.queues[0].as_fd(), AsFd::as_fd)
    }

    /// To be polled, which moves frames on that the driver had no room for.
    pub fn writable(&self) -> BorrowedFd<'_> {
        self.queues[0].as_fd()
    }
}

fn wait_for_any(queues: &[Socket]) -> Result<OwnedFd> {
    let any = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for queue in queues {
        epoll::add(&any, queue, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
    }
    Ok(any)
}

/// Receive queues of an interface, at least one.
fn queues(name: &str) -> usize {
    let queues = std::fs::read_dir(Path::new("/sys/class/net").join(name).join("queues"));
    let is_for_receiving = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("rx-");
    queues.map_or(1, |queues| queues.flatten().filter(is_for_receiving).count()).max(1)
}

/// Before a frame in its piece of memory: `XDP_PACKET_HEADROOM`.
const HEADROOM: usize = 256;
/// A piece of memory is a page at most, and a power of two.
const LONG_PIECE: usize = 4096;
/// Longest packet for which that is enough.
const MOST_MTU: usize = LONG_PIECE - HEADROOM - FRAMING;
/// Enough for an MTU of 1500.
const SHORT_PIECE: usize = 2048;
/// Frames that may wait to be read, of all queues together.
const SLOTS: usize = 4096;
/// As many as a driver has in its own ring, or more.
const FEWEST_SLOTS: usize = 1024;
/// Each is a system call's worth of looking, and memory.
const MOST_QUEUES: usize = 16;
