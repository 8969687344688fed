//! Assigns a class to every packet that reaches one of the gateway's own queues.

use alloc::vec::Vec;
use gamelane_core::{Direction, FlowKey, Instant, PacketMeta};
use gamelane_qdisc::Classifier;
use gamelane_scenario::Model;

use crate::payload::{Payload, connection_key, lane_key};

pub(crate) struct Classes {
    classifier: Classifier,
    /// Addresses of the first connection of each lane, in the direction from the home.
    keys: Vec<FlowKey>,
}

impl Classes {
    /// Builds the classifier of the gateway; `None` without rules.
    ///
    /// # Panics
    ///
    /// If the rules contradict each other; the scenario parser has checked them.
    pub(crate) fn of(model: &Model) -> Option<Self> {
        let config = model.gateway.classifier.as_ref()?;
        let classifier =
            Classifier::new(config, model.gateway.classes).expect("the model's rules are checked");
        let keys = model.lanes().map(|(flow, lane)| lane_key(&model.flows[flow], lane)).collect();
        Some(Self { classifier, keys })
    }

    /// Sets the class of a packet that reaches the gateway's queue of `direction`.
    pub(crate) fn assign(
        &mut self,
        direction: Direction,
        meta: &mut PacketMeta,
        payload: &Payload,
        now: Instant,
    ) {
        let upstream = connection_key(self.keys[meta.flow.index()], payload.connection);
        let key = match direction {
            Direction::Up => upstream,
            Direction::Down => upstream.reverse(),
        };
        meta.class = self.classifier.classify(meta, &key, direction, now);
    }
}
