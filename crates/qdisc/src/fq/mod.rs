//! Flow queueing: deficit round robin over hashed flow queues, new flows first (RFC 8290 section 4), with an AQM law in
//! each queue. FQ-CoDel is `FlowQueues<Codel>` and FQ-PIE is `FlowQueues<Pie>`. A tin of CAKE is `FlowQueues<Cobalt>`
//! with its own [`FlowSelector`]. Left out: Linux's memory limit of 32 MB, which 10,240 packets of 1500 B do not reach.

mod selector;

use alloc::vec::Vec;
use gamelane_core::{DropReason, Instant, Outlet, Packet};

use crate::ack_filter::{self, AckFilterMode};
use crate::aqm::{Aqm, apply};
use crate::config::Limit;
use crate::config::QueueKind;
use crate::discipline::{Backlog, QueueDiscipline};
use crate::facts::{Isolates, QueueDescriptor, QueueFacts, Tc};
use crate::pool::{Chain, PacketPool};

pub use selector::{FlowSelector, Hashed};

/// FQ-CoDel in the catalogue.
pub const FQ_CODEL: QueueDescriptor = QueueDescriptor {
    word: "fq_codel",
    label: "FQ-CoDel",
    about: "One queue per flow, each with CoDel (RFC 8290).",
    keys: &["target", "interval", "ecn", "quantum", "flows"],
    page: "fq",
    facts: QueueFacts {
        isolates: Isolates::Flows,
        plain: Some(QueueKind::FqCodel),
        tc: Tc {
            name: "fq_codel",
            options: &[
                ("limit", "limit"),
                ("target", "target"),
                ("interval", "interval"),
                ("quantum", "quantum"),
                ("flows", "flows"),
                ("ecn", "ecn"),
            ],
        },
    },
};

/// FQ-PIE in the catalogue.
pub const FQ_PIE: QueueDescriptor = QueueDescriptor {
    word: "fq_pie",
    label: "FQ-PIE",
    about: "One queue per flow, each with PIE.",
    keys: &["target", "update", "max_burst", "ecn", "quantum", "flows"],
    page: "fq",
    facts: QueueFacts {
        isolates: Isolates::Flows,
        plain: Some(QueueKind::FqPie),
        tc: Tc {
            name: "fq_pie",
            options: &[
                ("limit", "limit"),
                ("target", "target"),
                ("update", "tupdate"),
                ("quantum", "quantum"),
                ("flows", "flows"),
                ("ecn", "ecn"),
            ],
        },
    },
};

/// Parameters of the scheduler. [`crate::parameters::fq`] has the values of each parameter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqParameters {
    /// Number of flow queues (RFC 8290 section 4.1.2: 1024).
    pub flows: u32,
    /// Limit over all flow queues together.
    pub limit: Limit,
    /// Bytes that a flow may send per round (section 4.1.1: one full frame, 1514).
    pub quantum: u32,
    /// Bytes of link header charged with each packet: 14 (Ethernet) in Linux, 0 in dummynet.
    pub charged_header: u32,
    /// Which packets are dropped when the limit is exceeded.
    pub overload: Overload,
    /// When a new flow whose queue became empty moves to the old list.
    pub requeue_empty_new: Requeue,
    /// Whether a flow with a deficit of exactly zero waits for the next round (RFC and Linux) or still sends
    /// (dummynet).
    pub zero_deficit_waits: bool,
    /// Whether the law of a flow queue is told when the queue becomes active again.
    pub reset_on_reactivation: bool,
    /// Whether the law sees the backlog of all flow queues at dequeue, instead of that of its own queue (Linux
    /// FQ-CoDel).
    pub law_sees_total: bool,
    /// Which redundant ACKs are dropped.
    pub ack_filter: AckFilterMode,
}

impl FqParameters {
    /// Returns whether a flow with this deficit waits for the next round.
    const fn is_spent(&self, deficit: i64) -> bool {
        if self.zero_deficit_waits { deficit <= 0 } else { deficit < 0 }
    }
}

