//! CAKE's choice of a flow queue, and fairness between hosts (`cake_hash` and `cake_dequeue` in Linux
//! `sch_cake.c`). Hashing is eight-way set-associative: flows share a queue only if more than eight fall into one set.
//! The quantum of a flow is divided by the number of bulk flows of its busier host.

use alloc::vec;
use alloc::vec::Vec;
use gamelane_core::{IpLen, Overhead, PacketMeta, Stream};

use super::config::{CakeConfig, Isolation};
use crate::fq::FlowSelector;

/// Number of flow queues in a tin, and number of host entries for each end.
pub(super) const QUEUES: u32 = 1024;
const WAYS: u32 = 8;

/// Load state of a flow queue. Only bulk flows count in the fairness between hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Load {
    /// New, idle, or sending less than its quantum per round.
    #[default]
    Sparse,
    /// Used up its quantum and its queue is empty. It becomes bulk if a packet arrives before its next turn.
    Waiting,
    /// Used up its quantum with packets still waiting.
    Bulk,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    tag: u32,
    /// Indices of the source and destination host in `CakeFlows::hosts`.
    hosts: [u32; 2],
    load: Load,
}

#[derive(Clone, Copy, Debug, Default)]
struct Host {
    tag: u32,
    bulk_flows: u32,
}

/// Selects the flow queues of one tin.
#[derive(Debug)]
pub(super) struct CakeFlows {
    isolation: Isolation,
    overhead: Overhead,
    salt: u64,
    flows: Vec<Flow>,
    /// Source hosts and destination hosts.
    hosts: [Vec<Host>; 2],
    ingress: bool,
    /// Bulk flows in this tin.
    bulk_flows: u32,
    dither: Stream,
}

impl CakeFlows {
    pub(super) fn new(config: &CakeConfig, salt: u64, dither: Stream) -> Self {
        let CakeConfig { isolation, overhead, ingress, .. } = *config;
        let hosts = isolation.ends().map(|told_apart| if told_apart { QUEUES as usize } else { 0 });
        Self {
            isolation,
            overhead,
            salt,
            flows: vec![Flow::default(); QUEUES as usize],
            hosts: hosts.map(|hosts| vec![Host::default(); hosts]),
            ingress,
            bulk_flows: 0,
            dither,
        }
    }

    /// What tells a flow from others (`cake_hash`).
    fn tag(&self, packet: &PacketMeta) -> u32 {
        let [source, destination] = packet.hosts;
        self.salted(match self.isolation {
            Isolation::Blind => 0,
            Isolation::Sources => source,
            Isolation::Destinations => destination,
            // The two ends must not cancel out.
            Isolation::Hosts => self.salted(source) ^ destination,
            _ => packet.flow_hash,
        })
    }

    fn salted(&self, hash: u32) -> u32 {
        (gamelane_core::rng::mix(u64::from(hash) ^ self.salt) >> 32) as u32
    }

    /// Returns the index of the packet's host at one end: its own entry, else one without bulk flows, else a shared
    /// one.
    fn host(&mut self, end: usize, packet: &PacketMeta) -> u32 {
        let tag = self.salted(packet.hosts[end]);
        let hosts = &mut self.hosts[end];
        let mut ways = ways(tag);
        let own = ways.clone().find(|&way| hosts[way as usize].tag == tag);
        let place =
            own.or_else(|| ways.find(|&way| hosts[way as usize].bulk_flows == 0)).unwrap_or(tag % QUEUES);
        hosts[place as usize].tag = tag;
        place
    }

    /// Assigns the hosts of `packet` to a flow queue.
    fn settle(&mut self, index: u32, packet: &PacketMeta) {
        for end in 0..2 {
            if self.isolation.ends()[end] {
                self.flows[index as usize].hosts[end] = self.host(end, packet);
            }
        }
    }

    fn become_load(&mut self, index: u32, load: Load) {
        let flow = &mut self.flows[index as usize];
        let (was, is) = (flow.load == Load::Bulk, load == Load::Bulk);
        flow.load = load;
        if was == is {
            return;
        }
        let step = |count: &mut u32| *count = if is { *count + 1 } else { *count - 1 };
        step(&mut self.bulk_flows);
        for (end, told_apart) in self.isolation.ends().into_iter().enumerate() {
            if told_apart {
                step(&mut self.hosts[end][flow.hosts[end] as usize].bulk_flows);
            }
        }
    }
}

/// Indices of the eight ways of a set, beginning with the one that the hash selects.
fn ways(hash: u32) -> impl Iterator<Item = u32> + Clone {
    let (index, set) = (hash % WAYS, hash % QUEUES / WAYS * WAYS);
    (0..WAYS).map(move |step| set + (index + step) % WAYS)
}

impl FlowSelector for CakeFlows {
    fn select(&mut self, packet: &PacketMeta, is_idle: impl Fn(u32) -> bool) -> u32 {
        let tag = self.tag(packet);
        let direct = tag % QUEUES;
        if self.flows[direct as usize].tag == tag && !is_idle(direct) {
            return direct;
        }
        let flows = &self.flows;
        if let Some(index) = ways(tag).find(|&way| flows[way as usize].tag == tag) {
            if is_idle(index) {
                self.settle(index, packet);
            }
            return index;
        }
        if let Some(index) = ways(tag).find(|&way| is_idle(way)) {
            self.flows[index as usize].tag = tag;
            self.settle(index, packet);
            return index;
        }
        // All eight ways are in use: share the one that the hash selects. It now counts for the hosts of this packet.
        let load = self.flows[direct as usize].load;
        self.become_load(direct, Load::Sparse);
        self.flows[direct as usize].tag = tag;
        self.settle(direct, packet);
        self.become_load(direct, load);
        direct
    }

    fn joined(&mut self, index: u32) {
        if self.flows[index as usize].load == Load::Waiting {
            self.become_load(index, Load::Bulk);
        }
    }

    fn spent(&mut self, index: u32, waiting: bool) {
        if self.flows[index as usize].load == Load::Sparse {
            self.become_load(index, if waiting { Load::Bulk } else { Load::Waiting });
        }
    }

    fn left(&mut self, index: u32) {
        self.become_load(index, Load::Sparse);
    }

    fn quantum(&mut self, index: u32, due: u32) -> u32 {
        let flow = self.flows[index as usize];
        let bulk_flows =
            |end: usize| self.hosts[end].get(flow.hosts[end] as usize).map_or(0, |host| host.bulk_flows);
        let load = u64::from(bulk_flows(0).max(bulk_flows(1)).max(1));
        if load == 1 {
            return due;
        }
        // Round up or down at random, so that the mean is exact.
        let share = u64::from(due) << 16;
        (((share / load) + (self.dither.bits() & 0xffff)) >> 16).max(1) as u32
    }

    fn drops_are_charged(&self) -> Option<u32> {
        self.ingress.then_some(self.bulk_flows)
    }

    fn charge(&self, len: IpLen, _header: u32) -> u32 {
        self.overhead.wire_len(len).0
    }
}
