//! A ring of TPACKET version 3, for recording: the kernel fills blocks with timestamped packets and hands each over whole, when
//! it is full or after [`RETIRE_MS`]. Every length is checked, so a block is read without trust.

use std::io::Result;
use std::mem::{offset_of, size_of};
use std::sync::atomic::Ordering;

use libc::{
    SOL_PACKET, c_int, sockaddr_ll, tpacket_block_desc, tpacket_hdr_v1, tpacket_hdr_variant1, tpacket3_hdr,
};

use super::{PacketSocket, vlan_tag};
use crate::mapping::Mapping;
use crate::option;

/// A ring of blocks.
#[derive(Debug)]
pub struct BlockRing {
    ring: Mapping,
    block_len: usize,
    blocks: usize,
    next: usize,
}

impl BlockRing {
    /// Gives a socket a ring of `blocks` blocks of `block_len` bytes. A packet is no longer than its block.
    pub fn new(socket: &PacketSocket, block_len: usize, blocks: usize) -> Result<Self> {
        let version = libc::tpacket_versions::TPACKET_V3 as c_int;
        option::set(&socket.0, SOL_PACKET, libc::PACKET_VERSION, &version)?;
        let request = libc::tpacket_req3 {
            tp_block_size: block_len as u32,
            tp_block_nr: blocks as u32,
            // Version 3 has frames of any length, but the kernel checks that the product agrees.
            tp_frame_size: FRAME,
            tp_frame_nr: (block_len * blocks) as u32 / FRAME,
            tp_retire_blk_tov: RETIRE_MS,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        option::set(&socket.0, SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        Ok(Self { ring: Mapping::of(&socket.0, 0, block_len * blocks)?, block_len, blocks, next: 0 })
    }

    /// Hands the next block to `each` and then back to the kernel; false if none is ready.
    pub fn next_block(&mut self, each: impl FnOnce(Packets<'_>)) -> bool {
        let start = self.next * self.block_len;
        let status = self.ring.shared_number(start + STATUS);
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return false;
        }
        each(Packets::of(self.ring.bytes(start, self.block_len)));
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.blocks;
        true
    }
}

/// The packets of a block.
#[derive(Debug)]
pub struct Packets<'a> {
    block: &'a [u8],
    at: usize,
    left: u32,
}

/// A packet, and what the kernel says about it.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Arrival, in nanoseconds since 1970.
    pub at_ns: u64,
    /// Bytes it had; more than `bytes` if the filter cut it.
    pub original_len: u32,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// A VLAN tag that the kernel took out: TPID and TCI.
    pub vlan: Option<[u8; 4]>,
    /// EtherType in network order.
    pub protocol: [u8; 2],
    /// Index of the interface.
    pub interface: u32,
    /// `ARPHRD_…`
    pub hardware_type: u16,
    /// `PACKET_HOST`, `PACKET_BROADCAST`, `PACKET_MULTICAST`, `PACKET_OTHERHOST` or `PACKET_OUTGOING`.
    pub kind: u8,
    /// Bytes of `address` in use.
    pub address_len: u8,
    /// Link-layer address of the sender.
    pub address: [u8; 8],
}

impl<'a> Packets<'a> {
    /// The packets of a block's bytes.
    pub fn of(block: &'a [u8]) -> Self {
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
        // The last packet of a block has no next one.
        if next < size_of::<tpacket3_hdr>() {
            self.left = 0;
        }
        Some(packet)
    }
}

/// The packet at the start of `header`, and the distance to the next one.
fn packet(header: &[u8]) -> Option<(Packet<'_>, usize)> {
    let field = |at| u32_at(header, at);
    let from = |at| header.get(size_of::<tpacket3_hdr>().next_multiple_of(ALIGNMENT) + at..);
    let next = field(offset_of!(tpacket3_hdr, tp_next_offset))? as usize;
    let (seconds, nanoseconds) =
        (field(offset_of!(tpacket3_hdr, tp_sec))?, field(offset_of!(tpacket3_hdr, tp_nsec))?);
    let stored = field(offset_of!(tpacket3_hdr, tp_snaplen))? as usize;
    let start = usize::from(u16_at(header, offset_of!(tpacket3_hdr, tp_mac))?);
    let status = field(offset_of!(tpacket3_hdr, tp_status))?;
    let variant = offset_of!(tpacket3_hdr, hv1);
    let tpid = u16_at(header, variant + offset_of!(tpacket_hdr_variant1, tp_vlan_tpid))?;
    let tci = field(variant + offset_of!(tpacket_hdr_variant1, tp_vlan_tci))? as u16;
    let packet = Packet {
        at_ns: u64::from(seconds) * 1_000_000_000 + u64::from(nanoseconds),
        original_len: field(offset_of!(tpacket3_hdr, tp_len))?,
        bytes: header.get(start..start + stored)?,
        vlan: vlan_tag(status, tpid, tci),
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

/// Where the header of a block starts.
const BLOCK: usize = offset_of!(tpacket_block_desc, hdr);
const STATUS: usize = BLOCK + offset_of!(tpacket_hdr_v1, block_status);
const ALIGNMENT: usize = libc::TPACKET_ALIGNMENT;
const FRAME: u32 = 2048;
/// A packet waits at most this long for its block to fill, in milliseconds.
const RETIRE_MS: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_without_a_next_one_is_the_last_whatever_the_block_says() {
        for next in [0_u32, 8] {
            let mut block = vec![0; BLOCK + size_of::<tpacket_hdr_v1>() + 200];
            let first = (BLOCK + size_of::<tpacket_hdr_v1>()) as u32;
            let mut put = |at: usize, value: u32| block[at..at + 4].copy_from_slice(&value.to_ne_bytes());
            put(BLOCK + offset_of!(tpacket_hdr_v1, num_pkts), u32::MAX);
            put(BLOCK + offset_of!(tpacket_hdr_v1, offset_to_first_pkt), first);
            put(first as usize + offset_of!(tpacket3_hdr, tp_next_offset), next);
            assert_eq!(Packets::of(&block).count(), 1, "next {next}");
        }
    }
}
