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
    places: Vec<Place>,
}

/// An interface, or the way in or out of it.
#[derive(Debug)]
struct Place {
    interface: u32,
    outgoing: Option<bool>,
    /// Packets that show whether this is a mirror port.
    telling: u64,
    /// Those of them that passed twice.
    repeated: u64,
}

impl Place {
    /// True if the place shows most packets twice.
    const fn is_mirror(&self) -> bool {
        self.repeated >= 4 && self.repeated * 3 >= self.telling
    }
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

/// Index of a place.
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
        let is_it = |known: &Place| known.interface == packet.interface && known.outgoing == packet.outgoing;
        match self.places.iter().position(is_it) {
            Some(at) => at as PlaceIndex,
            None => self.new_place(packet),
        }
    }

    #[cold]
    fn new_place(&mut self, packet: &CapturedPacket) -> PlaceIndex {
        if self.places.len() <= usize::from(PlaceIndex::MAX) {
            let &CapturedPacket { interface, outgoing, .. } = packet;
            self.places.push(Place { interface, outgoing, telling: 0, repeated: 0 });
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

    /// Handles a packet of `owner` at `place`. `is_counted` is true if its sender counts the identification up.
    #[inline]
    pub(super) fn saw(
        &mut self,
        packet: &CapturedPacket,
        owner: Owner,
        place: PlaceIndex,
        at_ns: u64,
        is_counted: bool,
    ) -> Sight {
        let again = Again::of(packet, is_counted);
        let known_by = known_by(packet, owner.flow);
        let at = known_by as usize & (self.sets.len() - 1);
        let (set, here) = (&mut self.sets[at], &mut self.places[usize::from(place)]);
        here.telling += u64::from(again.is_telling);
        if let Some(entry) = set.of(known_by).find(|entry| entry.owner == owner) {
            return entry.again(&again, place, here, at_ns);
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
    fn again(&mut self, again: &Again, place: PlaceIndex, here: &mut Place, at_ns: u64) -> Sight {
        let after_ns = at_ns.saturating_sub(self.first_ns);
        if after_ns > REMEMBERED_NS {
            self.counts = [(0, 0); PLACES];
        }
        let count = self.count(place);
        if count < self.most_elsewhere(place) {
            self.add(place);
            return Sight::Copy { after_ns };
        }
        if count > 0 && after_ns <= again.mirrored_ns {
            here.repeated += u64::from(again.is_telling);
            if again.surely_ns > 0 && after_ns <= again.surely_ns || here.is_mirror() {
                return Sight::Repeated;
            }
        }
        self.add(place);
        self.first_ns = at_ns;
        Sight::First
    }
}

/// What the same content at the same place means, by the time since the first.
struct Again {
    /// Up to here it is the same packet.
    surely_ns: u64,
    /// Up to here it is, if the place is a mirror port.
    mirrored_ns: u64,
    /// A repetition shows that the place is a mirror port.
    is_telling: bool,
}

impl Again {
    /// An equal identification of a sender that counts it up means the same packet. Otherwise, TCP sends the same data
    /// again after a round trip at least, but equal ACKs and messages may follow each other at once.
    const fn of(packet: &CapturedPacket, is_counted: bool) -> Self {
        let is_tcp = matches!(packet.transport, CapturedTransport::Tcp(_));
        match packet.transport {
            CapturedTransport::LaterFragment => Self { surely_ns: 0, mirrored_ns: 0, is_telling: false },
            _ if packet.identification != 0 && (is_counted || is_tcp) => {
                Self { surely_ns: 5_000_000, mirrored_ns: 5_000_000, is_telling: true }
            }
            _ if is_tcp && packet.payload_len > 0 => {
                Self { surely_ns: 300_000, mirrored_ns: 2_000_000, is_telling: true }
            }
            _ => Self { surely_ns: 0, mirrored_ns: 2_000_000, is_telling: false },
        }
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
