//! An impaired path between two interfaces of a Linux machine: [`plane`] holds the frames, [`control`] changes what is done
//! to them while they pass, [`run`] joins both to the gateway's loop.

#![forbid(unsafe_code)]

pub mod control;
pub mod plane;
pub mod run;

pub use plane::Impaired;
