//! The receiving half of a port: a ring of TPACKET version 2, which shows each frame as soon as it arrives. Version 3 hands out
//! blocks, and a block that does not fill waits for a timer of at least one millisecond; forwarding cannot wait that long.

use std::io::Result;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;

use libc::{SOL_PACKET, c_int};

use super::{PacketSocket, Start, vlan_tag};
use crate::interface::Interface;
use crate::mapping::Mapping;
use crate::option;
use crate::transfer::{Checksum, Received, RingCounters};

/// Receives every frame that arrives at an interface, whatever its destination. Frames that this host sends are not shown.
#[derive(Debug)]
pub struct Receiver {
    ring: Mapping,
    slot: usize,
    slots: usize,
    next: usize,
    socket: PacketSocket,
}

impl Receiver {
    /// Opens an interface for frames of up to `longest` bytes. The interface is promiscuous as long as this lives.
    pub fn open(interface: &Interface, longest: usize) -> Result<Self> {
        let slot = (longest + SLOT_HEADROOM).next_power_of_two().max(2048);
        let slots = (RING_BYTES / slot).clamp(64, 4096);
        let block = slot.max(BLOCK);
        let socket = PacketSocket::open(Start::Link)?;
        let version = libc::tpacket_versions::TPACKET_V2 as c_int;
        option::set(&socket.0, SOL_PACKET, libc::PACKET_VERSION, &version)?;
        option::set(&socket.0, SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
        let request = libc::tpacket_req {
            tp_block_size: block as u32,
            tp_block_nr: (slot * slots / block) as u32,
            tp_frame_size: slot as u32,
            tp_frame_nr: slots as u32,
        };
        option::set(&socket.0, SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let ring = Mapping::of(&socket.0, 0, slot * slots)?;
        socket.make_promiscuous(interface.index)?;
        socket.receive_from(interface.index)?;
        Ok(Self { ring, slot, slots, next: 0, socket })
    }

    /// Shows the next frame to `look` and gives its slot back to the kernel; `None` if there is no frame.
    pub fn next<R>(&mut self, look: impl FnOnce(Received<'_>) -> R) -> Option<R> {
        let start = self.next * self.slot;
        let status = self.ring.shared_number(start).load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        let header = self.ring.bytes(start, HEADER);
        let half = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let word = |at: usize| {
            u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]) as usize
        };
        // tpacket2_hdr: status, length, captured, offsets of frame and network header, time, VLAN.
        let (len, captured, offset) = (word(4), word(8), usize::from(half(12)));
        let vlan = vlan_tag(status, half(26), half(24));
        let is_missing = status & libc::TP_STATUS_CSUMNOTREADY != 0;
        let checksum = if is_missing { Checksum::Missing } else { Checksum::Present };
        let captured = captured.min(self.slot.saturating_sub(offset));
        let result = look(Received { bytes: self.ring.bytes(start + offset, captured), vlan, len, checksum });
        self.ring.shared_number(start).store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.slots;
        Some(result)
    }

    /// Frames received and dropped since the last call.
    pub fn counters(&self) -> Result<RingCounters> {
        let counted = self.socket.counters()?;
        Ok(RingCounters { frames: counted.received, dropped: counted.dropped, ..RingCounters::default() })
    }

    /// Takes the error that the interface leaves when it goes down, so that waiting works again.
    pub fn take_error(&self) -> Result<Option<std::io::Error>> {
        self.socket.take_error()
    }
}

impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Size of `struct tpacket2_hdr`.
const HEADER: usize = 32;
/// Bytes before the frame in its slot: the header, an address, alignment.
const SLOT_HEADROOM: usize = 128;
const RING_BYTES: usize = 8 << 20;
const BLOCK: usize = 1 << 16;
