//! One AF_XDP socket: a queue of an interface, and the memory its frames lie in. Pieces of that memory go round: those for
//! what is received are handed to the kernel by the fill ring and come back with a frame by the receive ring; those for what
//! is sent go by the transmit ring and come back by the completion ring. Frames of more than one piece (`XDP_USE_SG`) are
//! left out.

use std::io::{Error, ErrorKind, Result};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::{null, null_mut};

use libc::{SOL_XDP, c_int, socklen_t};

use super::super::mapping::Mapping;
use super::super::sender::Refusal;
use super::super::socket::{Numbers, get_option, set_option, take_error};
use super::ring::{Consumer, Descriptor, Producer};
use crate::frames::{FrameId, Frames};

/// A socket bound to a queue.
#[derive(Debug)]
pub(super) struct Socket {
    /// Pieces to receive into, then pieces to send from.
    memory: Mapping,
    piece: usize,
    fill: Producer<u64>,
    receive: Consumer<Descriptor>,
    transmit: Producer<Descriptor>,
    completion: Consumer<u64>,
    /// Pieces to send from that are ours.
    free: Vec<u64>,
    socket: OwnedFd,
}

/// What became of frames that were to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// The first so many were taken, and may be given back.
    pub taken: usize,
    /// Of what was taken now or before: thrown away by the interface.
    pub lost: usize,
}

/// Frames on their way out of the interface at most, so that queues form here and not there: 48 kB.
pub(super) const SENDING: u32 = 32;

impl Socket {
    /// Opens a queue with `slots` pieces, a power of two, of `piece` bytes (2048 or 4096) to receive into.
    pub(super) fn open(index: u32, queue: u32, piece: usize, slots: u32) -> Result<Self> {
        // SAFETY: no pointers; the result is checked.
        let fd = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and nobody else knows it.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        let receiving = slots as usize * piece;
        let memory = Mapping::own(receiving + SENDING as usize * piece)?;
        register(&socket, &memory, piece)?;
        set_option(&socket, SOL_XDP, libc::XDP_UMEM_FILL_RING, &slots)?;
        set_option(&socket, SOL_XDP, libc::XDP_UMEM_COMPLETION_RING, &SENDING)?;
        set_option(&socket, SOL_XDP, libc::XDP_RX_RING, &slots)?;
        set_option(&socket, SOL_XDP, libc::XDP_TX_RING, &SENDING)?;
        let at: libc::xdp_mmap_offsets = get_option(&socket, SOL_XDP, libc::XDP_MMAP_OFFSETS)?;
        let mut fill = Producer::open(&socket, libc::XDP_UMEM_PGOFF_FILL_RING, &at.fr, slots)?;
        let completion = Consumer::open(&socket, libc::XDP_UMEM_PGOFF_COMPLETION_RING, &at.cr, SENDING)?;
        let receive = Consumer::open(&socket, libc::XDP_PGOFF_RX_RING as u64, &at.rx, slots)?;
        let transmit = Producer::open(&socket, libc::XDP_PGOFF_TX_RING as u64, &at.tx, SENDING)?;
        for slot in 0..slots as usize {
            fill.push((slot * piece) as u64);
        }
        let free = (0..SENDING as usize).map(|slot| (receiving + slot * piece) as u64).collect();
        bind(&socket, index, queue)?;
        Ok(Self { memory, piece, fill, receive, transmit, completion, free, socket })
    }

    /// Whether the interface itself reads and writes the memory.
    pub(super) fn is_zero_copy(&self) -> Result<bool> {
        let options: libc::xdp_options = get_option(&self.socket, SOL_XDP, libc::XDP_OPTIONS)?;
        Ok(options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0)
    }

    /// Shows the next frame to `look`, and hands its place back to the kernel; `None` if there is none.
    pub(super) fn next<R>(&mut self, look: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let Some(Descriptor { at, len }) = self.receive.pop() else {
            self.ask_for_more();
            return None;
        };
        let result = look(self.memory.bytes(at as usize, len as usize));
        self.fill.push(at - at % self.piece as u64);
        Some(result)
    }

    /// A driver that found no memory to receive into wants to be told that there is some.
    fn ask_for_more(&self) {
        if self.fill.wants_call() {
            // If it cannot look now, it is asked again.
            // SAFETY: there is no room for bytes or an address, and none is said to be there.
            let _ = unsafe {
                libc::recvfrom(
                    self.socket.as_raw_fd(),
                    null_mut(),
                    0,
                    libc::MSG_DONTWAIT,
                    null_mut(),
                    null_mut(),
                )
            };
        }
    }

