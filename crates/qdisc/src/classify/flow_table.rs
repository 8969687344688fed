//! Table of the flows that a gateway watches. It has a fixed size and is eight-way set-associative; no packet and no
//! new flow allocates memory.
//!
//! A new flow in a full set replaces another one: first a flow without recent packets, then one with a single packet,
//! then any other, and a game or call last. Among equals it replaces the flow not seen for the longest time. So a flood
//! of new flows, such as a port scan, replaces mainly its own entries.

use alloc::vec;
use alloc::vec::Vec;
use gamelane_core::{Direction, Duration, FlowKey, Instant, PacketMeta};

use super::behaviour::{Behaviour, BehaviourParameters, Verdict};
use super::window::{Rhythm, Tally};

/// Number of ways in a set.
const WAYS: usize = 8;

/// Parameters of the flow table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowTableParameters {
    /// Number of conversations in the table, rounded up to whole sets (4096, about 1 MB of memory).
    pub flows: u32,
    /// Length of an observation window (1 s).
    pub window: Duration,
    /// Idle time after which a flow is treated as a new one (30 s).
    pub forget_after: Duration,
    /// Conditions of a game or a call.
    pub behaviour: BehaviourParameters,
    /// Salt of the hash, so that an attacker cannot choose a set.
    pub salt: u64,
}

impl Default for FlowTableParameters {
    fn default() -> Self {
        Self {
            flows: 4096,
            window: Duration::from_secs(1),
            forget_after: Duration::from_secs(30),
            behaviour: BehaviourParameters::default(),
            salt: 0,
        }
    }
}

/// Observations about the flow of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowView {
    /// The flow in the packet's direction over the last finished window; `None` during the first window.
    pub rhythm: Option<Rhythm>,
    /// Behaviour of the conversation, both directions together.
    pub behaviour: Behaviour,
}

#[derive(Clone, Copy, Debug, Default)]
struct Conversation {
    /// All 64 bits of the hash.
    tag: u64,
    /// Start of the present window; `None` for a free entry.
    opened: Option<Instant>,
    seen: Instant,
    /// Whether the flow has had more than one packet.
    repeated: bool,
    tallies: [Tally; 2],
    rhythms: Option<[Rhythm; 2]>,
    verdict: Verdict,
}

/// The flow table.
#[derive(Clone, Debug)]
pub struct FlowTable {
    parameters: FlowTableParameters,
    conversations: Vec<Conversation>,
    sets: usize,
}

impl FlowTable {
    /// Makes an empty table.
    pub fn new(parameters: FlowTableParameters) -> Self {
        let sets = (parameters.flows as usize).div_ceil(WAYS).max(1);
        Self { parameters, conversations: vec![Conversation::default(); sets * WAYS], sets }
    }

    /// Judges by these conditions from now on.
    pub const fn judge_by(&mut self, behaviour: BehaviourParameters) {
        self.parameters.behaviour = behaviour;
    }

    /// Counts a packet and returns the observations about its flow.
    pub fn observe(
        &mut self,
        meta: &PacketMeta,
        key: &FlowKey,
        direction: Direction,
        now: Instant,
    ) -> FlowView {
        let tag = gamelane_core::rng::mix(u64::from(key.conversation_hash()) ^ self.parameters.salt);
        let set = (((tag >> 32) * self.sets as u64) >> 32) as usize;
        let ways = &mut self.conversations[set * WAYS..(set + 1) * WAYS];
        let known = ways.iter().position(|way| way.opened.is_some() && way.tag == tag);
        let (way, known) = match known {
            Some(way) => (way, now.saturating_since(ways[way].seen) <= self.parameters.forget_after),
            None => (self.parameters.victim(ways, now), false),
        };
        let conversation = &mut ways[way];
        conversation.repeated = known;
        if !known {
            *conversation = Conversation { tag, opened: Some(now), ..Conversation::default() };
        }
        conversation.seen = now;
        let open = now.saturating_since(conversation.opened.unwrap_or(now));
        if open >= self.parameters.window {
            let rhythms = conversation.tallies.each_mut().map(|tally| tally.close(open));
            conversation.verdict.judge(&self.parameters.behaviour, meta.protocol, &rhythms);
            conversation.rhythms = Some(rhythms);
            conversation.opened = Some(now);
        }
        conversation.tallies[direction.index()].add(meta.len, now);
        FlowView {
            rhythm: conversation.rhythms.map(|rhythms| rhythms[direction.index()]),
            behaviour: conversation.verdict.behaviour,
        }
    }
}

impl FlowTableParameters {
    /// Returns the index of a free entry in the set, or else of the entry to replace.
    fn victim(&self, ways: &[Conversation], now: Instant) -> usize {
        let worth = |way: &Conversation| match way {
            Conversation { opened: None, .. } => Worth::Free,
            _ if now.saturating_since(way.seen) > self.window * SILENT_WINDOWS => Worth::Silent,
            Conversation { repeated: false, .. } => Worth::HeardOnce,
            _ if way.verdict.behaviour == Behaviour::RealTime => Worth::RealTime,
            _ => Worth::Heard,
        };
        (0..ways.len()).min_by_key(|&index| (worth(&ways[index]), ways[index].seen)).unwrap_or(0)
    }
}

/// Value of an entry when a set is full. The lowest is replaced first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    Free,
    Silent,
    HeardOnce,
    Heard,
    RealTime,
}

/// Number of windows without a packet after which a flow counts as silent.
const SILENT_WINDOWS: u64 = 5;
