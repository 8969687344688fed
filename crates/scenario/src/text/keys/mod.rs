//! The keys of a scenario, one file per section. Parsing, `--set`, the JSON Schema and `docs/scenario.md` all follow
//! from these definitions. The doc comment of a field is its description in all of them.

pub mod autorate;
pub mod behaviour;
pub mod class;
pub mod flow;
pub mod gateway;
pub mod link;
pub mod medium;
pub mod queue;
pub mod rule;
mod selective;
pub mod tcp;
pub mod voap;

pub use autorate::Autorate;
pub use behaviour::Detector;
pub use class::Class;
pub use flow::Flow;
pub use gamelane_traffic::App;
pub use gateway::Gateway;
pub use link::{Link, Loss, Overhead};
pub use queue::Queue;
pub use rule::Rule;
pub use tcp::Tcp;
pub use voap::Voap;
