//! Network interfaces on Linux: frames are received, sent and recorded here. Three programs use this crate. `gamelane-gateway`
//! and `gamelane-impair` forward frames between two interfaces; the recorder (`gamelane-live`) only reads them.
//!
//! A tour, from the kernel upwards:
//!
//! 1. **What an interface is.** [`Interface`] looks one up, [`Presence`] tells whether it still exists, [`Offloads`] switches
//!    the offloads that merge or split frames, [`addresses`] lists IP addresses. [`namespace`] makes network namespaces.
//! 2. **Packet sockets.** [`packet`] opens `AF_PACKET` sockets. Two rings read from them: [`packet::Receiver`] shows each frame
//!    at once (TPACKET_V2), for forwarding; [`packet::BlockRing`] hands over timestamped blocks (TPACKET_V3), for recording.
//!    [`packet::Sender`] sends many frames in one call.
//! 3. **AF_XDP.** [`xdp`] takes frames from the driver, before the network stack. [`bpf`] loads the small program it needs.
//!    [`watch`] sees single packets of queues that Linux has.
//! 4. **One interface, either way.** [`Port`] hides which of the two is in use.
//! 5. **Frames.** [`Frames`] is a pool of fixed size. [`Headers`] holds what was parsed from a frame; [`checksum`] fills in
//!    checksums that were left to hardware.
//! 6. **The loop.** [`Engine`] moves frames between two ports and a [`Plane`]. The plane decides when each frame leaves. It has
//!    no socket and no clock, so tests drive it with bytes alone.
//! 7. **Around a run.** [`preflight`] checks everything before anything is changed. [`guard`] restores offloads however the
//!    process ends. [`privileges`] gives up capabilities. [`run_in_real_time`] asks for real-time priority.
//!
//! ```text
//! interface -> Port -> Frames -> Plane: parse, delay, queue, drop -> Port -> interface
//! ```
//!
//! `unsafe` code is in the modules of points 1 to 3, in `mapping` and in `priority`. Each block says why it is sound.
#![cfg(target_os = "linux")]

pub mod bpf;
mod bypass;
pub mod checksum;
mod clock;
mod engine;
mod frames;
pub mod guard;
mod headers;
mod interface;
mod mapping;
mod merged;
pub mod namespace;
mod option;
pub mod packet;
mod plane;
mod port;
pub mod preflight;
mod priority;
pub mod privileges;
mod tcp_state;
mod transfer;
pub mod watch;
pub mod xdp;

pub use clock::Clock;
pub use engine::{Engine, EngineCounters, Turn};
pub use frames::{FrameId, Frames};
pub use headers::{Headers, at_home};
pub use interface::{CHECKSUMS, Interface, OFFLOADS, Offload, Offloads, Presence, VLAN_STRIPPING, addresses};
pub use plane::Plane;
pub use port::{Io, Port};
pub use priority::run_in_real_time;
pub use tcp_state::{TcpState, tcp_state};
pub use transfer::{Checksum, Received, Refusal, RingCounters, Segments, Sent};
