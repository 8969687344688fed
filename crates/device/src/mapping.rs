//! Memory shared with the kernel: the rings of packet sockets and AF_XDP, and values of BPF maps.
#![expect(unsafe_code, reason = "memory that the kernel writes")]

use std::io::{Error, Result};
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use libc::{c_int, off_t};

/// A memory map. It ends with this value, not with the socket.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

impl Mapping {
    /// Maps `len` bytes of a socket's ring, which must have that size, or of a BPF map.
    pub(crate) fn of(file: &OwnedFd, offset: off_t, len: usize) -> Result<Self> {
        Self::map(file.as_raw_fd(), libc::MAP_SHARED, READ_WRITE, offset, len)
    }

    /// The same, for memory that only the kernel writes.
    pub(crate) fn to_read(file: &OwnedFd, offset: off_t, len: usize) -> Result<ReadOnly> {
        Self::map(file.as_raw_fd(), libc::MAP_SHARED, libc::PROT_READ, offset, len).map(ReadOnly)
    }

    /// Maps anonymous memory, all zeros, with its pages already present.
    pub(crate) fn own(len: usize) -> Result<Self> {
        Self::map(-1, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, READ_WRITE, 0, len)
    }

    fn map(file: c_int, flags: c_int, access: c_int, offset: off_t, len: usize) -> Result<Self> {
        // SAFETY: a new map at an address the kernel chooses; it touches no memory we have. The result is checked.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, file, offset) };
        if start == libc::MAP_FAILED {
            return Err(Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(Error::last_os_error)?;
        Ok(Self { start, len })
    }

    /// Start address, to be passed to the kernel.
    pub(crate) fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// Length in bytes.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// A 32-bit number that kernel and program both write.
    ///
    /// # Panics
    ///
    /// If `at` is not aligned or not within the map.
    pub(crate) fn shared_number(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4) && at + 4 <= self.len, "within the map");
        // SAFETY: within the map and aligned, which was just checked (the map itself is aligned to a page); it lives as
        // long as `self`; both sides access this number atomically only.
        unsafe { AtomicU32::from_ptr(self.start.add(at).cast().as_ptr()) }
    }

    /// A 64-bit number that kernel and program both write.
    ///
    /// # Panics
    ///
    /// If `at` is not aligned or not within the map.
    pub(crate) fn shared_long(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at + 8 <= self.len, "within the map");
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(self.start.add(at).cast().as_ptr()) }
    }

    /// Bytes that this process owns at the moment. The caller holds their slot or block: the kernel writes nothing there until
    /// it is handed back, which the caller does after the last use of the slice.
    ///
    /// # Panics
    ///
    /// If they are not within the map.
    pub(crate) fn bytes(&self, at: usize, len: usize) -> &[u8] {
        assert!(at.checked_add(len).is_some_and(|end| end <= self.len), "within the map");
        // SAFETY: within the map, which was just checked; initialised, since the kernel hands out zeroed pages. The kernel
        // does not write there while the slot's status says that it is ours, and neither does this process.
        unsafe { std::slice::from_raw_parts(self.start.add(at).as_ptr(), len) }
    }

    /// The same, to be written. The kernel does not read there until it is told to.
    ///
    /// # Panics
    ///
    /// If they are not within the map.
    pub(crate) fn bytes_mut(&mut self, at: usize, len: usize) -> &mut [u8] {
        assert!(at.checked_add(len).is_some_and(|end| end <= self.len), "within the map");
        // SAFETY: as above, and `self` is borrowed mutably, so nothing else in this process reads it.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(at).as_ptr(), len) }
    }
}

/// A memory map that this process only reads.
#[derive(Debug)]
pub(crate) struct ReadOnly(Mapping);

impl ReadOnly {
    /// A 32-bit number that the kernel writes. What the kernel wrote before it is seen after it. Panics as [`Mapping::shared_number`].
    pub(crate) fn number(&self, at: usize) -> u32 {
        // In memory that cannot be written, only relaxed loads are sure to be plain loads.
        let value = self.0.shared_number(at).load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        value
    }

    /// The same for a 64-bit number.
    pub(crate) fn long(&self, at: usize) -> u64 {
        let value = self.0.shared_long(at).load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        value
    }

    /// As [`Mapping::bytes`].
    pub(crate) fn bytes(&self, at: usize, len: usize) -> &[u8] {
        self.0.bytes(at, len)
    }
}

const READ_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is the map that was made, and no reference into it outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

// SAFETY: the map belongs to the process, not to a thread, and all access goes through `&self` or `&mut self`.
unsafe impl Send for Mapping {}
