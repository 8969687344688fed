//! RTP in one direction of a flow (RFC 3550 section A.1): a source whose sequence numbers go on from packet to packet.
//! Random bytes that look like RTP's header have another source each time.

/// The sources of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Media {
    sources: [Option<Source>; SOURCES],
    /// Number of messages that go on from an earlier one of their source.
    pub(super) goes_on: u8,
}

#[derive(Clone, Copy, Debug)]
struct Source {
    id: u32,
    last: u16,
}

impl Media {
    /// Adds a message with this source and sequence number.
    pub(super) fn saw(&mut self, id: u32, number: u16) {
        let known = self.sources.iter_mut().flatten().find(|source| source.id == id);
        if let Some(source) = known {
            let step = number.wrapping_sub(source.last).cast_signed();
            self.goes_on = self.goes_on.saturating_add(u8::from(step != 0 && step.unsigned_abs() < NEAR));
            source.last = number;
            return;
        }
        // The latest ones are kept.
        self.sources.rotate_right(1);
        self.sources[0] = Some(Source { id, last: number });
    }
}

/// Sources that are followed: audio, video and their repairs.
const SOURCES: usize = 4;
/// Steps below are near (`MAX_DROPOUT` is far larger: here random numbers shall not pass).
const NEAR: u16 = 256;
