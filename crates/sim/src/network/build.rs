//! Builds the network of a model.
//!
//! ```text
//! wired, trace   home -> [gateway.up] link ->                          -> [gateway.down] link -> home
//! shaped         home -> [gateway.up] shaper [modem] link ->           -> [isp] link [gateway.down] shaper -> home
//! docsis         home -> [gateway.up] shaper or Ethernet [modem] channel ->
//! wifi-g         home -> [station] radio [gateway.up] link ->          -> [isp] link [gateway.down] radio -> home
//! ```

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use gamelane_core::loss::LossModel;
use gamelane_core::{Bitrate, Direction, Duration, IpLen, Seed};
use gamelane_link::wifi::{Dcf, WifiConfig, WifiPort};
use gamelane_link::{AnyLink, DocsisUpstream, Hop, LinkConfig, Overhead, PortId, TraceLink, WiredLink};
use gamelane_qdisc::{AnyQueue, DisciplineConfig};
use gamelane_record::BacklogMeter;
use gamelane_scenario::{Medium, Model, WifiModel};

use super::{Network, Place, Port};
use crate::frames::FrameId;

impl Network {
    /// The network of a model at time zero.
    pub(crate) fn new(model: &Model, seed: Seed) -> Self {
        let mut builder = Builder { model, seed, hops: Vec::new(), ports: Vec::new() };
        let up = builder.up();
        let (home, down, internet) = match &model.access.medium {
            Medium::WifiG(wifi) => {
                let (home, radio) = builder.radio(wifi, up);
                let wan = builder.medium(Direction::Down);
                (home, radio, builder.one("isp", Direction::Down, &model.access.isp, wan, Some(radio)))
            }
            _ => {
                let (down, internet) = builder.down();
                (vec![up; model.lanes().count()], down, internet)
            }
        };
        Self { hops: builder.hops, ports: builder.ports, gateway: [up, down], home, internet }
    }
}

struct Builder<'a> {
    model: &'a Model,
    seed: Seed,
    hops: Vec<Hop<FrameId>>,
    ports: Vec<Vec<Port>>,
}