    /// Sends the first of `ids`, as many as there is memory for.
    ///
    /// # Errors
    /// If not even the first found place, why. While the interface is down, as many as find place wait for it to come back.
    pub(super) fn send(&mut self, frames: &Frames, ids: &[FrameId]) -> std::result::Result<Sent, Refusal> {
        while let Some(at) = self.completion.pop() {
            self.free.push(at);
        }
        let mut taken = 0;
        for id in ids {
            let Some(at) = self.free.pop() else { break };
            let bytes = frames.bytes(*id);
            self.memory.bytes_mut(at as usize, bytes.len()).copy_from_slice(bytes);
            self.transmit.push(Descriptor { at, len: bytes.len() as u32 });
            taken += 1;
        }
        match self.push_on() {
            Ok(lost) if taken > 0 || lost > 0 => Ok(Sent { taken, lost }),
            Ok(_) => Err(Refusal::Full),
            Err(_) if taken > 0 => Ok(Sent { taken, lost: 0 }),
            Err(error) => Err(Refusal::Lost(error)),
        }
    }

    /// Has the kernel take what stands in the transmit ring; how many frames the interface threw away meanwhile.
    fn push_on(&mut self) -> Result<usize> {
        let mut lost = 0;
        while self.transmit.wants_call() {
            let untaken = self.transmit.untaken();
            if untaken == 0 {
                break;
            }
            // SAFETY: neither bytes nor an address are given.
            let result =
                unsafe { libc::sendto(self.socket.as_raw_fd(), null(), 0, libc::MSG_DONTWAIT, null(), 0) };
            let error = (result < 0).then(Error::last_os_error);
            let went = self.transmit.untaken() < untaken;
            match error.as_ref().map(|error| (error.kind(), error.raw_os_error())) {
                None | Some((ErrorKind::WouldBlock | ErrorKind::Interrupted, _)) => {}
                // The last one taken did not go further.
                Some((_, Some(libc::EBUSY))) => lost += usize::from(went),
                Some((_, Some(libc::ENOBUFS))) => {}
                Some(_) => return Err(error.unwrap_or_else(Error::last_os_error)),
            }
            if !went {
                break;
            }
        }
        Ok(lost)
    }

    /// What the kernel counted since the socket was opened.
    pub(super) fn statistics(&self) -> Result<libc::xdp_statistics> {
        get_option(&self.socket, SOL_XDP, libc::XDP_STATISTICS)
    }

    /// Takes the error that the end of an interface leaves.
    pub(super) fn take_error(&self) -> Result<Option<Error>> {
        take_error(&self.socket)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> c_int {
        self.socket.as_raw_fd()
    }
}

// SAFETY: numbers only, for which any bytes are values.
unsafe impl Numbers for libc::xdp_mmap_offsets {}
// SAFETY: the same.
unsafe impl Numbers for libc::xdp_options {}
// SAFETY: the same.
unsafe impl Numbers for libc::xdp_statistics {}

fn register(socket: &OwnedFd, memory: &Mapping, piece: usize) -> Result<()> {
    let region = libc::xdp_umem_reg {
        addr: memory.address(),
        len: memory.len() as u64,
        chunk_size: piece as u32,
        headroom: 0,
        flags: 0,
        tx_metadata_len: 0,
    };
    set_option(socket, SOL_XDP, libc::XDP_UMEM_REG, &region).map_err(|error| match error.raw_os_error() {
        Some(libc::ENOBUFS) => Error::other(format!(
            "it may not lock {} MiB of memory: raise the limit (`ulimit -l`, LimitMEMLOCK=)",
            memory.len() >> 20
        )),
        _ => error,
    })
}

/// Binds to a queue, without copies if the driver knows how.
fn bind(socket: &OwnedFd, index: u32, queue: u32) -> Result<()> {
    // SAFETY: all zeros is a valid `sockaddr_xdp`.
    let mut address: libc::sockaddr_xdp = unsafe { zeroed() };
    address.sxdp_family = libc::AF_XDP as u16;
    address.sxdp_flags = libc::XDP_USE_NEED_WAKEUP;
    address.sxdp_ifindex = index;
    address.sxdp_queue_id = queue;
    // SAFETY: the pointer is to a `sockaddr_xdp` that lives through the call, and the length is its own.
    let result = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_xdp>() as socklen_t,
        )
    };
    if result == 0 {
        return Ok(());
    }
    let error = Error::last_os_error();
    Err(match error.raw_os_error() {
        Some(libc::EBUSY) => Error::other(format!("another program has an AF_XDP socket at queue {queue}")),
        _ => error,
    })
}
