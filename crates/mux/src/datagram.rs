//! What [`Repeater`](crate::Repeater) and [`Collector`](crate::Collector) exchange. One byte of flags, then varints: number;
//! with flag 1 an acknowledgement (number, delay in microseconds, next, above); floor; then for each message its distance to
//! the one before, its length and its bytes.

use crate::body::{Body, Length};
use crate::varint;
use alloc::vec::Vec;
use gamelane_core::Duration;

/// Messages that may be under way: as many as one acknowledgement can tell apart.
pub const WINDOW: u64 = 62;

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message<B> {
    /// Counts up from 0 within a direction.
    pub sequence: u64,
    /// Payload.
    pub body: B,
}

/// What has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The newest datagram.
    pub number: u64,
    /// How long ago that came.
    pub delay: Duration,
    /// All messages below.
    pub next: u64,
    /// And of those above: bit i stands for `next` + 1 + i.
    pub above: u64,
}

/// One datagram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Datagram<B> {
    /// Counts up from 0; a repeat is a new datagram.
    pub number: u64,
    /// Messages below will not come any more, and need not be waited for.
    pub floor: u64,
    /// What came the other way.
    pub ack: Option<Acknowledgement>,
    /// Ascending.
    pub messages: Vec<Message<B>>,
}

impl<B: Body> Datagram<B> {
    /// Payload bytes of the UDP datagram.
    pub fn wire_len(&self) -> usize {
        let ack = self.ack.map_or(0, |ack| ack.fields().iter().map(|field| varint::len(*field)).sum());
        let mut below = self.floor;
        let messages: usize = self
            .messages
            .iter()
            .map(|message| {
                let len = Self::message_len(message.sequence - below, message.body.len());
                below = message.sequence + 1;
                len
            })
            .sum();
        1 + varint::len(self.number) + ack + varint::len(self.floor) + messages
    }

    pub(crate) fn message_len(distance: u64, len: usize) -> usize {
        varint::len(distance) + varint::len(len as u64) + len
    }

    /// Longest header before the first message.
    pub(crate) const MAX_HEADER: usize = 1 + 8 + 4 * 8 + 8;

    /// Appends it; `put_body` appends the bytes of a body.
    pub fn put(&self, out: &mut Vec<u8>, mut put_body: impl FnMut(&B, &mut Vec<u8>)) {
        out.push(u8::from(self.ack.is_some()));
        varint::put(self.number, out);
        for field in self.ack.iter().flat_map(Acknowledgement::fields) {
            varint::put(field, out);
        }
        varint::put(self.floor, out);
        let mut below = self.floor;
        for message in &self.messages {
            varint::put(message.sequence - below, out);
            varint::put(message.body.len() as u64, out);
            put_body(&message.body, out);
            below = message.sequence + 1;
        }
    }
}

impl Acknowledgement {
    fn fields(&self) -> [u64; 4] {
        [self.number, self.delay.as_nanos() / 1000, self.next, self.above]
    }
}

/// Reads a datagram. The body of a message is where in `bytes` it is. `None` for anything that is not one.
pub fn parse(bytes: &[u8]) -> Option<Datagram<Span>> {
    let (flags, mut rest) = bytes.split_first()?;
    let mut number = || {
        let (number, after) = varint::take(rest)?;
        rest = after;
        Some(number)
    };
    let mut datagram = Datagram { number: number()?, ..Datagram::default() };
    datagram.ack = match flags {
        0 => None,
        1 => Some(Acknowledgement {
            number: number()?,
            delay: Duration::from_nanos(number()?.saturating_mul(1000)),
            next: number()?,
            above: number()?,
        }),
        _ => return None,
    };
    datagram.floor = number()?;
    let mut below = datagram.floor;
    while !rest.is_empty() {
        let (distance, after) = varint::take(rest)?;
        let (len, after) = varint::take(after)?;
        let (body, after) = after.split_at_checked(usize::try_from(len).ok()?)?;
        let sequence = below.checked_add(distance).filter(|sequence| *sequence <= varint::MAX)?;
        let start = bytes.len() - body.len() - after.len();
        let span = Span { start, length: Length(u32::try_from(len).ok()?) };
        datagram.messages.push(Message { sequence, body: span });
        below = sequence + 1;
        rest = after;
    }
    Some(datagram)
}

/// A body as a place in the datagram it came in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Of its first byte.
    pub start: usize,
    /// Its bytes.
    pub length: Length,
}
