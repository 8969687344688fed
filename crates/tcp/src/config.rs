//! How a TCP endpoint behaves: each field is a row of a table, so that a variant is a value and not a class.

pub use crate::sender::Bundling;
use crate::timer::ModifiedRto;
use gamelane_core::{ByteCount, Duration, IpLen};

/// What to resend after a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecoveryKind {
    /// RFC 6582: one hole per round trip, from duplicate ACKs alone.
    NewReno,
    /// RFC 6675: holes seen through selective acknowledgements.
    #[default]
    Sack,
    /// Forward acknowledgement: the same, lost by distance from the highest byte received.
    Fack,
    /// RFC 8985: lost by time, with a probe at the tail of a flight.
    Rack,
}

impl RecoveryKind {
    /// It needs the peer's selective acknowledgements.
    pub const fn uses_sack(self) -> bool {
        !matches!(self, Self::NewReno)
    }
}

/// How the congestion window grows and shrinks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CongestionKind {
    /// RFC 5681 slow start and congestion avoidance, halving on loss.
    #[default]
    NewReno,
    /// RFC 9438: a cubic of the time since the loss.
    Cubic,
    /// Binary increase towards the window of the last loss.
    Bic,
    /// Two to four segments in the queue, seen in the round trip.
    Vegas,
    /// Westwood+: after a loss, what the measured bandwidth fills.
    Westwood,
}

/// How the retransmission timeout follows the round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimerKind {
    /// RFC 6298: SRTT + 4 RTTVAR, at least one second.
    Rfc6298,
    /// Linux 6.1: the same with an RTTVAR floor of 200 ms and decay once a round trip.
    #[default]
    Linux,
    /// Linux 2.6: the same estimator, three seconds before the first sample.
    Linux26,
    /// S4 section 4.4 over [`Linux26`](Self::Linux26): a round trip and a half without back-off while the stream is thin.
    Modified(ModifiedRto),
    /// Always this long, never backed off, once the connection is open.
    Fixed(Duration),
}

/// Congestion window at the start and after idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// RFC 5681 section 3.1: 2 to 4 segments by size.
    Rfc5681,
    /// A number of segments; RFC 6928 and Linux have 10.
    Segments(u32),
}

/// Everything about one endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpConfig {
    /// Largest IP packet; the maximum segment size follows from it and the options.
    pub mtu: IpLen,
    /// RFC 7323 timestamps: 12 more bytes in each segment, RTT samples from retransmissions too.
    pub timestamps: bool,
    /// Congestion window at the start and after idle.
    pub initial_window: InitialWindow,
    /// What to resend after a loss.
    pub recovery: RecoveryKind,
    /// Window rule.
    pub congestion: CongestionKind,
    /// Retransmission timer.
    pub timer: TimerKind,
    /// RFC 3042: new data on the first two duplicate ACKs.
    pub limited_transmit: bool,
    /// Hold back small segments while data is unacknowledged (RFC 9293 section 3.7.4); games switch it off.
    pub nagle: bool,
    /// How long an ACK may wait for a second full segment; `None` acknowledges every segment at once.
    pub delayed_ack: Option<Duration>,
    /// Segments acknowledged at once at the start of a connection, and after a gap longer than the timeout (Linux: 16).
    pub quick_acks: u32,
    /// Receive buffer: the window offered to the sender at most.
    pub receive_window: ByteCount,
    /// Negotiate ECN (RFC 3168).
    pub ecn: bool,
    /// RFC 5681 section 4.1: fall back to the initial window after an idle RTO.
    pub restart_after_idle: bool,
    /// What a socket may switch on beyond that.
    pub tuning: TcpTuning,
}

impl Default for TcpConfig {
    /// A present-day host: Linux timers and SACK, 10 segments to start, 40 ms delayed ACK, 4 MiB of window.
    fn default() -> Self {
        Self {
            mtu: IpLen(1500),
            timestamps: true,
            initial_window: InitialWindow::Segments(10),
            recovery: RecoveryKind::Sack,
            congestion: CongestionKind::NewReno,
            timer: TimerKind::Linux,
            limited_transmit: true,
            nagle: true,
            delayed_ack: Some(Duration::from_millis(40)),
            quick_acks: 16,
            receive_window: ByteCount(4 << 20),
            ecn: false,
            restart_after_idle: true,
            tuning: TcpTuning::default(),
        }
    }
}

/// What the defaults leave off: mechanisms a host or a socket switches on (as by `setsockopt`), most of them for thin
/// streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpTuning {
    /// A stream is thin with fewer segments than this in flight, once it has left its first slow start (Linux 6.1,
    /// `tcp_stream_is_thin`: 4).
    pub thin_below: u32,
    /// No back-off on the first six timeouts in a row of a thin stream (Linux, `TCP_THIN_LINEAR_TIMEOUTS`).
    pub linear_timeouts: bool,
    /// The first duplicate ACK of a thin stream means a loss (Linux until 4.11, `TCP_THIN_DUPACK`).
    pub single_duplicate_ack: bool,
    /// RFC 5827: with fewer than four segments in flight and nothing new to send, one duplicate ACK less than segments.
    pub early_retransmit: bool,
    /// RFC 2883: the receiver reports what arrived twice; the sender counts it, and takes a reduction of its window back
    /// once all retransmissions of an episode are reported (Linux, `tcp_dsack`).
    pub duplicate_sack: bool,
    /// RFC 5682: after a timeout, probe with new data whether the timeout was needed.
    pub forward_rto: bool,
    /// What the congestion window counts.
    pub window_counts: WindowCounts,
    /// Without Nagle too, writes that wait share a segment as far as they fit.
    pub merge_writes: bool,
    /// What a retransmission takes along.
    pub piggyback: Piggyback,
    /// New segments of a thin stream repeat what is not yet acknowledged (RDB). Reports of duplicates then say nothing about
    /// retransmissions, and `duplicate_sack` is for the receiving half alone.
    pub bundling: Option<Bundling>,
}

/// What the congestion window counts: with segments smaller than full ones it matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowCounts {
    /// Bytes (RFC 5681).
    #[default]
    Bytes,
    /// Segments, each as if it were full (Linux).
    Segments,
}

/// What a retransmission takes along of the small segments and writes behind it, if all fits one segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Piggyback {
    /// Nothing: each segment goes again as it was.
    #[default]
    Off,
    /// The next segment, if the first is smaller than half a full one (Linux 2.6, `tcp_retrans_collapse`; S4 figure 6).
    Next,
    /// All segments that follow and fit, then writes not yet sent.
    AllThatFit,
}

impl Default for TcpTuning {
    /// Everything off.
    fn default() -> Self {
        Self {
            thin_below: 4,
            linear_timeouts: false,
            single_duplicate_ack: false,
            early_retransmit: false,
            duplicate_sack: false,
            forward_rto: false,
            window_counts: WindowCounts::Bytes,
            merge_writes: false,
            piggyback: Piggyback::Off,
            bundling: None,
        }
    }
}
