//! The test bench: two endpoints, one clock, a fixed one-way delay, a rule that loses segments, and a log of every
//! packet.

use gamelane_core::{ByteCount, Duration, Ecn, Instant, IpLen, time::earliest};
use gamelane_tcp::{Segment, TcpConfig, TcpEndpoint, TcpEvent, TcpTuning};
use std::collections::BTreeMap;
use std::fmt::Write;

/// One of the two endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}

/// What happens to a segment in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Arrives,
    Lost,
    Marked,
    /// Arrives this many milliseconds late, after segments sent later.
    Late(u64),
}

/// Decides the fate of a segment from its sender, its number and the segment itself. Data segments of each sender are
/// numbered from 1; all others have number 0.
pub type Rule = Box<dyn FnMut(Side, u64, &Segment) -> Fate>;

pub struct Pair {
    pub client: TcpEndpoint,
    pub server: TcpEndpoint,
    pub now: Instant,
    pub delay: Duration,
    pub rule: Rule,
    pub log: String,
    pub events: Vec<(u64, Side, TcpEvent)>,
    /// Bytes delivered to the applications of the client and the server.
    pub delivered: [u64; 2],
    /// Send time in ms and sequence number of the client's segments with payload.
    pub sent: Vec<(u64, u64)>,
    data_segments: [u64; 2],
    flying: BTreeMap<(Instant, u64), (Side, Segment, bool)>,
    /// No segment arrives before this time.
    not_before: Instant,
    bottleneck: Option<(Duration, u64)>,
    /// Time when the bottleneck is free again.
    free_at: Instant,
    launched: u64,
    steps: u64,
}

/// Segments of 1000 bytes without timestamps, so that offsets are easy to read.
pub fn plain() -> TcpConfig {
    TcpConfig { mtu: IpLen(1040), timestamps: false, ..TcpConfig::default() }
}

/// Loses the client's data segments with these numbers.
pub fn losing(numbers: &'static [u64]) -> Rule {
    Box::new(
        move |side, number, _| {
            if side == Side::Client && numbers.contains(&number) { Fate::Lost } else { Fate::Arrives }
        },
    )
}

impl Pair {
    pub fn new(client: TcpConfig, server: TcpConfig, delay_ms: u64) -> Self {
        Self {
            client: TcpEndpoint::connect(client, Instant::ZERO),
            server: TcpEndpoint::listen(server),
            now: Instant::ZERO,
            delay: Duration::from_millis(delay_ms),
            rule: Box::new(|_, _, _| Fate::Arrives),
            log: String::new(),
            events: Vec::new(),
            delivered: [0; 2],
            sent: Vec::new(),
            data_segments: [0; 2],
            flying: BTreeMap::new(),
            not_before: Instant::ZERO,
            bottleneck: None,
            free_at: Instant::ZERO,
            launched: 0,
            steps: 0,
        }
    }

    /// Two endpoints with the same configuration.
    pub fn of(config: &TcpConfig, delay_ms: u64) -> Self {
        Self::new(config.clone(), config.clone(), delay_ms)
    }

    /// Like [`of`](Self::of), with the handshake done. Data segments are numbered from here, and the log is empty.
    pub fn connected(config: &TcpConfig, delay_ms: u64) -> Self {
        Self::connected_and_tuned(config, TcpTuning::default(), delay_ms)
    }

    pub fn connected_and_tuned(config: &TcpConfig, tuning: TcpTuning, delay_ms: u64) -> Self {
        let mut pair = Self::of(config, delay_ms).tuned(tuning);
        pair.run_for(3 * delay_ms);
        pair.log.clear();
        pair
    }

