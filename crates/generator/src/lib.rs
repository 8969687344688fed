//! Games, voice and other datagram applications of a scenario over real sockets: the state machines of `gamelane-traffic`
//! between two hosts, with a number, a time stamp and an echo in each packet that has room for them. [`client`] and
//! [`server`] are driven with the time passed in; only [`socket`] and [`clock`] know the system.

#![forbid(unsafe_code)]

pub mod client;
pub mod clock;
pub mod cookie;
pub mod driver;
pub mod played;
pub mod record;
pub mod server;
pub mod socket;
pub mod stream;
pub mod wire;
