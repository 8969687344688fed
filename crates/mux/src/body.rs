//! Payload of a stream as a trait. The simulator only counts bytes, the proxy moves them; both use the same scheduler.

/// Payload bytes that can be split. Cloning must be cheap, because retained data and repeats are clones. The default is
/// empty.
pub trait Body: Clone + Default {
    /// Number of bytes.
    fn len(&self) -> usize;

    /// True if there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes the first `at` bytes and returns them. `at` must not exceed [`len`](Self::len).
    #[must_use]
    fn split_to(&mut self, at: usize) -> Self;
}

/// Payload without bytes; only its length in bytes is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Length(pub u32);

impl Body for Length {
    fn len(&self) -> usize {
        self.0 as usize
    }

    fn split_to(&mut self, at: usize) -> Self {
        let head = u32::try_from(at).expect("cut within the body");
        self.0 -= head;
        Self(head)
    }
}

impl Body for alloc::vec::Vec<u8> {
    fn len(&self) -> usize {
        self.as_slice().len()
    }

    fn split_to(&mut self, at: usize) -> Self {
        let tail = self.split_off(at);
        core::mem::replace(self, tail)
    }
}
