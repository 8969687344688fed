//! The ring a packet socket shares with the kernel (packet_mmap.rst, TPACKET_V3): blocks that the kernel fills with packets and
//! hands over whole. A block is read as bytes, every length checked.
#![expect(unsafe_code, reason = "the ring is memory shared with the kernel")]

use std::io::{Error, Result};
use std::mem::{offset_of, size_of};
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{sockaddr_ll, tpacket_block_desc, tpacket_hdr_v1, tpacket_hdr_variant1, tpacket3_hdr};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// The mapped ring.
#[derive(Debug)]
pub(super) struct Ring {
    base: NonNull<u8>,
    block_len: usize,
    blocks: usize,
    next: usize,
}

// SAFETY: the mapping belongs to this value alone; nothing of it is tied to a thread.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps the ring of a socket for which one of this size was made.
    pub(super) fn map(socket: BorrowedFd<'_>, block_len: usize, blocks: usize) -> Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the system's choice overlaps nothing.
        let base =
            unsafe { mmap(std::ptr::null_mut(), block_len * blocks, access, MapFlags::SHARED, socket, 0)? };
        let base = NonNull::new(base.cast()).ok_or_else(|| Error::other("the ring was mapped to nowhere"))?;
        Ok(Self { base, block_len, blocks, next: 0 })
    }

    /// Hands the next block to `each` and then back to the kernel; false if none is ready.
    pub(super) fn next_block(&mut self, each: impl FnOnce(Packets<'_>)) -> bool {
        // SAFETY: `next` is below `blocks`, so the block lies within the mapping.
        let start = unsafe { self.base.add(self.next * self.block_len) };
        // SAFETY: the status lies within the block, is aligned as the kernel laid it out, and is only ever accessed as an
        // atomic while the kernel may write it.
        let status = unsafe { AtomicU32::from_ptr(start.add(STATUS).cast().as_ptr()) };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return false;
        }
        // SAFETY: the block is ours until the status says otherwise, which it does below, when the slice is no longer used.
        let block = unsafe { slice::from_raw_parts(start.as_ptr(), self.block_len) };
        each(Packets::of(block));
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.blocks;
        true
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made in `map`, and nothing borrows from it any more. An error would change nothing.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.block_len * self.blocks) };
    }
}

/// The packets of a block.
pub(super) struct Packets<'a> {
    block: &'a [u8],
    at: usize,
    left: u32,
}

/// A packet and what the kernel says of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet<'a> {
    pub(super) at_ns: u64,
    pub(super) original_len: u32,
    pub(super) bytes: &'a [u8],
    /// A VLAN tag that the kernel took out.
    pub(super) vlan: Option<[u8; 4]>,
    /// EtherType in network order.
    pub(super) protocol: [u8; 2],
    pub(super) interface: u32,
    pub(super) hardware_type: u16,
    /// Host, broadcast, multicast, other host, outgoing.
    pub(super) kind: u8,
    pub(super) address_len: u8,
    pub(super) address: [u8; 8],
}

impl<'a> Packets<'a> {
    fn of(block: &'a [u8]) -> Self {
        let left = u32_at(block, BLOCK + offset_of!(tpacket_hdr_v1, num_pkts)).unwrap_or(0);
        let at = u32_at(block, BLOCK + offset_of!(tpacket_hdr_v1, offset_to_first_pkt)).unwrap_or(0);
        Self { block, at: at as usize, left }
    }
}

impl<'a> Iterator for Packets<'a> {
    type Item = Packet<'a>;

    fn next(&mut self) -> Option<Packet<'a>> {
        self.left = self.left.checked_sub(1)?;
        let header = self.block.get(self.at..)?;
        let (packet, next) = packet(header)?;
        self.at += next;
        Some(packet)
    }
}

/// The packet at the start of `header`, and how far on the next one is.
fn packet(header: &[u8]) -> Option<(Packet<'_>, usize)> {
    let field = |at| u32_at(header, at);
    let from = |at| header.get(size_of::<tpacket3_hdr>().next_multiple_of(ALIGNMENT) + at..);
    let next = field(offset_of!(tpacket3_hdr, tp_next_offset))? as usize;
    let (seconds, nanoseconds) =
        (field(offset_of!(tpacket3_hdr, tp_sec))?, field(offset_of!(tpacket3_hdr, tp_nsec))?);
    let stored = field(offset_of!(tpacket3_hdr, tp_snaplen))? as usize;
    let start = usize::from(u16_at(header, offset_of!(tpacket3_hdr, tp_mac))?);
    let status = field(offset_of!(tpacket3_hdr, tp_status))?;
    let vlan = (status & libc::TP_STATUS_VLAN_VALID != 0).then(|| {
        let variant = offset_of!(tpacket3_hdr, hv1);
        let tag = field(variant + offset_of!(tpacket_hdr_variant1, tp_vlan_tci)).unwrap_or(0) as u16;
        let ether_type = match status & libc::TP_STATUS_VLAN_TPID_VALID {
            0 => None,
            _ => u16_at(header, variant + offset_of!(tpacket_hdr_variant1, tp_vlan_tpid)),
        };
        let ([a, b], [c, d]) = (ether_type.unwrap_or(0x8100).to_be_bytes(), tag.to_be_bytes());
        [a, b, c, d]
    });
    let packet = Packet {
        at_ns: u64::from(seconds) * 1_000_000_000 + u64::from(nanoseconds),
        original_len: field(offset_of!(tpacket3_hdr, tp_len))?,
        bytes: header.get(start..start + stored)?,
        vlan,
        protocol: *from(offset_of!(sockaddr_ll, sll_protocol))?.first_chunk()?,
        interface: u32_at(from(offset_of!(sockaddr_ll, sll_ifindex))?, 0)?,
        hardware_type: u16_at(from(offset_of!(sockaddr_ll, sll_hatype))?, 0)?,
        kind: *from(offset_of!(sockaddr_ll, sll_pkttype))?.first()?,
        address_len: *from(offset_of!(sockaddr_ll, sll_halen))?.first()?,
        address: *from(offset_of!(sockaddr_ll, sll_addr))?.first_chunk()?,
    };
    Some((packet, next))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Where a block's own header is.
const BLOCK: usize = offset_of!(tpacket_block_desc, hdr);
const STATUS: usize = BLOCK + offset_of!(tpacket_hdr_v1, block_status);
const ALIGNMENT: usize = libc::TPACKET_ALIGNMENT;
