//! Storage for the packets of many flow queues: one slab of slots, linked by index. Once the slab has grown to the
//! queue's limit, no packet allocates memory.

use alloc::vec::Vec;
use gamelane_core::Packet;

/// Index that stands for "no slot".
const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Slot<B> {
    packet: Option<Packet<B>>,
    next: u32,
}

/// The slab of packet slots.
#[derive(Debug)]
pub(crate) struct PacketPool<B> {
    slots: Vec<Slot<B>>,
    free: u32,
}

/// A queue of packets in a pool, as a linked list of slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    head: u32,
    tail: u32,
}

/// Position of a packet in a [`Chain`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    previous: u32,
    index: u32,
}

impl Place {
    /// Returns whether this packet is directly behind `other`.
    pub(crate) const fn follows(self, other: Self) -> bool {
        self.previous == other.index
    }
}

impl Chain {
    pub(crate) const EMPTY: Self = Self { head: NONE, tail: NONE };
}

impl<B> PacketPool<B> {
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), free: NONE }
    }

    pub(crate) fn push(&mut self, chain: &mut Chain, packet: Packet<B>) {
        let slot = Slot { packet: Some(packet), next: NONE };
        let index = if self.free == NONE {
            self.slots.push(slot);
            (self.slots.len() - 1) as u32
        } else {
            let index = self.free;
            self.free = self.slots[index as usize].next;
            self.slots[index as usize] = slot;
            index
        };
        if chain.tail == NONE {
            chain.head = index;
        } else {
            self.slots[chain.tail as usize].next = index;
        }
        chain.tail = index;
    }

    pub(crate) fn pop(&mut self, chain: &mut Chain) -> Option<Packet<B>> {
        if chain.head == NONE {
            return None;
        }
        let index = chain.head;
        let slot = &mut self.slots[index as usize];
        let packet = slot.packet.take();
        chain.head = slot.next;
        slot.next = self.free;
        self.free = index;
        if chain.head == NONE {
            chain.tail = NONE;
        }
        packet
    }

    /// Iterates over the packets of a queue from the head, each with its place.
    pub(crate) fn iter(&self, chain: Chain) -> impl Iterator<Item = (Place, &Packet<B>)> {
        let mut place = Place { previous: NONE, index: chain.head };
        core::iter::from_fn(move || {
            let slot = self.slots.get(place.index as usize)?;
            let here = place;
            place = Place { previous: here.index, index: slot.next };
            slot.packet.as_ref().map(|packet| (here, packet))
        })
    }

    /// Returns the packet at the tail of a queue.
    pub(crate) fn last(&self, chain: Chain) -> Option<&Packet<B>> {
        self.slots.get(chain.tail as usize)?.packet.as_ref()
    }

    /// Returns whether `place` is that of the packet at the tail.
    pub(crate) const fn is_last(&self, chain: Chain, place: Place) -> bool {
        chain.tail == place.index
    }

    /// Removes the packet at `place`. The place must come from [`PacketPool::iter`] on this queue, and the queue must
    /// not have changed since.
    pub(crate) fn unlink(&mut self, chain: &mut Chain, place: Place) -> Option<Packet<B>> {
        if place.previous == NONE {
            return self.pop(chain);
        }
        let slot = &mut self.slots[place.index as usize];
        let packet = slot.packet.take();
        let next = slot.next;
        slot.next = self.free;
        self.free = place.index;
        self.slots[place.previous as usize].next = next;
        if chain.tail == place.index {
            chain.tail = place.previous;
        }
        packet
    }
}
