//! Work of a gateway other than queueing. [`voap`] lowers the windows that TCP segments advertise. [`finder`] searches
//! the highest rate without queueing delay. [`autorate`] makes the rate of a shaper follow a link whose rate varies,
//! and [`following`] does this for both directions. [`echo`] and [`even`] measure delays of passing packets for it.
//!
//! All of these are state machines that a simulator or a gateway drives. Only [`tcp`] reads and writes packet bytes.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod autorate;
pub mod echo;
pub mod even;
pub mod finder;
pub mod following;
pub mod hops;
mod least;
pub mod tcp;
pub mod voap;

pub use autorate::{Autorate, AutorateConfig};
pub use echo::Echo;
pub use even::EvenStream;
pub use finder::{FinderConfig, RateFinder};
pub use following::{FollowerConfig, Following, Hears};
pub use hops::HopView;
pub use tcp::{TcpFacts, TcpFlags};
pub use voap::{Verdict, Voap, VoapConfig};
