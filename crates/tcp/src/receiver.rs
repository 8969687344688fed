//! The receiving half. It keeps the received data and decides when to acknowledge it (RFC 9293 section 3.8.6.3, RFC
//! 5681 section 4.2). It also sets the offered window (RFC 9293 section 3.8.6.2.2, RFC 7323 section 2), the SACK blocks
//! and the ECN echo. DSACK (RFC 2883) is optional. The application reads at once, so only data above a hole takes
//! buffer space. PAWS is left out, because offsets do not wrap. Linux's rules are in files of their own: `delay`,
//! `autotune`. So is FreeBSD's window: `steps`.

mod autotune;
mod delay;
mod steps;

use crate::config::{DelayedAck, ReceiveWindow, TcpConfig, TcpTuning};
use crate::observe::TcpCounters;
use crate::reassembly::Reassembly;
use crate::segment::{Flags, SackBlock, SackBlocks, Segment};
use autotune::Autotune;
use delay::{AckTime, AdaptiveDelay};
use gamelane_core::time::earliest;
use gamelane_core::{ByteCount, Duration, Instant};
use steps::{Growth, Steps};

/// The receiving half of an endpoint. See the module.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// Next offset expected (RCV.NXT).
    next: u64,
    /// Right edge of the offered window; it never moves left.
    edge: u64,
    configured: ReceiveWindow,
    offer: Offer,
    /// Shift (window scale) of the windows that this end offers.
    shift: u8,
    mss: u64,
    held: Reassembly,
    fin: PeerFin,
    /// The last ACK sent (Last.ACK.sent).
    acked: u64,
    delay: Delay,
    /// Number of segments still to be acknowledged at once.
    quick_acks: u32,
    quick_acks_after_idle: u32,
    last_data: Option<Instant>,
    /// Time at which a delayed ACK must be sent.
    deadline: Option<Instant>,
    /// An ACK must be sent at once, alone or with data.
    ack_now: bool,
    /// Duplicate ACKs to send at once without data, because the peer counts them.
    duplicates_owed: u32,
    reports_sack: bool,
    reports_duplicates: bool,
    /// Data that arrived twice, to be reported once (RFC 2883 section 4).
    duplicate: Option<SackBlock>,
    /// A CE mark arrived, and the peer has not sent CWR since.
    echo_congestion: bool,
    /// Timestamp to echo (TS.Recent).
    recent_timestamp: u32,
}

/// What bounds the offered window, beside the data above a hole.
#[derive(Clone, Debug)]
enum Offer {
    /// A buffer of this many bytes.
    Fixed(u64),
    Linux(Autotune),
    FreeBsd(Steps),
}

/// How long ACKs wait.
#[derive(Clone, Debug)]
enum Delay {
    Off,
    After(Duration),
    Adaptive(AdaptiveDelay),
}

/// What the sending half knows when data arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) rto: Duration,
    pub(crate) srtt: Option<Duration>,
    /// Age of the timestamp that the peer echoes.
    pub(crate) echo: Option<Duration>,
}

