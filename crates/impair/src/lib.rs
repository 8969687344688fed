//! An impaired path on a Linux machine, between two interfaces or beside one: [`plane`] holds the frames, [`control`] changes
//! what is done to them while they pass, [`detour`] brings frames of one interface there and back, [`run`] joins all to the
//! gateway's loop, [`tune`] is for who plays.

#![forbid(unsafe_code)]

pub mod control;
pub mod detour;
pub mod page;
pub mod plane;
pub mod run;
pub mod tune;

pub use plane::Impaired;
