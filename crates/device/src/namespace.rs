//! Network namespaces without a name: network_namespaces(7). A namespace lasts as long as a descriptor, a thread or a socket of
//! it. When it ends, the kernel removes its virtual interfaces, and the other ends of veth pairs wherever they are.
#![expect(unsafe_code, reason = "unshare is unsafe where it splits descriptors")]

use std::fs::File;
use std::io::{Error, Result};
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// Opens the network namespace of this thread.
pub fn current() -> Result<OwnedFd> {
    File::open("/proc/thread-self/ns/net").map(OwnedFd::from)
}

/// Moves this thread, and threads it starts later, into a namespace. Sockets stay where they were made. Needs `CAP_SYS_ADMIN`.
pub fn enter(namespace: &OwnedFd) -> Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Makes a namespace without IPv6, so that the kernel sends nothing of its own on its interfaces. Needs `CAP_SYS_ADMIN`.
pub fn create() -> Result<OwnedFd> {
    // On a thread of its own, so that this thread stays in its namespace.
    let made = std::thread::spawn(|| {
        // SAFETY: the call is unsafe only where it stops sharing descriptors; this flag does not.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
        for which in ["all", "default"] {
            be_silent(which)?;
        }
        current()
    });
    made.join().unwrap_or_else(|_| Err(Error::other("the thread that makes a namespace panicked")))
}

/// Disables IPv6 on an interface of this thread's namespace, or on `all` or `default`.
pub fn be_silent(interface: &str) -> Result<()> {
    match std::fs::write(format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6"), "1") {
        // This kernel has no IPv6.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