/// Which packets are dropped when the limit is exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overload {
    /// The arriving packet.
    TailDrop,
    /// Packets at the head of the flow queue with the most bytes: at most `batch`, and no more after half its bytes.
    FattestByBytes {
        /// Largest number of packets dropped at once (Linux 64, RFC 8290 one).
        batch: u32,
    },
    /// The packet at the head of the flow queue with the most packets.
    LongestByPackets,
}

/// When a new flow whose queue became empty moves to the end of the old list (RFC 8290 section 4.2). Without this step
/// a flow that sends one packet per round would starve the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requeue {
    /// Always.
    Always,
    /// Only if the old list is not empty (Linux).
    IfOthersWait,
    /// Never (CAKE).
    Never,
}

/// List of the scheduler that a flow queue is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Idle,
    New,
    Old,
    /// Empty, but its law is not at rest ([`Aqm::at_rest`]).
    Decaying,
}

#[derive(Debug)]
struct FlowQueue<A> {
    law: A,
    chain: Chain,
    backlog: Backlog,
    deficit: i64,
    standing: Standing,
    /// Next flow queue in the list.
    next: Option<u32>,
    /// Whether the queue is in `FlowQueues::awake`.
    ticking: bool,
}

/// A singly linked list of flow queues: the indices of its first and last queue.
#[derive(Clone, Copy, Debug, Default)]
struct FlowList {
    ends: Option<(u32, u32)>,
}

/// The flow queueing discipline.
#[derive(Debug)]
pub struct FlowQueues<A, B, S = Hashed> {
    parameters: FqParameters,
    selector: S,
    flows: Vec<FlowQueue<A>>,
    pool: PacketPool<B>,
    new: FlowList,
    old: FlowList,
    decaying: FlowList,
    /// The queue before each one in the list of decaying queues, which queues leave from anywhere.
    before: Vec<Option<u32>>,
    backlog: Backlog,
    /// Indices of flow queues whose law has periodic work.
    awake: Vec<u32>,
    next_tick: Option<Instant>,
}

impl<A: Aqm, B> FlowQueues<A, B> {
    /// Makes empty flow queues. `law` makes the AQM law of each queue; `salt` is mixed into the flow hash.
    pub fn new(parameters: FqParameters, salt: u64, law: impl FnMut(u32) -> A) -> Self {
        Self::with_selector(parameters, Hashed { flows: parameters.flows.max(1), salt }, law)
    }
}

impl<A: Aqm, B, S: FlowSelector> FlowQueues<A, B, S> {
    /// Makes empty flow queues. `law` makes the AQM law of each queue; `selector` selects the queue of a packet.
    pub fn with_selector(parameters: FqParameters, selector: S, mut law: impl FnMut(u32) -> A) -> Self {
        let flows = (0..parameters.flows.max(1))
            .map(|index| FlowQueue {
                law: law(index),
                chain: Chain::EMPTY,
                backlog: Backlog::default(),
                deficit: 0,
                standing: Standing::Idle,
                next: None,
                ticking: false,
            })
            .collect();
        Self {
            parameters,
            selector,
            flows,
            pool: PacketPool::new(),
            new: FlowList::default(),
            old: FlowList::default(),
            decaying: FlowList::default(),
            before: alloc::vec![None; parameters.flows.max(1) as usize],
            backlog: Backlog::default(),
            awake: Vec::with_capacity(parameters.flows as usize),
            next_tick: None,
        }
    }

    /// Gives the queues another quantum, and changes their laws.
    pub(crate) fn retune(&mut self, quantum: u32, change: impl Fn(&mut A)) {
        self.parameters.quantum = quantum;
        self.flows.iter_mut().for_each(|flow| change(&mut flow.law));
    }

