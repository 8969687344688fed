//! What an analysis tells while it reads: rows of its tables, and a report of each flow when it ends. It pushes, so that a
//! capture of any length takes bounded memory; whoever is not interested in a table leaves its method as it is.

use super::report::FlowReport;
use crate::tcp::cause::Cause;

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
    fn packet(&mut self, _flow: u32, _direction: u8, _packet: &crate::CapturedPacket) {}
    /// Whether nothing more is wanted: the rest of the capture is not read.
    fn is_tired(&self) -> bool {
        false
    }
}

/// [`BIN_NS`] of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Number of the flow.
    pub flow: u32,
    /// 0 client to server, 1 back.
    pub direction: u8,
    /// Its start.
    pub t_ns: u64,
    /// Packets.
    pub packets: u32,
    /// IP bytes.
    pub bytes: u64,
    /// Of the packets, those that carry data sent before.
    pub resent: u32,
}

/// Length of a [`Bin`]: windows of 1 s are made of four, so that they can overlap.
pub const BIN_NS: u64 = 250_000_000;

/// How a round trip was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// From data to its acknowledgement.
    Acknowledgement,
    /// From a time stamp to its echo.
    Timestamp,
    /// The sum of the halves on both sides of the capture point.
    BothHalves,
}

/// A round-trip sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// Number of the flow.
    pub flow: u32,
    /// The half it measures: 0 from the capture point to the server and back, 1 to the client and back; 0 for both.
    pub direction: u8,
    /// How.
    pub method: Method,
    /// When the answer passed.
    pub t_ns: u64,
    /// The round trip.
    pub rtt_ns: u64,
}

/// A data packet that repeats what was sent before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retransmission {
    /// Number of the flow.
    pub flow: u32,
    /// 0 client to server, 1 back.
    pub direction: u8,
    /// When it passed.
    pub t_ns: u64,
    /// Offset in the stream of its first byte; data begins at 1.
    pub start: u64,
    /// Bytes of data.
    pub len: u32,
    /// Why it was sent.
    pub cause: Cause,
    /// Whether the receiver said that it already had all of it.
    pub spurious: bool,
    /// How often the packet it begins with has been retransmitted, this time included; 0 if it was lost before the
    /// capture point.
    pub nth: u16,
    /// Since the data's first transmission; since it was missed, if that was not seen.
    pub since_first_ns: u64,
}

/// A packet of data as first sent, acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    /// Number of the flow.
    pub flow: u32,
    /// 0 client to server, 1 back.
    pub direction: u8,
    /// When it was first sent.
    pub t_ns: u64,
    /// From then to the acknowledgement that covers it.
    pub delay_ns: u64,
    /// Bytes of data.
    pub len: u32,
    /// Retransmissions that begin with it.
    pub itself: u16,
    /// Retransmissions of others that include it.
    pub included: u16,
    /// What made it late: the cause of the retransmission that brought it, or the one in front of it.
    pub cause: Option<Cause>,
}
