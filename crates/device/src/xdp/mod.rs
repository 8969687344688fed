//! AF_XDP (`Documentation/networking/af_xdp.rst`): frames come from the driver before the network stack sees them, into memory
//! shared with the kernel, and go to the driver the same way. Not supported: frames longer than one chunk of that memory, VLAN tags
//! that hardware takes out of frames (switched off, see [`crate::VLAN_STRIPPING`]), and drivers without XDP, where the kernel
//! could only emulate it.
#![expect(unsafe_code, reason = "AF_XDP sockets have no safe binding")]

mod program;
mod ring;
mod socket;

use std::io::{Error, Result};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::epoll;

use self::program::Program;
use self::socket::Socket;
use crate::bpf::Heartbeat;
use crate::frames::{FrameId, Frames};
use crate::interface::{FRAMING, Interface};
use crate::packet::{PacketSocket, Start};
use crate::transfer::{Checksum, Received, Refusal, RingCounters, Sent};

/// An interface whose frames are received and sent by AF_XDP.
#[derive(Debug)]
pub struct XdpPort {
    /// Dropped first: frames then go to the machine again, not to closed sockets.
    program: Program,
    /// One for each receive queue of the interface. The first one also sends.
    queues: Vec<Socket>,
    /// Queue to be read next.
    turn: usize,
    /// Readable when any queue is. `None` if there is only one.
    any: Option<OwnedFd>,
    checksum: Checksum,
    chunk: usize,
    shown: u64,
    told: RingCounters,
    /// Keeps the interface promiscuous.
    _promiscuous: PacketSocket,
}

impl XdpPort {
    /// Opens an interface for frames of up to `longest` bytes. Frames to a MAC address in `own` stay with this machine. As long as
    /// this lives, the interface is promiscuous and its other frames come here instead of to this machine, except while `heartbeat` stands still.
    ///
    /// # Errors
    /// Why the kernel or the driver refuses. [`XdpPort::unfit`] knows some reasons beforehand.
    pub fn open(
        interface: &Interface,
        longest: usize,
        own: &[[u8; 6]],
        heartbeat: &Heartbeat,
    ) -> Result<Self> {
        if longest + HEADROOM > LONG_CHUNK {
            return Err(Error::other(format!("frames of up to {longest} B do not fit AF_XDP's memory")));
        }
        let chunk = if longest + HEADROOM <= SHORT_CHUNK { SHORT_CHUNK } else { LONG_CHUNK };
        let count = interface.receive_queues();
        let slots = (SLOTS / count).next_power_of_two().max(FEWEST_SLOTS);
        let queues: Vec<_> = (0..count as u32)
            .map(|queue| Socket::open(interface.index, queue, chunk, slots as u32))
            .collect::<Result<_>>()?;
        let any = if queues.len() > 1 { Some(wait_for_any(&queues)?) } else { None };
        let promiscuous = PacketSocket::open(Start::Link)?;
        promiscuous.make_promiscuous(interface.index)?;
        let sockets: Vec<_> = queues.iter().map(AsRawFd::as_raw_fd).collect();
        let program = Program::attach(interface, &sockets, own, heartbeat)?;
        let checksum = if interface.is_software() { Checksum::Unknown } else { Checksum::Present };
        Ok(Self {
            program,
            queues,
            turn: 0,
            any,
            checksum,
            chunk,
            shown: 0,
            told: RingCounters::default(),
            _promiscuous: promiscuous,
        })
    }

    /// Returns why an interface cannot be opened, with a hint, as far as its attributes tell.
    pub fn unfit(interface: &Interface) -> Option<String> {
        let (mtu, count) = (interface.mtu as usize, interface.receive_queues());
        if mtu > MOST_MTU {
            Some(format!(
                "its MTU of {mtu} B is above {MOST_MTU} B, the most that AF_XDP's memory holds\n  hint:    `ip link set {} mtu {MOST_MTU}`",
                interface.name
            ))
        } else if count > MOST_QUEUES {
            Some(format!(
                "it has {count} receive queues; one thread serves at most {MOST_QUEUES}\n  hint:    `ethtool -L {} combined 1`",
                interface.name
            ))
        } else if interface.is_software() && program::tag_reader().is_none() {
            Some(
                "a virtual interface may carry VLAN tags beside its frames, and this kernel does not show them to XDP \
                 programs (Linux 6.8 does)\n  hint:    use --io packet"
                    .into(),
            )
        } else {
            None
        }
    }

    /// Whether the interface itself reads and writes the shared memory (zero copy). Otherwise the kernel copies.
    pub fn is_zero_copy(&self) -> Result<bool> {
        self.queues[0].is_zero_copy()
    }

    /// Most bytes of a frame.
    pub const fn longest(&self) -> usize {
        self.chunk - HEADROOM
    }

    /// Shows the next frame to `look` and gives its chunk back to the kernel; `None` if there is no frame.
    pub fn next<R>(&mut self, look: impl FnOnce(Received<'_>) -> R) -> Option<R> {
        let checksum = self.checksum;
        let mut look = Some(look);
        for _ in 0..self.queues.len() {
            let turn = self.turn;
            self.turn = if turn + 1 == self.queues.len() { 0 } else { turn + 1 };
            let result = self.queues[turn].next(|bytes| {
                look.take().map(|look| {
                    look(Received { bytes, vlan: None, len: bytes.len(), checksum, segments: None })
                })
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
    /// Returns the reason if not even the first frame was taken. After [`Refusal::Full`] try again later: no event tells when there is
    /// room.
    pub fn send(&mut self, frames: &Frames, ids: &[FrameId]) -> std::result::Result<Sent, Refusal> {
        self.queues[0].send(frames, ids)
    }

    /// Frames received and lost since the last call.
    pub fn counters(&mut self) -> Result<RingCounters> {
        let mut now = RingCounters { own: self.program.passed(), ..RingCounters::default() };
        for queue in &self.queues {
            let counted = queue.statistics()?;
            // `rx_dropped` counts frames for which there was no memory, and frames that did not fit.
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

    /// Takes the error that the interface leaves when it goes away, so that waiting works again.
    pub fn take_error(&self) -> Result<Option<Error>> {
        let mut taken = None;
        for queue in &self.queues {
            taken = queue.take_error()?.or(taken);
        }
        Ok(taken)
    }

    /// Descriptor that is readable when a frame is there.
    pub fn readable(&self) -> BorrowedFd<'_> {
        self.any.as_ref().map_or_else(|| self.queues[0].as_fd(), AsFd::as_fd)
    }

    /// Descriptor to be polled: that pushes on frames for which the driver had no room.
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

/// Bytes before a frame in its chunk: `XDP_PACKET_HEADROOM`.
const HEADROOM: usize = 256;
/// Largest chunk: a page. Chunks are powers of two.
const LONG_CHUNK: usize = 4096;
/// Largest MTU for such a chunk.
const MOST_MTU: usize = LONG_CHUNK - HEADROOM - FRAMING;
/// Chunk for an MTU of 1500.
const SHORT_CHUNK: usize = 2048;
/// Frames that may wait to be read, in all queues together.
const SLOTS: usize = 4096;
/// Fewest for one queue: at least as many as a driver has in its own ring.
const FEWEST_SLOTS: usize = 1024;
/// Each queue costs memory, and time to look at it.
const MOST_QUEUES: usize = 16;
