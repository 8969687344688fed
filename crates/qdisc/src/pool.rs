//! Packets of many flow queues in one slab, linked by index: no allocation once the slab has grown to the limit.

use alloc::vec::Vec;
use gamelane_core::Packet;

/// "No slot".
const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Slot<B> {
    packet: Option<Packet<B>>,
    next: u32,
}

/// The slab.
#[derive(Debug)]
pub(crate) struct PacketPool<B> {
    slots: Vec<Slot<B>>,
    free: u32,
}

/// A queue of packets in a pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    head: u32,
    tail: u32,
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
}
