//! The sending half: many frames at a call, straight from the pool. They pass the interface's own queue, so that other
//! programs see them there; a small send buffer keeps that queue short and says when it is full.

use std::io::{Error, ErrorKind, Result};
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::interface::Interface;
use super::socket::{packet_socket, set_option, take_error};
use crate::frames::{FrameId, Frames};

/// Sends frames out of an interface.
#[derive(Debug)]
pub struct Sender {
    socket: OwnedFd,
}

/// Why the first frame was not sent.
#[derive(Debug)]
pub enum Refusal {
    /// The interface takes nothing more now; it can be waited for.
    Full,
    /// Never this one: it is too long, or the interface is down.
    Lost(Error),
}

/// Frames of one call.
const BATCH: usize = 64;

impl Sender {
    /// Opens an interface; at most `buffer` bytes (as the kernel counts) stand in its own queue.
    pub fn open(interface: &Interface, buffer: u32) -> Result<Self> {
        let socket = packet_socket(interface.index, 0)?;
        set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &buffer)?;
        Ok(Self { socket })
    }

    /// Sends the first of `ids`, as many as the interface takes, and says how many. Those sent may be given back at once.
    ///
    /// # Errors
    /// If it takes not even the first, why.
    pub fn send(&mut self, frames: &Frames, ids: &[FrameId]) -> std::result::Result<usize, Refusal> {
        // SAFETY: all zeros is a valid value of both.
        let (mut vectors, mut messages): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
            unsafe { (zeroed(), zeroed()) };
        let count = ids.len().min(BATCH);
        for ((id, vector), message) in ids.iter().zip(&mut vectors).zip(&mut messages) {
            let bytes = frames.bytes(*id);
            // The kernel reads these bytes and does not write, so the lost `const` is no harm.
            *vector = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
            message.msg_hdr.msg_iov = vector;
            message.msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: `count` messages are filled in; what they point to lives through the call, and the kernel copies it.
        let sent = unsafe { libc::sendmmsg(self.socket.as_raw_fd(), messages.as_mut_ptr(), count as u32, 0) };
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

    /// Takes the error that the interface going down leaves.
    pub fn take_error(&self) -> Result<Option<Error>> {
        take_error(&self.socket)
    }
}

impl AsFd for Sender {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
