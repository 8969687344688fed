//! From a model to its network.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use gamelane_core::{Direction, IpLen, Seed};
use gamelane_link::{AnyLink, Hop, PortId, WiredLink};
use gamelane_qdisc::{AnyQueue, QueueConfig};
use gamelane_scenario::Model;

use super::{Network, Place, Port};
use crate::frames::FrameId;
use crate::meter::BacklogMeter;

impl Network {
    /// The network of a model at time zero.
    ///
    /// Hop 0 is the gateway's way up and hop 1 its way down, whatever stands around them.
    pub(crate) fn new(model: &Model, seed: Seed) -> Self {
        let mut builder = Builder { seed, hops: Vec::new(), ports: Vec::new() };
        let [up, down] = Direction::BOTH.map(|direction| {
            let hop = model.hop(direction);
            let name = direction.name();
            let link = WiredLink::new(hop.link.clone(), seed, &format!("link/{name}"));
            builder.one(name, direction, &hop.queue, hop.mtu, link, None)
        });
        Self {
            hops: builder.hops,
            ports: builder.ports,
            gateway: [up, down],
            home: vec![up; model.lanes().count()],
            internet: down,
        }
    }
}

struct Builder {
    seed: Seed,
    hops: Vec<Hop<FrameId>>,
    ports: Vec<Vec<Port>>,
}

impl Builder {
    /// A hop with one queue.
    fn one(
        &mut self,
        name: &str,
        direction: Direction,
        queue: &QueueConfig,
        mtu: IpLen,
        link: impl Into<AnyLink>,
        next: Option<Place>,
    ) -> Place {
        let queue = AnyQueue::new(queue, mtu, self.seed, &format!("gateway/{name}"));
        self.hops.push(Hop::new([queue], link));
        self.ports.push(vec![Port { direction, next, meter: BacklogMeter::default() }]);
        Place { hop: self.hops.len() - 1, port: PortId(0) }
    }
}
