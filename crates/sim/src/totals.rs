//! Converts the counters of a household to the recorder's totals.

use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use gamelane_core::Direction;
use gamelane_record::totals::{FlowTotals, ThinTotals};
use gamelane_record::{Records, RunSummary, Totals};
use gamelane_scenario::{Medium, Model};
use gamelane_traffic::config::AppConfig;

use crate::household::Outcome;

impl<R> Outcome<R> {
    /// Totals of a run of `model`.
    pub fn totals(&self, model: &Model) -> Totals {
        let own = Direction::BOTH.into_iter().map(|direction| direction.name().to_string());
        let stations = match &model.access.medium {
            Medium::WifiG(wifi) => wifi.stations.iter().map(|station| station.name.clone()).collect(),
            _ => Vec::new(),
        };
        Totals {
            queues: own.zip(self.hops).chain(self.others.iter().cloned()).collect(),
            stations: stations.into_iter().zip(self.stations.iter().copied()).collect(),
            voap: self.voap,
            autorate: self.autorate,
            flows: self.flow_totals(model),
        }
    }

    fn flow_totals(&self, model: &Model) -> Vec<FlowTotals> {
        let mut flows: Vec<FlowTotals> = vec![FlowTotals::default(); model.flows.len()];
        for (own, flow) in flows.iter_mut().zip(&model.flows) {
            own.timeouts = Some(0);
            own.thin = matches!(flow.app, AppConfig::Mmo(_)).then(ThinTotals::default);
        }
        for (lane, (flow, _)) in model.lanes().enumerate() {
            let (own, [client, server]) = (&mut flows[flow], &self.tcp[lane]);
            for counters in [client, server].into_iter().flatten() {
                own.retransmissions += counters.retransmissions();
                own.timeouts = own.timeouts.map(|timeouts| timeouts + counters.timeouts);
            }
            let Some(thin) = &mut own.thin else { continue };
            if let Some(totals) = &self.retransmissions[lane] {
                thin.retransmissions.add(totals);
            }
            if let Some(counters) = server {
                thin.server.add(counters);
            }
            thin.duplicate_segments += client.map_or(0, |counters| counters.duplicate_segments_received);
        }
        flows
    }
}

impl Outcome<Records> {
    /// Summary of a run of `model` with `seed`.
    pub fn summary(&self, model: &Model, seed: u64) -> RunSummary {
        RunSummary::new(seed, &self.recorder, &self.totals(model))
    }
}
