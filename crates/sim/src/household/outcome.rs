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

/// What is left when a run is over.
#[derive(Debug)]
pub struct Outcome<R> {
    /// The recorder, filled.
    pub recorder: R,
    /// Packets at each tap, in order of time; empty unless they were kept.
    pub packets: Vec<Passed>,
    /// Steps of the event loop.
    pub events: u64,
    /// What the gateway's queues did, indexed by direction.
    pub hops: [QueueTotals; 2],
    /// What the other queues on the way did, by name: `modem`, `isp`, `station/NAME`, `relay/N/up`.
    pub others: Vec<(String, QueueTotals)>,
    /// What each station cost the air, in the order of [`gamelane_scenario::WifiModel::stations`].
    pub stations: Vec<StationCounters>,
    /// Transport counters of each connection, as [`Model::lanes`] numbers them: client and server, where one was opened.
    pub tcp: Vec<[Option<TcpCounters>; 2]>,
    /// Retransmissions of the server of each connection of a game over TCP; nothing for others.
    pub retransmissions: Vec<Option<RetransmissionTotals>>,
    /// What VoAP did, if the gateway has it.
    pub voap: Option<VoapCounters>,
    /// What shapers that follow their link did, indexed by direction.
    pub autorate: [Option<FollowerTotals>; 2],
}

impl<R> Outcome<R> {
    /// Packets that passed the bottleneck, both directions.
    pub fn bottleneck_packets(&self) -> u64 {
        self.hops.iter().map(|hop| hop.counters.delivered).sum()
    }
}

impl<R: Recorder> Household<R> {
    /// Ends the run where it stands.
    ///
    /// # Panics
    ///
    /// If a hop or path lost a packet without counting it, or invented one: that is our bug.
    pub fn finish(self) -> Outcome<R> {
        for path in self.flows.iter().flat_map(|flow| &flow.paths) {
            assert!(path.counters().balance(path.inside()), "a path does not conserve packets");
        }
        let inside = self.network.inside()
            + self.flows.iter().flat_map(|flow| &flow.paths).map(Path::inside).sum::<u64>();
        assert_eq!(self.frames.in_use() as u64, inside, "a frame is lost or held twice");
        let span = self.end.saturating_since(Instant::ZERO);
        Outcome {
            events: self.events,
            hops: self.network.gateway_outcomes(span),
            others: self.network.other_outcomes(span),
            stations: self.network.stations(),
            tcp: self
                .flows
                .iter()
                .map(|flow| [0, 1].map(|side: usize| flow.hosts[side].endpoint().map(|e| *e.counters())))
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
