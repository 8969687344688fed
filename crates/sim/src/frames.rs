//! Payloads of the packets in the network, in one slab. Queues and links move a 4-byte id, just as those of the gateway move a
//! pooled frame. The host that receives a packet, or the drop, gives its frame back.

use alloc::vec::Vec;

use crate::payload::Payload;

/// Identifies a payload in [`Frames`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameId(u32);

impl FrameId {
    /// Position in the slab: less than the maximum number of frames in use at once so far.
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
        // Room for every frame, so that `give_back` never allocates.
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

    /// Number of frames in use.
    pub(crate) fn in_use(&self) -> usize {
        self.payloads.len() - self.free.len()
    }
}
