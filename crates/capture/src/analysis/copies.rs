//! Packets that a capture has several times. A capture of all interfaces of a router or bridge has each packet once for
//! each interface, and a mirror port may have it twice. The first sighting is analysed. Together the first sightings
//! are one capture point: the router before its queues. The others tell how long the packet took inside.
//!
//! A packet is known by its content hash. The k-th packet of one content at a point is a copy if another point had k of
//! them already. At one and the same point it is a copy if it comes shortly after the first. Packets of the last
//! seconds are remembered, in bounded memory.

use crate::packet::{CapturedPacket, CapturedTransport};

/// Recently seen packets of all flows.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// A content is in one of these.
    sets: Vec<Set>,
    points: Vec<Point>,
}

/// An interface, or the way in or out of it.
#[derive(Debug)]
struct Point {
    interface: u32,
    outgoing: Option<bool>,
    /// Packets that tell whether this is a mirror port.
    telling: u64,
    /// Those of them that passed twice.
    repeated: u64,
    /// Content of the last packet that told.
    last_told: u64,
}

impl Point {
    /// Counts a packet. Returns true if it tells something if it passes twice. One and the same content in a row tells
    /// nothing, because some senders repeat it.
    fn tell(&mut self, packet: &CapturedPacket) -> bool {
        let tells = packet.payload_len > 0 && self.last_told != packet.content;
        self.telling += u64::from(tells);
        self.last_told = packet.content;
        tells
    }

    /// True if the point shows most packets twice.
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

/// Index of a point.
pub(super) type PointIndex = u8;

/// What a packet is, by the packets before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// The packet itself.
    First,
    /// A copy of a packet that passed another point this long ago.
    Copy { after_ns: u64 },
    /// The packet again at the same point.
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
    /// Points, and how many packets of this content each had.
    counts: [(PointIndex, u8); POINTS],
    /// Times that it came again at its point.
    repetitions: u8,
    /// It tells something if it passes twice.
    tells: bool,
}

impl Entry {
    const fn is_used(&self) -> bool {
        self.counts[0].1 > 0
    }

    /// True if further points cannot be counted.
    const fn is_full(&self) -> bool {
        self.counts[POINTS - 1].1 > 0
    }

    fn count(&self, point: PointIndex) -> u8 {
        self.counts.iter().find(|count| count.0 == point && count.1 > 0).map_or(0, |count| count.1)
    }

    fn most_elsewhere(&self, point: PointIndex) -> u8 {
        self.counts.iter().filter(|count| count.0 != point).map(|count| count.1).max().unwrap_or(0)
    }

    fn add(&mut self, point: PointIndex) {
        let known = |count: &&mut (PointIndex, u8)| count.1 == 0 || count.0 == point;
        if let Some(count) = self.counts.iter_mut().find(known) {
            *count = (point, count.1.saturating_add(1));
        }
    }
}

impl Copies {
    /// Returns the point of a packet.
    #[inline]
    pub(super) fn point(&mut self, packet: &CapturedPacket) -> PointIndex {
        let is_it = |known: &Point| known.interface == packet.interface && known.outgoing == packet.outgoing;
        match self.points.iter().position(is_it) {
            Some(at) => at as PointIndex,
            None => self.new_point(packet),
        }
    }

    #[cold]
    fn new_point(&mut self, packet: &CapturedPacket) -> PointIndex {
        if self.points.len() <= usize::from(PointIndex::MAX) {
            let &CapturedPacket { interface, outgoing, .. } = packet;
            self.points.push(Point { interface, outgoing, telling: 0, repeated: 0, last_told: 0 });
        }
        // Copies at another point come after a queue, so more packets have to be remembered.
        let sets = if self.points.len() == 1 { SETS_ONE_POINT } else { SETS };
        if self.sets.len() < sets {
            let known = std::mem::replace(&mut self.sets, vec![Set::default(); sets]);
            for set in known {
                for (content, entry) in set.contents.into_iter().zip(set.entries) {
                    self.set(content).put(content, entry);
                }
            }
        }
        (self.points.len() - 1) as PointIndex
    }

    /// Number of points so far.
    pub(super) const fn points(&self) -> usize {
        self.points.len()
    }

    /// Handles a packet of `owner` at `point`.
    #[inline]
    pub(super) fn saw(
        &mut self,
        packet: &CapturedPacket,
        owner: Owner,
        point: PointIndex,
        at_ns: u64,
        sender: impl FnOnce() -> Sender,
    ) -> Sight {
        let known_by = known_by(packet, owner.flow);
        let at = known_by as usize & (self.sets.len() - 1);
        let (set, here) = (&mut self.sets[at], &mut self.points[usize::from(point)]);
        if let Some(entry) = set.of(known_by).find(|entry| entry.owner == owner) {
            let sight = entry.again(&Again::of(packet, sender()), point, here, at_ns);
            if sight == Sight::First {
                entry.tells = here.tell(packet);
            }
            return sight;
        }
        let tells = here.tell(packet);
        let mut counts = [(0, 0); POINTS];
        counts[0] = (point, 1);
        set.put(known_by, Entry { first_ns: at_ns, owner, counts, repetitions: 0, tells });
        Sight::First
    }

