//! Outputs of an endpoint for its driver: events for the application, counters for the record, a snapshot of the
//! sender's state. Single packets are left out: the driver sees each segment anyway.

use crate::recovery::Phase;
use gamelane_core::{ByteCount, Duration};

/// Event for the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpEvent {
    /// The handshake is complete.
    Connected,
    /// Bytes arrived in order and were delivered to the application. One event covers all bytes since the previous one.
    Delivered {
        /// Number of bytes.
        bytes: ByteCount,
    },
    /// The peer has closed its direction.
    PeerClosed,
    /// Both directions are closed, or the connection was reset or given up.
    Closed,
}

/// Pending events. At most one of each kind is pending, so no queue is needed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PendingEvents {
    pub(crate) connected: bool,
    pub(crate) delivered: ByteCount,
    pub(crate) peer_closed: bool,
    pub(crate) closed: bool,
}

impl PendingEvents {
    pub(crate) fn poll(&mut self) -> Option<TcpEvent> {
        if core::mem::take(&mut self.connected) {
            Some(TcpEvent::Connected)
        } else if self.delivered > ByteCount::ZERO {
            Some(TcpEvent::Delivered { bytes: core::mem::take(&mut self.delivered) })
        } else if core::mem::take(&mut self.peer_closed) {
            Some(TcpEvent::PeerClosed)
        } else if core::mem::take(&mut self.closed) {
            Some(TcpEvent::Closed)
        } else {
            None
        }
    }
}

/// Counters since the start of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCounters {
    /// Segments sent, of all kinds.
    pub segments_sent: u64,
    /// Segments with payload sent, retransmissions included.
    pub data_segments_sent: u64,
    /// Payload bytes sent, retransmissions included.
    pub bytes_sent: ByteCount,
    /// Payload bytes (and the FIN) acknowledged by the peer.
    pub bytes_acked: ByteCount,
    /// Payload bytes delivered to the application.
    pub bytes_delivered: ByteCount,
    /// Segments received, of all kinds.
    pub segments_received: u64,
    /// Data segments received without new data: spurious retransmissions of the peer.
    pub duplicate_segments_received: u64,
    /// Retransmissions by fast retransmit and fast recovery.
    pub fast_retransmissions: u64,
    /// Retransmissions after a timeout, including those of the handshake.
    pub timeout_retransmissions: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Fast recoveries entered.
    pub fast_recoveries: u64,
    /// Duplicate ACKs received (RFC 5681 section 2).
    pub duplicate_acks: u64,
    /// Segments sent again inside the retransmission of another one (griwodz2006 table 2, "incl.").
    pub included_retransmissions: u64,
    /// Payload bytes that redundant data bundling repeated in front of new data.
    pub bundled_bytes: ByteCount,
    /// Lost segments that bundling repaired, detected from the ACKs.
    pub hidden_losses: u64,
    /// Retransmissions that the peer reported as unnecessary (DSACK, RFC 2883).
    pub spurious_retransmissions: u64,
    /// Timeouts detected as spurious (F-RTO, RFC 5682).
    pub spurious_timeouts: u64,
    /// Congestion window reductions because of an ECN echo.
    pub ecn_reductions: u64,
    /// Tail loss probes sent (RFC 8985 section 7). A probe that repeats a segment also counts as a fast retransmission.
    pub tail_probes: u64,
    /// Zero-window probes sent.
    pub window_probes: u64,
}

impl TcpCounters {
    /// Adds the counters of another connection.
    pub fn add(&mut self, other: &Self) {
        macro_rules! add {
            ($($counter:ident),+) => { $(self.$counter += other.$counter;)+ };
        }
        add!(
            segments_sent,
            data_segments_sent,
            bytes_sent,
            bytes_acked,
            bytes_delivered,
            segments_received,
            duplicate_segments_received,
            fast_retransmissions,
            timeout_retransmissions,
            timeouts,
            fast_recoveries,
            duplicate_acks,
            included_retransmissions,
            bundled_bytes,
            hidden_losses,
            spurious_retransmissions,
            spurious_timeouts,
            ecn_reductions,
            tail_probes,
            window_probes
        );
    }

    /// Number of all retransmissions.
    pub const fn retransmissions(&self) -> u64 {
        self.fast_retransmissions + self.timeout_retransmissions
    }
}

/// State of the sender at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpObservation {
    /// Congestion window.
    pub cwnd: ByteCount,
    /// Slow start threshold; [`u64::MAX`] before the first loss.
    pub ssthresh: ByteCount,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Retransmission timeout, including back-off.
    pub rto: Duration,
    /// Estimate of the bytes in the network: `pipe` of RFC 6675, or all outstanding bytes without SACK.
    pub bytes_in_flight: ByteCount,
    /// Bytes written and not sent yet; [`u64::MAX`] for an endless source.
    pub bytes_unsent: ByteCount,
    /// Window offered by the peer.
    pub peer_window: ByteCount,
    /// Phase of loss recovery.
    pub phase: Phase,
}
