//! Analysis of a TCP connection from its packets: the data of both directions, retransmissions and their causes, round
//! trips, windows. The table of flows and the reports are left to [`analysis`](crate::analysis).

pub mod cause;
pub mod connection;
pub mod counts;
pub(crate) mod half;
pub(crate) mod reaction;
pub(crate) mod repairs;
pub(crate) mod rows;
pub(crate) mod sequence;
mod staged;
pub mod stall;
pub(crate) mod stamps;
pub(crate) mod stream;
pub(crate) mod timer;

pub use cause::Cause;
pub use counts::HalfCounts;
pub use rows::{Acknowledged, Method, Retransmission, RoundTrip};
pub use stall::Stalls;
