//! The datagrams that [`Repeater`](crate::Repeater) and [`Collector`](crate::Collector) exchange. One byte of flags is
//! followed by varints (RFC 9000 section 16):
//!
//! 1. the datagram's number,
//! 2. with flag 1 an acknowledgement: number, delay in microseconds, next, above,
//! 3. the floor,
//! 4. for each message: its distance to the message before, its length, its bytes.
//!
//! Encryption and checksums are left out; UDP and the proxy have them.

use crate::body::{Body, Length};
use crate::varint;
use alloc::vec::Vec;
use gamelane_core::Duration;

/// Maximum number of messages in flight: as many as one acknowledgement can report.
pub const WINDOW: u64 = 62;

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message<B> {
    /// Sequence number; counts up from 0 in each direction.
    pub sequence: u64,
    /// Payload.
    pub body: B,
}

/// Acknowledgement: the messages that the receiver has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Number of the newest datagram received.
    pub number: u64,
    /// Time between its arrival and this acknowledgement.
    pub delay: Duration,
    /// All messages below this sequence number have arrived or were given up.
    pub next: u64,
    /// Messages above `next` that have arrived: bit i stands for `next` + 1 + i.
    pub above: u64,
}

/// One datagram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Datagram<B> {
    /// Number of the datagram; counts up from 0. A repeat is a new datagram.
    pub number: u64,
    /// Messages below this sequence number are not sent any more. The receiver must not wait for them.
    pub floor: u64,
    /// Acknowledgement of the other direction.
    pub ack: Option<Acknowledgement>,
    /// Messages in ascending order.
    pub messages: Vec<Message<B>>,
}

impl<B: Body> Datagram<B> {
    /// Bytes of UDP payload.
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

    /// Maximum length of the header before the first message.
    pub(crate) const MAX_HEADER: usize = 1 + 8 + 4 * 8 + 8;

    /// Appends the encoded datagram. `put_body` appends the bytes of one body.
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

/// Decodes a datagram. The body of a message is its place in `bytes`. Returns `None` for malformed input.
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

/// Place of a message body in the datagram that carried it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Index of its first byte.
    pub start: usize,
    /// Length in bytes.
    pub length: Length,
}
