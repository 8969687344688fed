//! The stream ids that the peer has used. Ids count up, but streams on different carriers may be opened out of order.
//! Whether a stream is still alive is left to the two halves.

use crate::config::StreamId;
use crate::error::ProtocolError;
use alloc::collections::BTreeSet;

/// The stream ids that the peer has used.
#[derive(Debug, Default)]
pub(super) struct Opened {
    /// Next id to be used.
    pub(super) next: u64,
    /// Smaller ids that were skipped so far.
    missing: BTreeSet<u64>,
}

impl Opened {
    pub(super) fn has(&self, stream: StreamId) -> bool {
        stream.0 < self.next && !self.missing.contains(&stream.0)
    }

    /// Marks `stream` as used. Returns true if it is new.
    pub(super) fn mark(&mut self, stream: StreamId) -> Result<bool, ProtocolError> {
        if stream.0 < self.next {
            return Ok(self.missing.remove(&stream.0));
        }
        let skipped = stream.0 - self.next;
        if skipped > (MAX_MISSING - self.missing.len()) as u64 {
            return Err(ProtocolError::SparseIds);
        }
        self.missing.extend(self.next..stream.0);
        self.next = stream.0 + 1;
        Ok(true)
    }
}

/// Maximum number of stream ids that may be skipped and still be opened later.
const MAX_MISSING: usize = 65_536;
