//! An open interface, by packet sockets or AF_XDP. The choice is made when it is opened. The only difference that the engine
//! sees is [`Port::tells_of_room`].

use std::fmt;
use std::io::{Error, Result};
use std::os::fd::{AsFd, BorrowedFd};

use crate::bpf::Heartbeat;
use crate::frames::{FrameId, Frames};
use crate::interface::Interface;
use crate::packet::{Receiver, Sender};
use crate::transfer::{Received, Refusal, RingCounters, Sent};
use crate::xdp::XdpPort;

/// How frames of an interface are received and sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// Packet sockets: on any Ethernet interface. The machine stays reachable over it.
    Packet,
    /// AF_XDP: where the driver runs XDP programs. The program has the interface to itself.
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

/// An open interface. Shows every frame that arrives there, whatever its destination, but none that this host sends.
#[derive(Debug)]
pub struct Port(Way);

#[derive(Debug)]
enum Way {
    Packet(Receiver, Sender),
    Xdp(XdpPort),
}

/// Most bytes in the interface's own queue, as the kernel counts them: about 25 frames of 1500 B.
const SEND_BUFFER: u32 = 64 << 10;

impl Port {
    /// Opens an interface for frames of up to `longest` bytes. Frames to a MAC address in `own` are this machine's and need not
    /// be shown. AF_XDP needs a heartbeat.
    pub fn open(
        interface: &Interface,
        io: Io,
        longest: usize,
        own: &[[u8; 6]],
        heartbeat: std::result::Result<&Heartbeat, &Error>,
    ) -> Result<Self> {
        Ok(Self(match io {
            Io::Packet => {
                let sender = Sender::open(interface, SEND_BUFFER)?;
                Way::Packet(Receiver::open(interface, longest)?, sender)
            }
            Io::Xdp => {
                let heartbeat = heartbeat.map_err(|error| Error::new(error.kind(), error.to_string()))?;
                Way::Xdp(XdpPort::open(interface, longest, own, heartbeat)?)
            }
        }))
    }

    /// Shows the next frame to `look` and gives its slot back to the kernel; `None` if there is no frame.
    pub fn next<R>(&mut self, look: impl FnOnce(Received<'_>) -> R) -> Option<R> {
        match &mut self.0 {
            Way::Packet(receiver, _) => receiver.next(look),
            Way::Xdp(port) => port.next(look),
        }
    }

    /// Sends the first of `ids`, as many as the interface takes. Those taken may be given back at once.
    ///
    /// # Errors
    /// Returns the reason if not even the first frame was taken.
    pub fn send(&mut self, frames: &Frames, ids: &[FrameId]) -> std::result::Result<Sent, Refusal> {
        match &mut self.0 {
            Way::Packet(_, sender) => sender.send(frames, ids).map(|taken| Sent { taken, lost: 0 }),
            Way::Xdp(port) => port.send(frames, ids),
        }
    }

    /// Most bytes of a frame that can be received.
    pub const fn longest(&self) -> usize {
        match &self.0 {
            Way::Packet(..) => Receiver::LONGEST,
            Way::Xdp(port) => port.longest(),
        }
    }

    /// Frames received and lost since the last call.
    pub fn counters(&mut self) -> Result<RingCounters> {
        match &mut self.0 {
            Way::Packet(receiver, _) => receiver.counters(),
            Way::Xdp(port) => port.counters(),
        }
    }

    /// Takes the error that the interface leaves when it goes down, so that waiting works again.
    pub fn take_error(&self) -> Result<Option<Error>> {
        match &self.0 {
            Way::Packet(receiver, sender) => Ok(receiver.take_error()?.or(sender.take_error()?)),
            Way::Xdp(port) => port.take_error(),
        }
    }

    /// Descriptor that is readable when a frame is there.
    pub fn readable(&self) -> BorrowedFd<'_> {
        match &self.0 {
            Way::Packet(receiver, _) => receiver.as_fd(),
            Way::Xdp(port) => port.readable(),
        }
    }

    /// Descriptor that is writable when there is room again, if the port [tells](Self::tells_of_room). Poll it in any case.
    pub fn writable(&self) -> BorrowedFd<'_> {
        match &self.0 {
            Way::Packet(_, sender) => sender.as_fd(),
            Way::Xdp(port) => port.writable(),
        }
    }

    /// Whether one can wait for room after [`Refusal::Full`]. Otherwise sending has to be tried again: AF_XDP tells when the
    /// kernel has taken frames, not when they have left.
    pub const fn tells_of_room(&self) -> bool {
        matches!(self.0, Way::Packet(..))
    }

    /// Whether the interface itself reads and writes the memory that frames are in.
    pub fn is_zero_copy(&self) -> Result<bool> {
        match &self.0 {
            Way::Packet(..) => Ok(false),
            Way::Xdp(port) => port.is_zero_copy(),
        }
    }
}
