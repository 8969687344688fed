//! Measures the line between two ends: games and calls over UDP run beside loads of TCP streams, in four phases. The server is
//! [`server`], the client [`client`]; docs/measure.md describes the protocol.
//!
//! It leaves out encryption: everything but the proofs can be read and changed on the way.

pub mod client;
pub mod clocks;
mod control;
pub mod handshake;
pub mod limits;
pub mod load;
pub mod plan;
pub mod reach;
pub mod server;
pub mod trouble;

#[cfg(test)]
mod tests;
