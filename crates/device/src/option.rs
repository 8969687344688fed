//! Socket options as typed values: getsockopt(2).
#![expect(unsafe_code, reason = "options of packet and XDP sockets have no safe binding")]

use std::io::{Error, ErrorKind, Result};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use libc::{c_int, socklen_t};

/// Sets an option to a value without pointers, or with pointers to memory that lives through the call.
pub(crate) fn set<T: Copy>(socket: &OwnedFd, level: c_int, option: c_int, value: &T) -> Result<()> {
    // SAFETY: the pointer is to a `T` that lives through the call, the length is its own, and the kernel only reads.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as socklen_t,
        )
    };
    if result < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}

/// A structure of plain numbers.
///
/// # Safety
///
/// Any bytes make a valid value.
pub(crate) unsafe trait Numbers: Copy {}

// SAFETY: numbers only.
unsafe impl<const N: usize> Numbers for [u32; N] {}

/// Reads an option whose value is plain numbers.
///
/// # Errors
/// Of kind `Unsupported` if this kernel knows fewer fields of it.
pub(crate) fn get<T: Numbers>(socket: impl AsFd, level: c_int, option: c_int) -> Result<T> {
    // SAFETY: any bytes are a valid value.
    let mut value: T = unsafe { zeroed() };
    let mut len = size_of::<T>() as socklen_t;
    // SAFETY: the pointers are to a value and its length, which live through the call; the kernel writes at most `len`.
    let result = unsafe {
        libc::getsockopt(socket.as_fd().as_raw_fd(), level, option, (&raw mut value).cast(), &raw mut len)
    };
    if result < 0 {
        return Err(Error::last_os_error());
    }
    if len as usize == size_of::<T>() { Ok(value) } else { Err(ErrorKind::Unsupported.into()) }
}

/// Takes the pending error of a socket: `SO_ERROR` reports it once.
pub(crate) fn take_error(socket: impl AsFd) -> Result<Option<Error>> {
    Ok(rustix::net::sockopt::socket_error(socket)?.err().map(Error::from))
}
