//! Games, voice and other datagram applications of a scenario over real sockets: runs the state machines of `gamelane-traffic`
//! between two hosts. Each packet has a number, a time stamp and an echo if they fit. [`client`] and [`server`] get the time as an
//! argument; [`socket`], [`clock`] and [`driver`] make the system calls. [`measure`] adds
//! loads over TCP.

#![forbid(unsafe_code)]

pub mod client;
pub mod clock;
pub mod cookie;
pub mod driver;
pub mod measure;
pub mod played;
pub mod record;
pub mod server;
pub mod socket;
pub mod stream;
pub mod wire;
