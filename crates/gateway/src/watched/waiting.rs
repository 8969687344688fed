//! The packets that wait. The kernel names a packet by its address, which another has when this one is gone. A large packet that is
//! split is gone then, and leaves as segments with other names. They are known by their flow, whose packets leave in order.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use gamelane_core::rng::mix;
use gamelane_core::{Direction, Duration, Instant, PacketMeta};
use hashbrown::HashMap;

use super::Packet;

/// Hash of a flow, and the index of its direction.
type Flow = (u32, usize);
/// By name of the kernel.
type ByName<T> = HashMap<u64, T, BuildHasherDefault<Mixed>>;

/// Large packets of a flow with their names, oldest first.
type LargePackets = VecDeque<(u64, Packet)>;

/// How a large packet, or a segment of one, ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    flow: Flow,
    is_dropped: bool,
}

impl End {
    pub(super) const fn new(meta: &PacketMeta, direction: Direction, is_dropped: bool) -> Self {
        Self { flow: (meta.flow_hash, direction.index()), is_dropped }
    }

    /// A flow leaves in order: what came long before a packet that leaves is gone. What came just before may have been dropped, and
    /// its end be seen later. Returns the place of that packet then.
    fn forget_before(self, packets: &mut LargePackets, at: usize, gone: &mut Vec<Packet>) -> usize {
        let Some((_, Packet { came, .. })) = packets.get(at).filter(|_| !self.is_dropped) else { return at };
        let is_long_before = |packet: &Packet| came.saturating_since(packet.came) > LATEST_END;
        let over = packets.iter().take(at).take_while(|(_, packet)| is_long_before(packet)).count();
        gone.extend(packets.drain(..over).map(|(_, packet)| packet));
        at - over
    }
}

/// All packets that wait.
#[derive(Debug, Default)]
pub(super) struct WaitingPackets {
    small: ByName<Packet>,
    large: BTreeMap<Flow, LargePackets>,
    /// Segments that left: the number of their large packet, and their own of TCP. Some drivers free what they have sent as if they
    /// dropped it.
    sent: ByName<(u64, Option<u32>)>,
    /// Packets that are gone without being seen to leave. They wait to be taken off the backlog.
    gone: Vec<Packet>,
    expired: Instant,
}

impl WaitingPackets {
    /// Adds a packet.
    pub(super) fn insert(&mut self, name: u64, packet: Packet) {
        self.sent.remove(&name);
        // Where the one with this name went, nobody looks. A large one may have been split, and its segments still wait.
        self.gone.extend(self.small.remove(&name));
        if packet.packets > 1 {
            let flow = (packet.meta.flow_hash, packet.direction.index());
            self.large.entry(flow).or_default().push_back((name, packet));
        } else {
            self.small.insert(name, packet);
        }
    }

    /// Takes a packet of `len` that is not large.
    pub(super) fn take(&mut self, name: u64, len: u32) -> Option<Packet> {
        let packet = self.small.remove(&name)?;
        if packet.len == len {
            return Some(packet);
        }
        // This is another, which has its name.
        self.gone.push(packet);
        None
    }

    /// Whether a packet that nobody knows can be a large one that waits, or a segment of it.
    pub(super) fn has_large(&self) -> bool {
        !self.large.is_empty()
    }

    /// Takes a large packet that leaves or is dropped whole.
    pub(super) fn take_large(&mut self, name: u64, end: End) -> Option<Packet> {
        self.change_large(end.flow, |packets, gone| {
            // The newest: an older one with this name is gone.
            let at = packets.iter().rposition(|(own, _)| *own == name)?;
            let at = end.forget_before(packets, at, gone);
            packets.remove(at).map(|(_, packet)| packet)
        })
    }

    /// Takes a segment off the flow's large packet that has it. Returns that packet as it was before.
    pub(super) fn take_segment(&mut self, name: u64, end: End, sequence: Option<u32>) -> Option<Packet> {
        let sent = self.sent.get(&name).copied();
        let found = self.change_large(end.flow, |packets, gone| {
            let at = packets.iter().position(|(_, packet)| packet.has(sequence))?;
            if end.is_dropped && sent == Some((packets[at].1.number, sequence)) {
                return None;
            }
            let at = end.forget_before(packets, at, gone);
            let (_, packet) = packets.get_mut(at)?;
            let before = *packet;
            packet.left -= 1;
            if packet.left == 0 {
                packets.remove(at);
            }
            Some(before)
        })?;
        if self.sent.len() >= MOST_SENT {
            self.sent.clear();
        }
        if !end.is_dropped {
            self.sent.insert(name, (found.number, sequence));
        }
        Some(found)
    }

    /// Forgets what waits: the queues are others.
    pub(super) fn clear(&mut self) {
        self.gone.extend(self.small.drain().map(|(_, packet)| packet));
        let large = std::mem::take(&mut self.large);
        self.gone.extend(large.into_values().flatten().map(|(_, packet)| packet));
    }

    /// Takes a packet that is gone without being seen to leave.
    pub(super) fn gone(&mut self) -> Option<Packet> {
        self.gone.pop()
    }

    /// Gives up packets that came minutes ago. Looks only now and then.
    pub(super) fn expire(&mut self, now: Instant) {
        if now.saturating_since(self.expired) < EVERY {
            return;
        }
        self.expired = now;
        let is_old = |packet: &Packet| now.saturating_since(packet.came) > LONGEST;
        let Self { small, large, gone, .. } = self;
        small.retain(|_, packet| {
            if is_old(packet) {
                gone.push(*packet);
            }
            !is_old(packet)
        });
        large.retain(|_, packets| {
            while packets.front().is_some_and(|(_, packet)| is_old(packet)) {
                gone.extend(packets.pop_front().map(|(_, packet)| packet));
            }
            !packets.is_empty()
        });
    }

    fn change_large(
        &mut self,
        flow: Flow,
        change: impl FnOnce(&mut LargePackets, &mut Vec<Packet>) -> Option<Packet>,
    ) -> Option<Packet> {
        let packets = self.large.get_mut(&flow)?;
        let found = change(packets, &mut self.gone);
        if packets.is_empty() {
            self.large.remove(&flow);
        }
        found
    }
}

/// Linux frees what a full queue dropped after it has sent others. Since 6.19 it also does so with what CAKE, CoDel and FQ-CoDel
/// drop (`qdisc_dequeue_drop`).
const LATEST_END: Duration = Duration::from_secs(1);
/// Most names of sent segments that are kept.
const MOST_SENT: usize = 4096;
const EVERY: Duration = Duration::from_secs(10);
/// No queue holds a packet for longer: 1000 packets at 100 kbit/s take this long.
const LONGEST: Duration = Duration::from_secs(120);

/// A hash of numbers that nobody chooses: the kernel's addresses.
#[derive(Debug, Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = mix(self.0 ^ value);
    }
}
