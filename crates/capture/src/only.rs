//! Passes on the results of some flows of an analysis. All flows are analysed, so numbers are the same as without it.

use std::collections::BTreeSet;

use crate::analysis::{Acknowledged, Bin, FlowReport, Retransmission, RoundTrip, Sink};
use crate::packet::CapturedPacket;

/// A sink that passes on the packets of all flows, and the rows and reports of chosen flows.
#[derive(Debug)]
pub struct Only<S> {
    /// Receives the results.
    pub sink: S,
    /// Numbers of the chosen flows; `None` for all.
    flows: Option<BTreeSet<u32>>,
    /// Those that had no report yet.
    missing: BTreeSet<u32>,
}

impl<S: Sink> Only<S> {
    /// Chooses flows by their numbers. Without numbers, all flows pass.
    pub fn new(flows: &[u32], sink: S) -> Self {
        let missing: BTreeSet<u32> = flows.iter().copied().collect();
        Self { sink, flows: (!missing.is_empty()).then(|| missing.clone()), missing }
    }

    /// Chosen numbers that no flow has had so far. Call it at the end of the analysis.
    pub fn missing(&self) -> impl Iterator<Item = u32> {
        self.missing.iter().copied()
    }

    fn has(&self, flow: u32) -> bool {
        self.flows.as_ref().is_none_or(|flows| flows.contains(&flow))
    }
}

impl<S: Sink> Sink for Only<S> {
    fn flow(&mut self, report: FlowReport) {
        self.missing.remove(&report.flow);
        if self.has(report.flow) {
            self.sink.flow(report);
        }
    }

    fn bin(&mut self, row: &Bin) {
        if self.has(row.flow) {
            self.sink.bin(row);
        }
    }

    fn round_trip(&mut self, row: &RoundTrip) {
        if self.has(row.flow) {
            self.sink.round_trip(row);
        }
    }

    fn retransmission(&mut self, row: &Retransmission) {
        if self.has(row.flow) {
            self.sink.retransmission(row);
        }
    }

    fn acknowledged(&mut self, row: &Acknowledged) {
        if self.has(row.flow) {
            self.sink.acknowledged(row);
        }
    }

    fn packet(&mut self, flow: u32, direction: u8, packet: &CapturedPacket) {
        self.sink.packet(flow, direction, packet);
    }

    fn absorbed(&mut self, flow: u32) {
        self.sink.absorbed(flow);
    }

    fn is_drawn(&self, flow: u32) -> bool {
        self.has(flow)
    }

    fn is_tired(&self) -> bool {
        self.sink.is_tired()
    }
}
