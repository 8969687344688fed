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
    /// A content has its place in one of these.
    sets: Vec<Set>,
    places: Vec<(u32, Option<bool>)>,
}

/// Entries with the same lower bits of their content: two cache lines.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Set {
    contents: [u64; WAYS],
    /// The next entry to replace, which is the oldest.
    next: u8,
    entries: [Entry; WAYS],
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
            let known = std::mem::replace(&mut self.sets, vec![Set::default(); sets]);
            for set in known {
                for (content, entry) in set.contents.into_iter().zip(set.entries) {
                    self.set(content).put(content, entry);
                }
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
        let known_by = known_by(packet, owner.flow);
        let set = self.set(known_by);
        if let Some(entry) = set.of(known_by).find(|entry| entry.owner == owner) {
            return entry.again(packet, place, at_ns, is_mirrored);
        }
        let mut counts = [(0, 0); PLACES];
        counts[0] = (place, 1);
        set.put(known_by, Entry { first_ns: at_ns, owner, counts });
        Sight::First
    }

    /// Returns the flow and direction that had this packet at another place, but not at this one. Only an unmistakable
    /// packet is found in any flow, others only in `flow`.
    pub(super) fn elsewhere(
        &mut self,
        packet: &CapturedPacket,
        flow: u32,
        place: PlaceIndex,
        at_ns: u64,
    ) -> Option<Owner> {
        let known_by = known_by(packet, flow);
        let is_it = |entry: &&mut Entry| {
            entry.is_used()
                && entry.count(place) == 0
                && at_ns.saturating_sub(entry.first_ns) <= REMEMBERED_NS
        };
        self.set(known_by).of(known_by).find(is_it).map(|entry| entry.owner)
    }

    fn set(&mut self, known_by: u64) -> &mut Set {
        let at = known_by as usize & (self.sets.len() - 1);
        &mut self.sets[at]
    }
}

impl Set {
    fn of(&mut self, content: u64) -> impl Iterator<Item = &mut Entry> {
        let same = move |(of, entry)| (of == content).then_some(entry);
        self.contents.into_iter().zip(&mut self.entries).filter_map(same)
    }

    fn put(&mut self, content: u64, entry: Entry) {
        let at = usize::from(self.next) % WAYS;
        (self.contents[at], self.entries[at]) = (content, entry);
        self.next = (self.next + 1) % WAYS as u8;
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

/// What a packet is known by. Equal messages to several players are told apart by their flows.
const fn known_by(packet: &CapturedPacket, flow: u32) -> u64 {
    let apart =
        if is_unmistakable(packet) { 0 } else { (flow as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) };
    packet.content ^ apart
}

/// True if two packets with this content are surely the same packet, even if their addresses differ.
pub(super) const fn is_unmistakable(packet: &CapturedPacket) -> bool {
    packet.identification != 0 || matches!(packet.transport, CapturedTransport::Tcp(_))
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
/// Entries in a set. A packet is forgotten too early if that many others of its set come before its copy.
const WAYS: usize = 3;
/// Number of sets, a power of two: 512 KiB.
const SETS_ONE_PLACE: usize = 1 << 12;
/// Number of sets with several places: 8 MiB, 7 s of 26,000 packets per second.
const SETS: usize = 1 << 16;
