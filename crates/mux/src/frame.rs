//! The wire format between a pair. A frame is one byte of kind (high nibble) and flags (low nibble), varints
//! (RFC 9000 section 16), and for two kinds a body:
//!
//! | kind | fields |
//! | --- | --- |
//! | 1 data | stream, offset if flag 2, length, bytes; flag 1: the stream ends here |
//! | 2 open | stream, length, metadata |
//! | 3 reset | stream, code |
//! | 4 gone | stream |
//! | 5 credit | stream, limit |
//! | 6 ack | stream, offset |
//! | 7 ping, 8 pong | token |
//! | 9 drain | |
//! | 15 hello | `GLM`, version, session (16 bytes), carrier, carriers, window, positions; flag 1: the session had been up |
//!
//! A data frame that continues where the last one of its stream on the same carrier ended has no offset, so the header of a
//! small message is three or four bytes. [`Frame::put_header`] writes and [`parse`] reads; no input makes either panic.

use crate::body::{Body, Length};
use crate::config::{CarrierId, MAX_CARRIERS, StreamId};
use crate::varint;
use alloc::vec::Vec;
use core::fmt;

/// The version this code speaks. A pair must agree.
pub const VERSION: u64 = 1;

/// Longest metadata of [`Frame::Open`].
pub const MAX_METADATA: usize = 1024;

/// Longest header of any frame that has a body.
pub const MAX_HEADER: usize = 1 + 8 + 8 + 8;

/// Where the bytes of a data frame belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// At this offset of the stream.
    At(u64),
    /// Where the last data frame of this stream on this carrier ended, or at 0 if there was none.
    Continues,
}

/// First on each carrier, from both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The same on all carriers of a pair, drawn at random by the end that opens streams.
    pub session: [u8; 16],
    /// Which carrier this is.
    pub carrier: CarrierId,
    /// How many there are.
    pub carriers: u8,
    /// Bytes of each stream the sender of this takes before its first credit.
    pub window: u64,
    /// So many acks follow at once: where the sender's streams stand.
    pub positions: u64,
    /// The sender has had this session up before.
    pub resume: bool,
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<B> {
    /// Who speaks, and where streams stand.
    Hello(Hello),
    /// A new stream.
    Open {
        /// Its id.
        stream: StreamId,
        /// For the far end's eyes only, such as the client's address.
        metadata: B,
    },
    /// Bytes of a stream.
    Data {
        /// Which.
        stream: StreamId,
        /// Where.
        position: Position,
        /// No bytes follow these.
        fin: bool,
        /// Payload.
        body: B,
    },
    /// The stream has failed, both ways.
    Reset {
        /// Which.
        stream: StreamId,
        /// Why; the proxies give it a meaning.
        code: u64,
    },
    /// Nothing more is wanted of the stream: a reset was seen, or all of it had arrived.
    Gone {
        /// Which.
        stream: StreamId,
    },
    /// How far the stream may be sent.
    Credit {
        /// Which.
        stream: StreamId,
        /// Offset up to which.
        limit: u64,
    },
    /// How much of the stream has arrived without a hole. Counts one more than the bytes once its end has.
    Ack {
        /// Which.
        stream: StreamId,
        /// Bytes.
        offset: u64,
    },
    /// Asks for a pong.
    Ping {
        /// To be given back.
        token: u64,
    },
    /// Answers a ping.
    Pong {
        /// The ping's.
        token: u64,
    },
    /// No new streams, please: the sender of this is going to stop.
    Drain,
}

impl<B: Body> Frame<B> {
    /// Bytes on the carrier, body included.
    pub fn wire_len(&self) -> usize {
        let id = |stream: &StreamId| varint::len(stream.0);
        let with_body = |body: &B| varint::len(body.len() as u64) + body.len();
        1 + match self {
            Self::Hello(hello) => {
                3 + varint::len(VERSION)
                    + 16
                    + varint::len(u64::from(hello.carrier.0))
                    + varint::len(u64::from(hello.carriers))
                    + varint::len(hello.window)
                    + varint::len(hello.positions)
            }
            Self::Open { stream, metadata } => id(stream) + with_body(metadata),
            Self::Data { stream, position, body, .. } => {
                let offset = match position {
                    Position::At(offset) => varint::len(*offset),
                    Position::Continues => 0,
                };
                id(stream) + offset + with_body(body)
            }
            Self::Reset { stream, code: number }
            | Self::Credit { stream, limit: number }
            | Self::Ack { stream, offset: number } => id(stream) + varint::len(*number),
            Self::Gone { stream } => id(stream),
            Self::Ping { token } | Self::Pong { token } => varint::len(*token),
            Self::Drain => 0,
        }
    }

