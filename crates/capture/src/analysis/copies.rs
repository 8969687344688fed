//! Packets that a capture has several times. A capture of all interfaces of a router or bridge has each packet once for
//! each interface, and a mirror port may have it twice. The first sighting is analysed. Together the first sightings
//! are one capture point: the router before its queues. The others tell how long the packet took inside.
//!
//! A packet is known by its content hash. The k-th packet of one content at a place is a copy if another place had k of
//! them already. At one and the same place it is a copy if it comes shortly after the first. Packets of the last
//! seconds are remembered, in bounded memory.

use crate::packet::{CapturedPacket, CapturedTransport};

/// Recently seen packets of all flows.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// Sets of entries; a content has its place in one of them.
    sets: Vec<[Entry; WAYS]>,
    places: Vec<(u32, Option<bool>)>,
}

/// Index of a place: an interface, or the way in or out of it.
pub(super) type PlaceIndex = u8;

/// What a packet is, by the packets before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// The packet itself.
    First,
    /// A copy of a packet that passed another place this long ago.
    Copy { after_ns: u64 },
    /// The packet again at the same place.
    Repeated,
}

/// Flow and direction of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) flow: u32,
    pub(super) direction: u8,
}

/// One content.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    content: u64,
    /// Time of the latest first sighting.
    first_ns: u64,
    owner: Owner,
    /// Places, and how many packets of this content each had.
    counts: [(PlaceIndex, u8); PLACES],
}

impl Entry {
    const fn is_used(&self) -> bool {
        self.counts[0].1 > 0
    }

    fn count(&self, place: PlaceIndex) -> u8 {
        self.counts.iter().find(|count| count.0 == place && count.1 > 0).map_or(0, |count| count.1)
    }

    fn most_elsewhere(&self, place: PlaceIndex) -> u8 {
        self.counts.iter().filter(|count| count.0 != place).map(|count| count.1).max().unwrap_or(0)
    }

    fn add(&mut self, place: PlaceIndex) {
        let known = |count: &&mut (PlaceIndex, u8)| count.1 == 0 || count.0 == place;
        if let Some(count) = self.counts.iter_mut().find(known) {
            *count = (place, count.1.saturating_add(1));
        }
    }
}

impl Copies {
    /// Returns the place of a packet.
    #[inline]
    pub(super) fn place(&mut self, packet: &CapturedPacket) -> PlaceIndex {
        let place = (packet.interface, packet.outgoing);
        match self.places.iter().position(|known| *known == place) {
            Some(at) => at as PlaceIndex,
            None => self.new_place(place),
        }
    }

    #[cold]
    fn new_place(&mut self, place: (u32, Option<bool>)) -> PlaceIndex {
        if self.places.len() <= usize::from(PlaceIndex::MAX) {
            self.places.push(place);
        }
        // Copies at another place come after a queue, so more packets have to be remembered.
        let sets = if self.places.len() == 1 { SETS_ONE_PLACE } else { SETS };
        if self.sets.len() < sets {
            let known = std::mem::replace(&mut self.sets, vec![[Entry::default(); WAYS]; sets]);
            for entry in known.into_iter().flatten().filter(Entry::is_used) {
                *oldest(self.set(entry.content)) = entry;
            }
        }
        (self.places.len() - 1) as PlaceIndex
    }

    /// Number of places so far.
    pub(super) const fn places(&self) -> usize {
        self.places.len()
    }

    /// Handles a packet of `owner` at `place`. `is_mirrored` is true for a flow of which every packet passes twice.
    #[inline]
    pub(super) fn saw(
        &mut self,
        packet: &CapturedPacket,
        owner: Owner,
        place: PlaceIndex,
        at_ns: u64,
        is_mirrored: bool,
    ) -> Sight {
        let set = self.set(packet.content);
        let is_it =
            |entry: &&mut Entry| entry.content == packet.content && entry.owner == owner && entry.is_used();
        if let Some(entry) = set.iter_mut().find(is_it) {
            return entry.again(packet, place, at_ns, is_mirrored);
        }
        let mut counts = [(0, 0); PLACES];
        counts[0] = (place, 1);
        *oldest(set) = Entry { content: packet.content, first_ns: at_ns, owner, counts };
        Sight::First
    }

    /// Returns another flow that had a packet of this content at another place, but not at this one.
    pub(super) fn elsewhere(
        &mut self,
        packet: &CapturedPacket,
        place: PlaceIndex,
        at_ns: u64,
    ) -> Option<Owner> {
        let is_it = |entry: &&Entry| {
            entry.content == packet.content
                && entry.is_used()
                && entry.count(place) == 0
                && at_ns.saturating_sub(entry.first_ns) <= REMEMBERED_NS
        };
        self.set(packet.content).iter().find(is_it).map(|entry| entry.owner)
    }

    fn set(&mut self, content: u64) -> &mut [Entry; WAYS] {
        let at = content as usize & (self.sets.len() - 1);
        &mut self.sets[at]
    }
}

impl Entry {
    fn again(&mut self, packet: &CapturedPacket, place: PlaceIndex, at_ns: u64, is_mirrored: bool) -> Sight {
        let after_ns = at_ns.saturating_sub(self.first_ns);
        if after_ns > REMEMBERED_NS {
            self.counts = [(0, 0); PLACES];
        }
        let here = self.count(place);
        if here < self.most_elsewhere(place) {
            self.add(place);
            return Sight::Copy { after_ns };
        }
        if here > 0 && same_place_ns(packet, is_mirrored).is_some_and(|limit| after_ns <= limit) {
            return Sight::Repeated;
        }
        self.add(place);
        self.first_ns = at_ns;
        Sight::First
    }
}

/// Returns an empty entry, or the one with the oldest packet.
fn oldest(set: &mut [Entry; WAYS]) -> &mut Entry {
    set.iter_mut().min_by_key(|entry| (entry.is_used(), entry.first_ns)).expect("a set has entries")
}

/// Maximum time between two sightings of a packet at one place; `None` if they cannot be told from two packets. Senders
/// count the identification up, so an equal one means the same packet. Without it, TCP data and messages do not repeat
/// so soon, but equal ACKs may.
const fn same_place_ns(packet: &CapturedPacket, is_mirrored: bool) -> Option<u64> {
    match packet.transport {
        CapturedTransport::LaterFragment => None,
        _ if packet.identification != 0 => Some(50_000_000),
        _ if packet.payload_len > 0 || is_mirrored => Some(2_000_000),
        _ => None,
    }
}

/// Time for which packets are remembered. Queues of seconds exist.
const REMEMBERED_NS: u64 = 20_000_000_000;
/// Places of one packet: both sides of a router and its bridge, in and out.
const PLACES: usize = 6;
/// Entries in a set.
const WAYS: usize = 4;
/// Number of sets, a power of two: 640 KiB.
const SETS_ONE_PLACE: usize = 1 << 12;
/// Number of sets with several places: 10 MiB, 10 s of 26,000 packets per second.
const SETS: usize = 1 << 16;
