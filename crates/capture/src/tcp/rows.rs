//! What a TCP connection tells while its packets are read: one row for each round trip, retransmission and acknowledged
//! packet. [`Sink`](crate::Sink) takes them. Rows of a whole flow are left out: they are in
//! [`FlowReport`](crate::FlowReport).

use super::cause::Cause;

/// One row of any of the three tables.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Row {
    RoundTrip(RoundTrip),
    Retransmission(Retransmission),
    Acknowledged(Acknowledged),
}

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
