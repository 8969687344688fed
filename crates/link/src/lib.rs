//! Links and paths: wired, DOCSIS, 802.11g and trace-driven links, with link-layer overhead, delay, jitter and loss.
//! The hop joins queues to the link below them. An impaired path can be changed while packets are on it.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod catalogue;
pub mod config;
#[cfg(test)]
mod conformance;
mod delay_line;
pub mod docsis;
#[cfg(test)]
mod fixture;
pub mod hop;
pub mod impair;
pub mod link;
pub mod path;
pub mod trace;
pub mod wifi;
pub mod wired;

pub use gamelane_core::overhead::{self, Overhead};

pub use catalogue::LinkKind;
pub use config::{LinkConfig, PathConfig};
pub use docsis::{DocsisConfig, DocsisUpstream, Neighbours};
pub use hop::{Hop, HopOutlet};
pub use impair::{ImpairConfig, ImpairOutlet, Impairment};
pub use link::{AnyLink, Flight, Link, PortId};
pub use path::Path;
pub use trace::{RateTrace, TraceError, TraceLink};
pub use wifi::{Dcf, PhyRate, WifiConfig};
pub use wired::WiredLink;
