//! Memory that is shared with the kernel.

use std::io::{Error, Result};
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

use libc::{c_int, off_t};

/// A map of shared memory. It ends with this value, not with the socket.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

impl Mapping {
    /// Maps `len` bytes of a socket whose ring was set up to have as many, or of a BPF map.
    pub(super) fn of(file: &OwnedFd, offset: off_t, len: usize) -> Result<Self> {
        Self::map(file.as_raw_fd(), libc::MAP_SHARED, offset, len)
    }

    /// Memory of our own, all zeros, at hand at once.
    pub(super) fn own(len: usize) -> Result<Self> {
        Self::map(-1, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, 0, len)
    }

    fn map(file: c_int, flags: c_int, offset: off_t, len: usize) -> Result<Self> {
        // SAFETY: a new map at an address the kernel chooses; it touches no memory we have. The result is checked.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, flags, file, offset)
        };
        if start == libc::MAP_FAILED {
            return Err(Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(Error::last_os_error)?;
        Ok(Self { start, len })
    }

    /// Where it begins, for the kernel to be told.
    pub(super) fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// Bytes it has.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// A number that kernel and program both write.
    ///
    /// # Panics
    ///
    /// If `at` is not a place of an aligned number within the map.
    pub(super) fn shared_number(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4) && at + 4 <= self.len, "within the ring");
        // SAFETY: within the map and aligned, which was just checked (the map itself is aligned to a page); it lives as
        // long as `self`; both sides access this number atomically only.
        unsafe { AtomicU32::from_ptr(self.start.add(at).cast().as_ptr()) }
    }

    /// The same of 64 bits.
    ///
    /// # Panics
    ///
    /// Likewise.
    pub(super) fn shared_long(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at + 8 <= self.len, "within the ring");
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(self.start.add(at).cast().as_ptr()) }
    }

    /// Bytes that at present are ours. The caller holds the slot they lie in: the kernel writes nothing there until it is
    /// handed back, which needs the map to be borrowed mutably.
    ///
    /// # Panics
    ///
    /// If they are not within the map.
    pub(super) fn bytes(&self, at: usize, len: usize) -> &[u8] {
        assert!(at.checked_add(len).is_some_and(|end| end <= self.len), "within the ring");
        // SAFETY: within the map, which was just checked; initialised, since the kernel hands out zeroed pages; not written
        // by the kernel while the slot's status says it is ours, and by nobody here.
        unsafe { std::slice::from_raw_parts(self.start.add(at).as_ptr(), len) }
    }

    /// The same, to be written: the kernel does not read there either until it is told to.
    ///
    /// # Panics
    ///
    /// If they are not within the map.
    pub(super) fn bytes_mut(&mut self, at: usize, len: usize) -> &mut [u8] {
        assert!(at.checked_add(len).is_some_and(|end| end <= self.len), "within the ring");
        // SAFETY: as above, and `self` is borrowed mutably, so nobody here reads it.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(at).as_ptr(), len) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is the map that was made, and no reference into it outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

// SAFETY: the map belongs to the process, not to a thread, and all access goes through `&self` or `&mut self`.
unsafe impl Send for Mapping {}
