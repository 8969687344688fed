//! TCP endpoints as pure state machines. Segments and the current time go in; segments, events and one deadline come
//! out. The base is RFC 9293 with window scale, timestamps, SACK and ECN. Recovery, congestion control and the
//! retransmission timer are chosen in [`TcpConfig`]. [`TcpTuning`] switches on the mechanisms for thin streams and
//! others that hosts leave off. docs/models/tcp.md has the formulas.
//!
//! [`TcpEndpoint`] is the public interface. Inside, a `Sender` decides what to send when, and a `Receiver` decides what
//! to acknowledge when; neither knows the other. All [`recovery`] methods share the sender's [`scoreboard`] of
//! unacknowledged segments. [`congestion`] sees only ACKs and losses.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

#[cfg(test)]
extern crate std;

pub mod accounting;
pub mod catalogue;
pub mod config;
pub mod congestion;
pub mod endpoint;
pub mod facts;
pub mod observe;
mod outbox;
mod reassembly;
mod receiver;
pub mod recovery;
pub mod scoreboard;
pub mod segment;
mod sender;
pub mod stack;
pub mod timer;

pub use catalogue::{Control, Stack, Timer};
pub use config::{
    Bundling, CongestionKind, DelayedAck, InitialWindow, ModifiedRto, Nagle, Piggyback, ReceiveWindow,
    RecoveryKind, Reduction, SlowStart, TcpConfig, TcpTuning, TimerKind, WindowCounts, WindowValidation,
};
pub use endpoint::TcpEndpoint;
pub use facts::{TcpDescriptor, TcpFacts};
pub use observe::{TcpCounters, TcpEvent, TcpObservation};
pub use recovery::Phase;
pub use segment::{FlagBits, Flags, SackBlock, SackBlocks, Segment};