    fn flow(&mut self, index: u32) -> &mut FlowQueue<A> {
        &mut self.flows[index as usize]
    }

    /// Drops packets once to make room, as [`FqParameters::overload`] says.
    fn relieve(&mut self, now: Instant, out: &mut dyn Outlet<B>) {
        let (by_bytes, batch) = match self.parameters.overload {
            Overload::TailDrop => return,
            Overload::FattestByBytes { batch } => (true, batch),
            Overload::LongestByPackets => (false, 1),
        };
        let length = |flow: &FlowQueue<A>| {
            if by_bytes { flow.backlog.bytes } else { u64::from(flow.backlog.packets) }
        };
        // Among equally long queues take the first, as Linux and dummynet do.
        let mut longest = 0;
        for (index, flow) in self.flows.iter().enumerate() {
            if length(flow) > length(&self.flows[longest]) {
                longest = index;
            }
        }
        let flow = &mut self.flows[longest];
        let (half, mut dropped, mut bytes) = (flow.backlog.bytes / 2, 0, 0);
        while dropped < batch && (dropped == 0 || bytes < half) {
            let Some(packet) = self.pool.pop(&mut flow.chain) else { break };
            bytes += packet.meta.len.bytes();
            dropped += 1;
            flow.backlog.remove(packet.meta.len);
            self.backlog.remove(packet.meta.len);
            out.dropped(packet, DropReason::Overlimit);
        }
        flow.law.overlimit(dropped, now);
    }

    /// Returns the next packet of one flow queue that its law lets pass; `None` if the queue is empty, or if dropped
    /// packets have used up its quantum.
    fn pop(&mut self, index: u32, now: Instant, out: &mut dyn Outlet<B>) -> Option<Packet<B>> {
        let flow = &mut self.flows[index as usize];
        let charged = self.selector.drops_are_charged();
        if let Some(bulk_flows) = charged {
            flow.law.shared_by(bulk_flows);
        }
        loop {
            let Some(packet) = self.pool.pop(&mut flow.chain) else {
                flow.law.emptied(now);
                return None;
            };
            flow.backlog.remove(packet.meta.len);
            self.backlog.remove(packet.meta.len);
            let seen = if self.parameters.law_sees_total { self.backlog } else { flow.backlog };
            let len = packet.meta.len;
            if let Some(packet) = apply::release(&mut flow.law, packet, seen, now, out) {
                return Some(packet);
            }
            if charged.is_some() {
                flow.deficit -= i64::from(self.selector.charge(len, self.parameters.charged_header));
                if self.parameters.is_spent(flow.deficit) {
                    return None;
                }
            }
        }
    }

    /// Drops the ACK that the ACK just queued makes redundant, if there is one.
    fn filter_acks(&mut self, index: u32, out: &mut dyn Outlet<B>) {
        let flow = &mut self.flows[index as usize];
        let redundant = ack_filter::redundant(&self.pool, flow.chain, self.parameters.ack_filter);
        let packet = redundant.and_then(|place| self.pool.unlink(&mut flow.chain, place));
        if let Some(packet) = packet {
            flow.backlog.remove(packet.meta.len);
            self.backlog.remove(packet.meta.len);
            out.dropped(packet, DropReason::AckFilter);
        }
    }

    /// Returns index and bytes of the longest flow queue. CAKE uses this to limit several schedulers together.
    pub(crate) fn longest(&self) -> Option<(u32, u64)> {
        let mut longest = None;
        for list in [self.new, self.old] {
            let mut next = list.ends.map(|(head, _)| head);
            while let Some(index) = next {
                let flow = &self.flows[index as usize];
                if longest.is_none_or(|(_, bytes)| flow.backlog.bytes > bytes) {
                    longest = Some((index, flow.backlog.bytes));
                }
                next = flow.next;
            }
        }
        longest
    }

