//! Bytes of a stream, as a body of the multiplexer's frames.

use bytes::Bytes;
use gamelane_mux::Body;

/// Bytes that retained data and repeats share without a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload(pub Bytes);

impl Payload {
    /// Copies `bytes`, so that a small message does not keep a large buffer alive.
    pub(crate) fn copy(bytes: &[u8]) -> Self {
        Self(Bytes::copy_from_slice(bytes))
    }
}

impl Body for Payload {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn split_to(&mut self, at: usize) -> Self {
        Self(self.0.split_to(at))
    }
}
