//! Packet sockets: packet(7), and `Documentation/networking/packet_mmap.rst` of the kernel. [`PacketSocket`] is what all users
//! share: opening, binding, promiscuous mode, filters, drop counters. Three things are built on it:
//!
//! - [`Receiver`] shows each frame as soon as it arrives (TPACKET_V2), for forwarding;
//! - [`BlockRing`] hands over blocks of timestamped packets (TPACKET_V3), for recording;
//! - [`Sender`] sends many frames in one call.
#![expect(unsafe_code, reason = "addresses of packet sockets, rings and sendmmsg have no safe binding")]

mod blocks;
mod receiver;
mod sender;

use std::io::{Error, Result};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use libc::{SOL_PACKET, c_int, socklen_t};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::option;
pub use blocks::{BlockRing, Packet, Packets};
pub use receiver::Receiver;
pub use sender::Sender;

/// Where the bytes of a packet start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At the link-layer header.
    Link,
    /// At the network-layer header; the kernel removes what is before it.
    Network,
}

/// A packet socket. It does not block.
#[derive(Debug)]
pub struct PacketSocket(OwnedFd);

/// What the kernel counted since the last call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that arrived and passed the filter, dropped ones included.
    pub received: u64,
    /// Packets dropped because the ring was full.
    pub dropped: u64,
}

/// One instruction of classic BPF, `struct sock_filter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct FilterInstruction {
    /// Operation.
    pub code: u16,
    /// Instructions to skip if a comparison is true.
    pub jump_true: u8,
    /// Instructions to skip if it is false.
    pub jump_false: u8,
    /// Operand.
    pub operand: u32,
}

impl PacketSocket {
    /// Opens a socket. It receives nothing until [`PacketSocket::receive_from`]. Needs `CAP_NET_RAW`.
    pub fn open(start: Start) -> Result<Self> {
        let kind = match start {
            Start::Link => SocketType::RAW,
            Start::Network => SocketType::DGRAM,
        };
        // Without a protocol: it must not receive from other interfaces before it is bound.
        Ok(Self(socket_with(
            AddressFamily::PACKET,
            kind,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            None,
        )?))
    }

    /// Receives packets of every protocol from an interface from now on; from all interfaces if `index` is 0.
    pub fn receive_from(&self, index: u32) -> Result<()> {
        self.bind(index, libc::ETH_P_ALL as u16)
    }

    /// Sends to an interface and receives nothing.
    pub fn send_to(&self, index: u32) -> Result<()> {
        self.bind(index, 0)
    }

    /// Makes an interface promiscuous as long as the socket is open. The kernel undoes this however the process ends.
    pub fn make_promiscuous(&self, index: u32) -> Result<()> {
        let membership = libc::packet_mreq {
            mr_ifindex: index as c_int,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        option::set(&self.0, SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)
    }

    /// Attaches a filter. What it returns for a packet is how many bytes the kernel keeps of it.
    pub fn attach(&self, filter: &[FilterInstruction]) -> Result<()> {
        // The kernel takes at most BPF_MAXINSNS, 4096.
        let len = u16::try_from(filter.len()).map_err(|_| Error::from_raw_os_error(libc::EINVAL))?;
        // The kernel only reads the instructions, so the lost `const` does no harm.
        let program = libc::sock_fprog { len, filter: filter.as_ptr().cast_mut().cast() };
        option::set(&self.0, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
    }

    /// Packets received and dropped since the last call.
    pub fn counters(&self) -> Result<Counters> {
        let [received, dropped]: [u32; 2] = option::get(&self.0, SOL_PACKET, libc::PACKET_STATISTICS)?;
        Ok(Counters { received: received.into(), dropped: dropped.into() })
    }

    /// Takes the error that an interface leaves when it goes down. Until then `poll` returns at once.
    pub fn take_error(&self) -> Result<Option<Error>> {
        option::take_error(&self.0)
    }

    fn bind(&self, index: u32, protocol: u16) -> Result<()> {
        // SAFETY: all zeros is a valid `sockaddr_ll`.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol.to_be();
        address.sll_ifindex = index as c_int;
        // SAFETY: the pointer is to a `sockaddr_ll` that lives through the call, and the length is its own.
        let result = unsafe {
            libc::bind(
                self.0.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as socklen_t,
            )
        };
        if result < 0 { Err(Error::last_os_error()) } else { Ok(()) }
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The VLAN tag that the kernel took out of a frame, as it was on the wire: TPID and TCI. `None` if there was none.
fn vlan_tag(status: u32, tpid: u16, tci: u16) -> Option<[u8; 4]> {
    (status & libc::TP_STATUS_VLAN_VALID != 0).then(|| {
        let tpid =
            if status & libc::TP_STATUS_VLAN_TPID_VALID != 0 { tpid } else { libc::ETH_P_8021Q as u16 };
        let ([a, b], [c, d]) = (tpid.to_be_bytes(), tci.to_be_bytes());
        [a, b, c, d]
    })
}