    /// The body, of the kinds that have one.
    pub fn body(&self) -> Option<&B> {
        match self {
            Self::Open { metadata: body, .. } | Self::Data { body, .. } => Some(body),
            _ => None,
        }
    }

    /// Appends everything but the body, which has to follow.
    pub fn put_header(&self, out: &mut Vec<u8>) {
        match self {
            Self::Hello(hello) => {
                out.push(HELLO << 4 | if hello.resume { RESUME } else { 0 });
                out.extend_from_slice(MAGIC);
                varint::put(VERSION, out);
                out.extend_from_slice(&hello.session);
                put_all(
                    &[u64::from(hello.carrier.0), u64::from(hello.carriers), hello.window, hello.positions],
                    out,
                );
            }
            Self::Open { stream, metadata } => put_kind(OPEN, 0, &[stream.0, metadata.len() as u64], out),
            Self::Data { stream, position, fin, body } => {
                let fin = if *fin { FIN } else { 0 };
                let len = body.len() as u64;
                match position {
                    Position::At(offset) => {
                        put_kind(DATA, fin | EXPLICIT, &[stream.0, *offset, len], out);
                    }
                    Position::Continues => put_kind(DATA, fin, &[stream.0, len], out),
                }
            }
            Self::Reset { stream, code } => put_kind(RESET, 0, &[stream.0, *code], out),
            Self::Gone { stream } => put_kind(GONE, 0, &[stream.0], out),
            Self::Credit { stream, limit } => put_kind(CREDIT, 0, &[stream.0, *limit], out),
            Self::Ack { stream, offset } => put_kind(ACK, 0, &[stream.0, *offset], out),
            Self::Ping { token } => put_kind(PING, 0, &[*token], out),
            Self::Pong { token } => put_kind(PONG, 0, &[*token], out),
            Self::Drain => put_kind(DRAIN, 0, &[], out),
        }
    }

    /// The same frame around another body, made from this one's.
    pub fn map_body<C>(self, make: impl FnOnce(B) -> C) -> Frame<C> {
        match self {
            Self::Hello(hello) => Frame::Hello(hello),
            Self::Open { stream, metadata } => Frame::Open { stream, metadata: make(metadata) },
            Self::Data { stream, position, fin, body } => {
                Frame::Data { stream, position, fin, body: make(body) }
            }
            Self::Reset { stream, code } => Frame::Reset { stream, code },
            Self::Gone { stream } => Frame::Gone { stream },
            Self::Credit { stream, limit } => Frame::Credit { stream, limit },
            Self::Ack { stream, offset } => Frame::Ack { stream, offset },
            Self::Ping { token } => Frame::Ping { token },
            Self::Pong { token } => Frame::Pong { token },
            Self::Drain => Frame::Drain,
        }
    }
}

/// What is at the front of the bytes received so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A whole frame: `header` bytes, then as many as its body has.
    Frame {
        /// With the length of the body.
        frame: Frame<Length>,
        /// Bytes before the body.
        header: usize,
    },
    /// At least this many bytes in all are needed, never more than the longest frame allowed.
    Incomplete {
        /// Bytes.
        need: usize,
    },
}

/// What arrived is not ours, or is broken. The carrier cannot be used any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// A kind or flag nobody sends.
    Kind(u8),
    /// The hello of something else.
    Magic,
    /// The peer speaks another version.
    Version(u64),
    /// A body longer than allowed.
    TooLong {
        /// Its length.
        len: u64,
        /// The longest allowed.
        allowed: usize,
    },
    /// A number that cannot be: a carrier beyond the last, an offset beyond the largest.
    Range,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(byte) => write!(f, "0x{byte:02x} starts no frame"),
            Self::Magic => f.write_str("the peer does not speak this protocol"),
            Self::Version(version) => {
                write!(f, "the peer speaks version {version} of the protocol, this end version {VERSION}")
            }
            Self::TooLong { len, allowed } => {
                write!(f, "a frame of {len} bytes, and at most {allowed} are allowed")
            }
            Self::Range => f.write_str("a number outside its range"),
        }
    }
}

impl core::error::Error for DecodeError {}

