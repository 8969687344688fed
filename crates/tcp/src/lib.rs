//! TCP endpoints as pure state machines: segments and time go in, segments, events and one deadline come out. RFC 9293
//! with window scale, timestamps, SACK and ECN; recovery, congestion control and the retransmission timer are rows of
//! [`TcpConfig`]. What helps thin streams, and what hosts leave off, is switched on by [`TcpTuning`]; docs/models/tcp.md has
//! each with its formula.
//!
//! [`TcpEndpoint`] is the door. Behind it a `Sender` (what to send when) and a `Receiver` (what to acknowledge when)
//! know nothing of each other; the sender's [`scoreboard`] of unacknowledged segments is shared by all
//! [`recovery`] methods, and [`congestion`] sees ACKs and losses only.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

#[cfg(test)]
extern crate std;

pub mod accounting;
pub mod config;
pub mod congestion;
pub mod endpoint;
pub mod observe;
mod outbox;
mod reassembly;
mod receiver;
pub mod recovery;
pub mod scoreboard;
pub mod segment;
mod sender;
pub mod timer;

pub use config::{
    Bundling, CongestionKind, InitialWindow, Piggyback, RecoveryKind, TcpConfig, TcpTuning, TimerKind,
    WindowCounts,
};
pub use endpoint::TcpEndpoint;
pub use observe::{TcpCounters, TcpEvent, TcpObservation};
pub use recovery::Phase;
pub use segment::{FlagBits, Flags, SackBlock, SackBlocks, Segment};
pub use timer::ModifiedRto;
