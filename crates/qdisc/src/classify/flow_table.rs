//! The flows a gateway watches: a table of fixed size, eight ways to a set. A flow that needs a place takes that of one that has
//! fallen silent, then of one heard once, then of others, and of a game only if nothing else is there; among equals the least
//! recently seen. So a flood of new flows (a scan, a swarm) pushes out its own. Nothing is allocated per packet or flow.

use alloc::vec;
use alloc::vec::Vec;
use gamelane_core::{Direction, Duration, FlowKey, Instant, PacketMeta};

use super::behaviour::{Behaviour, BehaviourParameters, Verdict};
use super::window::{Rhythm, Tally};

/// Ways in a set.
const WAYS: usize = 8;

/// How flows are watched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowTableParameters {
    /// Conversations remembered, rounded up to a whole number of sets (4096: some 1 MB).
    pub flows: u32,
    /// Length of a window (1 s).
    pub window: Duration,
    /// A flow silent for longer begins anew (30 s).
    pub forget_after: Duration,
    /// What counts as a game or a call.
    pub behaviour: BehaviourParameters,
    /// Perturbs the hash.
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

/// What is known of a packet's flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowView {
    /// The packet's direction over the last whole window; `None` in the first.
    pub rhythm: Option<Rhythm>,
    /// What the conversation behaves like.
    pub behaviour: Behaviour,
}

#[derive(Clone, Copy, Debug, Default)]
struct Conversation {
    /// The whole hash; 0 with `opened` unset is a free place.
    tag: u64,
    /// When the present window opened; `None` is a free place.
    opened: Option<Instant>,
    seen: Instant,
    /// Heard more than once.
    repeated: bool,
    tallies: [Tally; 2],
    rhythms: Option<[Rhythm; 2]>,
    verdict: Verdict,
}

/// The table.
#[derive(Clone, Debug)]
pub struct FlowTable {
    parameters: FlowTableParameters,
    conversations: Vec<Conversation>,
    sets: usize,
}

impl FlowTable {
    /// An empty table.
    pub fn new(parameters: FlowTableParameters) -> Self {
        let sets = (parameters.flows as usize).div_ceil(WAYS).max(1);
        Self { parameters, conversations: vec![Conversation::default(); sets * WAYS], sets }
    }

    /// Counts a packet in and says what is known of its flow.
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
    /// A free place, or the one to be given up.
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

/// Why a flow keeps its place, least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    Free,
    Silent,
    HeardOnce,
    Heard,
    RealTime,
}

/// Windows without a packet after which a flow's place is free for others.
const SILENT_WINDOWS: u64 = 5;
