//! Queue disciplines and AQM laws (reference/aqm.md): FIFO, CoDel, PIE, FQ-CoDel, FQ-PIE, CAKE, DualPI2; strict priority,
//! deficit round robin and HTB over classes, and the classifier that makes them; shaping and ACK filtering.
//!
//! A *law* ([`aqm::Aqm`]) decides; a *discipline* ([`QueueDiscipline`]) owns packets. One law under one queue is
//! [`AqmQueue`], one law under each of many flow queues is [`FlowQueues`]: FQ-CoDel and FQ-PIE are the same scheduler.
//! Everything is driven from outside under the contract of `gamelane_core`.

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
pub mod class_map;
pub mod classify;
pub mod composite;
pub mod config;
pub mod config_error;
pub mod discipline;
pub mod drr;
pub mod dualpi2;
pub mod fifo;
pub mod fq;
pub mod htb;
pub mod parameters;
mod pool;
pub mod priority;
pub mod shaper;
pub mod tree;

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod fixture;

pub use ack_filter::{AckFilterConfig, AckFilterMode};
pub use any::AnyQueue;
pub use aqm_queue::AqmQueue;
pub use cake::{Cake, CakeConfig};
pub use class_map::ClassMap;
pub use classify::{Classifier, ClassifierConfig};
pub use config::{Limit, ParameterSet, QueueConfig, QueueKind};
pub use config_error::ConfigError;
pub use discipline::{Backlog, QueueDiscipline};
pub use drr::{Drr, DrrConfig};
pub use dualpi2::{DualPi2, DualPi2Config};
pub use fifo::Fifo;
pub use fq::FlowQueues;
pub use htb::{Htb, HtbConfig};
pub use priority::{Priority, PriorityConfig};
pub use shaper::{Shaper, ShaperConfig};
pub use tree::DisciplineConfig;
