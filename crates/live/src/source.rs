//! An interface opened for recording, on a packet socket of `gamelane-device`. Packets of Ethernet and IP interfaces are recorded
//! as they are. `any` and other media are recorded as Linux cooked captures, version 2, as libpcap does. A packet of the loopback
//! interface is seen twice; the outgoing one is left out. Hardware timestamps are not supported.

use std::io::Error;
use std::time::Duration;

use gamelane_core::headers::{ETHERNET_HEADER, VLAN_TAG};
use gamelane_device::packet::{BlockRing, Packet, PacketSocket, Start};
use gamelane_device::{Interface, Presence};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::Settings;
use crate::error::LiveError;
use crate::filter::{self, FilterStart};
use crate::frame::{Counts, Frame, Front};

/// An interface being recorded.
#[derive(Debug)]
pub struct Source {
    ring: BlockRing,
    socket: PacketSocket,
    name: String,
    /// `None` for all interfaces.
    presence: Option<Presence>,
    medium: Medium,
    snap_len: u32,
    largest_frame: u32,
    counts: Counts,
}

/// What packets start with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Medium {
    Ethernet,
    Ip,
    Cooked,
}

impl Source {
    /// Opens an interface. Packets are received from now on.
    ///
    /// # Errors
    /// If there is no such interface, a privilege is missing, or the filter is wrong.
    pub fn open(settings: &Settings) -> Result<Self, LiveError> {
        let name = || settings.interface.clone();
        let failed = |what| {
            move |source: Error| match source.raw_os_error() {
                Some(libc::EPERM | libc::EACCES) => LiveError::NotPermitted { interface: name() },
                _ => LiveError::System { interface: name(), what, source },
            }
        };
        // Before anything that needs a privilege: a mistyped name is reported to everybody.
        let interface = find(&settings.interface)?;
        let medium = interface.as_ref().map_or(Medium::Cooked, |found| Medium::of(found.hardware_type));
        let start = if medium == Medium::Cooked { Start::Network } else { Start::Link };
        let socket = PacketSocket::open(start).map_err(failed("opening a packet socket"))?;
        let start = if medium == Medium::Ethernet { FilterStart::Ethernet } else { FilterStart::Ip };
        let filter = filter::compile(&settings.filter, start, settings.snap_len)?;
        socket.attach(&filter).map_err(failed("attaching the filter"))?;
        let blocks = (settings.ring_bytes / BLOCK_LEN).max(MIN_BLOCKS);
        let ring = BlockRing::new(&socket, BLOCK_LEN, blocks).map_err(failed("making a ring of packets"))?;
        let index = interface.as_ref().map_or(0, |found| found.index);
        if settings.promiscuous && interface.is_some() {
            socket.make_promiscuous(index).map_err(failed("making it promiscuous"))?;
        }
        let presence = interface.as_ref().map(|_| Presence::of(index)).transpose();
        let presence = presence.map_err(failed("opening a socket"))?;
        socket.receive_from(index).map_err(failed("binding to it"))?;
        Ok(Self {
            ring,
            socket,
            name: name(),
            presence,
            medium,
            snap_len: settings.snap_len,
            largest_frame: interface.map_or(u32::MAX, |found| found.mtu.saturating_add(LONGEST_HEADER)),
            counts: Counts::default(),
        })
    }

    /// Name of the interface.
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

    /// Length of the longest frame on the wire. Longer ones were merged by the network card or the kernel, or will be split.
    pub(crate) const fn largest_frame(&self) -> u32 {
        self.largest_frame
    }

    /// Waits for packets, at most `timeout`. A signal ends the wait too.
    pub(crate) fn wait(&mut self, timeout: Duration) -> Result<(), LiveError> {
        let mut sockets = [PollFd::new(&self.socket, PollFlags::IN | PollFlags::ERR)];
        let timeout = Timespec::try_from(timeout).ok();
        match poll(&mut sockets, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(self.failed("waiting for packets", error.into())),
        }
        if sockets[0].revents().contains(PollFlags::ERR) {
            // An interface that is down may come up again. One that was removed does not come back.
            let error = self.socket.take_error();
            if self.presence.as_ref().is_some_and(|presence| !presence.lasts()) {
                return Err(LiveError::Gone { interface: self.name.clone() });
            }
            match error {
                Ok(None) => {}
                Ok(Some(error)) if error.raw_os_error() == Some(libc::ENETDOWN) => {}
                Ok(Some(error)) | Err(error) => return Err(self.failed("waiting for packets", error)),
            }
        }
        Ok(())
    }

    /// What the kernel counted since the interface was opened.
    pub(crate) fn counts(&mut self) -> Result<Counts, LiveError> {
        match self.socket.counters() {
            Ok(more) => {
                self.counts.received += more.received;
                self.counts.dropped += more.dropped;
                Ok(self.counts)
            }
            Err(error) => Err(self.failed("reading its counters", error)),
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

/// Header of LINKTYPE_LINUX_SLL2 in tcpdump's registry.
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

/// Whether this is the outgoing copy of a packet of the loopback interface.
const fn is_second_sight(packet: &Packet<'_>) -> bool {
    packet.hardware_type == libc::ARPHRD_LOOPBACK && packet.kind == libc::PACKET_OUTGOING
}

/// Looks the interface up; `None` for `any`.
fn find(interface: &str) -> Result<Option<Interface>, LiveError> {
    if interface == "any" {
        return Ok(None);
    }
    Interface::find(interface).map(Some).map_err(|_| {
        let mut known = Interface::names();
        known.push("any".to_owned());
        LiveError::NoInterface { interface: interface.to_owned(), known }
    })
}

/// An Ethernet header and two VLAN tags.
const LONGEST_HEADER: u32 = ETHERNET_HEADER + 2 * VLAN_TAG;
/// `ARPHRD_RAWIP` of linux/if_arp.h: modems.
const ARPHRD_RAWIP: u16 = 519;
/// A packet is no longer than its block. The longest that offloads make has 64 KiB.
const BLOCK_LEN: usize = 1 << 20;
const MIN_BLOCKS: usize = 4;
