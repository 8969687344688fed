//! Network namespaces without a name: network_namespaces(7). One lasts as long as a descriptor, a thread or a socket of it
//! does; with it go its interfaces and the other ends of their pairs, wherever those are.

use std::fs::File;
use std::io::{Error, Result};
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// That of this thread.
pub fn current() -> Result<OwnedFd> {
    File::open("/proc/thread-self/ns/net").map(OwnedFd::from)
}

/// Moves this thread, and those it starts later. Sockets stay where they were made. Needs `CAP_SYS_ADMIN`.
pub fn enter(namespace: &OwnedFd) -> Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// A new one, in which the kernel says nothing of its own accord on interfaces: no IPv6. Needs `CAP_SYS_ADMIN`.
pub fn create() -> Result<OwnedFd> {
    // This thread stays where it is.
    let made = std::thread::spawn(|| {
        // SAFETY: descriptors stay shared, which is what this flag's safety is about.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
        for which in ["all", "default"] {
            be_silent(which)?;
        }
        current()
    });
    made.join().unwrap_or_else(|_| Err(Error::other("the thread that makes a namespace panicked")))
}

/// Lets IPv6 say nothing on an interface of this thread's namespace, or on `all` or `default`.
pub fn be_silent(interface: &str) -> Result<()> {
    match std::fs::write(format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6"), "1") {
        // No IPv6 in this kernel.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
