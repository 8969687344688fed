//! What an analysis tells while it reads: rows of its tables, and a report of each flow when it ends. It pushes, so that a
//! capture of any length takes bounded memory; whoever is not interested in a table leaves its method as it is.

use super::direction::Bin;
use super::report::FlowReport;
use crate::packet::CapturedPacket;
use crate::tcp::{Acknowledged, Retransmission, RoundTrip};

/// Takes what an [`Analyzer`](super::Analyzer) finds. Times count from the capture's first packet.
pub trait Sink {
    /// A flow has ended: it was closed, has been idle, or the capture is over.
    fn flow(&mut self, report: FlowReport);
    /// A quarter of a second of one direction in which a packet passed.
    fn bin(&mut self, _row: &Bin) {}
    /// A round-trip sample.
    fn round_trip(&mut self, _row: &RoundTrip) {}
    /// A data packet that repeats what was sent before.
    fn retransmission(&mut self, _row: &Retransmission) {}
    /// A packet of data has been acknowledged.
    fn acknowledged(&mut self, _row: &Acknowledged) {}
    /// A packet of a flow was read; for logs of one connection.
    fn packet(&mut self, _flow: u32, _direction: u8, _packet: &CapturedPacket) {}
    /// Whether nothing more is wanted: the rest of the capture is not read.
    fn is_tired(&self) -> bool {
        false
    }
}
