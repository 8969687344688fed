//! Queue disciplines and AQM laws: FIFO, CoDel (RFC 8289), PIE (RFC 8033), FQ-CoDel (RFC 8290), FQ-PIE, CAKE and
//! DualPI2 (RFC 9332). Strict priority, deficit round robin and HTB work on classes, which the classifier assigns.
//! Shaping and ACK filtering complete the set.
//!
//! A *law* ([`aqm::Aqm`]) decides, and a *discipline* ([`QueueDiscipline`]) owns packets. [`AqmQueue`] is one queue
//! with one law. [`FlowQueues`] is a scheduler over many flow queues, each with a law: FQ-CoDel and FQ-PIE differ only
//! in the law. A driver calls everything under the contract of `gamelane_core`.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod ack_filter;
pub mod any;
pub mod aqm;
pub mod aqm_queue;
pub mod cake;
pub mod catalogue;
pub mod class_map;
pub mod classify;
pub mod composite;
pub mod config;
pub mod config_error;
pub mod discipline;
pub mod drr;
pub mod dualpi2;
pub mod facts;
pub mod fifo;
pub mod fq;
pub mod htb;
mod pacer;
pub mod parameters;
mod pool;
pub mod priority;

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod fixture;

pub use ack_filter::{AckFilterConfig, AckFilterMode};
pub use any::AnyQueue;
pub use aqm_queue::AqmQueue;
pub use cake::{Cake, CakeConfig};
pub use catalogue::{Discipline, DisciplineConfig};
pub use class_map::ClassMap;
pub use classify::{Classifier, ClassifierConfig};
pub use config::{Limit, ParameterSet, QueueConfig, QueueKind};
pub use config_error::ConfigError;
pub use discipline::{Backlog, QueueDiscipline};
pub use drr::{Drr, DrrConfig};
pub use dualpi2::{DualPi2, DualPi2Config};
pub use facts::{Isolates, QueueDescriptor, QueueFacts, Tc};
pub use fifo::Fifo;
pub use fq::FlowQueues;
pub use htb::{Htb, HtbConfig};
pub use priority::{Priority, PriorityConfig};