    /// Drops the packet at the head of one flow queue to make room.
    pub(crate) fn drop_head(&mut self, index: u32, now: Instant, out: &mut dyn Outlet<B>) {
        let flow = &mut self.flows[index as usize];
        if let Some(packet) = self.pool.pop(&mut flow.chain) {
            flow.backlog.remove(packet.meta.len);
            self.backlog.remove(packet.meta.len);
            flow.law.overlimit(1, now);
            out.dropped(packet, DropReason::Overlimit);
        }
    }

    /// Appends a flow queue to the list of `standing`, if that is a list of the rounds. The queue must not be in a list.
    fn stand(&mut self, index: u32, standing: Standing) {
        let flow = self.flow(index);
        flow.standing = standing;
        flow.next = None;
        let list = match standing {
            Standing::Idle | Standing::Decaying => return,
            Standing::New => &mut self.new,
            Standing::Old => &mut self.old,
        };
        match &mut list.ends {
            None => list.ends = Some((index, index)),
            Some((_, tail)) => {
                self.flows[*tail as usize].next = Some(index);
                *tail = index;
            }
        }
    }

    fn leave_front(&mut self, standing: Standing) {
        let list = if standing == Standing::New { &mut self.new } else { &mut self.old };
        if let Some((head, tail)) = list.ends {
            list.ends = self.flows[head as usize].next.map(|next| (next, tail));
        }
    }

    /// Appends a queue, which must be in no list, to the list of decaying queues.
    fn start_decaying(&mut self, index: u32) {
        self.stand(index, Standing::Decaying);
        let ends = self.decaying.ends;
        self.before[index as usize] = ends.map(|(_, tail)| tail);
        if let Some((_, tail)) = ends {
            self.flow(tail).next = Some(index);
        }
        self.decaying.ends = Some((ends.map_or(index, |(head, _)| head), index));
    }

    /// Takes a queue out of the list of decaying queues.
    fn stop_decaying(&mut self, index: u32) {
        let (next, previous) = (self.flows[index as usize].next, self.before[index as usize]);
        let Some((head, tail)) = self.decaying.ends else { return };
        let (head, tail) = (
            if previous.is_none() { next } else { Some(head) },
            if next.is_none() { previous } else { Some(tail) },
        );
        self.decaying.ends = head.zip(tail);
        if let Some(next) = next {
            self.before[next as usize] = previous;
        }
        if let Some(previous) = previous {
            self.flow(previous).next = next;
        }
    }

    /// Visits one empty queue whose law is not at rest. CAKE does so once per packet.
    pub(crate) fn visit_decaying(&mut self, now: Instant) {
        let Some((index, _)) = self.decaying.ends else { return };
        self.stop_decaying(index);
        self.flow(index).law.emptied(now);
        self.leave(index, now);
    }

    /// Takes an empty queue, which is in no list any more, out of the rounds.
    fn leave(&mut self, index: u32, now: Instant) {
        if self.flow(index).law.at_rest(now) {
            self.stand(index, Standing::Idle);
        } else {
            self.start_decaying(index);
        }
    }

    /// Returns whether any queue takes part in the rounds. It may be empty.
    pub(crate) fn has_rounds(&self) -> bool {
        self.new.ends.is_some() || self.old.ends.is_some()
    }

    /// Starts the periodic work of a flow queue's law, if it has any.
    fn wake(&mut self, index: u32, now: Instant) {
        let flow = &mut self.flows[index as usize];
        if flow.ticking {
            return;
        }
        let Some(ticks) = flow.law.ticks() else { return };
        flow.ticking = true;
        self.awake.push(index);
        if self.next_tick.is_none() {
            self.next_tick = Some(ticks.after(now));
        }
    }
}

