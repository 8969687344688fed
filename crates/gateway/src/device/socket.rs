//! Packet sockets, and options of sockets, typed.

use std::io::{Error, ErrorKind, Result};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libc::{c_int, c_void, socklen_t};

/// A raw packet socket bound to an interface, which does not block. `protocol` is an EtherType, or 0 to receive nothing.
pub(super) fn packet_socket(index: u32, protocol: u16) -> Result<OwnedFd> {
    // Made without a protocol: it must not receive from other interfaces before it is bound.
    // SAFETY: no pointers; the result is checked.
    let fd = unsafe {
        libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0)
    };
    if fd < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and nobody else knows it.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    bind(&socket, index, protocol)?;
    Ok(socket)
}

/// Binds a packet socket to an interface and a protocol; from then on it receives.
pub(super) fn bind(socket: &OwnedFd, index: u32, protocol: u16) -> Result<()> {
    // SAFETY: all zeros is a valid `sockaddr_ll`.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = index as c_int;
    // SAFETY: the pointer is to a `sockaddr_ll` that lives through the call, and the length is its own.
    let result = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as socklen_t,
        )
    };
    if result < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}

/// Lets an interface receive every frame, whoever it is for, as long as the socket lives: the kernel takes that back by itself,
/// however the process ends.
pub(super) fn receive_all(socket: &OwnedFd, index: u32) -> Result<()> {
    let membership = libc::packet_mreq {
        mr_ifindex: index as c_int,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set_option(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)
}

/// Sets an option to a plain value.
pub(super) fn set_option<T: Copy>(socket: &OwnedFd, level: c_int, option: c_int, value: &T) -> Result<()> {
    // SAFETY: the pointer is to a `T` that lives through the call, the length is its own, and the kernel only reads.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            std::ptr::from_ref(value).cast::<c_void>(),
            size_of::<T>() as socklen_t,
        )
    };
    if result < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}

/// Reads an option of two numbers, such as `PACKET_STATISTICS`.
pub(super) fn pair_option(socket: &OwnedFd, level: c_int, option: c_int) -> Result<[u32; 2]> {
    let mut value = [0u32; 2];
    let mut len = size_of::<[u32; 2]>() as socklen_t;
    // SAFETY: the pointers are to two numbers and a length that live through the call; the kernel writes at most `len`.
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, option, value.as_mut_ptr().cast(), &raw mut len)
    };
    if result < 0 { Err(Error::last_os_error()) } else { Ok(value) }
}

/// A structure of plain numbers.
///
/// # Safety
///
/// Any bytes make a valid value.
pub(super) unsafe trait Numbers: Copy {}

/// Reads an option that is a structure.
pub(super) fn get_option<T: Numbers>(socket: &OwnedFd, level: c_int, option: c_int) -> Result<T> {
    // SAFETY: any bytes are a valid value.
    let mut value: T = unsafe { zeroed() };
    let mut len = size_of::<T>() as socklen_t;
    // SAFETY: the pointers are to a value and its length, which live through the call; the kernel writes at most `len`.
    let result =
        unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, (&raw mut value).cast(), &raw mut len) };
    if result < 0 {
        return Err(Error::last_os_error());
    }
    // An older kernel knows less of it.
    if len as usize == size_of::<T>() { Ok(value) } else { Err(ErrorKind::Unsupported.into()) }
}

/// Takes the pending error of a socket, so that it no longer reports it.
pub(super) fn take_error(socket: &OwnedFd) -> Result<Option<Error>> {
    let [code, _] = pair_option(socket, libc::SOL_SOCKET, libc::SO_ERROR)?;
    Ok((code != 0).then(|| Error::from_raw_os_error(code as i32)))
}
