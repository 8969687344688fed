//! Everything that talks to the kernel about interfaces, and the only module with `unsafe` code: an open interface
//! ([`Port`]), by packet sockets with a receive ring ([`Receiver`]) and sending many frames at a call ([`Sender`]) or by
//! AF_XDP ([`XdpPort`]), what an interface is and can ([`Interface`], [`Offloads`]), programs the kernel runs ([`bpf`]) and
//! network namespaces ([`namespace`]). See packet(7) and the kernel's `Documentation/networking/{packet_mmap,af_xdp}.rst`.

#![expect(unsafe_code, reason = "system calls and a memory map; each block says why it is sound")]

mod addresses;
pub mod bpf;
mod interface;
mod mapping;
pub mod namespace;
mod offloads;
mod port;
mod priority;
mod receiver;
mod sender;
mod socket;
mod xdp;

pub use addresses::addresses;
pub use interface::{Interface, Presence};
pub use offloads::{CHECKSUMS, OFFLOADS, Offload, Offloads, VLAN_STRIPPING};
pub use port::{Io, Port};
pub use priority::run_in_real_time;
pub use receiver::{Checksum, Received, Receiver, RingCounters};
pub use sender::{Refusal, Sender};
pub use xdp::{Sent, XdpPort};
