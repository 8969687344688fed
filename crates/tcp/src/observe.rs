//! What an endpoint tells its driver: events for the application, counters for the record, a snapshot for figures.

use crate::recovery::Phase;
use gamelane_core::{ByteCount, Duration};

/// Something the application wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpEvent {
    /// The handshake is complete.
    Connected,
    /// Bytes arrived in order and are the application's; everything since the last such event.
    Delivered {
        /// How many.
        bytes: ByteCount,
    },
    /// The peer will send no more.
    PeerClosed,
    /// Both directions are closed, or the connection was reset or given up.
    Closed,
}

/// Events not yet polled. One of each at most, so nothing is queued.
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

/// Totals since the connection began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCounters {
    /// Segments sent, of every kind.
    pub segments_sent: u64,
    /// Segments sent that carry payload, retransmissions included.
    pub data_segments_sent: u64,
    /// Payload bytes sent, retransmissions included.
    pub bytes_sent: ByteCount,
    /// Payload bytes (and the FIN) the peer has acknowledged.
    pub bytes_acked: ByteCount,
    /// Payload bytes handed to the application.
    pub bytes_delivered: ByteCount,
    /// Segments received, of every kind.
    pub segments_received: u64,
    /// Data segments received that held nothing new: the peer's retransmission was not needed.
    pub duplicate_segments_received: u64,
    /// Retransmissions made by fast retransmit and fast recovery.
    pub fast_retransmissions: u64,
    /// Retransmissions made after a timeout, of the handshake too.
    pub timeout_retransmissions: u64,
    /// Times the retransmission timer expired.
    pub timeouts: u64,
    /// Times fast recovery was entered.
    pub fast_recoveries: u64,
    /// Duplicate ACKs received (RFC 5681 section 2).
    pub duplicate_acks: u64,
    /// Segments sent again inside another's retransmission (S4 table 2, "incl.").
    pub included_retransmissions: u64,
    /// Payload bytes repeated in front of new ones by redundant data bundling.
    pub bundled_bytes: ByteCount,
    /// Segments whose loss bundling repaired, as the ACKs tell.
    pub hidden_losses: u64,
    /// Retransmissions the peer reported as not needed (RFC 2883).
    pub spurious_retransmissions: u64,
    /// Timeouts found not to have been needed (RFC 5682).
    pub spurious_timeouts: u64,
    /// Times the congestion window was reduced for an ECN echo.
    pub ecn_reductions: u64,
    /// Tail loss probes sent (RFC 8985 section 7); one that repeats a segment is a fast retransmission too.
    pub tail_probes: u64,
    /// Zero-window probes sent.
    pub window_probes: u64,
}

impl TcpCounters {
    /// Adds those of another connection.
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

    /// All retransmissions.
    pub const fn retransmissions(&self) -> u64 {
        self.fast_retransmissions + self.timeout_retransmissions
    }
}

/// The sender at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpObservation {
    /// Congestion window.
    pub cwnd: ByteCount,
    /// Slow start threshold; [`u64::MAX`] before the first loss.
    pub ssthresh: ByteCount,
    /// Smoothed round-trip time, once sampled.
    pub srtt: Option<Duration>,
    /// Retransmission timeout, back-off included.
    pub rto: Duration,
    /// Bytes believed to be in the network: RFC 6675 `pipe`, or all that is outstanding where there is no SACK.
    pub bytes_in_flight: ByteCount,
    /// Bytes written and not yet sent; [`u64::MAX`] for an endless source.
    pub bytes_unsent: ByteCount,
    /// Window the peer offers.
    pub peer_window: ByteCount,
    /// Where loss recovery stands.
    pub phase: Phase,
}
