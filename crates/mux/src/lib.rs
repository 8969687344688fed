//! Multiplexing of many thin streams over one or a few carriers, as the proxy of griwodz2006 section 4.3 does it. This
//! crate goes beyond the paper: several carriers, each stream ordered independently, resume after the loss of a
//! carrier, early repeats.
//!
//! - [`Mux`] is the sending half. It decides which frame a carrier gets next.
//! - [`Demux`] is the receiving half. It delivers the bytes of each stream once and in order.
//! - [`Session`] is one end of a pair: both halves, the handshake of each carrier, and the feedback to the peer.
//! - [`Repeater`] is the alternative without carriers: messages over datagrams, repeated until acknowledged.
//!
//! Payload is generic ([`Body`]): the simulator moves lengths, the proxy moves bytes. docs/models/mux.md has formulas
//! and limits. Left out: encryption and sockets (the proxy has them), congestion control (the carrier has it).

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

#[cfg(test)]
extern crate std;

pub mod body;
pub mod collector;
pub mod config;
pub mod datagram;
pub mod demux;
pub mod error;
pub mod frame;
mod ledger;
pub mod mux;
mod receive;
pub mod repeater;
pub mod savings;
mod schedule;
mod send;
pub mod session;
pub mod varint;

pub use body::{Body, Length};
pub use collector::{Collector, CollectorCounters};
pub use config::{
    Assignment, CarrierId, CarrierKind, Coalescing, EarlyRepeat, MAX_CARRIERS, MuxConfig, StreamId,
};
pub use datagram::{Acknowledgement, Datagram, Message};
pub use demux::{Demux, DemuxCounters};
pub use error::ProtocolError;
pub use frame::{DecodeError, Frame, Hello, Parsed, Position};
pub use mux::{Mux, MuxCounters, WriteError};
pub use repeater::{RepeatLimits, Repeater, RepeaterCounters};
pub use savings::{Saving, Wire};
pub use session::{Event, Role, Session, SessionConfig};
