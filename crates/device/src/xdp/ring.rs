//! Rings of an AF_XDP socket (`Documentation/networking/af_xdp.rst`, section Rings). One side writes entries and advances its
//! index; the other side reads them and advances its own. Indices wrap at 32 bits; their lower bits are the slot.

use std::io::{Error, ErrorKind, Result};
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use libc::xdp_ring_offset;

use crate::mapping::Mapping;

/// An entry of a ring.
pub(super) trait Entry {
    const BYTES: usize;
    fn load(ring: &Mapping, at: usize) -> Self;
    fn store(self, ring: &Mapping, at: usize);
}

/// An address in the shared memory: entry of the fill and completion rings.
impl Entry for u64 {
    const BYTES: usize = 8;

    fn load(ring: &Mapping, at: usize) -> Self {
        ring.shared_long(at).load(Ordering::Relaxed)
    }

    fn store(self, ring: &Mapping, at: usize) {
        ring.shared_long(at).store(self, Ordering::Relaxed);
    }
}

/// A frame in the shared memory, `struct xdp_desc` without options: entry of the receive and transmit rings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Descriptor {
    pub(super) at: u64,
    pub(super) len: u32,
}

impl Entry for Descriptor {
    const BYTES: usize = 16;

    fn load(ring: &Mapping, at: usize) -> Self {
        Self { at: u64::load(ring, at), len: ring.shared_number(at + 8).load(Ordering::Relaxed) }
    }

    fn store(self, ring: &Mapping, at: usize) {
        self.at.store(ring, at);
        ring.shared_number(at + 8).store(self.len, Ordering::Relaxed);
        ring.shared_number(at + 12).store(0, Ordering::Relaxed);
    }
}

/// A ring that this process writes.
#[derive(Debug)]
pub(super) struct Producer<E> {
    ring: Ring,
    entry: PhantomData<E>,
}

impl<E: Entry> Producer<E> {
    /// Maps a ring of `size` entries, a power of two, that the socket was set up to have at `offset`.
    pub(super) fn open(socket: &OwnedFd, offset: u64, at: &xdp_ring_offset, size: u32) -> Result<Self> {
        Ok(Self { ring: Ring::open(socket, offset, at, size, E::BYTES)?, entry: PhantomData })
    }

    /// Writes an entry and publishes it. A slot is always free, since there are no more chunks of memory than entries. A fill
    /// ring may look full nevertheless: the kernel advances its index only after it has shown the frames.
    pub(super) fn push(&mut self, entry: E) {
        entry.store(&self.ring.map, self.ring.place(E::BYTES));
        self.ring.ours = self.ring.ours.wrapping_add(1);
        self.ring.map.shared_number(self.ring.producer).store(self.ring.ours, Ordering::Release);
    }

    /// Entries that the kernel has not taken yet.
    pub(super) fn untaken(&self) -> u32 {
        let taken = self.ring.map.shared_number(self.ring.consumer).load(Ordering::Acquire);
        self.ring.ours.wrapping_sub(taken)
    }

