//! Shapers that follow their link (`gateway.autorate`): what a gateway can see of the packets that pass it, told to
//! [`Autorate`], and the rate that comes of it. A round trip is timed from where a packet leaves the gateway's queue to where
//! its answer comes to the gateway, by the timestamps of TCP (RFC 7323) or by a probe; so it holds the queues of both
//! directions beyond the gateway and none of its own. Of flows that the internet sends at even times the interval is taken
//! from their model, and what was lost from their numbers, which RTP and most games have.

use alloc::vec::Vec;
use gamelane_core::dist::Dist;
use gamelane_core::{Bitrate, ByteCount, Direction, Duration, Instant, IpLen, Overhead, Packet, WireLen};
use gamelane_qdisc::Backlog;
use gamelane_scenario::{AutorateModel, Model};
use gamelane_stage::Autorate;
use gamelane_stage::autorate::{AutorateCounters, Signal};
use gamelane_traffic::cbr;
use gamelane_traffic::config::{AppConfig, GameConfig};
use gamelane_traffic::voip::PACKET_TIME;

use crate::frames::FrameId;
use crate::payload::{Content, Payload};

pub(crate) struct Following {
    /// Indexed by direction.
    shapers: [Option<Shaper>; 2],
    lanes: Vec<Lane>,
    /// The lane that probes go through.
    probes: Option<usize>,
    /// When probe n left the gateway, at n modulo its length.
    probes_left: [Instant; PROBES],
}

struct Shaper {
    model: AutorateModel,
    autorate: Autorate,
    overhead: Overhead,
    /// Sum of rate times time, bits, up to `since`.
    shaped_bits: u128,
    since: Instant,
}

/// What a shaper that follows did in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FollowingOutcome {
    /// Mean of its rate over the run, bits per second.
    pub mean_rate_bps: f64,
    /// Its last rate, bits per second.
    pub last_rate_bps: u64,
    /// What it heard and did.
    pub counters: AutorateCounters,
}

/// What the gateway remembers of a connection.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    /// Between packets of the internet, if they come at even times.
    interval: Option<Duration>,
    /// Number and arrival of the last packet from the internet.
    came: Option<(u32, Instant)>,
    /// The newest timestamp that has left.
    newest: Option<(u16, u32)>,
    /// The timestamp whose answer is awaited: of which connection, what it said, and when it left.
    awaited: Option<(u16, u32, Instant)>,
}

impl Following {
    /// The shapers of a household that follow, if any does.
    pub(crate) fn of(model: &Model) -> Option<Self> {
        let shaper = |direction: Direction| {
            let own = model.gateway.autorate[direction.index()]?;
            let shape = model.access.shape[direction.index()].as_ref()?;
            Some(Shaper {
                model: own,
                autorate: Autorate::new(own.config, Instant::ZERO),
                overhead: shape.overhead,
                shaped_bits: 0,
                since: Instant::ZERO,
            })
        };
        let shapers = [shaper(Direction::Up), shaper(Direction::Down)];
        if shapers.iter().all(Option::is_none) {
            return None;
        }
        let intervals = model.lanes().map(|(flow, _)| even_interval(&model.flows[flow].app));
        let intervals: Vec<_> = intervals.collect();
        // Of several even streams the fastest tells most.
        let fastest = (0..intervals.len())
            .filter(|lane| intervals[*lane].is_some())
            .min_by_key(|lane| intervals[*lane]);
        let lanes = intervals.iter().enumerate().map(|(lane, interval)| Lane {
            interval: interval.filter(|_| fastest == Some(lane)),
            ..Lane::default()
        });
        let mut apps = model.lanes().map(|(flow, _)| &model.flows[flow].app);
        let probes = apps.position(|app| *app == AppConfig::Probe);
        Some(Self { shapers, lanes: lanes.collect(), probes, probes_left: [Instant::ZERO; PROBES] })
    }

    /// The lane that probes go through.
    pub(crate) const fn probes(&self) -> Option<usize> {
        self.probes
    }

    /// A packet has left the gateway's queue of `direction`.
    pub(crate) fn left(
        &mut self,
        direction: Direction,
        packet: &Packet<FrameId>,
        payload: &Payload,
        now: Instant,
    ) {
        if let Some(shaper) = &mut self.shapers[direction.index()] {
            shaper.autorate.note_sent(ByteCount(shaper.overhead.wire_len(packet.meta.len).bytes()), now);
        }
        if direction == Direction::Down {
            return;
        }
        let lane = packet.meta.flow.index();
        if self.probes == Some(lane) {
            return self.probe_left(payload.number, now);
        }
        if let Content::Segment(segment) = &payload.content
            && let Some((value, _)) = segment.timestamps
        {
            let own = &mut self.lanes[lane];
            // Only the first packet of a timestamp tells when that left.
            if own.newest.replace((payload.connection, value)) != Some((payload.connection, value))
                && own.awaited.is_none_or(|(connection, ..)| connection != payload.connection)
            {
                own.awaited = Some((payload.connection, value, now));
            }
        }
    }

    /// A probe has left the gateway.
    pub(crate) fn probe_left(&mut self, number: u32, now: Instant) {
        self.probes_left[number as usize % PROBES] = now;
    }

