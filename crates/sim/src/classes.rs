//! Classes in the household: every packet that comes to one of the gateway's own queues is put into one first.

use alloc::vec::Vec;
use gamelane_core::{Direction, FlowKey, Instant, PacketMeta};
use gamelane_qdisc::Classifier;
use gamelane_scenario::Model;

use crate::payload::{Payload, connection_key, player_key};

pub(crate) struct Classes {
    classifier: Classifier,
    /// Of the first connection of each lane, as the home sends it.
    keys: Vec<FlowKey>,
}

impl Classes {
    /// The classifier of a household, if it has one.
    ///
    /// # Panics
    ///
    /// If its rules contradict each other, which whoever made the model has checked.
    pub(crate) fn of(model: &Model) -> Option<Self> {
        let config = model.gateway.classifier.as_ref()?;
        let classifier =
            Classifier::new(config, model.gateway.classes).expect("the model's rules are checked");
        let keys = model.lanes().map(|(flow, lane)| player_key(model.flows[flow].key, lane)).collect();
        Some(Self { classifier, keys })
    }

    /// A packet comes to the gateway's queue of `direction`.
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
