//! A game over TCP in numbers: how late its messages were and what that cost on the wire (S4, tables 1 and 2).

use alloc::vec::Vec;
use gamelane_core::Direction;
use gamelane_scenario::Model;
use gamelane_tcp::TcpCounters;
use gamelane_tcp::accounting::RetransmissionTotals;

use crate::household::Outcome;
use crate::records::{DeliveryRow, Records};
use crate::statistics::Distribution;

/// A game over TCP in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct ThinSummary {
    /// Players.
    pub players: u32,
    /// Connections that carry them.
    pub connections: u32,
    /// By direction.
    pub directions: [DeliverySummary; 2],
    /// What the servers sent again.
    pub retransmissions: RetransmissionTotals,
    /// Transport counters of the servers, summed.
    pub server: TcpCounters,
    /// Data segments that reached the clients and held nothing new: sent again in vain, or bundled.
    pub in_vain: u64,
}

/// Messages of one direction, by when they were written: those of the warm-up are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct DeliverySummary {
    /// From write to delivery, milliseconds.
    pub delivery_ms: Distribution,
    /// Its 99.9th percentile.
    pub delivery_ms_p999: f64,
    /// Of that, complete and waiting behind what was lost before, milliseconds.
    pub held_ms: Distribution,
}

impl ThinSummary {
    /// Of flow `flow` of a finished run.
    pub(crate) fn new(model: &Model, flow: usize, outcome: &Outcome<Records>) -> Self {
        let of_flow = |model: &Model| -> Vec<usize> {
            model.lanes().enumerate().filter(|(_, (of, _))| *of == flow).map(|(lane, _)| lane).collect()
        };
        let lanes = of_flow(model);
        let mut retransmissions = RetransmissionTotals::default();
        let mut server = TcpCounters::default();
        let mut in_vain = 0;
        for &lane in &lanes {
            if let Some(totals) = &outcome.retransmissions[lane] {
                retransmissions.add(totals);
            }
            let [at_client, at_server] = &outcome.tcp[lane];
            if let Some(counters) = at_server {
                server.add(counters);
            }
            in_vain += at_client.map_or(0, |counters| counters.duplicate_segments_received);
        }
        let rows = |direction: Direction| {
            let since = model.warmup.as_nanos();
            let mine = move |row: &&DeliveryRow| {
                row.flow as usize == flow
                    && row.direction == direction
                    && row.at.as_nanos().saturating_sub(row.delay.as_nanos()) >= since
            };
            outcome.recorder.deliveries.iter().filter(mine)
        };
        let direction = |direction: Direction| {
            let delays: Vec<u64> = rows(direction).map(|row| row.delay.as_nanos()).collect();
            let held = rows(direction).map(|row| row.held.as_nanos()).collect();
            let p999 = Distribution::quantile(&mut delays.clone(), 0.999);
            DeliverySummary {
                delivery_ms: Distribution::of(delays).scaled(1e6),
                delivery_ms_p999: p999 / 1e6,
                held_ms: Distribution::of(held).scaled(1e6),
            }
        };
        Self {
            players: model.flows[flow].players,
            connections: model.flows[flow].lanes(),
            directions: Direction::BOTH.map(direction),
            retransmissions,
            server,
            in_vain,
        }
    }
}
