//! What the catalogue says of a TCP row (congestion control, loss recovery, retransmission timer), in addition to what it
//! says of everything.

use gamelane_core::Descriptor;
use serde::Serialize;

/// Descriptor of a TCP row.
pub type TcpDescriptor = Descriptor<TcpFacts>;

/// Facts of a TCP row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TcpFacts {
    /// Settings below `net.ipv4` that choose it in Linux. `None` if Linux does not have it.
    pub linux: Option<&'static [(&'static str, &'static str)]>,
}
