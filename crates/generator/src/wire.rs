//! Formats of the datagrams: data packets ([`header`]) and control messages ([`control`]).

pub mod control;
pub mod header;

pub use control::{Control, Refusal, Seal, Seen, Wish, sealed};
pub use header::{Echo, Header};

/// Longest datagram of a scenario in bytes: the largest that fits into an Ethernet frame over IPv4.
pub const LONGEST: usize = 1472;