impl Times {
    /// The round trip: as the receiver sees it, or as the sender does if that is shorter.
    fn round_trip(&self, offer: &Offer) -> Duration {
        let seen = if let Offer::Linux(autotune) = offer { autotune.rtt() } else { Duration::ZERO };
        self.srtt.map_or(seen, |srtt| srtt.min(seen))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PeerFin {
    Awaited,
    /// Received above a hole; the FIN has this offset.
    Held(u64),
    Received,
}

/// Maximum number of duplicate ACKs owed; more than any real burst between two polls.
const MAX_DUPLICATES_OWED: u32 = 1 << 10;

/// Smallest shift with which the window fits into its field, at most 14 (RFC 7323 section 2.3).
pub(crate) fn window_shift(window: ByteCount) -> u8 {
    (0..14).find(|shift| window.bytes() >> shift <= u64::from(u16::MAX)).unwrap_or(14)
}

impl Receiver {
    pub(crate) fn new(config: &TcpConfig) -> Self {
        Self {
            next: 0,
            edge: 0,
            configured: config.receive_window,
            offer: Offer::Fixed(0),
            shift: 0,
            mss: 1,
            held: Reassembly::default(),
            fin: PeerFin::Awaited,
            acked: 0,
            delay: match config.delayed_ack {
                DelayedAck::Off => Delay::Off,
                DelayedAck::After(wait) => Delay::After(wait),
                DelayedAck::Adaptive => Delay::Adaptive(AdaptiveDelay::new(config.quick_acks)),
            },
            quick_acks: config.quick_acks,
            quick_acks_after_idle: config.quick_acks,
            last_data: None,
            deadline: None,
            ack_now: false,
            duplicates_owed: 0,
            reports_sack: false,
            reports_duplicates: false,
            duplicate: None,
            echo_congestion: false,
            recent_timestamp: 0,
        }
    }

    pub(crate) fn tune(&mut self, tuning: &TcpTuning) {
        self.reports_duplicates = tuning.duplicate_sack;
    }

    /// Applies the peer's SYN. The window in our own SYN is never scaled.
    pub(crate) fn establish(&mut self, mss: u64, scaled: bool, reports_sack: bool, now: Instant) {
        self.next = 1;
        self.mss = mss;
        self.shift = if scaled { window_shift(self.configured.limit()) } else { 0 };
        self.reports_sack = reports_sack;
        self.offer = match (self.configured, &self.delay) {
            (ReceiveWindow::Auto(largest), _) => Offer::Linux(Autotune::adapting(mss, largest.bytes(), now)),
            (ReceiveWindow::Steps(largest), _) => {
                Offer::FreeBsd(Steps::new(mss, largest.bytes(), Growth::Even))
            }
            (ReceiveWindow::ByHalf(largest), _) => {
                Offer::FreeBsd(Steps::new(mss, largest.bytes(), Growth::ByHalf))
            }
            // Compressed duplicate ACKs need the round trip that it measures.
            (ReceiveWindow::Fixed(size), Delay::Adaptive(_)) => {
                Offer::Linux(Autotune::fixed(mss, size.bytes(), now))
            }
            (ReceiveWindow::Fixed(size), _) => Offer::Fixed(size.bytes()),
        };
        self.edge = 1 + u64::from(self.unscaled_window());
    }

    /// Window field of a SYN.
    pub(crate) fn unscaled_window(&self) -> u16 {
        let window = match self.configured {
            ReceiveWindow::Fixed(size) => size.bytes(),
            ReceiveWindow::Auto(_) | ReceiveWindow::Steps(_) | ReceiveWindow::ByHalf(_) => {
                u64::from(u16::MAX)
            }
        };
        window.min(u64::from(u16::MAX)) as u16
    }

    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    pub(crate) fn has_peer_fin(&self) -> bool {
        self.fin == PeerFin::Received
    }

    pub(crate) const fn recent_timestamp(&self) -> u32 {
        self.recent_timestamp
    }

    /// RFC 7323 section 4.3, rule 2: remembers the timestamp of the segment that the last ACK asked for.
    pub(crate) fn on_timestamp(&mut self, value: u32, seq: u64) {
        if seq <= self.acked && value.wrapping_sub(self.recent_timestamp) as i32 >= 0 {
            self.recent_timestamp = value;
        }
    }

    /// Notes that data arrived. After a gap longer than our own retransmission timeout, the next segments are
    /// acknowledged at once, as at the start (Linux `tcp_event_data_recv`). So thin streams hardly ever see a delayed
    /// ACK.
    pub(crate) fn on_data(&mut self, segment: &Segment, times: &Times, now: Instant) {
        let last = self.last_data.replace(now);
        match &mut self.delay {
            Delay::Adaptive(delay) => delay.on_data(segment, self.edge - self.next, times.rto, now),
            Delay::Off | Delay::After(_) => {
                if last.is_some_and(|last| now.saturating_since(last) > times.rto) {
                    self.quick_acks = self.quick_acks_after_idle;
                }
            }
        }
        let Offer::Linux(autotune) = &mut self.offer else { return };
        let len = u64::from(segment.len);
        if let Some(age) = times.echo.filter(|_| len >= self.mss) {
            autotune.on_rtt(age);
        }
        if autotune.on_segment(len, self.held.bytes())
            && let Delay::Adaptive(delay) = &mut self.delay
        {
            delay.on_growth();
        }
    }

    /// Handles a segment of the established connection, except SYN and RST. Returns the bytes that can now be
    /// delivered.
    pub(crate) fn on_segment(
        &mut self,
        segment: &Segment,
        times: &Times,
        counters: &mut TcpCounters,
        now: Instant,
    ) -> ByteCount {
        let delivered = self.take(segment, times, counters, now);
        if let Offer::Linux(autotune) = &mut self.offer
            && delivered > ByteCount::ZERO
        {
            if segment.timestamps.is_none() {
                autotune.on_window(self.next, now);
            }
            autotune.on_read(self.next, now);
        }
        delivered
    }

    fn take(
        &mut self,
        segment: &Segment,
        times: &Times,
        counters: &mut TcpCounters,
        now: Instant,
    ) -> ByteCount {
        if segment.len == 0 && !segment.flags.fin() {
            // A window probe or a keep-alive needs an answer; an old ACK does not.
            if segment.seq < self.acked || segment.seq > self.edge {
                self.ack_now = true;
            }
            return ByteCount::ZERO;
        }
        let end = segment.seq + u64::from(segment.len);
        let in_order = segment.seq == self.next && end <= self.edge && self.held.is_empty();
        if in_order && !segment.flags.fin() && self.fin == PeerFin::Awaited {
            self.next = end;
            if let Offer::FreeBsd(steps) = &mut self.offer {
                steps.on_in_order(u64::from(segment.len), times, now);
            }
            self.acknowledge_in_order(times, now);
            return ByteCount(u64::from(segment.len));
        }
        self.on_irregular(segment, end, times, counters, now)
    }

    /// Handles any segment except in-order data on a stream without holes. It is acknowledged at once.
    fn on_irregular(
        &mut self,
        segment: &Segment,
        end: u64,
        times: &Times,
        counters: &mut TcpCounters,
        now: Instant,
    ) -> ByteCount {
        if let Offer::FreeBsd(steps) = &mut self.offer {
            steps.on_irregular();
        }
        let before = self.next;
        let start = segment.seq.max(self.next);
        let end_in_window = end.min(self.edge).min(self.last_data());
        if segment.flags.fin() && self.fin == PeerFin::Awaited && end <= self.edge && end >= self.next {
            self.fin = PeerFin::Held(end);
        }
        let mut fresh = end_in_window > start;
        if fresh && start == self.next {
            self.next = end_in_window;
        } else if fresh {
            fresh = self.held.insert(start, end_in_window);
        }
        if segment.len > 0 && !fresh {
            counters.duplicate_segments_received += 1;
            if let Delay::Adaptive(delay) = &mut self.delay {
                delay.on_duplicate(self.edge - self.next);
            }
        }
        if self.reports_duplicates {
            let end = if segment.seq < before { end_in_window.min(before) } else { end_in_window };
            if segment.seq < end && (segment.seq < before || !fresh) {
                self.duplicate = Some(SackBlock { start: segment.seq, end });
            }
        }
        self.next = self.held.advance(self.next);
        let delivered = self.next - before;
        if self.fin == PeerFin::Held(self.next) {
            self.fin = PeerFin::Received;
            self.next += 1;
            self.edge = self.edge.max(self.next);
        }
        if self.next == before {
            let waits = match &mut self.delay {
                Delay::Adaptive(delay) if self.reports_sack && fresh => {
                    delay.compress(before, times.round_trip(&self.offer), now)
                }
                _ => false,
            };
            if !waits {
                self.duplicates_owed = (self.duplicates_owed + 1).min(MAX_DUPLICATES_OWED);
            }
        } else {
            self.ack_now = true;
        }
        ByteCount(delivered)
    }

    /// Offset of the peer's FIN, if it arrived. Data at or above it is ignored.
    const fn last_data(&self) -> u64 {
        match self.fin {
            PeerFin::Awaited => u64::MAX,
            PeerFin::Held(offset) => offset,
            PeerFin::Received => self.next,
        }
    }

    fn acknowledge_in_order(&mut self, times: &Times, now: Instant) {
        let unacknowledged = self.next - self.acked;
        match &self.delay {
            Delay::After(wait) if self.quick_acks == 0 && unacknowledged < 2 * self.mss => {
                self.deadline.get_or_insert(now.saturating_add(*wait));
            }
            Delay::Off | Delay::After(_) => {
                self.quick_acks = self.quick_acks.saturating_sub(1);
                self.ack_now = true;
            }
            Delay::Adaptive(delay) => match delay.decide(unacknowledged, self.deadline, times.srtt, now) {
                AckTime::Now => self.ack_now = true,
                AckTime::At(at) => self.deadline = Some(at),
            },
        }
    }

    /// Handles the ECN field and CWR of a data segment (RFC 3168 section 6.1.3). A CE mark is echoed until CWR arrives.
    pub(crate) fn on_ecn(&mut self, congestion_experienced: bool, cwr: bool) {
        if cwr {
            self.echo_congestion = false;
        }
        self.echo_congestion |= congestion_experienced;
    }

    /// Answers an unacceptable segment with an ACK.
    pub(crate) fn owe_ack(&mut self) {
        self.ack_now = true;
    }

    pub(crate) const fn owes_duplicate(&self) -> bool {
        self.duplicates_owed > 0
    }

    pub(crate) const fn owes_ack(&self) -> bool {
        self.ack_now || self.duplicates_owed > 0
    }

    /// Writes the receiving half's fields (ACK, window, SACK, ECE) into a segment. The owed ACK then counts as sent.
    pub(crate) fn stamp(&mut self, segment: &mut Segment, flags: Flags, now: Instant) {
        segment.ack = self.next;
        segment.flags = Flags { ack: true, ece: self.echo_congestion, ..flags }.into();
        segment.window = self.window_field();
        if !self.held.is_empty() || self.duplicate.is_some() {
            self.report_sack(segment);
        }
        if let Delay::Adaptive(delay) = &mut self.delay {
            let news = self.next > self.acked || self.ack_now || self.duplicates_owed > 0;
            delay.on_sent(segment.len > 0, news, now);
        }
        if let Offer::FreeBsd(steps) = &mut self.offer {
            steps.on_sent(now);
        }
        self.acked = self.next;
        self.ack_now = false;
        self.deadline = None;
        if segment.len == 0 {
            self.duplicates_owed = self.duplicates_owed.saturating_sub(1);
        }
    }

    /// Adds SACK blocks. A duplicate comes first; if it is above a hole, the block that contains it is second (RFC 2883
    /// section 4).
    fn report_sack(&mut self, segment: &mut Segment) {
        let held = self.held.report();
        let count = (held.len() + usize::from(self.duplicate.is_some())).min(SackBlocks::CAPACITY);
        let fits = segment.len == 0 || u64::from(segment.len) + 4 + 8 * count as u64 <= self.mss;
        if !self.reports_sack || !fits {
            return;
        }
        segment.sack = match self.duplicate.take() {
            None => SackBlocks::new(segment.ack, held),
            Some(duplicate) => {
                let mut blocks = [duplicate; SackBlocks::CAPACITY];
                blocks[1..count].copy_from_slice(&held[..count - 1]);
                SackBlocks::new(segment.ack, &blocks[..count])
            }
        };
    }

    /// Returns the window field: the free buffer in scaled units. The right edge does not move left.
    fn window_field(&mut self) -> u16 {
        let free = match &self.offer {
            Offer::Fixed(buffer) => *buffer,
            Offer::Linux(autotune) => autotune.window(),
            Offer::FreeBsd(steps) => steps.buffer(),
        };
        let free = free.saturating_sub(self.held.bytes());
        let window = (self.next + free).max(self.edge) - self.next;
        let mut field = window >> self.shift;
        if self.next + (field << self.shift) < self.edge {
            field += 1;
        }
        let field = field.min(u64::from(u16::MAX));
        self.edge = self.edge.max(self.next + (field << self.shift));
        field as u16
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match &self.delay {
            Delay::Adaptive(delay) => earliest(self.deadline, delay.compressed_until()),
            Delay::Off | Delay::After(_) => self.deadline,
        }
    }

    /// Handles the expiry of a delayed ACK. `rto` is the timeout of this end.
    pub(crate) fn handle_timeout(&mut self, rto: Duration, now: Instant) {
        if let Delay::Adaptive(delay) = &mut self.delay
            && delay.compressed_until().is_some_and(|at| at <= now)
        {
            delay.flush();
            self.duplicates_owed += 1;
        }
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            if let Delay::Adaptive(delay) = &mut self.delay {
                delay.on_expiry(rto);
            }
            self.deadline = None;
            self.ack_now = true;
        }
    }

    /// Stops all timers and owed ACKs after the connection has ended.
    pub(crate) fn abort(&mut self) {
        self.deadline = None;
        if let Delay::Adaptive(delay) = &mut self.delay {
            delay.flush();
        }
        self.ack_now = false;
        self.duplicates_owed = 0;
    }
}
