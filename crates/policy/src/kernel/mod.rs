//! A policy carried out by Linux's own queues: `run --engine kernel`. Linux forwards; the gateway only sets it up, watches, and
//! undoes.
//!
//! ```text
//! Policy + Place -> plan() -> [Operation] -> text: lines for a shell
//!                                         -> gamelane-gateway's netlink: this machine
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | [`operation`] | what can be done to a machine: links, disciplines, classes, filters, a table of nftables |
//! | [`queue`] | a discipline of a scenario as one of Linux, or why Linux has none |
//! | [`framing`] | the bytes a link adds to each packet, as `stab` and as CAKE count them |
//! | [`test`](mod@test) | what a rule tests in a packet, as nftables tests it |
//! | [`plan`](fn@plan) | what a policy needs; pure |
//! | [`text`] | the plan as lines of `ip`, `tc` and `nft` |

pub mod framing;
pub mod operation;
mod place;
mod plan;
pub mod queue;
pub mod refused;
pub mod test;
pub mod text;

pub use operation::{Handle, Operation};
pub use place::{Forwards, Place, QueueDown, ifb_name};
pub use plan::{Plan, joins_hurt, plan};
pub use refused::Refused;
