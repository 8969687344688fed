//! What the gateway knows of each flow because it passed here: queueing delays, drops with reasons, the rhythm of packets, TCP round
//! trips. The table has a fixed size and is eight-way associative. A silent conversation is evicted first, then one with a single
//! packet, then one that is not a game. Memory is reserved at the start, but used only as conversations come.

pub mod recent;
pub mod round_trip;
pub mod ticks;

use gamelane_core::rng::mix;
use gamelane_core::{
    ByteCount, ClassId, Direction, DropCounts, DropReason, Duration, FlowId, FlowKey, Instant, PacketMeta,
};
use gamelane_device::{Headers, at_home};
use gamelane_qdisc::classify::{Behaviour, BehaviourParameters, FlowTable, FlowTableParameters};
use gamelane_service::histogram::Fine;
use gamelane_stage::Echo;

use recent::Recent;
use round_trip::RoundTrips;
use ticks::Ticks;

/// A conversation.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// 5-tuple as the home sends it.
    pub key: FlowKey,
    /// When its last packet arrived.
    pub seen: Instant,
    /// Whether that was its only packet.
    pub is_first: bool,
    /// What it behaves like: a game or call, or something else.
    pub behaviour: Behaviour,
    /// Class of its last packet.
    pub class: ClassId,
    /// Each direction, indexed by [`Direction::index`].
    pub ways: [Way; 2],
    /// Round trips of TCP with timestamps.
    pub round_trips: RoundTrips,
    /// Round trips from the gateway's queue on, for shapers that follow their link.
    pub echo: Echo,
}

/// One direction of a conversation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Way {
    /// Packets that left.
    pub packets: u64,
    /// IP bytes that left.
    pub bytes: ByteCount,
    /// Packets dropped.
    pub drops: DropCounts,
    /// Packets marked.
    pub marks: u64,
    /// Queueing delay of packets that left.
    pub sojourn: Fine<u32>,
    /// Queueing delays and drops of the last seconds.
    pub recent: Recent,
    /// Rhythm of packets as they arrive.
    pub arriving: Ticks,
    /// Rhythm of packets as they leave.
    pub leaving: Ticks,
}

/// Packets that leave at once.
#[derive(Clone, Copy, Debug)]
pub struct Passed {
    /// How many.
    pub packets: u32,
    /// IP bytes of all.
    pub bytes: ByteCount,
    /// Time in the queue.
    pub sojourn: Duration,
}

/// The table of conversations.
#[derive(Debug)]
pub struct Truth {
    /// Index into `known` of the conversation at each place, or [`EMPTY`].
    places: Box<[u32]>,
    known: Vec<Conversation>,
    sets: usize,
    salt: u64,
    behaviours: FlowTable,
    /// Conversations evicted.
    forgotten: u64,
}

const WAYS: usize = 8;

impl Truth {
    /// Makes room for `conversations`. `salt` prevents an attacker who knows the hash from filling one set.
    pub fn new(conversations: usize, salt: u64) -> Self {
        let sets = conversations.div_ceil(WAYS).max(1);
        let flows = u32::try_from(conversations).unwrap_or(u32::MAX);
        Self {
            places: vec![EMPTY; sets * WAYS].into(),
            known: Vec::with_capacity(sets * WAYS),
            sets,
            salt,
            behaviours: FlowTable::new(FlowTableParameters { flows, salt, ..FlowTableParameters::default() }),
            forgotten: 0,
        }
    }

    /// Judges what conversations behave like by these conditions from now on.
    pub const fn judge_by(&mut self, behaviour: BehaviourParameters) {
        self.behaviours.judge_by(behaviour);
    }

    /// Notes a packet that arrives. Returns its conversation's place, to be kept in [`PacketMeta::flow`].
    pub fn arrived(
        &mut self,
        headers: &Headers,
        meta: &PacketMeta,
        direction: Direction,
        now: Instant,
    ) -> FlowId {
        let Some(ip) = &headers.ip else { return NOBODY };
        let key = at_home(ip.key, direction);
        let behaviour = self.behaviours.observe(meta, &ip.key, direction, now).behaviour;
        let (place, is_new) = self.place(&key, now);
        if is_new {
            self.begin(place, key, now);
        }
        let conversation = &mut self.known[self.places[place] as usize];
        conversation.is_first = is_new;
        conversation.seen = now;
        conversation.behaviour = behaviour;
        conversation.class = meta.class;
        conversation.ways[direction.index()].arriving.record(now);
        if let Some(tcp) = &ip.tcp {
            conversation.round_trips.record(tcp, direction, now);
        }
        FlowId(place as u32)
    }

