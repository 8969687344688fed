//! The household: hosts, paths and the network between them, and the event loop in virtual time.
//!
//! ```text
//! client --> network --> path up   --> server
//! client <-- network <-- path down <-- server
//! ```

mod accounts;
mod build;
mod component;
mod follow;
mod forward;
mod hosts;
mod outcome;

use alloc::vec::Vec;
use gamelane_core::{Direction, Duration, Instant, Seed};
use gamelane_record::{Event, Recorder, Side};
use gamelane_scenario::Model;

pub use self::outcome::Outcome;

use self::component::{Component, Numbering};
use crate::bundle::Bundle;
use crate::classes::Classes;
use crate::flow::Flow;
use crate::following::Following;
use crate::frames::Frames;
use crate::network::Network;
use crate::payload::Passed;
use crate::timetable::Timetable;
use crate::window::Windows;

/// Time between samples of queues and TCP state.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// A running household.
pub struct Household<R> {
    now: Instant,
    end: Instant,
    ended: bool,
    timetable: Timetable,
    network: Network,
    numbering: Numbering,
    flows: Vec<Flow>,
    bundles: Vec<Bundle>,
    classes: Option<Classes>,
    windows: Option<Windows>,
    following: Option<Following>,
    frames: Frames,
    recorder: R,
    /// Packets at each tap; `None` if they are not kept.
    passed: Option<Vec<Passed>>,
    next_sample: Instant,
    /// Connections whose TCP state is sampled: lane, flow, and number within the flow.
    sampled: Vec<(u32, u32, u32)>,
    events: u64,
}

impl<R: Recorder> Household<R> {
    /// Builds a household at time zero. `seed` replaces the seed of the model, so that repeated runs can share a model.
    pub fn new(model: &Model, seed: Seed, recorder: R) -> Self {
        Self::build(model, seed, recorder, None)
    }

    /// Like [`Self::new`], but keeps every packet at every tap, about 200 bytes each.
    pub fn with_packets(model: &Model, seed: Seed, recorder: R) -> Self {
        Self::build(model, seed, recorder, Some(Vec::new()))
    }

    /// Time reached so far.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// What was recorded so far.
    pub const fn recorder(&self) -> &R {
        &self.recorder
    }

    /// Runs until `until`, or until no deadline is left. Returns whether deadlines are left. At the end of the scenario the hosts
    /// stop and the network drains, so every packet sent is received or lost.
    pub fn run_until(&mut self, until: Instant) -> bool {
        while let Some((component, at)) = self.timetable.first() {
            if at > self.end && !self.ended {
                self.silence_hosts();
                continue;
            }
            if at > until {
                return true;
            }
            self.now = self.now.max(at);
            self.events += 1;
            self.step(self.numbering.component(component));
        }
        false
    }

    /// Runs to the end.
    pub fn run(mut self) -> Outcome<R> {
        self.run_until(Instant::MAX);
        self.finish()
    }

    fn step(&mut self, component: Component) {
        match component {
            Component::Hop(hop) => self.run_hop(hop),
            Component::Sampler => self.sample(),
            Component::Host { flow, side } => self.wake_host(flow, side),
            Component::Path { flow, direction } => self.run_path(flow, direction),
            Component::Bundle { bundle, side } => self.wake_bundle(bundle, side),
            Component::Follower(direction) => self.follow(direction),
        }
    }

    /// Sets the deadline of a component.
    fn set(&mut self, component: Component, deadline: Option<Instant>) {
        self.timetable.set(self.numbering.number(component), deadline);
    }

    fn silence_hosts(&mut self) {
        self.ended = true;
        for hop in 0..self.network.len() {
            self.network.observe(hop, self.end);
        }
        self.set(Component::Sampler, None);
        for flow in 0..self.flows.len() {
            for side in Side::BOTH {
                if let Some(report) = self.flows[flow].host(side).unfinished(self.end) {
                    let event = Event::App { lane: self.flows[flow].id, report };
                    self.recorder.record(self.end, &event);
                }
                self.set(Component::Host { flow, side }, None);
            }
        }
        for bundle in 0..self.bundles.len() {
            for side in Side::BOTH {
                self.set(Component::Bundle { bundle, side }, None);
            }
        }
        for direction in Direction::BOTH {
            self.following_changed(direction);
        }
    }
}
