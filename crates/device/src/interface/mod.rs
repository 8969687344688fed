//! A network interface: what it is and whether it still exists (netdevice(7)), its offloads, the machine's IP addresses.
#![expect(unsafe_code, reason = "ioctl and getifaddrs have no safe binding")]

mod addresses;
mod offloads;

use std::io::{Error, ErrorKind, Result};
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use gamelane_core::Bitrate;
use gamelane_core::headers::{ETHERNET_HEADER, PPPOE_HEADER, VLAN_TAG};
use libc::{c_int, c_ulong};
use rustix::net::netdevice::index_to_name;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

pub use addresses::addresses;
pub use offloads::{CHECKSUMS, OFFLOADS, Offload, Offloads, VLAN_STRIPPING};

/// An interface of this machine, as it was when [`Interface::find`] looked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Name.
    pub name: String,
    /// The kernel's index.
    pub index: u32,
    /// MAC address.
    pub mac: [u8; 6],
    /// Largest IP packet.
    pub mtu: u32,
    /// Whether it is up.
    pub is_up: bool,
    /// Whether something answers at the other end of its cable.
    pub has_link: bool,
    /// Whether it is the loopback interface.
    pub is_loopback: bool,
    /// `ARPHRD_…` of linux/if_arp.h.
    pub hardware_type: u16,
}

impl Interface {
    /// Names of all interfaces in the network namespace of this process, in order.
    #[must_use]
    pub fn names() -> Vec<String> {
        let entries = std::fs::read_dir("/sys/class/net").into_iter().flatten();
        let mut names: Vec<_> =
            entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// What a shell offers for an argument that is an interface.
    #[cfg(feature = "clap")]
    #[must_use]
    pub fn candidates() -> Vec<clap_complete::CompletionCandidate> {
        Self::names().into_iter().map(clap_complete::CompletionCandidate::new).collect()
    }

    /// Looks an interface up in the network namespace of this thread.
    ///
    /// # Errors
    /// Of kind `NotFound` if there is none with this name.
    pub fn find(name: &str) -> Result<Self> {
        let request = Request::new(name)?;
        let missing = |error: Error| match error.raw_os_error() {
            Some(libc::ENODEV) => Error::new(ErrorKind::NotFound, "no such interface"),
            _ => error,
        };
        let index = request.get(libc::SIOCGIFINDEX).map_err(missing)?;
        let hardware = request.get(libc::SIOCGIFHWADDR)?;
        // SAFETY: each call filled in the member of the union that is read here; all are plain numbers.
        let (index, hardware) = unsafe { (index.ifr_ifru.ifru_ifindex, hardware.ifr_ifru.ifru_hwaddr) };
        let Condition { mtu, is_up, has_link } = request.condition()?;
        Ok(Self {
            name: name.into(),
            index: index as u32,
            mac: std::array::from_fn(|byte| hardware.sa_data[byte] as u8),
            mtu,
            is_up,
            has_link,
            is_loopback: request.flags()? & libc::IFF_LOOPBACK != 0,
            hardware_type: hardware.sa_family,
        })
    }

    /// Whether it is Ethernet. Tunnels and PPP are not: they have no frames to bridge.
    pub const fn is_ethernet(&self) -> bool {
        self.hardware_type == libc::ARPHRD_ETHER
    }

    /// Whether no device is behind it. Its frames come from another part of the kernel, which may leave out what hardware would
    /// do.
    pub fn is_software(&self) -> bool {
        !self.directory().join("device").exists()
    }

    /// The bridge or bond it is part of.
    pub fn master(&self) -> Option<String> {
        let link = std::fs::read_link(self.directory().join("master")).ok()?;
        Some(link.file_name()?.to_string_lossy().into_owned())
    }

    /// Its name and those of the interfaces below it, at any depth: the ports of a bridge or bond, the interface of a VLAN.
    pub fn with_lowers(&self) -> Vec<String> {
        let mut found = vec![self.name.clone()];
        let mut next = 0;
        while let Some(name) = found.get(next) {
            let entries = std::fs::read_dir(Path::new("/sys/class/net").join(name));
            for entry in entries.into_iter().flatten().flatten() {
                let entry = entry.file_name();
                if let Some(below) = entry.to_str().and_then(|entry| entry.strip_prefix("lower_"))
                    && !found.iter().any(|known| known == below)
                {
                    found.push(below.to_owned());
                }
            }
            next += 1;
        }
        found
    }

    /// Speed that the driver reports; `None` if it reports none.
    pub fn speed(&self) -> Option<Bitrate> {
        let text = std::fs::read_to_string(self.directory().join("speed")).ok()?;
        let mbit: u64 = text.trim().parse().ok()?;
        Some(Bitrate::from_bps(mbit * 1_000_000))
    }

    /// Number of receive queues, at least one.
    pub fn receive_queues(&self) -> usize {
        let is_receive = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("rx-");
        let queues = std::fs::read_dir(self.directory().join("queues"));
        queues.map_or(1, |queues| queues.flatten().filter(is_receive).count()).max(1)
    }

    /// Bytes of the longest frame: a packet of the MTU and its [`FRAMING`].
    pub(crate) const fn longest_frame(&self) -> usize {
        self.mtu as usize + FRAMING
    }

    fn directory(&self) -> std::path::PathBuf {
        Path::new("/sys/class/net").join(&self.name)
    }
}

/// Most bytes around a packet in its frame: addresses and EtherType, then two VLAN tags or PPPoE.
pub(crate) const FRAMING: usize = (ETHERNET_HEADER + 2 * VLAN_TAG + PPPOE_HEADER) as usize;

/// What may change of an interface while it is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) mtu: u32,
    pub(crate) is_up: bool,
    pub(crate) has_link: bool,
}

