//! Which queue of a tin a flow gets, and its share among hosts: eight-way set-associative hashing, so that flows collide
//! only when nine of them meet, and a quantum divided by the number of bulk flows of the busier of the flow's hosts.

use alloc::vec;
use alloc::vec::Vec;
use gamelane_core::{IpLen, Overhead, PacketMeta, Stream};

use super::config::Isolation;
use crate::fq::{FlowSelector, Selected};

/// Queues of a tin, and hosts it counts on each side.
pub(super) const QUEUES: u32 = 1024;
const WAYS: u32 = 8;

/// How a queue counts against its hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Load {
    /// New, idle, or sending less than its share.
    #[default]
    Sparse,
    /// Used its quantum up with nothing left waiting: bulk if another packet comes before its turn does.
    Waiting,
    /// Sends as much as it can.
    Bulk,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    tag: u32,
    /// Places of its source and destination.
    hosts: [u32; 2],
    load: Load,
}

#[derive(Clone, Copy, Debug, Default)]
struct Host {
    tag: u32,
    bulk_flows: u32,
}

/// The selector of a tin.
#[derive(Debug)]
pub(super) struct CakeFlows {
    isolation: Isolation,
    overhead: Overhead,
    salt: u64,
    flows: Vec<Flow>,
    /// Sources and destinations.
    hosts: [Vec<Host>; 2],
    dither: Stream,
}

impl CakeFlows {
    pub(super) fn new(isolation: Isolation, overhead: Overhead, salt: u64, dither: Stream) -> Self {
        let hosts = isolation.ends().map(|told_apart| if told_apart { QUEUES as usize } else { 0 });
        Self {
            isolation,
            overhead,
            salt,
            flows: vec![Flow::default(); QUEUES as usize],
            hosts: hosts.map(|hosts| vec![Host::default(); hosts]),
            dither,
        }
    }

    fn salted(&self, hash: u32) -> u32 {
        (gamelane_core::rng::mix(u64::from(hash) ^ self.salt) >> 32) as u32
    }

    /// The place of the packet's host at one end: its own, or one without bulk flows, or a shared one.
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

    /// Gives a queue the hosts of `packet`.
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
        for (end, told_apart) in self.isolation.ends().into_iter().enumerate() {
            if told_apart {
                let host = &mut self.hosts[end][flow.hosts[end] as usize];
                host.bulk_flows = if is { host.bulk_flows + 1 } else { host.bulk_flows - 1 };
            }
        }
    }
}

/// The places of a set, from the one the hash names on.
fn ways(hash: u32) -> impl Iterator<Item = u32> + Clone {
    let (index, set) = (hash % WAYS, hash % QUEUES / WAYS * WAYS);
    (0..WAYS).map(move |step| set + (index + step) % WAYS)
}

impl FlowSelector for CakeFlows {
    fn select(&mut self, packet: &PacketMeta, is_idle: impl Fn(u32) -> bool) -> Selected {
        let tag = self.salted(packet.flow_hash);
        let direct = tag % QUEUES;
        if self.flows[direct as usize].tag == tag && !is_idle(direct) {
            return Selected { index: direct, claimed: false };
        }
        let flows = &self.flows;
        if let Some(index) = ways(tag).find(|&way| flows[way as usize].tag == tag) {
            if is_idle(index) {
                self.settle(index, packet);
            }
            return Selected { index, claimed: false };
        }
        if let Some(index) = ways(tag).find(|&way| is_idle(way)) {
            self.flows[index as usize].tag = tag;
            self.settle(index, packet);
            return Selected { index, claimed: true };
        }
        // All eight are taken: share the one the hash names, which from now on counts for the new hosts.
        let load = self.flows[direct as usize].load;
        self.become_load(direct, Load::Sparse);
        self.flows[direct as usize].tag = tag;
        self.settle(direct, packet);
        self.become_load(direct, load);
        Selected { index: direct, claimed: false }
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
        // Rounded up or down at random, so that the mean is exact.
        let share = u64::from(due) << 16;
        (((share / load) + (self.dither.bits() & 0xffff)) >> 16).max(1) as u32
    }

    fn charge(&self, len: IpLen, _header: u32) -> u32 {
        self.overhead.wire_len(len).0
    }
}
