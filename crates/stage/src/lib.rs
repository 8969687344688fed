//! What a gateway does to packets beside queueing them, and to the rate it shapes to: [`voap`] lowers the windows that
//! passing TCP segments advertise, [`finder`] searches the highest rate without queueing delay, [`autorate`] follows a
//! link whose rate varies. All are state machines driven by a simulator or a gateway; only [`tcp`] knows bytes, so that
//! shells need not.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod autorate;
pub mod finder;
pub mod hops;
pub mod tcp;
pub mod voap;

pub use autorate::{Autorate, AutorateConfig};
pub use finder::{FinderConfig, RateFinder};
pub use hops::HopView;
pub use tcp::{TcpFacts, TcpFlags};
pub use voap::{Verdict, Voap, VoapConfig};
