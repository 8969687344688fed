//! Online games over TCP (griwodz2006 section 2). Each player has a connection. The server writes small messages at
//! irregular times, and the client writes its commands more evenly. A connection draws its mean rate once, and then the
//! gaps around it. Recorded writes are replayed unchanged. Both sides run open loop: a player who has to wait does not
//! act less. Writes due before the connection is open are written when it opens.

use alloc::sync::Arc;
use alloc::vec::Vec;
use gamelane_core::dist::Mixture;
use gamelane_core::{ByteCount, Direction, Duration, Instant, Stream};

use crate::app::{AppAction, AppEvent, TrafficSource, Transport};
use crate::config::{MmoConfig, MmoStreams, Schedule, TracePacket, WriteModel};
use crate::facts::{AppDescriptor, AppFacts, Group};
use crate::streams::Streams;

/// Game over TCP in the catalogue.
pub const MMO: AppDescriptor = AppDescriptor {
    word: "mmo",
    label: "game over TCP",
    about: "An online game over TCP, with one thin connection per player.",
    keys: &["model", "trace", "direction", "connections", "carriage", "carriers", "paths", "tcp"],
    page: "mmo",
    facts: AppFacts { group: Group::Game, transport: Transport::Tcp, server_port: 7500 },
};

/// Builds both sides of one connection.
pub(crate) fn build(
    config: &MmoConfig,
    connection: u32,
    schedule: Schedule,
    streams: Streams<'_>,
) -> (Writer, Writer) {
    let writes = |direction: Direction, side: &str| {
        if config.direction.is_some_and(|only| only != direction) {
            return Writes::None;
        }
        match &config.streams {
            MmoStreams::Model(model) => {
                let model = if direction == Direction::Up { &model.client } else { &model.server };
                Writes::Drawn(Drawn::new(model, &streams, side))
            }
            MmoStreams::Trace(recorded) => {
                let recorded = &recorded[connection as usize % recorded.len().max(1)];
                Writes::Recorded {
                    writes: if direction == Direction::Up {
                        recorded.up.clone()
                    } else {
                        recorded.down.clone()
                    },
                    next: 0,
                }
            }
        }
    };
    let (start, stop) = schedule.bounds();
    // Players do not log in at the same time. A recording has its own times.
    let phase = match &config.streams {
        MmoStreams::Model(_) => {
            Duration::from_secs_f64(streams.of("phase").unit() * LOGIN_SPREAD.as_secs_f64())
        }
        MmoStreams::Trace(recorded) => {
            recorded.get(connection as usize).map_or(Duration::ZERO, |one| one.opened)
        }
    };
    let start = start.saturating_add(phase);
    let origin = match &config.streams {
        MmoStreams::Model(_) => start,
        MmoStreams::Trace(_) => schedule.bounds().0,
    };
    let mut client = Writer::new(writes(Direction::Up, "client"), Some(start), origin, stop);
    let mut server = Writer::new(writes(Direction::Down, "server"), None, origin, stop);
    client.arm_first();
    server.arm_first();
    (client, server)
}

/// Both sides of a connection that carries data of others. The client opens it at the start of the schedule.
pub(crate) fn carrier(schedule: Schedule) -> (Writer, Writer) {
    let (start, stop) = schedule.bounds();
    let side = |opens: bool| Writer::new(Writes::None, opens.then_some(start), start, stop);
    (side(true), side(false))
}

/// One side of a connection that makes small writes.
#[derive(Clone, Debug)]
pub struct Writer {
    writes: Writes,
    /// Time at which a client opens the connection.
    connect_at: Option<Instant>,
    connect_due: bool,
    connected: bool,
    /// Origin of the recorded times.
    origin: Instant,
    stop: Instant,
    /// Time of the next write.
    next: Option<Instant>,
    /// Sizes of the writes that are due; those from index `written` on are not polled yet.
    owed: Vec<u32>,
    written: usize,
}

#[derive(Clone, Debug)]
enum Writes {
    None,
    Drawn(Drawn),
    Recorded { writes: Arc<[TracePacket]>, next: usize },
}

