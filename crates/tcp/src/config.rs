//! Configuration of a TCP endpoint. Each mechanism is a choice of values, so every combination can be simulated. The
//! file of each mechanism says what it leaves out.

use gamelane_core::{ByteCount, Duration, IpLen};

/// Method of loss recovery: which segments count as lost and are sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecoveryKind {
    /// RFC 6582: one hole per round trip, from duplicate ACKs only.
    NewReno,
    /// RFC 6675: holes found by selective acknowledgements.
    #[default]
    Sack,
    /// Forward acknowledgement (FACK): like `Sack`, but a segment is lost if it is far below the highest SACKed
    /// segment.
    Fack,
    /// RFC 8985: loss detection by time, and a tail loss probe.
    Rack,
}

impl RecoveryKind {
    /// True if it needs selective acknowledgements from the peer.
    pub const fn uses_sack(self) -> bool {
        !matches!(self, Self::NewReno)
    }
}

/// Congestion control: how the window grows and shrinks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CongestionKind {
    /// RFC 5681: slow start, congestion avoidance, half the window after a loss.
    #[default]
    NewReno,
    /// CUBIC (RFC 9438, in Linux's arithmetic): the window is a cubic function of the time since the last loss.
    Cubic,
    /// BIC: binary search for the window of the last loss.
    Bic,
    /// Vegas: keeps two to four segments in the queue, estimated from the round trip.
    Vegas,
    /// Westwood+: after a loss, the window is the measured bandwidth times the smallest round trip.
    Westwood,
}

/// Retransmission timer: how the timeout follows the round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimerKind {
    /// RFC 6298: SRTT + 4 RTTVAR, at least 1 s.
    Rfc6298,
    /// Linux 6.1: like RFC 6298, but RTTVAR is at least 200 ms and falls at most once per round trip.
    #[default]
    Linux,
    /// FreeBSD 14: at least 230 ms, of which 200 ms do not double.
    FreeBsd14,
    /// FreeBSD 10: like FreeBSD 14, but 3 s before the first sample.
    FreeBsd10,
    /// Windows 11: SRTT + 4 RTTVAR, at least 300 ms.
    Windows11,
    /// Linux 2.6: the estimator of `Linux`, with 3 s before the first sample.
    Linux26,
    /// Griwodz2006 section 4.4 on top of [`Linux26`](Self::Linux26): about 1.5 round trips without back-off while the
    /// stream is thin.
    Modified(ModifiedRto),
    /// Constant timeout without back-off, once the connection is open.
    Fixed(Duration),
}

/// Congestion window at the start of a connection and after idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// RFC 5681 section 3.1: 2 to 4 segments, depending on their size.
    Rfc5681,
    /// A fixed number of segments; 10 in RFC 6928 and Linux.
    Segments(u32),
}

/// When a small segment waits for earlier data to be acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nagle {
    /// Never (`TCP_NODELAY`).
    Off,
    /// While any data is unacknowledged (RFC 9293 section 3.7.4).
    #[default]
    Any,
    /// While another small segment is unacknowledged (Minshall's variant, Linux `tcp_nagle_check`). So the small end of
    /// a large response does not wait.
    Small,
}

/// How long an ACK waits for more data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayedAck {
    /// Every segment is acknowledged at once.
    Off,
    /// At most this long; two full segments are acknowledged at once (RFC 5681 section 4.2).
    After(Duration),
    /// As Linux: two full segments, and small ones that the application has read, are acknowledged at once. Another
    /// ACK waits 40 to 200 ms, depending on the gaps between segments.
    Adaptive,
}

/// Window offered to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveWindow {
    /// A receive buffer of this size.
    Fixed(ByteCount),
    /// Grows from 64 KiB with the data that arrives in a round trip, up to a buffer of this size (Linux
    /// `tcp_rcv_space_adjust`).
    Auto(ByteCount),
    /// Grows from 64 KiB by 16 KiB for each round trip that filled 7/8 of it, up to this size (FreeBSD 10,
    /// `recvbuf_auto`).
    Steps(ByteCount),
    /// Grows from 64 KiB by half for each half of a round trip that filled 3/8 of it, up to this size (FreeBSD 14,
    /// `tcp_autorcvbuf`).
    ByHalf(ByteCount),
}

impl ReceiveWindow {
    /// Largest window.
    pub const fn limit(self) -> ByteCount {
        match self {
            Self::Fixed(size) | Self::Auto(size) | Self::Steps(size) | Self::ByHalf(size) => size,
        }
    }
}

