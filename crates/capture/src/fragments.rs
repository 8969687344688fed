//! Assigns later fragments to their flow. Only the first fragment has ports; the others have addresses and an
//! identification (RFC 791 section 3.2, RFC 8200 section 4.5). Payload is not reassembled. Fragments that arrive before
//! the first one are not assigned.

use std::collections::VecDeque;
use std::net::IpAddr;

use gamelane_core::FlowKey;

/// Packets with fragments still to come, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    open: VecDeque<(Fragmented, First)>,
}

/// What later fragments take from the first one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct First {
    pub(crate) key: FlowKey,
    /// Whether the filter kept it.
    pub(crate) kept: bool,
}

/// Fields that all fragments of a packet have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fragmented {
    pub(crate) interface: u32,
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) protocol: u8,
    pub(crate) id: u32,
}

impl Fragments {
    /// Records a first fragment.
    pub(crate) fn first(&mut self, of: Fragmented, first: First) {
        self.open.retain(|(known, _)| *known != of);
        if self.open.len() == CAPACITY {
            self.open.pop_front();
        }
        self.open.push_back((of, first));
    }

    /// Returns what is known from the first fragment. The last fragment removes the packet.
    pub(crate) fn later(&mut self, of: Fragmented, last: bool) -> Option<First> {
        let at = self.open.iter().rposition(|(known, _)| *known == of)?;
        let first = self.open[at].1;
        if last {
            self.open.remove(at);
        }
        Some(first)
    }
}

/// Maximum number of fragmented packets at a time. Routers keep fewer.
const CAPACITY: usize = 256;
