//! Everything that talks to the kernel about interfaces, and the only module with `unsafe` code: packet sockets with a
//! receive ring ([`Receiver`]), sending many frames at a call ([`Sender`]), and what an interface is and can
//! ([`Interface`], [`Offloads`]). See packet(7) and the kernel's `Documentation/networking/packet_mmap.rst`.

#![expect(unsafe_code, reason = "system calls and a memory map; each block says why it is sound")]

mod addresses;
mod interface;
mod mapping;
mod offloads;
mod priority;
mod receiver;
mod sender;
mod socket;

pub use addresses::addresses;
pub use interface::Interface;
pub use offloads::{OFFLOADS, Offload, Offloads};
pub use priority::run_in_real_time;
pub use receiver::{Received, Receiver, RingCounters};
pub use sender::{Refusal, Sender};
