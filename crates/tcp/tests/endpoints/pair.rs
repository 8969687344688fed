//! The test bench: two endpoints, one clock, a fixed one-way delay, a rule that loses segments, a log of every packet.

use gamelane_core::{ByteCount, Duration, Ecn, Instant, IpLen, time::earliest};
use gamelane_tcp::{Segment, TcpConfig, TcpEndpoint, TcpEvent, TcpTuning};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}

/// What the network does to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Arrives,
    Lost,
    Marked,
    /// Arrives so many milliseconds late, overtaken by others.
    Late(u64),
}

/// Decides from the sender, the number of the segment among those of this sender that carry data (from 1; 0 for others),
/// and the segment.
pub type Rule = Box<dyn FnMut(Side, u64, &Segment) -> Fate>;

pub struct Pair {
    pub client: TcpEndpoint,
    pub server: TcpEndpoint,
    pub now: Instant,
    pub delay: Duration,
    pub rule: Rule,
    pub log: String,
    pub events: Vec<(u64, Side, TcpEvent)>,
    /// Bytes delivered to the client's and the server's application.
    pub delivered: [u64; 2],
    /// When each segment with payload left the client, in ms, and its sequence number.
    pub sent: Vec<(u64, u64)>,
    data_segments: [u64; 2],
    flying: BTreeMap<(Instant, u64), (Side, Segment, bool)>,
    /// Nothing arrives earlier.
    not_before: Instant,
    bottleneck: Option<(Duration, u64)>,
    /// When the bottleneck is free.
    free_at: Instant,
    launched: u64,
    steps: u64,
}

/// Segments of 1000 bytes without timestamps: offsets that can be read.
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

    /// Both ends alike.
    pub fn of(config: &TcpConfig, delay_ms: u64) -> Self {
        Self::new(config.clone(), config.clone(), delay_ms)
    }

    /// The same, with the handshake done; data segments are counted from here and the log is empty.
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

    /// When something happens next.
    pub fn next_event(&self) -> Option<Instant> {
        let arrival = self.flying.keys().next().map(|&(at, _)| at);
        earliest(arrival, earliest(self.client.poll_timeout(), self.server.poll_timeout()))
    }

    /// Runs until nothing is left to happen, at most to `limit_s` seconds. True if all is quiet.
    pub fn run_to_end(&mut self, limit_s: u64) -> bool {
        self.run_until(Instant::from_secs(limit_s));
        self.next_event().is_none()
    }

    /// Both ends with this switched on, before anything happens.
    pub fn tuned(mut self, tuning: TcpTuning) -> Self {
        self.client = self.client.tuned(tuning);
        self.server = self.server.tuned(tuning);
        self
    }

    /// From the client the network takes a data segment each `interval` and drops what would wait behind `queue` others.
    pub fn serialise(&mut self, interval: Duration, queue: u64) {
        self.bottleneck = Some((interval, queue));
    }

    /// The network holds back what is in it for so long, and what follows behind it.
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
            assert!(self.steps < 1_000_000, "no end: {}", &self.log[self.log.len() - 2000..]);
        }
        self.now = self.now.max(end);
    }

    /// Everything due at this instant, in the order of the contract.
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

    /// The client writes.
    pub fn write(&mut self, bytes: u64) {
        self.client.write(ByteCount(bytes));
        self.drain(Side::Client);
    }
}
