//! The network between the hosts at home and the paths beyond the link: hops, and the routes of packets between them.

mod build;

use alloc::string::String;
use alloc::vec::Vec;
use gamelane_core::{
    Bitrate, Direction, DropReason, Duration, Instant, MarkReason, Outlet, Packet, PacketMeta,
};
use gamelane_link::wifi::StationCounters;
use gamelane_link::{AnyLink, Hop, HopOutlet, PortId};
use gamelane_qdisc::Backlog;
use gamelane_record::totals::QueueTotals;
use gamelane_record::{BacklogMeter, Event, Recorder};

use crate::frames::{FrameId, Frames};

/// A queue of the network: a port of a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) hop: usize,
    pub(crate) port: PortId,
}

/// Hops in a row. Each direction has its own hops; on a shared medium both directions share one.
#[derive(Debug)]
pub(crate) struct Network {
    hops: Vec<Hop<FrameId>>,
    /// By hop and port.
    ports: Vec<Vec<Port>>,
    /// The gateway's queue of each direction.
    gateway: [Place; 2],
    /// First queue of packets from home, by flow.
    home: Vec<Place>,
    /// First queue of packets from the internet.
    internet: Place,
}

#[derive(Debug)]
struct Port {
    name: String,
    direction: Direction,
    /// Next queue of its packets; `None` if they leave the network.
    next: Option<Place>,
    meter: BacklogMeter,
}

impl Network {
    /// Number of hops.
    pub(crate) fn len(&self) -> usize {
        self.hops.len()
    }

    /// The first queue of a packet of `flow`.
    pub(crate) fn entry(&self, direction: Direction, flow: usize) -> Place {
        match direction {
            Direction::Up => self.home[flow],
            Direction::Down => self.internet,
        }
    }

    /// Direction of the packets of a port, and their next queue; `None` if they leave the network.
    pub(crate) fn beyond(&self, place: Place) -> (Direction, Option<Place>) {
        let port = &self.ports[place.hop][place.port.index()];
        (port.direction, port.next)
    }

    /// The direction of the gateway's queue at `place`, if it is one of the two.
    pub(crate) fn gateway_at(&self, place: Place) -> Option<Direction> {
        Direction::BOTH.into_iter().find(|direction| self.gateway[direction.index()] == place)
    }

    /// Whether packets wait in each of the gateway's queues.
    pub(crate) fn gateway_waits(&self) -> [bool; 2] {
        self.gateway.map(|place| !self.hops[place.hop].backlog(place.port).is_empty())
    }

    /// Whether packets from the internet reach the gateway before its downstream queue. Otherwise that queue is at the provider.
    pub(crate) fn gateway_holds_downstream(&self) -> bool {
        self.gateway[Direction::Down.index()] != self.internet
    }

    /// The queue for the gateway's own upstream packets: below its shaper, or its own queue without a shaper.
    pub(crate) fn gateway_exit(&self) -> Place {
        let up = self.gateway[Direction::Up.index()];
        self.beyond(up).1.unwrap_or(up)
    }

    /// Sets the rate of the gateway's shaper, which must exist.
    pub(crate) fn shape(&mut self, direction: Direction, rate: Bitrate) {
        self.hops[self.gateway[direction.index()].hop].set_rate(rate);
    }

    /// Backlog of a queue.
    pub(crate) fn waiting(&self, place: Place) -> Backlog {
        self.hops[place.hop].backlog(place.port)
    }

    pub(crate) fn handle_packet<R: Recorder>(
        &mut self,
        place: Place,
        packet: Packet<FrameId>,
        now: Instant,
        (recorder, frames): (&mut R, &mut Frames),
    ) {
        let mut out = HopLosses { recorder, frames, ports: &self.ports[place.hop], now };
        self.hops[place.hop].handle_packet(place.port, packet, now, &mut out);
    }

    pub(crate) fn handle_timeout<R: Recorder>(
        &mut self,
        hop: usize,
        now: Instant,
        (recorder, frames): (&mut R, &mut Frames),
    ) {
        let mut out = HopLosses { recorder, frames, ports: &self.ports[hop], now };
        self.hops[hop].handle_timeout(now, &mut out);
    }

    pub(crate) fn poll_deliver(&mut self, hop: usize, now: Instant) -> Option<(Place, Packet<FrameId>)> {
        self.hops[hop].poll_deliver(now).map(|(port, packet)| (Place { hop, port }, packet))
    }

