//! What a gateway does to packets beside queueing them, and to the rate it shapes to: [`voap`] lowers the windows that
//! passing TCP segments advertise, [`finder`] searches the highest rate without queueing delay, [`autorate`] follows a
//! link whose rate varies, [`following`] both directions of one on what [`echo`] and [`even`] make of passing packets. All are
//! state machines driven by a simulator or a gateway; only [`tcp`] knows bytes, so that shells need not.

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