/// Configuration of one endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpConfig {
    /// Largest IP packet. The maximum segment size is this minus headers and options.
    pub mtu: IpLen,
    /// RFC 7323 timestamps: 12 more bytes in each segment, and RTT samples from retransmissions too.
    pub timestamps: bool,
    /// Congestion window at the start of a connection and after idle.
    pub initial_window: InitialWindow,
    /// Method of loss recovery.
    pub recovery: RecoveryKind,
    /// Congestion control.
    pub congestion: CongestionKind,
    /// Retransmission timer.
    pub timer: TimerKind,
    /// Limited transmit (RFC 3042): sends new data on the first two duplicate ACKs.
    pub limited_transmit: bool,
    /// When a small segment waits. Games switch it off.
    pub nagle: Nagle,
    /// How long an ACK waits for more data.
    pub delayed_ack: DelayedAck,
    /// Number of segments acknowledged at once at the start of a connection, and after a gap longer than the timeout
    /// (Linux: 16).
    pub quick_acks: u32,
    /// Window offered to the sender.
    pub receive_window: ReceiveWindow,
    /// ECN negotiation (RFC 3168).
    pub ecn: bool,
    /// A smaller congestion window after an idle time of more than one RTO; see [`TcpTuning::window_validation`].
    pub restart_after_idle: bool,
    /// Mechanisms that a socket may switch on.
    pub tuning: TcpTuning,
}

impl Default for TcpConfig {
    /// The RFCs: NewReno, SACK, an initial window of 10 segments, with Linux's timer and ACKs delayed by 40 ms.
    fn default() -> Self {
        Self {
            mtu: IpLen(1500),
            timestamps: true,
            initial_window: InitialWindow::Segments(10),
            recovery: RecoveryKind::Sack,
            congestion: CongestionKind::NewReno,
            timer: TimerKind::Linux,
            limited_transmit: true,
            nagle: Nagle::Any,
            delayed_ack: DelayedAck::After(Duration::from_millis(40)),
            quick_acks: 16,
            receive_window: ReceiveWindow::Fixed(ByteCount(4 << 20)),
            ecn: false,
            restart_after_idle: true,
            tuning: TcpTuning::default(),
        }
    }
}

/// Mechanisms that are off by default. A host or a socket switches them on (as by `setsockopt`); most are for thin
/// streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpTuning {
    /// A stream is thin if fewer segments than this are in flight and its first slow start is over (Linux 6.1
    /// `tcp_stream_is_thin`: 4).
    pub thin_below: u32,
    /// No back-off on the first six timeouts in a row of a thin stream (Linux `TCP_THIN_LINEAR_TIMEOUTS`).
    pub linear_timeouts: bool,
    /// The first duplicate ACK of a thin stream signals a loss (Linux `TCP_THIN_DUPACK`, until 4.11).
    pub single_duplicate_ack: bool,
    /// Early retransmit (RFC 5827): with two or three segments in flight and no new data, the duplicate ACK threshold
    /// is one less than the segments in flight.
    pub early_retransmit: bool,
    /// DSACK (RFC 2883): the receiver reports data that arrived twice. The sender counts the reports. It undoes a
    /// window reduction if all retransmissions of that recovery were reported (Linux `tcp_dsack`).
    pub duplicate_sack: bool,
    /// F-RTO (RFC 5682): after a timeout, new data probes whether the timeout was spurious.
    pub forward_rto: bool,
    /// Eifel detection (RFC 3522): a timestamp shows that an ACK answers the original, not the retransmission. The
    /// sender then undoes the window reduction (Linux `tcp_packet_delayed`). A SYN that was sent again costs the initial
    /// window only as in Linux.
    pub eifel: bool,
    /// Retransmissions of a client's SYN that do not double the wait (Linux `tcp_syn_linear_timeouts`: 4 since 6.5).
    pub linear_syns: u32,
    /// Unit of the congestion window.
    pub window_counts: WindowCounts,
    /// How much an ACK adds to the congestion window in slow start.
    pub slow_start: SlowStart,
    /// `HyStart`: CUBIC ends slow start when the round trip grows or ACKs arrive for half of it.
    pub hystart: bool,
    /// How the congestion window falls in fast recovery.
    pub reduction: Reduction,
    /// What becomes of a congestion window that is not used.
    pub window_validation: WindowValidation,
    /// Writes that wait share a segment if they fit, even without Nagle.
    pub merge_writes: bool,
    /// Data that a retransmission carries in addition.
    pub piggyback: Piggyback,
    /// Redundant data bundling (RDB): new segments of a thin stream repeat unacknowledged data. A DSACK then is no sign
    /// of a spurious retransmission. So the sender ignores `duplicate_sack`, but the receiver still reports duplicates.
    pub bundling: Option<Bundling>,
}

