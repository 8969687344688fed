//! What an interface is: netdevice(7).

use std::io::{Error, ErrorKind, Result};
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use libc::{c_int, c_ulong};

/// An Ethernet interface of this machine, as it was when asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// The kernel's number of it.
    pub index: u32,
    /// Its address.
    pub mac: [u8; 6],
    /// Largest IP packet.
    pub mtu: u32,
    /// Whether it is switched on.
    pub is_up: bool,
    /// Whether it is the machine's own, `lo`.
    pub is_loopback: bool,
    /// Whether it is Ethernet: others (tunnels, PPP) have no frames to bridge.
    pub is_ethernet: bool,
}

impl Interface {
    /// Looks an interface up.
    ///
    /// # Errors
    /// Of kind `NotFound` if there is none of this name.
    pub fn find(name: &str) -> Result<Self> {
        let asked = Asked::new(name)?;
        let missing = |error: Error| match error.raw_os_error() {
            Some(libc::ENODEV) => Error::new(ErrorKind::NotFound, "no such interface"),
            _ => error,
        };
        let index = asked.get(libc::SIOCGIFINDEX).map_err(missing)?;
        let hardware = asked.get(libc::SIOCGIFHWADDR)?;
        let flags = asked.get(libc::SIOCGIFFLAGS)?;
        let mtu = asked.get(libc::SIOCGIFMTU)?;
        // SAFETY: each call filled in the member of the union that is read here; all are plain numbers.
        let (index, hardware, flags, mtu) = unsafe {
            (
                index.ifr_ifru.ifru_ifindex,
                hardware.ifr_ifru.ifru_hwaddr,
                flags.ifr_ifru.ifru_flags,
                mtu.ifr_ifru.ifru_mtu,
            )
        };
        Ok(Self {
            name: name.into(),
            index: index as u32,
            mac: std::array::from_fn(|byte| hardware.sa_data[byte] as u8),
            mtu: mtu as u32,
            is_up: c_int::from(flags) & libc::IFF_UP != 0,
            is_loopback: c_int::from(flags) & libc::IFF_LOOPBACK != 0,
            is_ethernet: hardware.sa_family == libc::ARPHRD_ETHER,
        })
    }
}

impl Interface {
    /// Whether there is no device behind it: frames come from another part of the kernel, which may leave out what hardware
    /// would do on the way.
    pub fn is_software(&self) -> bool {
        !Path::new("/sys/class/net").join(&self.name).join("device").exists()
    }
}

/// Whether an interface is still there: asked in the network namespace this was made in, wherever the thread has gone since.
#[derive(Debug)]
pub struct Presence {
    asked: Asked,
    index: u32,
}

impl Presence {
    /// Of this interface of this thread's network namespace.
    pub fn of(interface: &Interface) -> Result<Self> {
        Ok(Self { asked: Asked::new(&interface.name)?, index: interface.index })
    }

    /// Whether it is there, and the same.
    pub fn lasts(&self) -> bool {
        // SAFETY: the call filled in the member of the union that is read here, a plain number.
        self.asked
            .get(libc::SIOCGIFINDEX)
            .is_ok_and(|now| unsafe { now.ifr_ifru.ifru_ifindex } as u32 == self.index)
    }
}

/// An interface's name, and a socket to ask about it.
#[derive(Debug)]
pub(super) struct Asked {
    socket: OwnedFd,
    request: libc::ifreq,
}

impl Asked {
    pub(super) fn new(name: &str) -> Result<Self> {
        // SAFETY: all zeros is a valid `ifreq`.
        let mut request: libc::ifreq = unsafe { zeroed() };
        if name.is_empty() || name.len() >= request.ifr_name.len() || name.contains('\0') {
            return Err(Error::new(ErrorKind::NotFound, "no interface has such a name"));
        }
        for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *place = byte as libc::c_char;
        }
        // SAFETY: no pointers; the result is checked.
        let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and nobody else knows it.
        Ok(Self { socket: unsafe { OwnedFd::from_raw_fd(fd) }, request })
    }

    /// Asks something that is answered within the request itself.
    fn get(&self, what: c_ulong) -> Result<libc::ifreq> {
        let mut request = self.request;
        // SAFETY: the request is an `ifreq`, which lives through the call, and these calls write only into it.
        let result = unsafe { libc::ioctl(self.socket.as_raw_fd(), what as _, &raw mut request) };
        if result < 0 { Err(Error::last_os_error()) } else { Ok(request) }
    }

    /// An ethtool command with one number that it reads or writes.
    pub(super) fn ethtool(&self, command: u32, value: u32) -> Result<u32> {
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
        let result = unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
        if result < 0 { Err(Error::last_os_error()) } else { Ok(value.data) }
    }
}

const SIOCETHTOOL: c_ulong = 0x8946;
