//! The sending half of a port: many frames in one call, straight from the pool. They pass the interface's own queue, so other
//! programs see them there. A small send buffer keeps that queue short and tells when it is full.

use std::io::{Error, ErrorKind, Result};
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use super::{PacketSocket, Start};
use crate::frames::{FrameId, Frames};
use crate::interface::Interface;
use crate::option;
use crate::transfer::Refusal;

/// Sends frames out of an interface.
#[derive(Debug)]
pub struct Sender {
    socket: PacketSocket,
}

/// Most frames in one call.
const BATCH: usize = 64;

impl Sender {
    /// Opens an interface. At most `buffer` bytes, as the kernel counts them, wait in its own queue.
    pub fn open(interface: &Interface, buffer: u32) -> Result<Self> {
        let socket = PacketSocket::open(Start::Link)?;
        socket.send_to(interface.index)?;
        option::set(&socket.0, libc::SOL_SOCKET, libc::SO_SNDBUF, &buffer)?;
        Ok(Self { socket })
    }

    /// Sends the first of `ids`, as many as the interface takes, and returns how many. Those may be given back at once.
    ///
    /// # Errors
    /// Returns the reason if not even the first frame was taken.
    pub fn send(&mut self, frames: &Frames, ids: &[FrameId]) -> std::result::Result<usize, Refusal> {
        // SAFETY: all zeros is a valid value of both.
        let (mut vectors, mut messages): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
            unsafe { (zeroed(), zeroed()) };
        let count = ids.len().min(BATCH);
        for ((id, vector), message) in ids.iter().zip(&mut vectors).zip(&mut messages) {
            let bytes = frames.bytes(*id);
            // The kernel only reads these bytes, so the lost `const` does no harm.
            *vector = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
            message.msg_hdr.msg_iov = vector;
            message.msg_hdr.msg_iovlen = 1;
        }
        let socket = self.socket.as_fd().as_raw_fd();
        // SAFETY: `count` messages are filled in; what they point to lives through the call, and the kernel copies it.
        let sent = unsafe { libc::sendmmsg(socket, messages.as_mut_ptr(), count as u32, 0) };
        if sent > 0 {
            return Ok(sent as usize);
        }
        let error = Error::last_os_error();
        match (error.kind(), error.raw_os_error()) {
            (ErrorKind::WouldBlock | ErrorKind::Interrupted, _) | (_, Some(libc::ENOBUFS)) => {
                Err(Refusal::Full)
            }
            _ => Err(Refusal::Lost(error)),
        }
    }

    /// Takes the error that the interface leaves when it goes down.
    pub fn take_error(&self) -> Result<Option<Error>> {
        self.socket.take_error()
    }
}

impl AsFd for Sender {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
