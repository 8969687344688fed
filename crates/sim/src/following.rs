//! Shapers that follow their link (`gateway.autorate`): what a gateway can see of the packets that pass it, told to
//! [`gamelane_stage::Following`]. A probe's round trip is timed like TCP's. Of flows that the internet sends at even times the
//! interval is taken from their model, and what was lost from their numbers, which RTP and most games have.

use alloc::vec::Vec;
use gamelane_core::dist::Dist;
use gamelane_core::{Bitrate, ByteCount, Direction, Duration, Instant, IpLen, Overhead, Packet, WireLen};
use gamelane_link::trace::RateTrace;
use gamelane_qdisc::Backlog;
use gamelane_record::totals::FollowerTotals;
use gamelane_scenario::{Medium, Model};
use gamelane_stage::autorate::Signal;
use gamelane_stage::{Echo, EvenStream, following};
use gamelane_traffic::cbr;
use gamelane_traffic::config::{AppConfig, GameConfig};
use gamelane_traffic::voip::PACKET_TIME;

use crate::frames::FrameId;
use crate::payload::{Content, Payload};

pub(crate) struct Following {
    shapers: following::Following,
    /// Indexed by direction.
    overheads: [Overhead; 2],
    links: [Option<LinkRate>; 2],
    lanes: Vec<Lane>,
    /// The lane that probes go through.
    probes: Option<usize>,
    /// When probe n left the gateway, at n modulo its length.
    probes_left: [Instant; PROBES],
}

/// What a link has.
enum LinkRate {
    Constant(Bitrate),
    Trace(RateTrace),
}

/// What the gateway remembers of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    /// Packets of the internet, if they come at even times.
    stream: Option<EvenStream>,
    /// The newest connection.
    connection: u16,
    echo: Echo,
}

impl Lane {
    /// What is remembered of a connection, the newest.
    fn echo(&mut self, connection: u16) -> &mut Echo {
        if self.connection != connection {
            (self.connection, self.echo) = (connection, Echo::default());
        }
        &mut self.echo
    }
}

impl Following {
    /// The shapers of a household that follow, if any does.
    pub(crate) fn of(model: &Model) -> Option<Self> {
        let shapers = following::Following::new(model.gateway.autorate, Instant::ZERO)?;
        let overheads = model
            .access
            .shape
            .each_ref()
            .map(|shape| shape.as_ref().map_or(Overhead::None, |shape| shape.overhead));
        let intervals = model.lanes().map(|(flow, _)| even_interval(&model.flows[flow].app));
        let intervals: Vec<_> = intervals.collect();
        // Of several even streams the fastest tells most.
        let fastest = (0..intervals.len())
            .filter(|lane| intervals[*lane].is_some())
            .min_by_key(|lane| intervals[*lane]);
        let lanes = intervals.iter().enumerate().map(|(lane, interval)| Lane {
            stream: interval.filter(|_| fastest == Some(lane)).map(EvenStream::new),
            ..Lane::default()
        });
        let mut apps = model.lanes().map(|(flow, _)| &model.flows[flow].app);
        let probes = apps.position(|app| *app == AppConfig::Probe);
        Some(Self {
            shapers,
            overheads,
            links: link_rates(model),
            lanes: lanes.collect(),
            probes,
            probes_left: [Instant::ZERO; PROBES],
        })
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
        let bytes = ByteCount(self.overheads[direction.index()].wire_len(packet.meta.len).bytes());
        self.shapers.note_sent(direction, bytes, now);
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
            self.lanes[lane].echo(payload.connection).left(value, now);
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
                self.shapers.tell(Signal::Probe(now.saturating_since(left)), now);
            }
            return;
        }
        let own = &mut self.lanes[lane];
        let signal = if let Some(stream) = &mut own.stream {
            stream.came(payload.number, now)
        } else if let Content::Segment(segment) = &payload.content
            && let Some((_, echoed)) = segment.timestamps
            && own.connection == payload.connection
        {
            own.echo.came(echoed, self.shapers.memory(), now)
        } else {
            None
        };
        if let Some(signal) = signal {
            self.shapers.tell(signal, now);
        }
    }

    /// The gateway has given the modem a packet, and so much waits in it.
    pub(crate) fn below(&mut self, waiting: Backlog, now: Instant) {
        if let Some(rate) = self.shapers.rate(Direction::Up) {
            let packets = u64::from(waiting.packets.max(1));
            let mean = IpLen((waiting.bytes / packets) as u32);
            let overhead = self.overheads[Direction::Up.index()];
            let bytes = overhead.wire_len(mean).bytes() * u64::from(waiting.packets);
            self.shapers.tell(Signal::Backlog(rate.time_to_send(WireLen(bytes as u32))), now);
        }
    }

    /// When the shaper of `direction` wants [`Following::handle_timeout`].
    pub(crate) fn poll_timeout(&self, direction: Direction) -> Option<Instant> {
        self.shapers.poll_timeout(direction)
    }

    /// Lets the shaper of `direction` decide; whether it asks for a probe.
    pub(crate) fn handle_timeout(&mut self, direction: Direction, now: Instant) -> bool {
        self.shapers.handle_timeout(direction, now)
    }

    /// The rate of the shaper of `direction`, if it follows.
    pub(crate) fn rate(&self, direction: Direction) -> Option<Bitrate> {
        self.shapers.rate(direction)
    }

    /// The rate of the link behind the shaper of `direction`, where it has one.
    pub(crate) fn link_rate(&self, direction: Direction, now: Instant) -> Option<Bitrate> {
        match self.links[direction.index()].as_ref()? {
            LinkRate::Constant(rate) => Some(*rate),
            LinkRate::Trace(trace) => Some(trace.rate_at(now)),
        }
    }

    /// What each did in a run that ended at `end`.
    pub(crate) fn outcome(self, end: Instant) -> [Option<FollowerTotals>; 2] {
        Direction::BOTH.map(|direction| {
            let shaper = self.shapers.follower(direction)?;
            Some(FollowerTotals {
                mean_rate_bps: Some(shaper.mean_rate_bps(end)),
                last_rate_bps: shaper.autorate().rate().bps(),
                counters: *shaper.autorate().counters(),
            })
        })
    }
}

/// By direction; a modem that asks for each packet and a shared radio have no rate of their own.
fn link_rates(model: &Model) -> [Option<LinkRate>; 2] {
    Direction::BOTH.map(|direction| {
        let constant = || Some(LinkRate::Constant(model.hop(direction).link.rate));
        match (&model.access.medium, direction) {
            (Medium::Wired, _) | (Medium::Docsis { .. }, Direction::Down) => constant(),
            (Medium::Trace(traces), _) => {
                traces[direction.index()].clone().map(LinkRate::Trace).or_else(constant)
            }
            (Medium::Docsis { .. }, Direction::Up) | (Medium::WifiG(_), _) => None,
        }
    })
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
