//! Payloads of the packets in the network, in one slab. Queues and links move a 4-byte id, as the gateway's move a pooled
//! frame; whoever ends a packet's way, a host or a drop, gives its frame back.

use alloc::vec::Vec;

use crate::payload::Payload;

/// Names a payload in [`Frames`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameId(u32);

impl FrameId {
    /// Below the most frames that were ever in use at once.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The slab.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    payloads: Vec<Payload>,
    free: Vec<FrameId>,
}

impl Frames {
    pub(crate) fn put(&mut self, payload: Payload) -> FrameId {
        if let Some(id) = self.free.pop() {
            self.payloads[id.0 as usize] = payload;
            return id;
        }
        self.payloads.push(payload);
        // So that giving back never allocates.
        self.free.reserve(self.payloads.len());
        FrameId((self.payloads.len() - 1) as u32)
    }

    pub(crate) fn get(&self, id: FrameId) -> &Payload {
        &self.payloads[id.0 as usize]
    }

    pub(crate) fn get_mut(&mut self, id: FrameId) -> &mut Payload {
        &mut self.payloads[id.0 as usize]
    }

    pub(crate) fn give_back(&mut self, id: FrameId) {
        self.free.push(id);
    }

    /// Frames in use.
    pub(crate) fn in_use(&self) -> usize {
        self.payloads.len() - self.free.len()
    }
}
