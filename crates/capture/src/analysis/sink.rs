//! Receiver of an analysis' results while the capture is read: rows of the tables, and a report of each flow at its
//! end. Nothing is collected here, so memory stays bounded for captures of any length. All methods but one have an
//! empty default.

use super::direction::Bin;
use super::report::FlowReport;
use crate::packet::CapturedPacket;
use crate::tcp::{Acknowledged, Retransmission, RoundTrip};

/// Receives what an [`Analyzer`](super::Analyzer) finds. Times count from the first packet of the capture.
pub trait Sink {
    /// A flow has ended: it was closed, was idle for too long, or the capture is over.
    fn flow(&mut self, report: FlowReport);
    /// A quarter of a second of one direction with at least one packet.
    fn bin(&mut self, _row: &Bin) {}
    /// A sample of a round trip.
    fn round_trip(&mut self, _row: &RoundTrip) {}
    /// A data packet that repeats earlier data.
    fn retransmission(&mut self, _row: &Retransmission) {}
    /// A packet of data that was acknowledged.
    fn acknowledged(&mut self, _row: &Acknowledged) {}
    /// A packet of a flow was read. Its direction counts from the first packet of the flow; if the report says
    /// `exchanged`, all of them are the other way round.
    fn packet(&mut self, _flow: u32, _direction: u8, _packet: &CapturedPacket) {}
    /// A flow turned out to be another one, seen at another interface. It gets no report; its packets were copies.
    fn absorbed(&mut self, _flow: u32) {}
    /// Whether the waits of a flow belong on the timeline. The load is that of all flows.
    fn is_drawn(&self, _flow: u32) -> bool {
        true
    }
    /// Returns true to stop: the rest of the capture is not read.
    fn is_tired(&self) -> bool {
        false
    }
}

/// Drops everything.
impl Sink for () {
    fn flow(&mut self, _report: FlowReport) {}
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn flow(&mut self, report: FlowReport) {
        (**self).flow(report);
    }

    fn bin(&mut self, row: &Bin) {
        (**self).bin(row);
    }

    fn round_trip(&mut self, row: &RoundTrip) {
        (**self).round_trip(row);
    }

    fn retransmission(&mut self, row: &Retransmission) {
        (**self).retransmission(row);
    }

    fn acknowledged(&mut self, row: &Acknowledged) {
        (**self).acknowledged(row);
    }

    fn packet(&mut self, flow: u32, direction: u8, packet: &CapturedPacket) {
        (**self).packet(flow, direction, packet);
    }

    fn absorbed(&mut self, flow: u32) {
        (**self).absorbed(flow);
    }

    fn is_drawn(&self, flow: u32) -> bool {
        (**self).is_drawn(flow)
    }

    fn is_tired(&self) -> bool {
        (**self).is_tired()
    }
}