    /// Notes that a packet leaves, or several of a flow at once, of which `meta` describes one.
    pub fn left(&mut self, meta: &PacketMeta, direction: Direction, passed: &Passed, now: Instant) {
        if let Some(way) = self.way(meta, direction) {
            way.packets += u64::from(passed.packets);
            way.bytes += passed.bytes;
            way.sojourn.record_many(passed.sojourn, passed.packets);
            way.recent.left(passed, now);
            way.leaving.record(now);
        }
    }

    /// Notes that packets are dropped.
    pub fn dropped(
        &mut self,
        meta: &PacketMeta,
        direction: Direction,
        reason: DropReason,
        packets: u32,
        now: Instant,
    ) {
        if let Some(way) = self.way(meta, direction) {
            way.drops.add_many(reason, packets.into());
            way.recent.dropped(packets, now);
        }
    }

    /// Notes that packets are marked.
    pub fn marked(&mut self, meta: &PacketMeta, direction: Direction, packets: u32) {
        if let Some(way) = self.way(meta, direction) {
            way.marks += u64::from(packets);
        }
    }

    /// The conversation that filled most of the queue in the last seconds, without that of `other`, and its share of what waited
    /// there, in bytes and time.
    pub fn holder(
        &self,
        other: &FlowKey,
        direction: Direction,
        now: Instant,
    ) -> Option<(&Conversation, f64)> {
        let held = |known: &Conversation| known.ways[direction.index()].recent.held(now);
        let all: u64 = self.conversations().map(held).sum();
        let most =
            self.conversations().filter(|known| known.key != *other).max_by_key(|known| held(known))?;
        (all > 0).then(|| (most, held(most) as f64 / all as f64))
    }

    /// All known conversations, in no order.
    pub fn conversations(&self) -> impl Iterator<Item = &Conversation> {
        self.known.iter()
    }

    /// Number of conversations evicted.
    pub const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Returns the conversation of a packet that was queued before; `None` if another has its place by now.
    pub fn conversation_of(&mut self, meta: &PacketMeta, direction: Direction) -> Option<&mut Conversation> {
        let conversation = self.known.get_mut(*self.places.get(meta.flow.index())? as usize)?;
        let key = at_home(conversation.key, direction);
        (key.hash() == meta.flow_hash).then_some(conversation)
    }

    fn way(&mut self, meta: &PacketMeta, direction: Direction) -> Option<&mut Way> {
        Some(&mut self.conversation_of(meta, direction)?.ways[direction.index()])
    }

    /// The place of a conversation, and whether it is new there.
    fn place(&self, key: &FlowKey, now: Instant) -> (usize, bool) {
        let hash = mix(u64::from(key.hash()) ^ self.salt);
        let first = (((hash >> 32) * self.sets as u64) >> 32) as usize * WAYS;
        let at = |way: usize| self.known.get(self.places[first + way] as usize);
        if let Some(way) = (0..WAYS).find(|way| at(*way).is_some_and(|known| known.key == *key)) {
            return (first + way, false);
        }
        let worth = |known: &Conversation| match known {
            _ if now.saturating_since(known.seen) > SILENT => 0,
            Conversation { is_first: true, .. } => 1,
            Conversation { behaviour: Behaviour::RealTime, .. } => 3,
            _ => 2,
        };
        let keeps = |way: &usize| at(*way).map(|known| (worth(known), known.seen));
        (first + (0..WAYS).min_by_key(keeps).unwrap_or(0), true)
    }

    /// Begins a conversation at a place. One that was there is evicted.
    fn begin(&mut self, place: usize, key: FlowKey, now: Instant) {
        let conversation = Conversation {
            key,
            seen: now,
            is_first: true,
            behaviour: Behaviour::default(),
            class: ClassId::default(),
            ways: [Way::default(); 2],
            round_trips: RoundTrips::default(),
            echo: Echo::default(),
        };
        if let Some(other) = self.known.get_mut(self.places[place] as usize) {
            debug_assert!(other.seen <= now);
            *other = conversation;
            self.forgotten += 1;
        } else {
            self.places[place] = self.known.len() as u32;
            self.known.push(conversation);
        }
    }
}

/// No conversation has this index.
const EMPTY: u32 = u32::MAX;
/// A conversation silent for longer is evicted first.
const SILENT: Duration = Duration::from_secs(5);
/// Place of packets without a conversation.
const NOBODY: FlowId = FlowId(u32::MAX);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_takes_less_than_7_kib() {
        let size = size_of::<Conversation>();
        assert!(size < 7 << 10, "{size} bytes");
    }
}