/// Tells whether an interface still exists. It asks in the network namespace in which it was made, even after the thread has
/// moved to another.
#[derive(Debug)]
pub struct Presence {
    socket: OwnedFd,
    index: u32,
}

impl Presence {
    /// Watches the interface with this index in the network namespace of this thread.
    pub fn of(index: u32) -> Result<Self> {
        Ok(Self { socket: request_socket()?, index })
    }

    /// Whether the interface exists. One system call; needs no privilege.
    pub fn lasts(&self) -> bool {
        index_to_name(&self.socket, self.index).is_ok()
    }

    /// Its condition; `None` if it no longer exists. Three system calls; needs no privilege.
    pub(crate) fn condition(&self) -> Option<Condition> {
        let name = index_to_name(&self.socket, self.index).ok()?;
        Request::over(&self.socket, &name).ok()?.condition().ok()
    }
}

/// An interface's name, and a socket for requests about it.
#[derive(Debug)]
struct Request<S = OwnedFd> {
    socket: S,
    request: libc::ifreq,
}

impl Request {
    fn new(name: &str) -> Result<Self> {
        Self::over(request_socket()?, name)
    }
}

impl<S: AsFd> Request<S> {
    fn over(socket: S, name: &str) -> Result<Self> {
        // SAFETY: all zeros is a valid `ifreq`.
        let mut request: libc::ifreq = unsafe { zeroed() };
        if name.is_empty() || name.len() >= request.ifr_name.len() || name.contains('\0') {
            return Err(Error::new(ErrorKind::NotFound, "no interface has such a name"));
        }
        for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *place = byte as libc::c_char;
        }
        Ok(Self { socket, request })
    }

    fn condition(&self) -> Result<Condition> {
        let (flags, mtu) = (self.flags()?, self.get(libc::SIOCGIFMTU)?);
        // SAFETY: the call filled in the member of the union that is read here, a plain number.
        let mtu = unsafe { mtu.ifr_ifru.ifru_mtu } as u32;
        Ok(Condition { mtu, is_up: flags & libc::IFF_UP != 0, has_link: flags & libc::IFF_RUNNING != 0 })
    }

    /// `IFF_…`
    fn flags(&self) -> Result<c_int> {
        let flags = self.get(libc::SIOCGIFFLAGS)?;
        // SAFETY: as above.
        Ok(unsafe { flags.ifr_ifru.ifru_flags }.into())
    }

    /// Makes a request whose answer is in the request itself.
    fn get(&self, what: c_ulong) -> Result<libc::ifreq> {
        let mut request = self.request;
        // SAFETY: the request is an `ifreq`, which lives through the call, and these calls write only into it.
        let result = unsafe { libc::ioctl(self.socket.as_fd().as_raw_fd(), what as _, &raw mut request) };
        if result < 0 { Err(Error::last_os_error()) } else { Ok(request) }
    }

    /// Makes an ethtool request with one number that it reads or writes.
    fn ethtool(&self, command: u32, value: u32) -> Result<u32> {
        #[repr(C)]
        struct Value {
            command: u32,
            data: u32,
        }
        let mut value = Value { command, data: value };
        let mut request = self.request;
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        // SAFETY: the request points to an `ethtool_value`, which is what the commands given to this function take, and
        // both live through the call.
        let result =
            unsafe { libc::ioctl(self.socket.as_fd().as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
        if result < 0 { Err(Error::last_os_error()) } else { Ok(value.data) }
    }
}

fn request_socket() -> Result<OwnedFd> {
    Ok(socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?)
}

const SIOCETHTOOL: c_ulong = 0x8946;
