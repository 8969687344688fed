//! An open interface, by either of the two ways to its frames. Which one is chosen when it is opened; the engine knows no
//! other difference than [`Port::tells_of_room`].

use std::fmt;
use std::io::{Error, Result};
use std::os::fd::{AsFd, BorrowedFd};

use super::interface::Interface;
use super::receiver::{Received, Receiver, RingCounters};
use super::sender::{Refusal, Sender};
use super::xdp::{Sent, XdpPort};
use crate::frames::{FrameId, Frames};

/// A way to the frames of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// Packet sockets: any Ethernet interface, and the machine stays reachable over it.
    Packet,
    /// AF_XDP: drivers that run XDP programs, and the interface is the gateway's alone.
    Xdp,
}

impl fmt::Display for Io {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Packet => "AF_PACKET",
            Self::Xdp => "AF_XDP",
        })
    }
}

/// An open interface. Receives every frame that comes in there, whoever it is for; not those the host itself sends.
#[derive(Debug)]
pub struct Port(Way);

#[derive(Debug)]
enum Way {
    Packet(Receiver, Sender),
    Xdp(XdpPort),
}

/// Bytes in the interface's own queue, as the kernel counts: some 25 frames of 1500 B.
const SEND_BUFFER: u32 = 64 << 10;

impl Port {
    /// Opens an interface for frames of up to `longest` bytes. Frames to one of `own` need not be shown: they are this machine's.
    pub fn open(interface: &Interface, io: Io, longest: usize, own: &[[u8; 6]]) -> Result<Self> {
        Ok(Self(match io {
            Io::Packet => {
                let sender = Sender::open(interface, SEND_BUFFER)?;
                Way::Packet(Receiver::open(interface, longest)?, sender)
            }
            Io::Xdp => Way::Xdp(XdpPort::open(interface, longest, own)?),
        }))
    }

    /// Shows the next frame to `look`, and hands its place back to the kernel; `None` if there is none.
    pub fn next<R>(&mut self, look: impl FnOnce(Received<'_>) -> R) -> Option<R> {
        match &mut self.0 {
            Way::Packet(receiver, _) => receiver.next(look),
            Way::Xdp(port) => port.next(look),
        }
    }

    /// Sends the first of `ids`, as many as the interface takes. Those taken may be given back at once.
    ///
    /// # Errors
    /// If it takes not even the first, why.
    pub fn send(&mut self, frames: &Frames, ids: &[FrameId]) -> std::result::Result<Sent, Refusal> {
        match &mut self.0 {
            Way::Packet(_, sender) => sender.send(frames, ids).map(|taken| Sent { taken, lost: 0 }),
            Way::Xdp(port) => port.send(frames, ids),
        }
    }

    /// What was received and lost since the last call.
    pub fn counters(&mut self) -> Result<RingCounters> {
        match &mut self.0 {
            Way::Packet(receiver, _) => receiver.counters(),
            Way::Xdp(port) => port.counters(),
        }
    }

    /// Takes the error that the interface going down leaves, so that waiting works again.
    pub fn take_error(&self) -> Result<Option<Error>> {
        match &self.0 {
            Way::Packet(receiver, sender) => Ok(receiver.take_error()?.or(sender.take_error()?)),
            Way::Xdp(port) => port.take_error(),
        }
    }

    /// Readable when a frame is there.
    pub fn readable(&self) -> BorrowedFd<'_> {
        match &self.0 {
            Way::Packet(receiver, _) => receiver.as_fd(),
            Way::Xdp(port) => port.readable(),
        }
    }

    /// Writable when there is room again, if it [tells](Self::tells_of_room); to be polled in any case.
    pub fn writable(&self) -> BorrowedFd<'_> {
        match &self.0 {
            Way::Packet(_, sender) => sender.as_fd(),
            Way::Xdp(port) => port.writable(),
        }
    }

    /// Whether room to send after [`Refusal::Full`] can be waited for; else it has to be tried. (AF_XDP says when the kernel
    /// has taken frames, not when they have left.)
    pub const fn tells_of_room(&self) -> bool {
        matches!(self.0, Way::Packet(..))
    }

    /// Whether the interface itself reads and writes the memory frames lie in.
    pub fn is_zero_copy(&self) -> Result<bool> {
        match &self.0 {
            Way::Packet(..) => Ok(false),
            Way::Xdp(port) => port.is_zero_copy(),
        }
    }
}
