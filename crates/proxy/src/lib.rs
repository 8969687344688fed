//! The thin-stream proxy: a near proxy beside the clients and a far one beside the servers carry many TCP streams over one
//! or a few carriers (griwodz2006 section 4.3; docs/models/mux.md; for operators docs/proxy.md).
//!
//! `gamelane-mux` has the protocol of the pair and the scheduler. This crate has the sockets, TLS, limits, configuration, metrics
//! and status. Start with [`hub`], which joins a session to its sockets.

#![forbid(unsafe_code)]

pub mod admin;
pub mod certificates;
pub mod clock;
pub mod config;
mod dial;
pub mod doors;
pub mod entrance;
pub mod far;
mod flow;
pub mod hub;
mod link;
pub mod metrics;
pub mod near;
pub mod network;
mod payload;
mod preface;
pub mod proxy_header;
mod quic;
pub mod rights;
mod sockets;
pub mod tls;
pub mod units;
mod wait;