    pub(crate) fn poll_timeout(&self, hop: usize) -> Option<Instant> {
        self.hops[hop].poll_timeout()
    }

    /// Updates the backlog meters of a hop.
    pub(crate) fn observe(&mut self, hop: usize, now: Instant) {
        for (port, own) in (0..).map(PortId).zip(&mut self.ports[hop]) {
            own.meter.observe(self.hops[hop].backlog(port), now);
        }
    }

    /// Backlog of a direction, all its queues together.
    pub(crate) fn backlog(&self, direction: Direction) -> Backlog {
        let mut sum = Backlog::default();
        for (hop, ports) in self.hops.iter().zip(&self.ports) {
            for (port, own) in (0..).map(PortId).zip(ports) {
                if own.direction == direction {
                    sum.packets += hop.backlog(port).packets;
                    sum.bytes += hop.backlog(port).bytes;
                }
            }
        }
        sum
    }

    /// Number of packets in the network.
    ///
    /// # Panics
    ///
    /// If a hop lost a packet without counting it, or invented one.
    pub(crate) fn inside(&self) -> u64 {
        let mut sum = 0;
        for hop in &self.hops {
            for port in (0..hop.ports()).map(PortId) {
                assert!(hop.counters(port).balance(hop.inside(port)), "a hop does not conserve packets");
                sum += hop.inside(port);
            }
        }
        sum
    }

    /// Totals of the gateway's queues in a run of `span`, by direction.
    pub(crate) fn gateway_outcomes(&self, span: Duration) -> [QueueTotals; 2] {
        self.gateway.map(|place| self.outcome(place, span))
    }

    /// Totals of the other queues, by name: `modem`, `isp`, `station/NAME`, `relay/N/up`.
    pub(crate) fn other_outcomes(&self, span: Duration) -> Vec<(String, QueueTotals)> {
        let places = self.ports.iter().enumerate().flat_map(|(hop, ports)| {
            let place = move |port| Place { hop, port };
            (0..).map(PortId).map(place).zip(ports)
        });
        let others = places.filter(|(place, _)| !self.gateway.contains(place));
        others.map(|(place, port)| (port.name.clone(), self.outcome(place, span))).collect()
    }

    /// Counters of each Wi-Fi station; empty without Wi-Fi.
    pub(crate) fn stations(&self) -> Vec<StationCounters> {
        let air = self.hops.iter().find_map(|hop| match hop.link() {
            AnyLink::Wifi(air) => Some(air.stations().to_vec()),
            _ => None,
        });
        air.unwrap_or_default()
    }

    fn outcome(&self, place: Place, span: Duration) -> QueueTotals {
        let meter = &self.ports[place.hop][place.port.index()].meter;
        QueueTotals {
            counters: *self.hops[place.hop].counters(place.port),
            mean_backlog: Some(meter.mean(span)),
            peak_backlog: meter.peak(),
        }
    }
}

/// Records drops and marks of a hop, and gives back the frames of dropped packets.
struct HopLosses<'a, R> {
    recorder: &'a mut R,
    frames: &'a mut Frames,
    ports: &'a [Port],
    now: Instant,
}

impl<R: Recorder> HopOutlet<FrameId> for HopLosses<'_, R> {
    fn dropped(&mut self, port: PortId, packet: Packet<FrameId>, reason: DropReason) {
        let direction = self.ports[port.index()].direction;
        PathLosses { recorder: self.recorder, frames: self.frames, direction, now: self.now }
            .dropped(packet, reason);
    }

    fn marked(&mut self, port: PortId, meta: &PacketMeta, _reason: MarkReason) {
        let direction = self.ports[port.index()].direction;
        self.recorder.record(self.now, &Event::Marked { direction, packet: meta.into() });
    }
}

/// Records drops of a path, and gives back the frames of dropped packets.
pub(crate) struct PathLosses<'a, R> {
    pub(crate) recorder: &'a mut R,
    pub(crate) frames: &'a mut Frames,
    pub(crate) direction: Direction,
    pub(crate) now: Instant,
}

impl<R: Recorder> Outlet<FrameId> for PathLosses<'_, R> {
    fn dropped(&mut self, packet: Packet<FrameId>, reason: DropReason) {
        self.frames.give_back(packet.body);
        let event = Event::Dropped { direction: self.direction, packet: (&packet.meta).into(), reason };
        self.recorder.record(self.now, &event);
    }
}
