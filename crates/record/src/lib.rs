//! One recorder for every engine: a simulation, a lab of real hosts, real traffic and a gateway hand it the same events, so their
//! figures mean the same.
//!
//! ```text
//! engine --Event--> Records --> tables       (one row per sample, docs/records.md)
//!   `----Totals---------'-----> RunSummary   (one element of `runs` in the JSON output, docs/json-schema.md)
//! ```
//!
//! [`Records`] keeps samples, windows and drops. [`Totals`] holds what only an engine can count, such as the packets of a queue.
//! [`RunSummary`] combines both. [`table::TABLES`] describes every table once: names, types, units and meaning.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

#[cfg(feature = "schema")]
pub mod document;
pub mod event;
pub mod messages;
pub mod meter;
mod named;
pub mod pairs;
mod parts;
pub mod records;
pub mod statistics;
pub mod summary;
pub mod table;
pub mod totals;

pub use event::{Event, Recorder, Seen, Side, TcpState};
pub use meter::BacklogMeter;
pub use named::Named;
pub use records::{Flow, Records, View};
pub use statistics::Distribution;
pub use summary::RunSummary;
pub use totals::Totals;
