//! A UDP socket with arrival times stamped by the kernel, and waits as exact as the kernel allows (timer slack set to 1 ns).

use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};

use gamelane_core::{Duration, Instant};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl::set_timerslack;
use nix::sys::socket::sockopt::ReceiveTimestampns;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt};
use nix::sys::time::TimeSpec;

use crate::clock;

/// A UDP socket with kernel time stamps.
#[derive(Debug)]
pub struct Socket {
    socket: UdpSocket,
    control: Vec<u8>,
    dscp: u8,
}

/// A datagram that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// Its length, in bytes of the buffer.
    pub length: usize,
    /// Its sender.
    pub from: SocketAddr,
    /// When the kernel received it, on the clock of [`clock::now`].
    pub at: Instant,
}

impl Socket {
    /// Opens a socket bound to `local`.
    pub fn bind(local: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(local)?;
        socket.set_nonblocking(true)?;
        setsockopt(&socket, ReceiveTimestampns, &true)?;
        Ok(Self { socket, control: nix::cmsg_space!(TimeSpec), dscp: 0 })
    }

    /// Sends to and receives from `peer` only.
    pub fn connect(&self, peer: SocketAddr) -> io::Result<()> {
        self.socket.connect(peer)
    }

    /// The address it is bound to.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Sends to `to`, or to the connected peer. If the buffer is full or the peer unreachable, the packet is lost, as in a network,
    /// and this is no error.
    pub fn send(&mut self, packet: &[u8], to: Option<SocketAddr>, dscp: u8) -> io::Result<()> {
        if dscp != self.dscp {
            let socket = socket2::SockRef::from(&self.socket);
            if self.local()?.is_ipv4() {
                socket.set_tos_v4(u32::from(dscp) << 2)?;
            } else {
                socket.set_tclass_v6(u32::from(dscp) << 2)?;
            }
            self.dscp = dscp;
        }
        let sent = match to {
            Some(to) => self.socket.send_to(packet, to),
            None => self.socket.send(packet),
        };
        match sent {
            Err(error) if !is_loss(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Receives a datagram; `None` if there is none now. A datagram longer than `buffer` is cut.
    pub fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Arrived>> {
        let fd = self.socket.as_raw_fd();
        let mut parts = [IoSliceMut::new(buffer)];
        let message =
            recvmsg::<SockaddrStorage>(fd, &mut parts, Some(&mut self.control), MsgFlags::MSG_DONTWAIT);
        let message = match message {
            Ok(message) => message,
            Err(error) if error == Errno::EAGAIN || is_loss(&error.into()) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut at = clock::now();
        for control in message.cmsgs()? {
            if let ControlMessageOwned::ScmTimestampns(stamp) = control {
                let nanos = stamp.tv_sec() as u64 * 1_000_000_000 + stamp.tv_nsec() as u64;
                at = clock::of_real_time(Instant::from_nanos(nanos));
            }
        }
        let from = message.address.as_ref().and_then(address);
        let from = from.map_or_else(|| self.socket.peer_addr(), Ok)?;
        Ok(Some(Arrived { length: message.bytes, from, at }))
    }
}

/// True for errors that mean a lost packet: ICMP answers and full buffers.
fn is_loss(error: &io::Error) -> bool {
    let lost = [
        Errno::EAGAIN,
        Errno::ECONNREFUSED,
        Errno::EHOSTUNREACH,
        Errno::ENETUNREACH,
        Errno::ENOBUFS,
        Errno::EPERM,
        Errno::EINTR,
    ];
    error.raw_os_error().is_some_and(|code| lost.contains(&Errno::from_raw(code)))
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = storage.as_sockaddr_in().map(|v4| SocketAddr::from((v4.ip(), v4.port())));
    let v6 = || storage.as_sockaddr_in6().map(|v6| SocketAddr::from((v6.ip(), v6.port())));
    v4.or_else(v6)
}

/// Sets the thread's timer slack to 1 ns. The default of 50 µs would make each packet later by up to that much.
pub fn sharpen_timers() {
    // On an error, timers are only less exact.
    let _ = set_timerslack(1);
}

/// Waits until a datagram arrives at one of `sockets`, or until `until`, or for a signal.
pub fn wait(sockets: &[&Socket], until: Option<Instant>) -> io::Result<()> {
    let mut polled: Vec<PollFd<'_>> =
        sockets.iter().map(|own| PollFd::new(own.socket.as_fd(), PollFlags::POLLIN)).collect();
    let left = until.map(|until| until.saturating_since(clock::now()));
    let timeout = left.map(|left: Duration| {
        let nanos = left.as_nanos().min(3_600_000_000_000);
        TimeSpec::new((nanos / 1_000_000_000) as i64, (nanos % 1_000_000_000) as i64)
    });
    match ppoll(&mut polled, timeout, None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
