//! Multiplexing: many thin streams over one or a few carriers, as the proxy of griwodz2006 section 4.3 does, and what the
//! paper could not try: several carriers, streams ordered independently, resume after the loss of a carrier, early repeats.
//!
//! [`Mux`] is the sending half and decides which frame a carrier gets next; [`Demux`] is the receiving half and gives each
//! stream its bytes once and in order. [`Session`] is one end of a pair: both halves, the handshake of carriers, and what is
//! said back. [`Repeater`] is the other way to do it: messages over datagrams, repeated until acknowledged. Payload is
//! generic ([`Body`]): the simulator moves lengths, the proxy bytes. docs/models/mux.md has formulas and limits.
//!
//! Left out: encryption and sockets (the proxy's shell), congestion control (the carrier's).

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