/// Unit of the congestion window. It matters for segments smaller than the MSS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowCounts {
    /// Bytes (RFC 5681).
    #[default]
    Bytes,
    /// Segments, where each counts as a full one (Linux).
    Segments,
}

/// How much an ACK adds to the congestion window in slow start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlowStart {
    /// At most a segment (RFC 5681 equation 2). With delayed ACKs the window grows by half each round trip.
    #[default]
    Rfc5681,
    /// At most two segments, and one after a timeout (RFC 3465 with L = 2, FreeBSD). The window doubles.
    Rfc3465,
    /// All that it acknowledges, up to the slow start threshold (Linux `tcp_slow_start`). The window doubles.
    Linux,
}

/// How the congestion window falls in fast recovery and after an ECN echo.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// At once, to a part of the flight (RFC 5681 equation 4, RFC 6675 section 5).
    #[default]
    AtOnce,
    /// Proportional rate reduction (RFC 6937, Linux `tcp_cwnd_reduction`): a part of the window, over a round trip.
    Proportional,
}

/// What becomes of a congestion window that the application or the receiver did not use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowValidation {
    /// After an idle RTO it is the initial window again (RFC 5681 section 4.1). It grows if the flight before an ACK
    /// filled it.
    #[default]
    Restart,
    /// RFC 2861, as Linux has it: an idle time halves it for each RTO, and an RTO of partial use brings it halfway to
    /// what was used. It grows if it limited the sender within the last window of data.
    Decay,
}

/// Small segments and writes behind a retransmission that are sent with it, if all fit into one segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Piggyback {
    /// Nothing: each segment is sent again unchanged.
    #[default]
    Off,
    /// The next segment, if the first is smaller than half an MSS (Linux 2.6 `tcp_retrans_collapse`; griwodz2006 figure
    /// 6).
    Next,
    /// All following segments that fit (Linux 6.12 `tcp_retrans_try_collapse`).
    Sent,
    /// All following segments that fit, then unsent writes.
    AllThatFit,
}

impl Default for TcpTuning {
    /// All mechanisms off.
    fn default() -> Self {
        Self {
            thin_below: 4,
            linear_timeouts: false,
            single_duplicate_ack: false,
            early_retransmit: false,
            duplicate_sack: false,
            forward_rto: false,
            eifel: false,
            linear_syns: 0,
            window_counts: WindowCounts::Bytes,
            slow_start: SlowStart::Rfc5681,
            hystart: false,
            reduction: Reduction::AtOnce,
            window_validation: WindowValidation::Restart,
            merge_writes: false,
            piggyback: Piggyback::Off,
            bundling: None,
        }
    }
}

/// Parameters of the modified timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModifiedRto {
    /// The modified timeout applies while fewer segments than this are in flight (paper: `packets_out < 3`).
    pub in_flight_below: u32,
    /// Shift that limits the margin to a fraction of the round trip; 1 is one half (paper: `srtt >> 4`, since `srtt` is
    /// stored times 8).
    pub margin_shift: u8,
    /// Maximum timeout (`TCP_RTO_MAX`: 120 s).
    pub longest: Duration,
}

impl Default for ModifiedRto {
    /// The values of the paper.
    fn default() -> Self {
        Self { in_flight_below: 3, margin_shift: 1, longest: MAX_RTO }
    }
}

/// Settings of redundant data bundling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bundling {
    /// Maximum number of earlier segments in a bundle. The patch has 1 (`tcp_rdb_max_packets`); the default here is as
    /// many as fit.
    pub segments: u8,
    /// Shortest time between two segments of a thin stream. A stream may bundle while fewer segments are in flight than
    /// the round trip divided by this (patch: `tcp_thin_dpifl_itt_lower_bound`, 10 ms).
    pub shortest_interval: Duration,
}

impl Default for Bundling {
    fn default() -> Self {
        Self { segments: u8::MAX, shortest_interval: Duration::from_millis(10) }
    }
}

/// Maximum timeout (Linux `TCP_RTO_MAX`); RFC 6298 section 2.5 requires at least 60 s.
pub const MAX_RTO: Duration = Duration::from_secs(120);
