//! System calls on packet sockets that have no safe binding elsewhere, each behind a function that does.
#![expect(unsafe_code, reason = "socket options and addresses of packet sockets have no safe binding")]

use std::ffi::{c_int, c_void};
use std::io::{Error, Result};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use super::Counts;
use crate::filter::Filter;

/// Receives from one interface; 0 for all. With `protocol` none, nothing is received yet.
pub(super) fn bind(socket: BorrowedFd<'_>, interface: u32, protocol: Option<u16>) -> Result<()> {
    // SAFETY: zeros are a valid `sockaddr_ll`.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.unwrap_or(0).to_be();
    address.sll_ifindex = interface as c_int;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the pointer is to an address of the length given, which outlives the call.
    checked(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })
}

/// The ARP hardware type of the interface a socket is bound to.
pub(super) fn hardware_type(socket: BorrowedFd<'_>) -> Result<u16> {
    // SAFETY: zeros are a valid `sockaddr_ll`.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the system writes at most `length` bytes, which is what there is room for.
    checked(unsafe { libc::getsockname(socket.as_raw_fd(), (&raw mut address).cast(), &raw mut length) })?;
    Ok(address.sll_hatype)
}

/// Makes the ring: stamps and lengths of version 3, blocks handed over when full or after [`RETIRE_MS`].
pub(super) fn make_ring(socket: BorrowedFd<'_>, block_len: usize, blocks: usize) -> Result<()> {
    let version = libc::tpacket_versions::TPACKET_V3 as c_int;
    set(socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
    let request = libc::tpacket_req3 {
        tp_block_size: block_len as u32,
        tp_block_nr: blocks as u32,
        // Frames are of any length in version 3; the kernel wants the product to agree.
        tp_frame_size: FRAME,
        tp_frame_nr: (block_len * blocks) as u32 / FRAME,
        tp_retire_blk_tov: RETIRE_MS,
        tp_sizeof_priv: 0,
        tp_feature_req_word: 0,
    };
    set(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)
}

/// Attaches a filter, which also cuts packets.
pub(super) fn attach(socket: BorrowedFd<'_>, filter: &Filter) -> Result<()> {
    let mut program: Vec<libc::sock_filter> =
        filter.instructions.iter().map(|&(code, jt, jf, k)| libc::sock_filter { code, jt, jf, k }).collect();
    // Longer ones than the type can say are longer than the kernel takes.
    let len = u16::try_from(program.len()).map_err(|_| Error::from_raw_os_error(libc::EINVAL))?;
    let of = libc::sock_fprog { len, filter: program.as_mut_ptr() };
    set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &of)
}

/// Takes packets for other machines too, until the socket is closed.
pub(super) fn make_promiscuous(socket: BorrowedFd<'_>, interface: u32) -> Result<()> {
    let request = libc::packet_mreq {
        mr_ifindex: interface as c_int,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
}

/// What was counted since this was last asked.
pub(super) fn counts_since(socket: BorrowedFd<'_>) -> Result<Counts> {
    let mut counts = libc::tpacket_stats_v3 { tp_packets: 0, tp_drops: 0, tp_freeze_q_cnt: 0 };
    let mut length = size_of::<libc::tpacket_stats_v3>() as libc::socklen_t;
    let (level, option) = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
    // SAFETY: the system writes at most `length` bytes, which is what there is room for.
    checked(unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, option, (&raw mut counts).cast(), &raw mut length)
    })?;
    Ok(Counts { received: u64::from(counts.tp_packets), dropped: u64::from(counts.tp_drops) })
}

/// Gives up every privilege of the calling thread and those it starts; sockets that are open stay so.
pub fn drop_privileges() -> Result<()> {
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};
    let none = CapabilitySet::empty();
    set_no_new_privs(true)?;
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(())
}

fn set<T>(socket: BorrowedFd<'_>, level: c_int, option: c_int, value: &T) -> Result<()> {
    let at: *const c_void = (&raw const *value).cast();
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: `at` points to `length` bytes, and what they may point to is borrowed by the caller.
    checked(unsafe { libc::setsockopt(socket.as_fd().as_raw_fd(), level, option, at, length) })
}

fn checked(result: c_int) -> Result<()> {
    if result == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

const FRAME: u32 = 2048;
/// A packet waits no longer than this for its block to fill, in milliseconds.
const RETIRE_MS: u32 = 100;
