//! IP addresses of the machine: getifaddrs(3).

use std::ffi::CStr;
use std::io::{Error, Result};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr::null_mut;

/// IP addresses of this machine, each with the name of its interface.
pub fn addresses() -> Result<Vec<(String, IpAddr)>> {
    let mut list: *mut libc::ifaddrs = null_mut();
    // SAFETY: the pointer is to a place for the list's head.
    if unsafe { libc::getifaddrs(&raw mut list) } < 0 {
        return Err(Error::last_os_error());
    }
    let mut found = Vec::new();
    let mut next = list;
    // SAFETY: the list is the kernel's answer, linked by `ifa_next` and ended by null, and lives until it is freed below.
    while let Some(entry) = unsafe { next.as_ref() } {
        next = entry.ifa_next;
        // SAFETY: an address, where there is one, begins with its family, which says what type the rest has; a name is a
        // string that ends with zero.
        unsafe {
            let Some(address) = entry.ifa_addr.as_ref() else { continue };
            let address = match i32::from(address.sa_family) {
                libc::AF_INET => {
                    let v4 = entry.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned();
                    IpAddr::from(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr)))
                }
                libc::AF_INET6 => {
                    let v6 = entry.ifa_addr.cast::<libc::sockaddr_in6>().read_unaligned();
                    IpAddr::from(Ipv6Addr::from(v6.sin6_addr.s6_addr))
                }
                _ => continue,
            };
            found.push((CStr::from_ptr(entry.ifa_name).to_string_lossy().into_owned(), address));
        }
    }
    // SAFETY: the list `getifaddrs` made, freed once; nothing taken from it borrows from it.
    unsafe { libc::freeifaddrs(list) };
    Ok(found)
}