#[derive(Clone, Debug)]
struct Drawn {
    /// Mean time between writes in seconds.
    mean_gap_s: f64,
    gap: Mixture,
    gap_rng: Stream,
    size: Mixture,
    size_rng: Stream,
    min: u32,
    max: u32,
}

impl Drawn {
    fn new(model: &WriteModel, streams: &Streams<'_>, side: &str) -> Self {
        let of = |what: &str| streams.of(&alloc::format!("{side}/{what}"));
        let rate = model.rate_per_s.sample(&mut of("rate")).clamp(LEAST_RATE, model.most_per_s);
        Self {
            mean_gap_s: 1.0 / rate / model.gap.mean(),
            gap: model.gap.clone(),
            gap_rng: of("gap"),
            size: model.size.clone(),
            size_rng: of("size"),
            min: model.min,
            max: model.max,
        }
    }

    fn gap(&mut self) -> Duration {
        Duration::from_secs_f64(self.mean_gap_s * self.gap.sample(&mut self.gap_rng)).max(MIN_GAP)
    }

    fn size(&mut self) -> u32 {
        ((self.size.sample(&mut self.size_rng) + 0.5) as u32).clamp(self.min, self.max)
    }
}

impl Writer {
    fn new(writes: Writes, connect_at: Option<Instant>, origin: Instant, stop: Instant) -> Self {
        Self {
            writes,
            connect_at: connect_at.filter(|&at| at < stop),
            connect_due: false,
            connected: false,
            origin,
            stop,
            next: None,
            owed: Vec::new(),
            written: 0,
        }
    }

    fn arm_first(&mut self) {
        let first = match &mut self.writes {
            Writes::Drawn(drawn) => Some(self.origin.saturating_add(drawn.gap())),
            Writes::None | Writes::Recorded { .. } => self.recorded_time(),
        };
        self.next = first.filter(|&at| at < self.stop);
    }

    fn recorded_time(&self) -> Option<Instant> {
        match &self.writes {
            Writes::Recorded { writes, next } => Some(self.origin.saturating_add(writes.get(*next)?.at)),
            Writes::None | Writes::Drawn(_) => None,
        }
    }

    /// Queues the write that is due at `at`.
    fn take_due(&mut self, at: Instant) {
        let size = match &mut self.writes {
            Writes::Drawn(drawn) => drawn.size(),
            Writes::Recorded { writes, next } => {
                *next += 1;
                writes[*next - 1].payload
            }
            Writes::None => return,
        };
        if self.owed.len() < MOST_OWED {
            self.owed.push(size);
        }
        let following = match &mut self.writes {
            Writes::Drawn(drawn) => Some(at.saturating_add(drawn.gap())),
            Writes::None | Writes::Recorded { .. } => self.recorded_time(),
        };
        self.next = following.filter(|&at| at < self.stop);
    }
}

impl TrafficSource for Writer {
    fn handle_event(&mut self, event: &AppEvent, _now: Instant) {
        match event {
            AppEvent::Connected => self.connected = true,
            AppEvent::PeerClosed => self.connected = false,
            AppEvent::Datagram { .. } | AppEvent::Delivered { .. } => {}
        }
    }

    fn poll_action(&mut self, _now: Instant) -> Option<AppAction> {
        if core::mem::take(&mut self.connect_due) {
            return Some(AppAction::Connect);
        }
        if !self.connected {
            return None;
        }
        let Some(&bytes) = self.owed.get(self.written) else {
            self.owed.clear();
            self.written = 0;
            return None;
        };
        self.written += 1;
        Some(AppAction::Write { bytes: ByteCount(u64::from(bytes)) })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        gamelane_core::time::earliest(self.connect_at, self.next)
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.connect_at.is_some_and(|at| at <= now) {
            self.connect_at = None;
            self.connect_due = true;
        }
        while let Some(at) = self.next.filter(|&at| at <= now) {
            self.take_due(at);
        }
    }
}

/// Time within which all players open their connections.
const LOGIN_SPREAD: Duration = Duration::from_secs(1);
/// Minimum mean rate of a connection in writes per second.
const LEAST_RATE: f64 = 0.01;
/// Minimum time between two writes.
const MIN_GAP: Duration = Duration::from_micros(100);
/// Maximum number of writes kept for a connection that does not open.
const MOST_OWED: usize = 4096;