    /// True if the point shows most packets twice.
    pub(super) fn is_mirror(&self, point: PointIndex) -> bool {
        self.points.get(usize::from(point)).is_some_and(Point::is_mirror)
    }

    /// Returns the flow and direction that had this packet at another point, but not at this one. Only an unmistakable
    /// packet is found in any flow, others only in `flow`.
    pub(super) fn elsewhere(
        &mut self,
        packet: &CapturedPacket,
        flow: u32,
        point: PointIndex,
        at_ns: u64,
    ) -> Option<Owner> {
        let known_by = known_by(packet, flow);
        let is_it = |entry: &&mut Entry| {
            entry.is_used()
                && !entry.is_full()
                && entry.count(point) == 0
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
    fn again(&mut self, again: &Again, point: PointIndex, here: &mut Point, at_ns: u64) -> Sight {
        let after_ns = at_ns.saturating_sub(self.first_ns);
        if after_ns > REMEMBERED_NS {
            (self.counts, self.repetitions) = ([(0, 0); POINTS], 0);
        }
        let count = self.count(point);
        // What was repeated on its way in is repeated on its way out.
        let repeated = if self.counts[0].0 == point { 0 } else { self.repetitions };
        if count < self.most_elsewhere(point).saturating_add(repeated) {
            self.add(point);
            return Sight::Copy { after_ns };
        }
        if count > 0 && after_ns <= again.mirrored_ns {
            self.repetitions = self.repetitions.saturating_add(1);
            // A mirror port shows a packet twice, not more often.
            here.repeated += u64::from(self.repetitions == 1 && self.tells && again.is_telling);
            here.telling += u64::from(self.repetitions > 1) * 3;
            if again.surely_ns.is_some_and(|limit| after_ns <= limit) || here.is_mirror() {
                return Sight::Repeated;
            }
        }
        self.add(point);
        (self.first_ns, self.repetitions) = (at_ns, 0);
        Sight::First
    }
}

/// What the sender of a packet is known to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sender {
    /// It counts the identification up. Some always send the same one.
    pub(super) counts_identification: bool,
    /// It knows of a loss, so it may send data again at once.
    pub(super) knows_loss: bool,
}

/// What the same content at the same point means, by the time since the first.
struct Again {
    /// Up to here it is the same packet; `None` if nothing but a mirror port tells.
    surely_ns: Option<u64>,
    /// Up to here it is, if the point is a mirror port.
    mirrored_ns: u64,
    /// It tells that the point is a mirror port.
    is_telling: bool,
}

impl Again {
    /// An equal identification of a sender that counts it up means the same packet. Otherwise, TCP sends the same data
    /// again after a round trip at least, but equal ACKs and messages may follow each other at once.
    const fn of(packet: &CapturedPacket, sender: Sender) -> Self {
        let is_tcp = matches!(packet.transport, CapturedTransport::Tcp(_));
        let is_telling = packet.payload_len > 0 && !sender.knows_loss;
        let (surely_ns, mirrored_ns) = match packet.transport {
            CapturedTransport::LaterFragment => (None, 0),
            _ if packet.identification != 0 && (sender.counts_identification || is_tcp) => {
                (Some(SAME_IDENTIFICATION_NS), SAME_IDENTIFICATION_NS)
            }
            _ if is_tcp && packet.payload_len > 0 && !sender.knows_loss => (Some(SAME_DATA_NS), MIRRORED_NS),
            _ => (None, MIRRORED_NS),
        };
        Self { surely_ns, mirrored_ns, is_telling }
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

/// Maximum time between two packets with one identification at one point.
const SAME_IDENTIFICATION_NS: u64 = 5_000_000;
/// The same for TCP data without an identification. It is shorter than the round trip after which data is sent again.
const SAME_DATA_NS: u64 = 300_000;
/// The same for any packet at a mirror port.
const MIRRORED_NS: u64 = 2_000_000;
/// Time for which packets are remembered. Queues of seconds exist.
const REMEMBERED_NS: u64 = 20_000_000_000;
/// Points of one packet: both sides of a router and its bridge, in and out.
const POINTS: usize = 6;
/// Entries in a set. A packet is forgotten too early if that many others of its set come before its copy.
const WAYS: usize = 3;
/// Number of sets, a power of two: 64 KiB. That is 5 ms of 300,000 packets per second.
const SETS_ONE_POINT: usize = 1 << 9;
/// Number of sets with several points: 8 MiB, 7 s of 26,000 packets per second.
const SETS: usize = 1 << 16;