impl Builder<'_> {
    /// Adds the gateway's upstream queue and the hops below it.
    fn up(&mut self) -> Place {
        let access = &self.model.access;
        let medium = self.medium(Direction::Up);
        let queue = &self.model.hop(Direction::Up).queue;
        let feeds = match (&access.shape[0], &access.medium) {
            (Some(shaper), _) => WiredLink::shaper(shaper.clone(), self.seed, "shape/up"),
            (None, Medium::Docsis { ethernet, .. }) => {
                WiredLink::new(bridge(*ethernet), self.seed, "bridge/up")
            }
            _ => return self.one("up", Direction::Up, queue, medium, None),
        };
        let modem = self.one("modem", Direction::Up, &access.modem, medium, None);
        self.one("up", Direction::Up, queue, feeds.into(), Some(modem))
    }

    /// Adds the gateway's downstream queue and, if it shapes, the provider's; returns it and the first queue from the internet.
    fn down(&mut self) -> (Place, Place) {
        let access = &self.model.access;
        let medium = self.medium(Direction::Down);
        let queue = &self.model.hop(Direction::Down).queue;
        let Some(shaper) = &access.shape[1] else {
            let down = self.one("down", Direction::Down, queue, medium, None);
            return (down, down);
        };
        let shaper = WiredLink::shaper(shaper.clone(), self.seed, "shape/down");
        let down = self.one("down", Direction::Down, queue, shaper.into(), None);
        (down, self.one("isp", Direction::Down, &access.isp, medium, Some(down)))
    }

    /// Builds the link to or from the provider.
    fn medium(&self, direction: Direction) -> AnyLink {
        let config = self.model.hop(direction).link.clone();
        let path = format!("link/{}", direction.name());
        match &self.model.access.medium {
            Medium::Docsis { upstream, .. } if direction == Direction::Up => {
                DocsisUpstream::new(upstream.clone(), self.seed, &path).into()
            }
            Medium::Trace(traces) => match &traces[direction.index()] {
                Some(trace) => TraceLink::new(trace.clone(), config, self.seed, &path).into(),
                None => WiredLink::new(config, self.seed, &path).into(),
            },
            _ => WiredLink::new(config, self.seed, &path).into(),
        }
    }

    /// Adds the radio hop. Its ports are the gateway, each station, and for each relay one down and one up. Packets from home
    /// continue at `wan`.
    fn radio(&mut self, wifi: &WifiModel, wan: Place) -> (Vec<Place>, Place) {
        let hop = self.hops.len();
        let place = |port: usize| Place { hop, port: PortId(port as u16) };
        let relays = wifi.relays as usize;
        let first_relay = 1 + wifi.stations.len();
        let relay = |number: usize, up: usize| place(first_relay + 2 * number + up);
        let old = wifi.stations.iter().all(|station| station.radio.rate.is_dsss());
        let window_min = if old { 31 } else { 15 };
        let mut senders = vec![WifiPort { window_min, backbone: relays > 0 }];
        let mut ports = vec![port("down", Direction::Down, (relays > 0).then(|| relay(0, 0)))];
        let mut queues = vec![(&self.model.hop(Direction::Down).queue, String::from("down"))];
        for station in &wifi.stations {
            let name = format!("station/{}", station.name);
            senders.push(WifiPort { window_min: WifiPort::window_of(station.radio.rate), backbone: false });
            let next = if relays > 0 { relay(relays - 1, 1) } else { wan };
            ports.push(port(&name, Direction::Up, Some(next)));
            queues.push((&wifi.queue, name));
        }
        for number in 0..relays {
            let last = number + 1 == relays;
            let down = (!last).then(|| relay(number + 1, 0));
            let up = if number == 0 { wan } else { relay(number - 1, 1) };
            for (direction, next, backbone) in
                [(Direction::Down, down, !last), (Direction::Up, Some(up), true)]
            {
                let name = format!("relay/{number}/{}", direction.name());
                senders.push(WifiPort { window_min, backbone });
                ports.push(port(&name, direction, next));
                queues.push((&wifi.queue, name));
            }
        }
        let station_of = self.model.lanes().map(|(flow, _)| wifi.station_of[flow]);
        let config = WifiConfig {
            slot: wifi.slot,
            protection: wifi.protection,
            preamble: wifi.preamble,
            retry_limit: wifi.retry_limit,
            window_max: 1023,
            ports: senders,
            stations: wifi.stations.iter().map(|station| station.radio).collect(),
            backbone: wifi.backbone,
            station_of: station_of.collect(),
        };
        let home = config.station_of.iter().map(|station| place(1 + station)).collect();
        let queues = queues.iter().map(|(queue, name)| self.queue(queue, name));
        let air = Hop::new(queues, Dcf::new(config, self.seed, "air"));
        self.hops.push(air);
        self.ports.push(ports);
        (home, place(0))
    }

    /// Adds a hop with one queue.
    fn one(
        &mut self,
        name: &str,
        direction: Direction,
        queue: &DisciplineConfig,
        link: AnyLink,
        next: Option<Place>,
    ) -> Place {
        self.hops.push(Hop::new([self.queue(queue, name)], link));
        self.ports.push(vec![port(name, direction, next)]);
        Place { hop: self.hops.len() - 1, port: PortId(0) }
    }

    /// Builds a queue. Panics if its configuration is invalid; the scenario parser has checked it.
    fn queue(&self, queue: &DisciplineConfig, name: &str) -> AnyQueue<FrameId> {
        let mtu: IpLen = self.model.hop(Direction::Up).mtu;
        let queue =
            AnyQueue::build(queue, self.model.gateway.classes, mtu, self.seed, &format!("gateway/{name}"));
        queue.unwrap_or_else(|error| panic!("the configuration of queue `{name}` is invalid: {error}"))
    }
}

/// The Ethernet link between a gateway that does not shape and its modem.
fn bridge(rate: Bitrate) -> LinkConfig {
    LinkConfig {
        rate,
        delay: Duration::ZERO,
        jitter: Duration::ZERO,
        loss: LossModel::None,
        overhead: Overhead::Ethernet,
    }
}

fn port(name: &str, direction: Direction, next: Option<Place>) -> Port {
    Port { name: name.to_string(), direction, next, meter: BacklogMeter::default() }
}
