//! The end of a run: conservation is checked, and counters are collected.

use alloc::string::String;
use alloc::vec::Vec;
use gamelane_core::Instant;
use gamelane_link::Path;
use gamelane_link::wifi::StationCounters;
use gamelane_record::Recorder;
use gamelane_record::totals::{FollowerTotals, QueueTotals};
use gamelane_stage::voap::VoapCounters;
use gamelane_tcp::TcpCounters;
use gamelane_tcp::accounting::RetransmissionTotals;

use super::Household;
use crate::payload::Passed;

/// Result of a run.
#[derive(Debug)]
pub struct Outcome<R> {
    /// The recorder, filled.
    pub recorder: R,
    /// Packets at each tap in order of time; empty unless they were kept.
    pub packets: Vec<Passed>,
    /// Number of steps of the event loop.
    pub events: u64,
    /// Totals of the gateway's queues, indexed by direction.
    pub hops: [QueueTotals; 2],
    /// Totals of the other queues, by name: `modem`, `isp`, `station/NAME`, `relay/N/up`.
    pub others: Vec<(String, QueueTotals)>,
    /// Counters of each Wi-Fi station, in the order of [`gamelane_scenario::WifiModel::stations`].
    pub stations: Vec<StationCounters>,
    /// Transport counters of client and server of each lane ([`Model::lanes`]); `None` without a connection.
    pub tcp: Vec<[Option<TcpCounters>; 2]>,
    /// Retransmissions of the server of each lane; `None` unless it is a game over TCP.
    pub retransmissions: Vec<Option<RetransmissionTotals>>,
    /// Counters of VoAP; `None` without it.
    pub voap: Option<VoapCounters>,
    /// Totals of shapers that follow their link, indexed by direction.
    pub autorate: [Option<FollowerTotals>; 2],
}

impl<R> Outcome<R> {
    /// Packets that the gateway's hops delivered, both directions.
    pub fn bottleneck_packets(&self) -> u64 {
        self.hops.iter().map(|hop| hop.counters.delivered).sum()
    }
}

impl<R: Recorder> Household<R> {
    /// Ends the run at its current time.
    ///
    /// # Panics
    ///
    /// If packets in and out of a hop or path do not balance, which is a bug of the simulator.
    pub fn finish(self) -> Outcome<R> {
        for path in self.flows.iter().flat_map(|flow| &flow.paths) {
            assert!(path.counters().balance(path.inside()), "a path does not conserve packets");
        }
        let inside = self.network.inside()
            + self.flows.iter().flat_map(|flow| &flow.paths).map(Path::inside).sum::<u64>();
        assert_eq!(
            self.frames.in_use() as u64,
            inside,
            "the number of frames in use differs from the number of packets in the network"
        );
        let span = self.end.saturating_since(Instant::ZERO);
        Outcome {
            events: self.events,
            hops: self.network.gateway_outcomes(span),
            others: self.network.other_outcomes(span),
            stations: self.network.stations(),
            tcp: self
                .flows
                .iter()
                .map(|flow| [0, 1].map(|side: usize| flow.hosts[side].counters()))
                .collect(),
            retransmissions: self
                .flows
                .iter()
                .map(|flow| flow.thin.as_ref().map(|thin| thin.totals))
                .collect(),
            voap: self.windows.as_ref().map(|windows| *windows.counters()),
            autorate: self.following.map_or([None; 2], |following| following.outcome(self.end)),
            recorder: self.recorder,
            packets: self.passed.unwrap_or_default(),
        }
    }
}