impl<A: Aqm, B, S: FlowSelector> QueueDiscipline<B> for FlowQueues<A, B, S> {
    fn enqueue(&mut self, packet: Packet<B>, now: Instant, out: &mut dyn Outlet<B>) {
        let len = packet.meta.len;
        let flows = &self.flows;
        let is_idle = |index: u32| flows[index as usize].standing == Standing::Idle;
        let index = self.selector.select(&packet.meta, is_idle);
        self.wake(index, now);
        if self.parameters.overload == Overload::TailDrop
            && self.backlog.would_exceed(self.parameters.limit, len)
        {
            self.flow(index).law.refused();
            return out.dropped(packet, DropReason::Tail);
        }
        let standing = self.flows[index as usize].standing;
        let reactivated = matches!(standing, Standing::Idle | Standing::Decaying);
        let reset = reactivated && self.parameters.reset_on_reactivation;
        let flow = self.flow(index);
        if reset {
            flow.law.reactivated(now);
        }
        let Some(packet) = apply::admit(&mut flow.law, packet, flow.backlog, now, out) else { return };
        flow.backlog.add(len);
        self.backlog.add(len);
        let filtered = self.parameters.ack_filter != AckFilterMode::Off && packet.meta.is_pure_ack();
        self.pool.push(&mut self.flows[index as usize].chain, packet);
        if filtered {
            self.filter_acks(index, out);
        }
        if reactivated {
            if standing == Standing::Decaying {
                self.stop_decaying(index);
            }
            let quantum = self.selector.quantum(index, self.parameters.quantum);
            self.flow(index).deficit = i64::from(quantum);
            self.stand(index, Standing::New);
        } else {
            self.selector.joined(index);
        }
        while over(self.backlog, self.parameters.limit) {
            self.relieve(now, out);
        }
    }

    fn dequeue(&mut self, now: Instant, out: &mut dyn Outlet<B>) -> Option<Packet<B>> {
        loop {
            let (standing, index) = match (self.new.ends, self.old.ends) {
                (Some((head, _)), _) => (Standing::New, head),
                (None, Some((head, _))) => (Standing::Old, head),
                (None, None) => return None,
            };
            let flow = &mut self.flows[index as usize];
            if self.parameters.is_spent(flow.deficit) {
                self.selector.spent(index, !flow.backlog.is_empty());
                flow.deficit += i64::from(self.selector.quantum(index, self.parameters.quantum));
                self.leave_front(standing);
                self.stand(index, Standing::Old);
                continue;
            }
            if let Some(packet) = self.pop(index, now, out) {
                let charge = self.selector.charge(packet.meta.len, self.parameters.charged_header);
                self.flow(index).deficit -= i64::from(charge);
                return Some(packet);
            }
            // Dropped packets have used up its quantum.
            if self.selector.drops_are_charged().is_some() && !self.flow(index).backlog.is_empty() {
                continue;
            }
            self.leave_front(standing);
            let requeue = standing == Standing::New
                && match self.parameters.requeue_empty_new {
                    Requeue::Always => true,
                    Requeue::IfOthersWait => self.old.ends.is_some(),
                    Requeue::Never => false,
                };
            if requeue {
                self.stand(index, Standing::Old);
            } else {
                self.selector.left(index);
                self.leave(index, now);
            }
            if self.selector.drops_are_charged().is_some() {
                return None;
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.next_tick
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.next_tick.is_none_or(|at| now < at) {
            return;
        }
        self.next_tick = None;
        let mut awake = core::mem::take(&mut self.awake);
        awake.retain(|&index| {
            let flow = &mut self.flows[index as usize];
            flow.ticking = flow.law.tick(flow.backlog, now);
            if flow.ticking && self.next_tick.is_none() {
                self.next_tick = flow.law.ticks().map(|ticks| ticks.after(now));
            }
            flow.ticking
        });
        self.awake = awake;
    }
}

fn over(backlog: Backlog, limit: Limit) -> bool {
    match limit {
        Limit::Packets(packets) => backlog.packets > packets,
        Limit::Bytes(bytes) => backlog.bytes > bytes.bytes(),
    }
}

#[cfg(test)]
mod tests;
