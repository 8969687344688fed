//! Where packets come from. The only `unsafe` code of the crate stands here: system calls without a safe binding, and memory
//! shared with the kernel.

#[cfg(not(target_os = "linux"))]
mod absent;
#[cfg(target_os = "linux")]
mod packet_socket;
#[cfg(target_os = "linux")]
mod ring;
#[cfg(target_os = "linux")]
mod system;

#[cfg(not(target_os = "linux"))]
pub use absent::{Source, drop_privileges};
#[cfg(target_os = "linux")]
pub use packet_socket::Source;
#[cfg(target_os = "linux")]
pub use system::drop_privileges;

/// What the kernel counted since the interface was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that passed the filter, dropped ones included.
    pub received: u64,
    /// Of them, those the ring had no room for.
    pub dropped: u64,
}

/// One packet in the ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    /// Nanoseconds since 1970.
    pub(crate) at_ns: u64,
    /// Bytes it had on the wire.
    pub(crate) original_len: u32,
    /// What the kernel takes out of Ethernet headers or keeps apart from the packet, then the packet.
    pub(crate) front: Front,
    pub(crate) bytes: &'a [u8],
}

/// Bytes that belong to a packet but do not stand in front of it.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux makes frames"))]
pub(crate) enum Front {
    Nothing,
    /// A VLAN tag, which belongs behind the addresses.
    Vlan([u8; 4]),
    /// A header of Linux' cooked captures, version 2.
    Cooked([u8; 20]),
}
