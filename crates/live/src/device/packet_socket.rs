//! An interface opened for recording: a packet socket (`packet(7)`) with a ring. Ethernet and IP interfaces are taken as they
//! are, `any` and other media as Linux' cooked captures, version 2, as libpcap does. Packets of the loopback interface pass
//! twice, of which the one going out is left out. Leaves out hardware time stamps.

use std::io::Error;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::netdevice::{index_to_name, name_to_index};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};

use super::ring::{Packet, Ring};
use super::{Counts, Frame, Front, system};
use crate::Settings;
use crate::error::LiveError;
use crate::filter::{Filter, FilterStart};

/// An interface being recorded.
#[derive(Debug)]
pub struct Source {
    // Unmapped before the socket is closed.
    ring: Ring,
    socket: OwnedFd,
    name: String,
    /// `None` for all interfaces.
    index: Option<u32>,
    medium: Medium,
    snap_len: u32,
    largest_frame: u32,
    counts: Counts,
}

/// What packets begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Medium {
    Ethernet,
    Ip,
    Cooked,
}

impl Source {
    /// Opens an interface. Packets are taken from now on.
    pub fn open(settings: &Settings) -> Result<Self, LiveError> {
        let interface = || settings.interface.clone();
        let failed = |what| {
            move |source: Error| match source.raw_os_error() {
                Some(libc::EPERM | libc::EACCES) => LiveError::NotPermitted { interface: interface() },
                _ => LiveError::System { interface: interface(), what, source },
            }
        };
        let open = |kind| {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            socket_with(AddressFamily::PACKET, kind, flags, None).map_err(Error::from)
        };
        // Told before the privileges: who mistypes a name needs none to learn it.
        let index = index_of(&settings.interface)?;
        let probe = open(SocketType::DGRAM).map_err(failed("opening a packet socket"))?;
        let medium = match index {
            None => Medium::Cooked,
            Some(index) => {
                system::bind(probe.as_fd(), index, None).map_err(failed("binding to it"))?;
                Medium::of(system::hardware_type(probe.as_fd()).map_err(failed("asking for its type"))?)
            }
        };
        let socket = if medium == Medium::Cooked {
            probe
        } else {
            open(SocketType::RAW).map_err(failed("opening"))?
        };
        let start = if medium == Medium::Ethernet { FilterStart::Ethernet } else { FilterStart::Ip };
        let filter = Filter::compile(&settings.filter, start, settings.snap_len)?;
        system::attach(socket.as_fd(), &filter).map_err(failed("attaching the filter"))?;
        let blocks = (settings.ring_bytes / BLOCK_LEN).max(MIN_BLOCKS);
        system::make_ring(socket.as_fd(), BLOCK_LEN, blocks).map_err(failed("making a ring of packets"))?;
        let ring = Ring::map(socket.as_fd(), BLOCK_LEN, blocks).map_err(failed("mapping the ring"))?;
        if let Some(index) = index.filter(|_| settings.promiscuous) {
            system::make_promiscuous(socket.as_fd(), index).map_err(failed("making it promiscuous"))?;
        }
        system::bind(socket.as_fd(), index.unwrap_or(0), Some(libc::ETH_P_ALL as u16))
            .map_err(failed("binding to it"))?;
        Ok(Self {
            ring,
            socket,
            name: interface(),
            index,
            medium,
            snap_len: settings.snap_len,
            largest_frame: largest_frame(&settings.interface),
            counts: Counts::default(),
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number in tcpdump's registry of link types.
    pub const fn link_type(&self) -> u16 {
        match self.medium {
            Medium::Ethernet => 1,
            Medium::Ip => 101,
            Medium::Cooked => 276,
        }
    }

    pub(crate) const fn snap_len(&self) -> u32 {
        self.snap_len
    }

    /// Longer frames were put together by the network card or the kernel, or are still to be split.
    pub(crate) const fn largest_frame(&self) -> u32 {
        self.largest_frame
    }

    /// Waits until there are packets, at most so long; a signal ends it too.
    pub(crate) fn wait(&mut self, timeout: Duration) -> Result<(), LiveError> {
        let mut sockets = [PollFd::new(&self.socket, PollFlags::IN | PollFlags::ERR)];
        let timeout = Timespec::try_from(timeout).ok();
        match poll(&mut sockets, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(self.failed("waiting for packets", error.into())),
        }
        if sockets[0].revents().contains(PollFlags::ERR) {
            // An interface that is down may come back; one that is gone does not.
            let error = sockopt::socket_error(&self.socket);
            if let Some(index) = self.index
                && index_to_name(&self.socket, index).is_err()
            {
                return Err(LiveError::Gone { interface: self.name.clone() });
            }
            match error {
                Ok(Ok(()) | Err(Errno::NETDOWN)) => {}
                Ok(Err(error)) | Err(error) => {
                    return Err(self.failed("waiting for packets", error.into()));
                }
            }
        }
        Ok(())
    }

    /// What the kernel counted since the interface was opened.
    pub(crate) fn counts(&mut self) -> Result<Counts, LiveError> {
        match system::counts_since(self.socket.as_fd()) {
            Ok(more) => {
                self.counts.received += more.received;
                self.counts.dropped += more.dropped;
                Ok(self.counts)
            }
            Err(error) => Err(self.failed("asking for its counters", error)),
        }
    }

    /// Hands over the packets of one block; false if none is ready.
    pub(crate) fn take(&mut self, mut each: impl FnMut(&Frame<'_>)) -> bool {
        let medium = self.medium;
        self.ring.next_block(|packets| {
            packets.filter(|packet| !is_second_sight(packet)).for_each(|packet| each(&medium.frame(&packet)));
        })
    }

    fn failed(&self, what: &'static str, source: Error) -> LiveError {
        LiveError::System { interface: self.name.clone(), what, source }
    }
}

impl Medium {
    const fn of(hardware_type: u16) -> Self {
        match hardware_type {
            libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Self::Ethernet,
            libc::ARPHRD_NONE | ARPHRD_RAWIP | libc::ARPHRD_TUNNEL | libc::ARPHRD_SIT => Self::Ip,
            _ => Self::Cooked,
        }
    }

    fn frame<'a>(self, packet: &Packet<'a>) -> Frame<'a> {
        let front = match (self, packet.vlan) {
            (Self::Ethernet, Some(tag)) => Front::Vlan(tag),
            (Self::Cooked, _) => Front::Cooked(cooked(packet)),
            _ => Front::Nothing,
        };
        Frame { at_ns: packet.at_ns, original_len: packet.original_len, front, bytes: packet.bytes }
    }
}

/// LINKTYPE_LINUX_SLL2 of tcpdump's registry.
fn cooked(packet: &Packet<'_>) -> [u8; 20] {
    let mut header = [0; 20];
    header[..2].copy_from_slice(&packet.protocol);
    header[4..8].copy_from_slice(&packet.interface.to_be_bytes());
    header[8..10].copy_from_slice(&packet.hardware_type.to_be_bytes());
    header[10] = packet.kind;
    header[11] = packet.address_len;
    header[12..].copy_from_slice(&packet.address);
    header
}

const fn is_second_sight(packet: &Packet<'_>) -> bool {
    packet.hardware_type == libc::ARPHRD_LOOPBACK && packet.kind == libc::PACKET_OUTGOING
}

/// The interface's number; `None` for `any`.
fn index_of(interface: &str) -> Result<Option<u32>, LiveError> {
    if interface == "any" {
        return Ok(None);
    }
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None);
    let index = socket.and_then(|socket| name_to_index(&socket, interface));
    index.map(Some).map_err(|_| {
        let mut known: Vec<String> = std::fs::read_dir("/sys/class/net")
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        known.sort_unstable();
        known.push("any".to_owned());
        LiveError::NoInterface { interface: interface.to_owned(), known }
    })
}

/// The interface's MTU, an Ethernet header and two VLAN tags; without limit if the system does not say.
fn largest_frame(interface: &str) -> u32 {
    let mtu = std::fs::read_to_string(format!("/sys/class/net/{interface}/mtu"));
    let mtu = mtu.ok().and_then(|mtu| mtu.trim().parse::<u32>().ok());
    mtu.map_or(u32::MAX, |mtu| mtu.saturating_add(22))
}

/// `ARPHRD_RAWIP` of linux/if_arp.h: modems.
const ARPHRD_RAWIP: u16 = 519;
/// A packet is no longer than its block; the longest that offloading makes has 64 KiB.
const BLOCK_LEN: usize = 1 << 20;
const MIN_BLOCKS: usize = 4;
