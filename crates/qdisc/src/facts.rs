//! What the catalogue says of a queue discipline, in addition to what it says of everything.

use gamelane_core::Descriptor;
use serde::Serialize;

use crate::config::QueueKind;

/// Descriptor of a queue discipline.
pub type QueueDescriptor = Descriptor<QueueFacts>;

/// Facts of a queue discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct QueueFacts {
    /// What has a queue of its own, so that it does not wait behind other packets.
    pub isolates: Isolates,
    /// The kind of plain queue; `None` for a queue with a configuration of its own.
    #[serde(skip)]
    pub plain: Option<QueueKind>,
    /// The discipline of Linux.
    pub tc: Tc,
}

/// What a queue keeps apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Isolates {
    /// Nothing: a game shares its queue with other flows.
    Nothing,
    /// Flows.
    Flows,
    /// Classes, which a classifier assigns.
    Classes,
}

/// A discipline of Linux, as `tc` writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Tc {
    /// Name of the discipline.
    pub name: &'static str,
    /// Keys of a scenario, each with the option that sets it. An empty option: the value alone sets it.
    pub options: &'static [(&'static str, &'static str)],
}
