//! The receiving half of a port: a ring of TPACKET version 2, which shows each frame as soon as it arrives. Version 3 hands out
//! blocks, and a block that does not fill waits for a timer of at least one millisecond; forwarding cannot wait that long.
//!
//! A frame that does not fit into its slot, because it holds many segments or the MTU grew, is also in the socket's own queue
//! (`PACKET_COPY_THRESH`), and read from there. Before each frame the kernel writes a `struct virtio_net_hdr`
//! (`PACKET_VNET_HDR`), which tells how to split it.

use std::io::Result;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;

use libc::{SOL_PACKET, c_int};
use rustix::net::{RecvFlags, recv};

use super::{PacketSocket, Start, vlan_tag};
use crate::interface::{FRAMING, Interface};
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
    /// A frame that did not fit into its slot, after its `virtio_net_hdr`.
    long: Box<[u8]>,
}

impl Receiver {
    /// Bytes of the longest frame that is read: an IP packet of the largest length, and what is around it.
    pub(crate) const LONGEST: usize = 0xffff + FRAMING;

    /// Opens an interface for frames of up to `longest` bytes. The interface is promiscuous as long as this lives.
    pub fn open(interface: &Interface, longest: usize) -> Result<Self> {
        let slot = (longest + SLOT_HEADROOM).next_power_of_two().max(2048);
        let slots = (RING_BYTES / slot).clamp(64, 4096);
        let block = slot.max(BLOCK);
        let socket = PacketSocket::open(Start::Link)?;
        let version = libc::tpacket_versions::TPACKET_V2 as c_int;
        option::set(&socket.0, SOL_PACKET, libc::PACKET_VERSION, &version)?;
        option::set(&socket.0, SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
        option::set(&socket.0, SOL_PACKET, libc::PACKET_VNET_HDR, &1)?;
        option::set(&socket.0, SOL_PACKET, libc::PACKET_COPY_THRESH, &1)?;
        // Without the privilege the default remains, which holds about three frames of 64 KiB.
        let _ = option::set(&socket.0, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &(RING_BYTES as c_int));
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
        Ok(Self { ring, slot, slots, next: 0, socket, long: vec![0; VIRTIO_HEADER + Self::LONGEST].into() })
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
        let short = || (self.ring.bytes(start + offset - VIRTIO_HEADER, VIRTIO_HEADER + captured), len);
        let (bytes, len) = match status & libc::TP_STATUS_COPY {
            0 => short(),
            _ => match recv(&self.socket, &mut *self.long, RecvFlags::TRUNC | RecvFlags::DONTWAIT) {
                Ok((read, len)) if read >= VIRTIO_HEADER => (&self.long[..read], len - VIRTIO_HEADER),
                _ => short(),
            },
        };
        let (header, bytes) = bytes.split_at(VIRTIO_HEADER);
        let result = look(Received { bytes, vlan, len, checksum, segments: segments(header) });
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

/// Payload of each segment of a frame, by its `struct virtio_net_hdr`; `None` if it is one segment, or no segment of TCP or UDP.
fn segments(header: &[u8]) -> Option<NonZeroUsize> {
    let [_flags, kind, _, _, low, high, ..] = *header else { return None };
    let is_known = matches!(kind & !GSO_ECN, GSO_TCP_V4 | GSO_TCP_V6 | GSO_UDP);
    NonZeroUsize::new(u16::from_ne_bytes([low, high]).into()).filter(|_| is_known)
}

/// Size of `struct virtio_net_hdr`: flags, kind of segmentation, lengths of headers and of a segment's payload, checksum.
const VIRTIO_HEADER: usize = 10;
const GSO_TCP_V4: u8 = 1;
const GSO_TCP_V6: u8 = 4;
const GSO_UDP: u8 = 5;
const GSO_ECN: u8 = 0x80;
/// Size of `struct tpacket2_hdr`.
const HEADER: usize = 32;
/// Bytes before the frame in its slot: the header, an address, alignment.
const SLOT_HEADROOM: usize = 128;
const RING_BYTES: usize = 8 << 20;
const BLOCK: usize = 1 << 16;
