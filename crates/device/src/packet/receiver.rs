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

use gamelane_core::Protocol;
use libc::{SOL_PACKET, c_int};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::{PacketSocket, Start, vlan_tag};
use crate::interface::{FRAMING, Interface};
use crate::mapping::Mapping;
use crate::option;
use crate::transfer::{Checksum, Received, RingCounters, Segments};

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
    /// The longest frame in bytes: the longest IP packet and its framing.
    pub(crate) const LONGEST: usize = 0xffff + FRAMING;

    /// Opens an interface for frames of up to `longest` bytes. The interface is promiscuous as long as this lives.
    pub fn open(interface: &Interface, longest: usize) -> Result<Self> {
        let slot = (longest + SLOT_HEADROOM).next_power_of_two().max(2048);
        let slots = (RING_BYTES / slot).clamp(64, 4096);
        let socket = PacketSocket::open(Start::Link)?;
        let version = libc::tpacket_versions::TPACKET_V2 as c_int;
        option::set(&socket.0, SOL_PACKET, libc::PACKET_VERSION, &version)?;
        option::set(&socket.0, SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
        option::set(&socket.0, SOL_PACKET, libc::PACKET_VNET_HDR, &1)?;
        option::set(&socket.0, SOL_PACKET, libc::PACKET_COPY_THRESH, &1)?;
        // Without the privilege the default remains, which holds about three frames of 64 KiB.
        let _ = option::set(&socket.0, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &(RING_BYTES as c_int));
        let ring = ring(&socket, slot, slots)?;
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
        let long = match status & libc::TP_STATUS_COPY {
            0 => None,
            _ => read_whole(&self.socket, &mut self.long, VIRTIO_HEADER + len),
        };
        let bytes = match long {
            None => self.ring.bytes(start + offset - VIRTIO_HEADER, VIRTIO_HEADER + captured),
            Some(read) => &self.long[..read],
        };
        let (header, bytes) = bytes.split_at(VIRTIO_HEADER);
        let result = look(Received { bytes, vlan, len, checksum, segments: segments(header) });
        self.ring.shared_number(start).store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.slots;
        Some(result)
    }

    /// Frames received and dropped since the last call. Call it often: it also mends a ring that the kernel has given up.
    ///
    /// Linux marks a slot of TPACKET_V2 as taken and forgets to free it if it cannot describe a frame: datagrams merged by the
    /// sender before 6.2, SCTP, IP fragments left to hardware. From then on it drops every frame (`tpacket_rcv`,
    /// `drop_n_account`).
    pub fn counters(&mut self) -> Result<RingCounters> {
        let counted = self.socket.counters()?;
        let status = self.ring.shared_number(self.next * self.slot).load(Ordering::Acquire);
        let is_empty = status & libc::TP_STATUS_USER == 0;
        if is_empty && counted.dropped > 0 && counted.dropped == counted.received {
            // The kernel keeps a ring as long as it is mapped.
            self.ring = Mapping::own(self.slot)?;
            option::set(&self.socket.0, SOL_PACKET, libc::PACKET_RX_RING, &request(0, 0))?;
            self.ring = ring(&self.socket, self.slot, self.slots)?;
            self.next = 0;
        }
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

/// Gives a socket a ring of `slots` slots of `slot` bytes.
fn ring(socket: &PacketSocket, slot: usize, slots: usize) -> Result<Mapping> {
    option::set(&socket.0, SOL_PACKET, libc::PACKET_RX_RING, &request(slot, slots))?;
    Mapping::of(&socket.0, 0, slot * slots)
}

fn request(slot: usize, slots: usize) -> libc::tpacket_req {
    let block = if slots == 0 { 0 } else { slot.max(BLOCK) };
    libc::tpacket_req {
        tp_block_size: block as u32,
        tp_block_nr: (slot * slots).checked_div(block).unwrap_or(0) as u32,
        tp_frame_size: slot as u32,
        tp_frame_nr: slots as u32,
    }
}

/// Reads the frame of `len` bytes that did not fit into its slot from the queue of the socket. Returns how many bytes were read.
fn read_whole(socket: &PacketSocket, into: &mut [u8], len: usize) -> Option<usize> {
    let mut has_failed = false;
    loop {
        match recv(socket, &mut *into, RecvFlags::TRUNC | RecvFlags::DONTWAIT) {
            Ok((read, whole)) if whole == len && read >= VIRTIO_HEADER => return Some(read),
            // Another frame: the queue and the ring are out of step, which an empty queue mends.
            Ok(_) => {}
            // The first may be what the interface left when it went down.
            Err(error) if error != Errno::AGAIN && !has_failed => has_failed = true,
            Err(_) => return None,
        }
    }
}

/// The segments of a frame, by its `struct virtio_net_hdr`; `None` if it is one segment, or no segment of TCP or UDP.
fn segments(header: &[u8]) -> Option<Segments> {
    let [_flags, kind, _, _, low, high, ..] = *header else { return None };
    let protocol = match kind & !GSO_ECN {
        GSO_TCP_V4 | GSO_TCP_V6 => Protocol::Tcp,
        GSO_UDP => Protocol::Udp,
        _ => return None,
    };
    let payload = NonZeroUsize::new(u16::from_ne_bytes([low, high]).into())?;
    Some(Segments { protocol, payload })
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
