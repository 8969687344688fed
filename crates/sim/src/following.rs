//! Shapers that follow their link (`gateway.autorate`). This file gives [`gamelane_stage::Following`] the signals that a real
//! gateway can see in passing packets:
//!
//! - round trips of TCP timestamps and of probes;
//! - flows that a server sends at even intervals: the interval comes from the model, losses from packet numbers, which RTP and
//!   most games have;
//! - the backlog of the modem.

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
    /// Lane of the probes.
    probes: Option<usize>,
    /// When probe n left the gateway, at position n modulo [`PROBES`].
    probes_left: [Instant; PROBES],
}

/// Rate of a link.
enum LinkRate {
    Constant(Bitrate),
    Trace(RateTrace),
}

/// State that the gateway keeps for a lane.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    /// The downstream packets, if the server sends them at even intervals.
    stream: Option<EvenStream>,
    /// Number of the newest connection.
    connection: u16,
    echo: Echo,
}

impl Lane {
    /// Returns the state of a connection; a new connection replaces the previous one.
    fn echo(&mut self, connection: u16) -> &mut Echo {
        if self.connection != connection {
            (self.connection, self.echo) = (connection, Echo::default());
        }
        &mut self.echo
    }
}

impl Following {
    /// Builds the shapers that follow their link; `None` if no direction has one.
    pub(crate) fn of(model: &Model) -> Option<Self> {
        let shapers = following::Following::new(model.gateway.autorate, Instant::ZERO)?;
        let overheads = model
            .access
            .shape
            .each_ref()
            .map(|shape| shape.as_ref().map_or(Overhead::None, |shape| shape.overhead));
        let intervals = model.lanes().map(|(flow, _)| even_interval(&model.flows[flow].app));
        let intervals: Vec<_> = intervals.collect();
        // The fastest stream with even intervals gives the most samples.
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

    /// Lane of the probes.
    pub(crate) const fn probes(&self) -> Option<usize> {
        self.probes
    }

    /// Takes a packet that left the gateway's queue of `direction`.
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

    /// Notes that a probe left the gateway.
    pub(crate) fn probe_left(&mut self, number: u32, now: Instant) {
        self.probes_left[number as usize % PROBES] = now;
    }

    /// Takes a packet from the internet that reached the gateway.
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

    /// Takes the backlog of the modem after the gateway sent it a packet.
    pub(crate) fn below(&mut self, waiting: Backlog, now: Instant) {
        if let Some(rate) = self.shapers.rate(Direction::Up) {
            let packets = u64::from(waiting.packets.max(1));
            let mean = IpLen((waiting.bytes / packets) as u32);
            let overhead = self.overheads[Direction::Up.index()];
            let bytes = overhead.wire_len(mean).bytes() * u64::from(waiting.packets);
            self.shapers.tell(Signal::Backlog(rate.time_to_send(WireLen(bytes as u32))), now);
        }
    }

    /// Deadline of the shaper of `direction`.
    pub(crate) fn poll_timeout(&self, direction: Direction) -> Option<Instant> {
        self.shapers.poll_timeout(direction)
    }

    /// Lets the shaper of `direction` decide. Returns whether it asks for a probe.
    pub(crate) fn handle_timeout(&mut self, direction: Direction, now: Instant) -> bool {
        self.shapers.handle_timeout(direction, now)
    }

    /// Rate of the shaper of `direction`; `None` if it does not follow its link.
    pub(crate) fn rate(&self, direction: Direction) -> Option<Bitrate> {
        self.shapers.rate(direction)
    }

    /// Rate of the link behind the shaper of `direction`; `None` if the link has no rate of its own.
    pub(crate) fn link_rate(&self, direction: Direction, now: Instant) -> Option<Bitrate> {
        match self.links[direction.index()].as_ref()? {
            LinkRate::Constant(rate) => Some(*rate),
            LinkRate::Trace(trace) => Some(trace.rate_at(now)),
        }
    }

    /// Totals of each shaper in a run that ended at `end`.
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

/// Rates by direction. A DOCSIS upstream channel, which grants each request, and a shared radio have no rate of their own.
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

/// Interval of downstream packets; `None` unless the server sends them at even intervals.
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

/// Number of probes whose departure times are kept: probes of three seconds.
const PROBES: usize = 64;