    /// Whether the kernel looks at the ring only after a system call.
    pub(super) fn wants_call(&self) -> bool {
        let flags = self.ring.map.shared_number(self.ring.flags).load(Ordering::Relaxed);
        flags & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

/// A ring that the kernel writes.
#[derive(Debug)]
pub(super) struct Consumer<E> {
    ring: Ring,
    /// The kernel's index when it was last read.
    written: u32,
    entry: PhantomData<E>,
}

impl<E: Entry> Consumer<E> {
    /// Maps a ring of `size` entries, a power of two, that the socket was set up to have at `offset`.
    pub(super) fn open(socket: &OwnedFd, offset: u64, at: &xdp_ring_offset, size: u32) -> Result<Self> {
        Ok(Self { ring: Ring::open(socket, offset, at, size, E::BYTES)?, written: 0, entry: PhantomData })
    }

    /// Takes the next entry. The kernel may use its slot again.
    pub(super) fn pop(&mut self) -> Option<E> {
        if self.ring.ours == self.written {
            self.written = self.ring.map.shared_number(self.ring.producer).load(Ordering::Acquire);
            if self.ring.ours == self.written {
                return None;
            }
        }
        let entry = E::load(&self.ring.map, self.ring.place(E::BYTES));
        self.ring.ours = self.ring.ours.wrapping_add(1);
        self.ring.map.shared_number(self.ring.consumer).store(self.ring.ours, Ordering::Release);
        Some(entry)
    }
}

/// What both kinds share: the map, offsets in it, and the index of this process.
#[derive(Debug)]
struct Ring {
    map: Mapping,
    producer: usize,
    consumer: usize,
    flags: usize,
    entries: usize,
    mask: u32,
    ours: u32,
}

impl Ring {
    fn open(socket: &OwnedFd, offset: u64, at: &xdp_ring_offset, size: u32, entry: usize) -> Result<Self> {
        // A 32-bit `off_t` cannot hold these offsets.
        let offset = libc::off_t::try_from(offset).map_err(|_| Error::from(ErrorKind::Unsupported))?;
        let entries = at.desc as usize;
        let map = Mapping::of(socket, offset, entries + size as usize * entry)?;
        let (producer, consumer, flags) = (at.producer as usize, at.consumer as usize, at.flags as usize);
        Ok(Self { map, producer, consumer, flags, entries, mask: size - 1, ours: 0 })
    }

    /// Offset of the entry at our index.
    const fn place(&self, entry: usize) -> usize {
        self.entries + (self.ours & self.mask) as usize * entry
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    use super::*;

    const SIZE: u32 = 8;
    const AT: xdp_ring_offset = xdp_ring_offset { producer: 0, consumer: 64, flags: 128, desc: 192 };

    /// Both ends of a ring, as if one of them were the kernel. Both indices start at `so_far`.
    fn ends(so_far: u32) -> (Producer<Descriptor>, Consumer<Descriptor>) {
        let file = memfd_create("ring", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, 4096).unwrap();
        let mut producer = Producer::open(&file, 0, &AT, SIZE).unwrap();
        let mut consumer = Consumer::open(&file, 0, &AT, SIZE).unwrap();
        for index in [AT.producer, AT.consumer] {
            producer.ring.map.shared_number(index as usize).store(so_far, Ordering::Relaxed);
        }
        (producer.ring.ours, consumer.ring.ours, consumer.written) = (so_far, so_far, so_far);
        (producer, consumer)
    }

    #[test]
    fn an_entry_is_free_as_soon_as_its_frame_was_shown() {
        let (mut producer, mut consumer) = ends(0);
        for at in 0..SIZE {
            producer.push(Descriptor { at: at.into(), len: 0 });
        }
        // The kernel has read one entry, and its index does not show it yet.
        let index = consumer.ring.map.shared_number(AT.consumer as usize).load(Ordering::Relaxed);
        assert_eq!(consumer.pop().map(|entry| entry.at), Some(0));
        consumer.ring.map.shared_number(AT.consumer as usize).store(index, Ordering::Relaxed);
        producer.push(Descriptor { at: 100, len: 0 });
        let rest: Vec<u64> = std::iter::from_fn(|| consumer.pop().map(|entry| entry.at)).collect();
        assert_eq!(rest, [1, 2, 3, 4, 5, 6, 7, 100]);
    }

    #[test]
    fn entries_come_out_as_they_went_in_also_when_the_indices_begin_again() {
        // Indices wrap after 2^32 frames: six hours at 2 Gbit/s.
        for so_far in [0, u32::MAX - 20] {
            let (mut producer, mut consumer) = ends(so_far);
            let mut sent = 0..;
            let mut received = 0..;
            for round in 0..20 {
                for at in sent.by_ref().take(1 + round % SIZE as usize) {
                    producer.push(Descriptor { at, len: at as u32 });
                }
                assert_eq!(producer.untaken(), 1 + round as u32 % SIZE);
                while let Some(Descriptor { at, len }) = consumer.pop() {
                    assert_eq!((Some(at), u64::from(len)), (received.next(), at));
                }
                assert_eq!(producer.untaken(), 0);
            }
            assert_eq!(sent, received);
        }
    }
}
