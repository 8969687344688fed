//! What a TCP conversation's packets say about it: the streams of both directions, retransmissions and their causes, round
//! trips, windows.

pub mod cause;
pub mod connection;
pub mod half;
pub(crate) mod sequence;
pub mod stall;
pub(crate) mod stream;

pub use cause::Cause;
pub use half::HalfCounts;
pub use stall::Stalls;
