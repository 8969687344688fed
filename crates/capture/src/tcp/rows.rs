//! Rows that a TCP connection produces while its packets are read: round trips, retransmissions, acknowledged packets.
//! [`Sink`](crate::Sink) receives them. Reports of whole flows are left to [`FlowReport`](crate::FlowReport).

use super::cause::Cause;

/// One row of any of the three tables.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Row {
    RoundTrip(RoundTrip),
    Retransmission(Retransmission),
    Acknowledged(Acknowledged),
}

/// Method of measuring a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Time from data to its ACK.
    Acknowledgement,
    /// Time from a timestamp to its echo.
    Timestamp,
    /// Sum of both parts, one on each side of the capture point.
    BothHalves,
}

/// One sample of a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// Number of the flow.
    pub flow: u32,
    /// Measured part: 0 from the capture point to the server and back, 1 to the client and back. For both parts it is
    /// 0.
    pub direction: u8,
    /// Method of measuring it.
    pub method: Method,
    /// Time when the answer passed, since the start of the capture.
    pub t_ns: u64,
    /// Length of the round trip in nanoseconds.
    pub rtt_ns: u64,
}

/// A data packet that repeats earlier data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retransmission {
    /// Number of the flow.
    pub flow: u32,
    /// 0 from client to server, 1 from server to client.
    pub direction: u8,
    /// Time when it passed, since the start of the capture.
    pub t_ns: u64,
    /// Offset of its first byte in the stream; data begins at 1.
    pub start: u64,
    /// Bytes of data.
    pub len: u32,
    /// Cause of the retransmission.
    pub cause: Cause,
    /// True if the receiver reported that it already had all of the data.
    pub spurious: bool,
    /// Number of this retransmission of the packet that it begins with, from 1. It is 0 if the packet was lost before
    /// the capture point.
    pub nth: u16,
    /// Time since the first transmission of the data, or else since the gap was seen.
    pub since_first_ns: u64,
}

/// An acknowledged packet, as it was first sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    /// Number of the flow.
    pub flow: u32,
    /// 0 from client to server, 1 from server to client.
    pub direction: u8,
    /// Time of its first transmission, since the start of the capture.
    pub t_ns: u64,
    /// Time from the first transmission to the ACK that covers it.
    pub delay_ns: u64,
    /// Bytes of data.
    pub len: u32,
    /// Number of retransmissions that begin with this packet.
    pub itself: u16,
    /// Number of retransmissions of other packets that include this one.
    pub included: u16,
    /// Cause of its lateness: that of the retransmission that brought it, or of the one in front of it.
    pub cause: Option<Cause>,
}
