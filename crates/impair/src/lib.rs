//! Impairs frames on a Linux machine, between two interfaces or of one. [`plane`] delays, loses and copies frames. [`control`]
//! changes the impairment while it runs. [`detour`] diverts the frames of one interface. [`run`] joins these to the loop of
//! `gamelane-device`. [`page`] and [`tune`] show and change it in a terminal.

#![forbid(unsafe_code)]

pub mod control;
pub mod detour;
pub mod page;
pub mod plane;
pub mod run;
pub mod tune;

pub use plane::Impaired;
