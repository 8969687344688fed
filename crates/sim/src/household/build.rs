//! Building a household from a model.

use alloc::vec::Vec;
use gamelane_core::{FlowId, Instant, Seed};
use gamelane_record::{Recorder, Side};
use gamelane_scenario::{Carriage, Model};

use super::component::{Component, Numbering};
use super::{Household, SAMPLE_EVERY};
use crate::bundle::Bundle;
use crate::classes::Classes;
use crate::flow::Flow;
use crate::following::Following;
use crate::frames::Frames;
use crate::network::Network;
use crate::payload::Passed;
use crate::timetable::Timetable;
use crate::window::Windows;

/// Connections of a flow whose TCP state is sampled.
const SAMPLED_CONNECTIONS: u32 = 4;

impl<R: Recorder> Household<R> {
    pub(super) fn build(model: &Model, seed: Seed, recorder: R, passed: Option<Vec<Passed>>) -> Self {
        let network = Network::new(model, seed);
        let lanes = (0u32..).zip(model.lanes());
        let flows: Vec<_> = lanes
            .map(|(id, (flow, number))| Flow::new(FlowId(id), &model.flows[flow], number, seed))
            .collect();
        let sampled = lanes_to_sample(model);
        let (flows, bundles) = bundled(model, flows, seed);
        let numbering = Numbering::new(network.len(), flows.len(), bundles.len());
        let mut household = Self {
            now: Instant::ZERO,
            end: Instant::ZERO + model.duration,
            ended: false,
            timetable: Timetable::new(numbering.len()),
            numbering,
            network,
            flows,
            bundles,
            classes: Classes::of(model),
            windows: Windows::of(model, seed),
            following: Following::of(model),
            frames: Frames::default(),
            passed,
            recorder,
            next_sample: Instant::ZERO + SAMPLE_EVERY,
            sampled,
            events: 0,
        };
        household.set(Component::Sampler, Some(household.next_sample));
        for flow in 0..household.flows.len() {
            for side in Side::BOTH {
                household.run_host(flow, side);
            }
        }
        for bundle in 0..household.bundles.len() {
            for side in Side::BOTH {
                household.bundle_changed(bundle, side);
            }
        }
        household
    }
}

/// Makes the bundles of flows that share connections.
fn bundled(model: &Model, mut flows: Vec<Flow>, seed: Seed) -> (Vec<Flow>, Vec<Bundle>) {
    let mut bundles: Vec<Bundle> = Vec::new();
    for (lane, (flow, number)) in model.lanes().enumerate() {
        let flow = &model.flows[flow];
        if matches!(flow.carriage, Carriage::Mux { .. } | Carriage::Streams { .. }) {
            if number == 0 {
                bundles.push(Bundle::new(flow, lane, seed));
            }
            flows[lane].bundle = Some(bundles.len() - 1);
        }
    }
    (flows, bundles)
}

/// Lists the first connections of each flow. A flow may have 100,000, and a few samples show their state.
fn lanes_to_sample(model: &Model) -> Vec<(u32, u32, u32)> {
    let few = (0u32..).zip(model.lanes()).filter(|(_, (_, number))| *number < SAMPLED_CONNECTIONS);
    few.map(|(lane, (flow, number))| (lane, flow as u32, number)).collect()
}