    pub fn end(&mut self, side: Side) -> &mut TcpEndpoint {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Time of the next event.
    pub fn next_event(&self) -> Option<Instant> {
        let arrival = self.flying.keys().next().map(|&(at, _)| at);
        earliest(arrival, earliest(self.client.poll_timeout(), self.server.poll_timeout()))
    }

    /// Runs until nothing is left to do, for at most `limit_s` seconds. Returns true if nothing is left.
    pub fn run_to_end(&mut self, limit_s: u64) -> bool {
        self.run_until(Instant::from_secs(limit_s));
        self.next_event().is_none()
    }

    /// Sets the tuning of both ends, before anything happens.
    pub fn tuned(mut self, tuning: TcpTuning) -> Self {
        self.client = self.client.tuned(tuning);
        self.server = self.server.tuned(tuning);
        self
    }

    /// Adds a bottleneck for the client: one data segment per `interval`, and a queue of `queue` segments.
    pub fn serialise(&mut self, interval: Duration, queue: u64) {
        self.bottleneck = Some((interval, queue));
    }

    /// Delays all segments in the network, and those behind them, by this many milliseconds.
    pub fn stall_for(&mut self, millis: u64) {
        let by = Duration::from_millis(millis);
        let flying = core::mem::take(&mut self.flying);
        self.flying = flying.into_iter().map(|((at, number), packet)| ((at + by, number), packet)).collect();
        self.not_before = self.flying.keys().last().map_or(self.now + by, |key| key.0);
    }

    pub fn run_for(&mut self, millis: u64) {
        self.run_until(self.now + Duration::from_millis(millis));
    }

    pub fn run_until(&mut self, end: Instant) {
        self.step();
        while let Some(at) = self.next_event().filter(|&at| at <= end) {
            assert!(at >= self.now, "time goes back: {at:?} before {:?}", self.now);
            self.now = at;
            self.step();
            self.steps += 1;
            assert!(self.steps < 1_000_000, "the run does not end: {}", &self.log[self.log.len() - 2000..]);
        }
        self.now = self.now.max(end);
    }

    /// Handles everything due at this instant, in the order that the endpoint's contract asks for.
    fn step(&mut self) {
        for side in [Side::Client, Side::Server] {
            let now = self.now;
            self.end(side).handle_timeout(now);
            self.drain(side);
        }
        while let Some(entry) = self.flying.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (from, segment, ce) = entry.remove();
            let to = if from == Side::Client { Side::Server } else { Side::Client };
            let now = self.now;
            self.end(to).handle_segment(&segment, ce, now);
            self.drain(to);
        }
    }

    fn drain(&mut self, side: Side) {
        let now = self.now;
        while let Some(segment) = self.end(side).poll_transmit(now) {
            self.launch(side, segment);
        }
        while let Some(event) = self.end(side).poll_event() {
            if let TcpEvent::Delivered { bytes } = event {
                self.delivered[side as usize] += bytes.bytes();
            }
            self.events.push((now.as_nanos() / 1_000_000, side, event));
        }
    }

    fn launch(&mut self, side: Side, segment: Segment) {
        let mut number = 0;
        if segment.len > 0 {
            self.data_segments[side as usize] += 1;
            number = self.data_segments[side as usize];
            if side == Side::Client {
                self.sent.push((self.now.as_nanos() / 1_000_000, segment.seq));
            }
        }
        let ect = self.end(side).ecn_codepoint(&segment) == Ecn::Ect0;
        let mut fate = (self.rule)(side, number, &segment);
        let mut leaves = self.now;
        if let Some((interval, queue)) = self.bottleneck.filter(|_| side == Side::Client && segment.len > 0) {
            if self.free_at > self.now + interval * queue {
                fate = Fate::Lost;
            } else {
                self.free_at = self.free_at.max(self.now) + interval;
                leaves = self.free_at;
            }
        }
        self.describe(side, &segment, fate);
        if fate != Fate::Lost {
            self.launched += 1;
            let ce = fate == Fate::Marked && ect;
            let late = if let Fate::Late(millis) = fate { millis } else { 0 };
            let at = (leaves + self.delay + Duration::from_millis(late)).max(self.not_before);
            self.flying.insert((at, self.launched), (side, segment, ce));
        }
    }

    fn describe(&mut self, side: Side, segment: &Segment, fate: Fate) {
        let micros = self.now.as_nanos() / 1000;
        let who = if side == Side::Client { "client" } else { "server" };
        let mut line = format!("{:>7}.{:03} {who}", micros / 1000, micros % 1000);
        let flags = segment.flags.get();
        for (set, name) in [
            (flags.syn, "SYN"),
            (flags.fin, "FIN"),
            (flags.rst, "RST"),
            (flags.psh, "PSH"),
            (flags.ece, "ECE"),
            (flags.cwr, "CWR"),
        ] {
            if set {
                write!(line, " {name}").unwrap();
            }
        }
        if segment.len > 0 {
            write!(line, " {}..{}", segment.seq, segment.seq + u64::from(segment.len)).unwrap();
        }
        if flags.ack {
            write!(line, " ack {}", segment.ack).unwrap();
        }
        for block in segment.sack_blocks() {
            write!(line, " sack {}..{}", block.start, block.end).unwrap();
        }
        match fate {
            Fate::Arrives => {}
            Fate::Lost => line.push_str("  lost"),
            Fate::Marked => line.push_str("  marked"),
            Fate::Late(_) => line.push_str("  late"),
        }
        if side == Side::Client {
            let now = self.client.observe();
            write!(
                line,
                "  (cwnd {} flight {} {:?})",
                now.cwnd.bytes(),
                now.bytes_in_flight.bytes(),
                now.phase
            )
            .unwrap();
        }
        self.log.push_str(&line);
        self.log.push('\n');
    }

    /// Writes at the client.
    pub fn write(&mut self, bytes: u64) {
        self.client.write(ByteCount(bytes));
        self.drain(Side::Client);
    }
}
