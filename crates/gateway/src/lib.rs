//! The queues of a scenario on real frames: a transparent bridge between two interfaces. `docs/gateway.md` is for users.
//!
//! [`run`] is the program: it joins the engine of `gamelane-device`, which has the sockets and the clock, to a [`Gateway`], which
//! has neither. Everything that decides about frames is in [`gateway`], so it can be tested, recorded and replayed with bytes
//! alone.
//!
//! ```text
//! interface -> Engine -> Gateway: parse, steer, classify, queue, shape -> Engine -> interface
//! ```
//!
//! | folder | what it holds |
//! |---|---|
//! | [`gateway`] | queue and shaper of each direction, and the signals for shapers that follow their link |
//! | [`netlink`] | sets up Linux's own queues for a policy, changes and undoes them, reads their counters |
//! | [`truth`] | what is known of each flow because it passed here: delays, drops, rhythm, round trips |
//! | [`watched`] | the same of Linux's queues, from events of the kernel |
//! | [`tap`] | the recording of frames and decisions, and its replay |
//! | [`status`] | the status document, its page, Prometheus metrics, the verdict on games |
//! | [`run`] | checks before a run, the run itself, signals, the policy file |
//! | [`http`] | serves the status on loopback |

#![forbid(unsafe_code)]

pub mod gateway;
#[cfg(feature = "program")]
pub mod http;
#[cfg(feature = "program")]
pub mod netlink;
#[cfg(feature = "program")]
pub mod run;
pub mod status;
pub mod tap;
pub mod truth;
pub mod watched;

pub use gamelane_policy::Policy;
pub use gateway::{DroppedFrame, Gateway};
