//! The numbers of one run: an element of `runs` in `gamelane run --json` (docs/json-schema.md). The fields are the keys of that
//! document, and their comments its reference.

mod flow;
mod gateway;
mod thin;

use alloc::string::ToString;

use gamelane_core::Direction;
use serde::Serialize;

pub use flow::{DirectionSummary, FlowSummary};
pub use gateway::{
    BacklogSummary, BothWays, FollowerSummary, QueueDrops, QueueSummary, RateSummary, StationSummary,
    VoapBytes, VoapSummary,
};
pub use thin::{DelaySummary, DeliverySummary, NthSummary, ThinSummary};

use crate::named::Named;
use crate::records::Records;
use crate::totals::Totals;

/// One run. Packets of the warm-up do not count, except in `queues`, `stations`, `voap` and `autorate`, which cover the whole run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunSummary {
    /// Seed of the run.
    pub seed: u64,
    /// Flows by name.
    pub flows: Named<FlowSummary>,
    /// Queues by name: the gateway's `up` and `down`, and where they exist `modem`, `isp`, `station/HOST`, `relay/N/up`, `relay/N/down`.
    /// Empty for `live` traffic, whose queues nobody sees.
    pub queues: Named<QueueSummary>,
    /// Wi-Fi stations by host. Only with Wi-Fi.
    #[serde(skip_serializing_if = "Named::is_empty", default)]
    pub stations: Named<StationSummary>,
    /// Window control at the gateway. Only with `gateway.voap`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voap: Option<VoapSummary>,
    /// Shapers that follow their link, by direction. Only with `gateway.autorate`.
    #[serde(skip_serializing_if = "Named::is_empty", default)]
    pub autorate: Named<FollowerSummary>,
}

impl RunSummary {
    /// Summarises a finished run.
    pub fn new(seed: u64, records: &Records, totals: &Totals) -> Self {
        let flows = records.flows.iter().enumerate().filter(|(_, own)| !own.is_left_out());
        let followers = Direction::BOTH.into_iter().filter_map(|direction| {
            let own = totals.autorate[direction.index()].as_ref()?;
            Some((direction.name().to_string(), FollowerSummary::new(own, direction, records)))
        });
        Self {
            seed,
            flows: flows
                .map(|(position, own)| {
                    let summary = FlowSummary::new(position, records, totals.flows.get(position));
                    (own.flow.name.clone(), summary)
                })
                .collect(),
            queues: (totals.queues.iter())
                .map(|(name, own)| (name.clone(), QueueSummary::new(name, own, records)))
                .collect(),
            stations: (totals.stations.iter())
                .map(|(name, own)| (name.clone(), StationSummary::new(own, records)))
                .collect(),
            voap: totals.voap.as_ref().map(VoapSummary::new),
            autorate: followers.collect(),
        }
    }
}