    /// A packet from the internet has come to the gateway.
    pub(crate) fn came(&mut self, packet: &Packet<FrameId>, payload: &Payload, now: Instant) {
        let lane = packet.meta.flow.index();
        if self.probes == Some(lane) {
            if let Some(echo) = payload.echo {
                let left = self.probes_left[echo.number as usize % PROBES];
                self.tell(Signal::Probe(now.saturating_since(left)), now);
            }
            return;
        }
        let own = &mut self.lanes[lane];
        let before = own.came.replace((payload.number, now));
        if let (Some(interval), Some((number, at))) = (own.interval, before) {
            let missed = u64::from(payload.number.wrapping_sub(number));
            let signal =
                Signal::GameGap { seen: now.saturating_since(at), expected: interval.saturating_mul(missed) };
            return self.tell(signal, now);
        }
        let Content::Segment(segment) = &payload.content else { return };
        let Some((_, echoed)) = segment.timestamps else { return };
        let Some((connection, value, left)) = own.awaited else { return };
        if connection != payload.connection || (echoed.wrapping_sub(value) as i32) < 0 {
            return;
        }
        own.awaited = None;
        // Whoever has been silent answers when it has something to say.
        let paused = before.is_none_or(|(_, at)| now.saturating_since(at) > PAUSE);
        if !paused {
            self.tell(Signal::TcpRoundTrip(now.saturating_since(left)), now);
        }
    }

    /// The gateway has given the modem a packet, and so much waits in it.
    pub(crate) fn below(&mut self, waiting: Backlog, now: Instant) {
        if let Some(shaper) = &self.shapers[Direction::Up.index()] {
            let packets = u64::from(waiting.packets.max(1));
            let mean = IpLen((waiting.bytes / packets) as u32);
            let bytes = shaper.overhead.wire_len(mean).bytes() * u64::from(waiting.packets);
            let time = shaper.autorate.rate().time_to_send(WireLen(bytes as u32));
            self.tell(Signal::Backlog(time), now);
        }
    }

    fn tell(&mut self, signal: Signal, now: Instant) {
        for (index, shaper) in self.shapers.iter_mut().enumerate() {
            let Some(shaper) = shaper else { continue };
            let hears = shaper.model.hears;
            let heard = match signal {
                Signal::TcpRoundTrip(_) => hears.tcp,
                Signal::GameGap { .. } => hears.game && index == Direction::Down.index(),
                Signal::Backlog(_) => hears.backlog && index == Direction::Up.index(),
                Signal::Probe(_) => hears.probes,
            };
            if heard {
                shaper.autorate.handle_signal(signal, now);
            }
        }
    }

    /// When the shaper of `direction` wants [`Following::handle_timeout`].
    pub(crate) fn poll_timeout(&self, direction: Direction) -> Option<Instant> {
        self.shapers[direction.index()].as_ref()?.autorate.poll_timeout()
    }

    /// Lets the shaper of `direction` decide; whether it asks for a probe.
    pub(crate) fn handle_timeout(&mut self, direction: Direction, now: Instant) -> bool {
        let Some(shaper) = &mut self.shapers[direction.index()] else { return false };
        shaper.elapse(now);
        shaper.autorate.handle_timeout(now);
        shaper.autorate.poll_probe(now) && shaper.model.hears.probes
    }

    /// The rate of the shaper of `direction`, if it follows.
    pub(crate) fn rate(&self, direction: Direction) -> Option<Bitrate> {
        Some(self.shapers[direction.index()].as_ref()?.autorate.rate())
    }

    /// What each did in a run that ended at `end`.
    pub(crate) fn outcome(mut self, end: Instant) -> [Option<FollowingOutcome>; 2] {
        self.shapers.each_mut().map(|shaper| {
            let shaper = shaper.as_mut()?;
            shaper.elapse(end);
            Some(FollowingOutcome {
                mean_rate_bps: shaper.shaped_bits as f64 / 1e9 / end.as_secs_f64(),
                last_rate_bps: shaper.autorate.rate().bps(),
                counters: *shaper.autorate.counters(),
            })
        })
    }
}

impl Shaper {
    /// Its rate has held until `now`.
    fn elapse(&mut self, now: Instant) {
        let time = u128::from(now.saturating_since(self.since).as_nanos());
        self.shaped_bits += u128::from(self.autorate.rate().bps()) * time;
        self.since = self.since.max(now);
    }
}

/// The time between packets of the internet that are sent at even times.
fn even_interval(app: &AppConfig) -> Option<Duration> {
    match app {
        AppConfig::Voip(_) => Some(PACKET_TIME),
        AppConfig::Cbr(config) if config.direction == Direction::Down => cbr::interval(*config),
        AppConfig::Game(GameConfig { server, .. }) if server.jitter.is_none() => match server.tick {
            Dist::Constant(seconds) => Some(Duration::from_secs_f64(seconds)),
            _ => None,
        },
        _ => None,
    }
}

/// Probes whose times of leaving are remembered: three seconds of them.
const PROBES: usize = 64;
/// A longer silence of a connection than this is its own, not the link's.
const PAUSE: Duration = Duration::from_millis(250);
