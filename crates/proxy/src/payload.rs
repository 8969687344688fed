//! The bytes of streams, as the multiplexer wants them.

use bytes::Bytes;
use gamelane_mux::Body;

/// Bytes shared, not copied, by retained data and repeats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload(pub Bytes);

impl Payload {
    /// A copy of just these bytes, so that a small message does not keep a large buffer alive.
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
