//! Queue disciplines and AQM laws: FIFO, CoDel, PIE, FQ-CoDel, FQ-PIE (reference/aqm.md).
//!
//! A *law* ([`aqm::Aqm`]) decides; a *discipline* ([`QueueDiscipline`]) owns packets. One law under one queue is
//! [`AqmQueue`], one law under each of many flow queues is [`FlowQueues`]: FQ-CoDel and FQ-PIE are the same scheduler.
//! Everything is driven from outside under the contract of `gamelane_core`.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod any;
pub mod aqm;
pub mod aqm_queue;
pub mod classify;
pub mod config;
pub mod discipline;
pub mod fifo;
pub mod fq;
pub mod parameters;
mod pool;

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod fixture;

pub use any::AnyQueue;
pub use aqm_queue::AqmQueue;
pub use classify::{Classifier, ClassifierConfig};
pub use config::{Limit, ParameterSet, QueueConfig, QueueKind};
pub use discipline::{Backlog, QueueDiscipline};
pub use fifo::Fifo;
pub use fq::FlowQueues;
