//! One AF_XDP socket: a queue of an interface, and the memory for its frames. Chunks of that memory circulate. A receive chunk goes
//! to the kernel by the fill ring and comes back with a frame by the receive ring. A send chunk goes by the transmit ring and comes
//! back by the completion ring. Frames of more than one chunk (`XDP_USE_SG`) are not supported.

use std::io::{Error, ErrorKind, Result};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::{null, null_mut};

use libc::{SOL_XDP, c_int, socklen_t};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::ring::{Consumer, Descriptor, Producer};
use crate::frames::{FrameId, Frames};
use crate::mapping::Mapping;
use crate::option::{self, Numbers};
use crate::transfer::{Refusal, Sent};

/// A socket bound to a queue.
#[derive(Debug)]
pub(super) struct Socket {
    /// Receive chunks, then send chunks.
    memory: Mapping,
    chunk: usize,
    fill: Producer<u64>,
    receive: Consumer<Descriptor>,
    transmit: Producer<Descriptor>,
    completion: Consumer<u64>,
    /// Send chunks that this process owns.
    free: Vec<u64>,
    socket: OwnedFd,
}

/// Most frames on their way out of the interface: 48 kB, so that queues form here and not there.
pub(super) const SENDING: u32 = 32;

impl Socket {
    /// Opens a queue with `slots` receive chunks, a power of two, of `chunk` bytes (2048 or 4096).
    pub(super) fn open(index: u32, queue: u32, chunk: usize, slots: u32) -> Result<Self> {
        let socket = socket_with(AddressFamily::XDP, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        let receiving = slots as usize * chunk;
        let memory = Mapping::own(receiving + SENDING as usize * chunk)?;
        register(&socket, &memory, chunk)?;
        option::set(&socket, SOL_XDP, libc::XDP_UMEM_FILL_RING, &slots)?;
        option::set(&socket, SOL_XDP, libc::XDP_UMEM_COMPLETION_RING, &SENDING)?;
        option::set(&socket, SOL_XDP, libc::XDP_RX_RING, &slots)?;
        option::set(&socket, SOL_XDP, libc::XDP_TX_RING, &SENDING)?;
        let at: libc::xdp_mmap_offsets = option::get(&socket, SOL_XDP, libc::XDP_MMAP_OFFSETS)?;
        let mut fill = Producer::open(&socket, libc::XDP_UMEM_PGOFF_FILL_RING, &at.fr, slots)?;
        let completion = Consumer::open(&socket, libc::XDP_UMEM_PGOFF_COMPLETION_RING, &at.cr, SENDING)?;
        let receive = Consumer::open(&socket, libc::XDP_PGOFF_RX_RING as u64, &at.rx, slots)?;
        let transmit = Producer::open(&socket, libc::XDP_PGOFF_TX_RING as u64, &at.tx, SENDING)?;
        for slot in 0..slots as usize {
            fill.push((slot * chunk) as u64);
        }
        let free = (0..SENDING as usize).map(|slot| (receiving + slot * chunk) as u64).collect();
        bind(&socket, index, queue)?;
        Ok(Self { memory, chunk, fill, receive, transmit, completion, free, socket })
    }

    /// Whether the interface itself reads and writes the memory (zero copy).
    pub(super) fn is_zero_copy(&self) -> Result<bool> {
        let options: libc::xdp_options = option::get(&self.socket, SOL_XDP, libc::XDP_OPTIONS)?;
        Ok(options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0)
    }

    /// Shows the next frame to `look` and gives its chunk back to the kernel; `None` if there is no frame.
    pub(super) fn next<R>(&mut self, look: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let Some(Descriptor { at, len }) = self.receive.pop() else {
            self.ask_for_more();
            return None;
        };
        let result = look(self.memory.bytes(at as usize, len as usize));
        self.fill.push(at - at % self.chunk as u64);
        Some(result)
    }

    /// Wakes a driver that found no memory to receive into.
    fn ask_for_more(&self) {
        if self.fill.wants_call() {
            // An error does not matter: the next call tries again.
            // SAFETY: both buffers are null and the lengths are 0.
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
    /// Why there was no room even for the first. While the interface is down, frames that find room wait for it to come back.
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

    /// Makes the kernel take the frames in the transmit ring. Returns how many frames the interface discarded meanwhile.
    fn push_on(&mut self) -> Result<usize> {
        let mut lost = 0;
        while self.transmit.wants_call() {
            let untaken = self.transmit.untaken();
            if untaken == 0 {
                break;
            }
            // SAFETY: both buffers are null and the lengths are 0.
            let result =
                unsafe { libc::sendto(self.socket.as_raw_fd(), null(), 0, libc::MSG_DONTWAIT, null(), 0) };
            let error = (result < 0).then(Error::last_os_error);
            let went = self.transmit.untaken() < untaken;
            match error.as_ref().map(|error| (error.kind(), error.raw_os_error())) {
                None | Some((ErrorKind::WouldBlock | ErrorKind::Interrupted, _)) => {}
                // The driver discarded the frame that the kernel took last.
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

    /// Counters of the kernel since the socket was opened.
    pub(super) fn statistics(&self) -> Result<libc::xdp_statistics> {
        option::get(&self.socket, SOL_XDP, libc::XDP_STATISTICS)
    }

    /// Takes the error that an interface leaves when it goes away.
    pub(super) fn take_error(&self) -> Result<Option<Error>> {
        option::take_error(&self.socket)
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

// SAFETY: numbers only.
unsafe impl Numbers for libc::xdp_mmap_offsets {}
// SAFETY: numbers only.
unsafe impl Numbers for libc::xdp_options {}
// SAFETY: numbers only.
unsafe impl Numbers for libc::xdp_statistics {}

fn register(socket: &OwnedFd, memory: &Mapping, chunk: usize) -> Result<()> {
    let region = libc::xdp_umem_reg {
        addr: memory.address(),
        len: memory.len() as u64,
        chunk_size: chunk as u32,
        headroom: 0,
        flags: 0,
        tx_metadata_len: 0,
    };
    option::set(socket, SOL_XDP, libc::XDP_UMEM_REG, &region).map_err(|error| match error.raw_os_error() {
        Some(libc::ENOBUFS) => Error::other(format!(
            "it may not lock {} MiB of memory\n  hint:    raise the limit (`ulimit -l`, LimitMEMLOCK=)",
            memory.len() >> 20
        )),
        _ => error,
    })
}

/// Binds to a queue, with zero copy if the driver supports it.
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