/// Reads the frame at the front of `bytes`; `max_payload` bounds the body of data. Call again with more bytes when
/// [`Parsed::Incomplete`]. No input panics.
pub fn parse(bytes: &[u8], max_payload: usize) -> Result<Parsed, DecodeError> {
    let mut reader = Reader { rest: bytes };
    match reader.frame(max_payload) {
        Ok(frame) => {
            let header = bytes.len() - reader.rest.len();
            let whole = header + frame.body().map_or(0, Body::len);
            if bytes.len() < whole {
                return Ok(Parsed::Incomplete { need: whole });
            }
            Ok(Parsed::Frame { frame, header })
        }
        Err(Stop::Short) => Ok(Parsed::Incomplete { need: bytes.len() + 1 }),
        Err(Stop::Broken(error)) => Err(error),
    }
}

enum Stop {
    Short,
    Broken(DecodeError),
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn frame(&mut self, max_payload: usize) -> Result<Frame<Length>, Stop> {
        let first = self.bytes::<1>()?[0];
        let (kind, flags) = (first >> 4, first & 0x0f);
        let allowed = match kind {
            DATA => FIN | EXPLICIT,
            HELLO => RESUME,
            _ => 0,
        };
        if flags & !allowed != 0 {
            return Err(Stop::Broken(DecodeError::Kind(first)));
        }
        Ok(match kind {
            DATA => {
                let stream = self.stream()?;
                let position =
                    if flags & EXPLICIT != 0 { Position::At(self.number()?) } else { Position::Continues };
                let body = self.length(max_payload)?;
                if matches!(position, Position::At(offset) if offset > varint::MAX - u64::from(body.0) - 1) {
                    return Err(Stop::Broken(DecodeError::Range));
                }
                Frame::Data { stream, position, fin: flags & FIN != 0, body }
            }
            OPEN => Frame::Open { stream: self.stream()?, metadata: self.length(MAX_METADATA)? },
            RESET => Frame::Reset { stream: self.stream()?, code: self.number()? },
            GONE => Frame::Gone { stream: self.stream()? },
            CREDIT => Frame::Credit { stream: self.stream()?, limit: self.number()? },
            ACK => Frame::Ack { stream: self.stream()?, offset: self.number()? },
            PING => Frame::Ping { token: self.number()? },
            PONG => Frame::Pong { token: self.number()? },
            DRAIN => Frame::Drain,
            HELLO => Frame::Hello(self.hello(flags & RESUME != 0)?),
            _ => return Err(Stop::Broken(DecodeError::Kind(first))),
        })
    }

    fn hello(&mut self, resume: bool) -> Result<Hello, Stop> {
        if self.bytes::<3>()? != *MAGIC {
            return Err(Stop::Broken(DecodeError::Magic));
        }
        let version = self.number()?;
        if version != VERSION {
            return Err(Stop::Broken(DecodeError::Version(version)));
        }
        let session = self.bytes::<16>()?;
        let (carrier, carriers) = (self.number()?, self.number()?);
        if carriers == 0 || carriers > MAX_CARRIERS as u64 || carrier >= carriers {
            return Err(Stop::Broken(DecodeError::Range));
        }
        let (window, positions) = (self.number()?, self.number()?);
        let (carrier, carriers) = (CarrierId(carrier as u8), carriers as u8);
        Ok(Hello { session, carrier, carriers, window, positions, resume })
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>().ok_or(Stop::Short)?;
        self.rest = rest;
        Ok(*bytes)
    }

    fn number(&mut self) -> Result<u64, Stop> {
        let (number, rest) = varint::take(self.rest).ok_or(Stop::Short)?;
        self.rest = rest;
        Ok(number)
    }

    fn stream(&mut self) -> Result<StreamId, Stop> {
        self.number().map(StreamId)
    }

    fn length(&mut self, allowed: usize) -> Result<Length, Stop> {
        let len = self.number()?;
        match u32::try_from(len) {
            Ok(short) if short as usize <= allowed => Ok(Length(short)),
            _ => Err(Stop::Broken(DecodeError::TooLong { len, allowed })),
        }
    }
}

fn put_kind(kind: u8, flags: u8, numbers: &[u64], out: &mut Vec<u8>) {
    out.push(kind << 4 | flags);
    put_all(numbers, out);
}

fn put_all(numbers: &[u64], out: &mut Vec<u8>) {
    for number in numbers {
        varint::put(*number, out);
    }
}

const DATA: u8 = 1;
const OPEN: u8 = 2;
const RESET: u8 = 3;
const GONE: u8 = 4;
const CREDIT: u8 = 5;
const ACK: u8 = 6;
const PING: u8 = 7;
const PONG: u8 = 8;
const DRAIN: u8 = 9;
const HELLO: u8 = 15;
const MAGIC: &[u8; 3] = b"GLM";
const FIN: u8 = 1;
const EXPLICIT: u8 = 2;
const RESUME: u8 = 1;
