//! The capture over time, while its flows are open: its timeline, and the load of each step. At the end of a flow, what
//! happened to it is compared with the load.

use super::timeline::{Moments, Timeline};
use super::under_load::{Load, Loads, UnderLoad};

/// The capture over time.
#[derive(Debug, Default)]
pub(super) struct Course {
    pub(super) timeline: Timeline,
    loads: Loads,
    /// Number of open flows whose round trips are kept.
    pub(super) witnesses: u32,
}

impl Course {
    /// Returns the load at a time. The capture must have been read up to it.
    pub(super) fn load_at(&mut self, at_ns: u64) -> Load {
        self.loads.read(&self.timeline);
        self.loads.at(at_ns)
    }

    /// Adds a flow at its end. With `is_drawn`, its waits become part of the timeline.
    pub(super) fn add(
        &mut self,
        moments: [&Moments; 2],
        is_drawn: bool,
        least_rtt_ns: [u64; 2],
        span_ns: [u64; 2],
    ) -> UnderLoad {
        if is_drawn {
            moments.iter().for_each(|moments| self.timeline.merge(moments));
        }
        self.loads.read(&self.timeline);
        self.loads.summary(moments, least_rtt_ns, span_ns)
    }
}
