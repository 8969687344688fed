//! A ring of records that programs write and this process reads, without a system call: `kernel/bpf/ringbuf.c`,
//! `tools/lib/bpf/ringbuf.c`.

use std::io::Result;
use std::sync::atomic::Ordering;

use super::{Map, MapType};
use crate::mapping::{Mapping, ReadOnly};

/// A ring, and where its reader is.
#[derive(Debug)]
pub struct Ring {
    map: Map,
    /// A page with the reader's position.
    reader: Mapping,
    /// A page with the writers' position, then the records, twice in a row so that none is in two pieces.
    records: ReadOnly,
    page: usize,
    size: usize,
}

impl Ring {
    /// Makes a ring of `size` bytes: a power of two, and at least a page.
    ///
    /// # Errors
    /// There is no memory for programs, or this process may not load them.
    pub fn new(size: usize) -> Result<Self> {
        let map = Map::create(MapType::RingBuf, 0, size as u32, 0)?;
        let page = rustix::param::page_size();
        let reader = Mapping::of(&map.0, 0, page)?;
        let records = Mapping::to_read(&map.0, page as libc::off_t, page + 2 * size)?;
        Ok(Self { map, reader, records, page, size })
    }

    /// The map, for programs.
    pub const fn map(&self) -> &Map {
        &self.map
    }

    /// Takes every record that is complete now, in the order in which they were reserved. Those that are written meanwhile are left
    /// for the next call, so it ends.
    pub fn drain(&mut self, mut take: impl FnMut(&[u8])) {
        let reader = self.reader.shared_long(0);
        let (mut at, end) = (reader.load(Ordering::Relaxed), self.records.long(0));
        while at < end {
            let head = self.page + (at as usize & (self.size - 1));
            let len = self.records.number(head);
            if len & BUSY != 0 {
                break;
            }
            let bytes = (len & !(BUSY | DISCARDED)) as usize;
            if len & DISCARDED == 0 {
                take(self.records.bytes(head + HEADER, bytes));
            }
            at += (HEADER + bytes).next_multiple_of(8) as u64;
            reader.store(at, Ordering::Release);
        }
    }
}

/// The length is not valid yet.
const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;
/// Bytes before a record: its length, and a number for the kernel.
const HEADER: usize = 8;
