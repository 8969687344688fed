//! Which conversation later fragments belong to: the first one names it, the others have only addresses and an
//! identification (RFC 791 section 3.2, RFC 8200 section 4.5). Bookkeeping alone; no byte is put together. Fragments that
//! come before the first one are not told.

use std::collections::VecDeque;
use std::net::IpAddr;

use gamelane_core::FlowKey;

/// Packets whose fragments are still coming, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    open: VecDeque<(Fragmented, FlowKey)>,
}

/// What fragments of one packet share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fragmented {
    pub(crate) interface: u32,
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) protocol: u8,
    pub(crate) id: u32,
}

impl Fragments {
    /// A first fragment was seen.
    pub(crate) fn first(&mut self, of: Fragmented, key: FlowKey) {
        self.open.retain(|(known, _)| *known != of);
        if self.open.len() == CAPACITY {
            self.open.pop_front();
        }
        self.open.push_back((of, key));
    }

    /// The conversation of a later fragment; the last one closes the packet.
    pub(crate) fn later(&mut self, of: Fragmented, last: bool) -> Option<FlowKey> {
        let at = self.open.iter().rposition(|(known, _)| *known == of)?;
        let key = self.open[at].1;
        if last {
            self.open.remove(at);
        }
        Some(key)
    }
}

/// Packets in pieces at a time; a router keeps fewer.
const CAPACITY: usize = 256;
