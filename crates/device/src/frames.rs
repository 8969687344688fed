//! A pool of frames of fixed size. Queues move an id of four bytes; the bytes of the frame stay where they are. Nothing is allocated
//! after the pool is made or [lengthened](Frames::lengthen). The system provides its memory page by page, on first use.

use crate::headers::Headers;

/// A frame of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameId(u32);

impl FrameId {
    /// Slot in the pool, from 0.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The pool. The slot given back last is taken first, so a short queue touches little memory.
#[derive(Debug)]
pub struct Frames {
    bytes: Box<[u8]>,
    slot: usize,
    frames: Box<[Frame]>,
    free: Vec<FrameId>,
    /// Bytes it was made with.
    memory: usize,
    /// Most slots taken at once.
    capacity: usize,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    len: usize,
    headers: Headers,
    taken: bool,
}

impl Frames {
    /// Makes room for `count` frames of at most `slot` bytes each. A VLAN tag counts, the frame check sequence does not.
    pub fn new(count: u32, slot: usize) -> Self {
        let empty = Frame { len: 0, headers: Headers::default(), taken: false };
        Self {
            bytes: vec![0; count as usize * slot].into(),
            slot,
            frames: vec![empty; count as usize].into(),
            free: (0..count).rev().map(FrameId).collect(),
            memory: count as usize * slot,
            capacity: count as usize,
        }
    }

    /// Makes room for longer frames, of at most `slot` bytes, in the memory that the pool was made with. Frames keep their slots and
    /// bytes. Returns false, and changes nothing, if so many frames are in it that this would take more than twice the memory.
    pub fn lengthen(&mut self, slot: usize) -> bool {
        if slot <= self.slot {
            return true;
        }
        let fit = (self.memory / slot).max(1);
        let taken = self.frames.iter().rposition(|frame| frame.taken).map_or(0, |last| last + 1);
        let count = fit.max(taken).min(self.frames.len());
        if count * slot > 2 * self.memory.max(slot) {
            return false;
        }
        let mut bytes = vec![0; count * slot];
        for (index, frame) in self.frames[..count].iter().enumerate().filter(|(_, frame)| frame.taken) {
            let from = &self.bytes[index * self.slot..][..frame.len];
            bytes[index * slot..][..frame.len].copy_from_slice(from);
        }
        self.bytes = bytes.into();
        self.frames = self.frames[..count].into();
        self.free.retain(|id| id.index() < count);
        self.capacity = fit.min(count);
        self.slot = slot;
        true
    }

    /// Takes a slot for an empty frame; `None` if all are taken.
    pub fn take(&mut self) -> Option<FrameId> {
        if self.taken() >= self.capacity {
            return None;
        }
        let id = self.free.pop()?;
        self.frames[id.index()] = Frame { len: 0, headers: Headers::default(), taken: true };
        Some(id)
    }

    /// Takes a slot and fills it with `parts`, one after the other; `None` if all are taken or the parts do not fit.
    pub fn fill<const PARTS: usize>(&mut self, parts: [&[u8]; PARTS]) -> Option<FrameId> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        if len > self.slot {
            return None;
        }
        let id = self.take()?;
        let start = id.index() * self.slot;
        let mut place = &mut self.bytes[start..start + len];
        for part in parts {
            let (here, rest) = place.split_at_mut(part.len());
            here.copy_from_slice(part);
            place = rest;
        }
        self.frames[id.index()].len = len;
        Some(id)
    }

    /// Copies a frame into another slot; `None` if all are taken.
    pub fn duplicate(&mut self, id: FrameId) -> Option<FrameId> {
        let copy = self.take()?;
        let (from, to, len) = (id.index() * self.slot, copy.index() * self.slot, self.frames[id.index()].len);
        self.bytes.copy_within(from..from + len, to);
        self.frames[copy.index()] = self.frames[id.index()];
        Some(copy)
    }

    /// Gives a slot back. Its bytes stay until it is taken again.
    ///
    /// # Panics
    ///
    /// If it was given back before.
    pub fn give_back(&mut self, id: FrameId) {
        let frame = &mut self.frames[id.index()];
        assert!(frame.taken, "a frame is given back once");
        frame.taken = false;
        self.free.push(id);
    }

    /// Bytes of a frame, from the destination MAC address on.
    pub fn bytes(&self, id: FrameId) -> &[u8] {
        let start = id.index() * self.slot;
        &self.bytes[start..start + self.frames[id.index()].len]
    }

    /// Bytes of a frame, to be changed.
    pub fn bytes_mut(&mut self, id: FrameId) -> &mut [u8] {
        let start = id.index() * self.slot;
        &mut self.bytes[start..start + self.frames[id.index()].len]
    }

    /// Headers noted by [`Frames::set_headers`].
    pub fn headers(&self, id: FrameId) -> &Headers {
        &self.frames[id.index()].headers
    }

    /// Notes the headers of a frame.
    pub fn set_headers(&mut self, id: FrameId, headers: Headers) {
        self.frames[id.index()].headers = headers;
    }

    /// Most bytes of a frame.
    pub const fn slot(&self) -> usize {
        self.slot
    }

    /// Most slots that can be taken at once.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Number of slots taken.
    pub fn taken(&self) -> usize {
        self.frames.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_and_go_and_keep_their_bytes() {
        let mut frames = Frames::new(2, 8);
        let one = frames.fill([b"ab", b"", b"cd"]).unwrap();
        let two = frames.duplicate(one).unwrap();
        assert_eq!(frames.fill([b"e", b"", b""]), None, "full");
        frames.bytes_mut(two)[0] = b'x';
        assert_eq!((frames.bytes(one), frames.bytes(two)), (&b"abcd"[..], &b"xbcd"[..]));
        frames.give_back(one);
        assert_eq!(frames.fill([b"123456789", b"", b""]), None, "too long");
        assert_eq!(frames.taken(), 1);
    }

    #[test]
    fn longer_frames_find_room_in_the_same_memory() {
        let mut frames = Frames::new(4, 8);
        let kept: Vec<_> = (0..3).map(|_| frames.fill([b"abcd"]).unwrap()).collect();
        assert!(frames.lengthen(16));
        assert_eq!((frames.capacity(), frames.slot()), (2, 16));
        assert!(kept.iter().all(|id| frames.bytes(*id) == b"abcd"));
        assert_eq!(frames.fill([b"e"]), None, "32 bytes hold two frames of 16");
        kept.into_iter().for_each(|id| frames.give_back(id));
        assert!(frames.fill([b"0123456789abcdef"]).is_some() && frames.fill([b"f"]).is_some());
        assert_eq!(frames.fill([b"g"]), None);
        assert!(!frames.lengthen(64), "they would take 128 bytes of 32");
        assert_eq!(frames.slot(), 16);
    }

    #[test]
    fn a_pool_that_grows_step_by_step_keeps_its_memory() {
        let mut frames = Frames::new(2730, 1536);
        assert!((1537..9100).all(|slot| frames.lengthen(slot)));
        assert_eq!(frames.capacity(), 2730 * 1536 / 9099);
    }

    #[test]
    #[should_panic(expected = "once")]
    fn a_frame_is_given_back_once() {
        let mut frames = Frames::new(1, 8);
        let one = frames.take().unwrap();
        frames.give_back(one);
        frames.give_back(one);
    }
}
