//! What a scenario's gateway means on a real machine. Nothing here changes one; only [`Policy::load`] reads a file.
//!
//! ```text
//! Scenario -> Policy -> kernel: steps for Linux's own queues
//!          -> apply: lines to paste, for Linux, for OpenWrt, and for gamelane's own gateway
//! ```
//!
//! | part | what it holds |
//! |---|---|
//! | [`Policy`] | queues, shapers, rules and window control of a gateway |
//! | [`kernel`] | a policy carried out by Linux's own queues |
//! | [`apply`] | a scenario's gateway as lines to paste |

#![forbid(unsafe_code)]

pub mod apply;
pub mod kernel;
mod notes;
mod policy;
mod rules;

pub use policy::{LanePolicy, Policy};
