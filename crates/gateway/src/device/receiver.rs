//! The receiving half: a ring of TPACKET version 2, whose frames can be seen at once one by one. (Version 3 hands out blocks,
//! after a timer of at least a millisecond if they do not fill: a queue that promises less cannot wait for that.)

use std::io::Result;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

use libc::{SOL_PACKET, c_int};

use super::interface::Interface;
use super::mapping::Mapping;
use super::socket::{bind, packet_socket, pair_option, receive_all, set_option, take_error};

/// Receives every frame that comes in at an interface, whoever it is for; not those the host itself sends there.
#[derive(Debug)]
pub struct Receiver {
    ring: Mapping,
    slot: usize,
    slots: usize,
    next: usize,
    socket: OwnedFd,
}

/// A frame in the ring.
#[derive(Debug)]
pub struct Received<'a> {
    /// Its bytes, without the VLAN tag the kernel took out.
    pub bytes: &'a [u8],
    /// The tag that belongs behind the two addresses, as on the wire: TPID and TCI.
    pub vlan: Option<[u8; 4]>,
    /// Bytes the frame had; more than there are if it did not fit.
    pub len: usize,
    /// Whether its transport checksum is filled in.
    pub checksum: Checksum,
}

/// Whether a frame has the checksum that hardware fills in on its way out. One that comes from this machine itself, over a
/// virtual interface, may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// It has.
    There,
    /// It has not.
    Missing,
    /// It may not have, and nobody says so.
    Untold,
}

/// What the kernel counted since it was last asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingCounters {
    /// Frames that came.
    pub frames: u64,
    /// Of these: lost because the ring was full.
    pub dropped: u64,
    /// Of these: for this machine itself, and not shown.
    pub own: u64,
    /// Of these: too long to be received, and lost.
    pub too_long: u64,
}

impl Receiver {
    /// Opens an interface for frames of up to `longest` bytes. The interface is promiscuous as long as this lives.
    pub fn open(interface: &Interface, longest: usize) -> Result<Self> {
        let slot = (longest + SLOT_HEADROOM).next_power_of_two().max(2048);
        let slots = (RING_BYTES / slot).clamp(64, 4096);
        let block = slot.max(BLOCK);
        let socket = packet_socket(interface.index, 0)?;
        set_option(
            &socket,
            SOL_PACKET,
            libc::PACKET_VERSION,
            &(libc::tpacket_versions::TPACKET_V2 as c_int),
        )?;
        set_option(&socket, SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
        let request = libc::tpacket_req {
            tp_block_size: block as u32,
            tp_block_nr: (slot * slots / block) as u32,
            tp_frame_size: slot as u32,
            tp_frame_nr: slots as u32,
        };
        set_option(&socket, SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let ring = Mapping::of(&socket, 0, slot * slots)?;
        receive_all(&socket, interface.index)?;
        bind(&socket, interface.index, libc::ETH_P_ALL as u16)?;
        Ok(Self { ring, slot, slots, next: 0, socket })
    }

    /// Shows the next frame to `look`, and hands its place back to the kernel; `None` if there is none.
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
        let (tci, tpid) = (half(24), half(26));
        let vlan = (status & libc::TP_STATUS_VLAN_VALID != 0).then(|| {
            let tpid =
                if status & libc::TP_STATUS_VLAN_TPID_VALID != 0 { tpid } else { libc::ETH_P_8021Q as u16 };
            let ([a, b], [c, d]) = (tpid.to_be_bytes(), tci.to_be_bytes());
            [a, b, c, d]
        });
        let is_missing = status & libc::TP_STATUS_CSUMNOTREADY != 0;
        let checksum = if is_missing { Checksum::Missing } else { Checksum::There };
        let captured = captured.min(self.slot.saturating_sub(offset));
        let result = look(Received { bytes: self.ring.bytes(start + offset, captured), vlan, len, checksum });
        self.ring.shared_number(start).store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.slots;
        Some(result)
    }

    /// What was received and lost since the last call.
    pub fn counters(&self) -> Result<RingCounters> {
        let [frames, dropped] = pair_option(&self.socket, SOL_PACKET, libc::PACKET_STATISTICS)?;
        Ok(RingCounters { frames: frames.into(), dropped: dropped.into(), ..RingCounters::default() })
    }

    /// Takes the error that the interface going down leaves, so that waiting works again.
    pub fn take_error(&self) -> Result<Option<std::io::Error>> {
        take_error(&self.socket)
    }
}

impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Size of `struct tpacket2_hdr`.
const HEADER: usize = 32;
/// Before the frame: the header, an address, alignment.
const SLOT_HEADROOM: usize = 128;
const RING_BYTES: usize = 8 << 20;
const BLOCK: usize = 1 << 16;
