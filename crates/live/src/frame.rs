//! One recorded packet, and counters, as every system's source gives them.

/// What the kernel counted since the interface was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that passed the filter, dropped ones included.
    pub received: u64,
    /// Packets dropped because the ring was full.
    pub dropped: u64,
}

/// One packet in the ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    /// Nanoseconds since 1970.
    pub(crate) at_ns: u64,
    /// Length on the wire in bytes.
    pub(crate) original_len: u32,
    /// What the kernel keeps apart from the packet.
    pub(crate) front: Front,
    /// The packet.
    pub(crate) bytes: &'a [u8],
}

/// Bytes that belong to a packet but are not in front of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Front {
    Nothing,
    /// A VLAN tag, which belongs after the two addresses.
    Vlan([u8; 4]),
    /// A header of LINKTYPE_LINUX_SLL2.
    Cooked([u8; 20]),
}
