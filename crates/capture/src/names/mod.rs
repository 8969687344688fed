//! Names the game or application of a flow, and says how sure that is.
//!
//! 1. Each packet: [`said`](Said) reads the first bytes of the payload. `datagram` and `segment` know the signatures of
//!    protocols, each with its source.
//! 2. Each flow: [`Heard`] collects what the first packets of each direction said. It has a fixed size.
//! 3. At the end of the flow, [`application`] puts together the signatures, the ports of known applications, and how
//!    fast and in what sizes they send ([`Known`]).
//!
//! A port alone names nothing for certain, and an ordinary port nothing at all. If the signs contradict each other or
//! fit several applications, the flow stays unknown. Encrypted server names (QUIC, ECH) are left out, and so are names
//! from DNS answers.

mod application;
mod channel;
mod datagram;
mod heard;
mod known;
mod media;
mod protocol;
mod said;
mod segment;
mod server_name;
mod signature;

pub use application::{Application, Confidence, application};
pub use heard::Heard;
pub use known::{Group, Known, KnownApplication, Ports, Sends};
pub use said::Said;
pub use server_name::ServerName;
pub use signature::Signature;

pub(crate) use datagram::datagram;
pub(crate) use segment::segment;
