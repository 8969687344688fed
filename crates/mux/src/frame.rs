//! The wire format between the two ends of a pair. A frame is one byte (kind in the high nibble, flags in the low one),
//! then varints (RFC 9000 section 16), then for two kinds a body:
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
//! A data frame without an offset continues where the last frame of its stream on the same carrier ended. So the header
//! of a small message has three or four bytes. [`Frame::put_header`] encodes and [`parse`] decodes; no input makes
//! either panic. Left out: encryption and framing of datagrams.

mod decode;

use crate::body::Body;
use crate::config::{CarrierId, StreamId};
use crate::varint;
use alloc::vec::Vec;
pub use decode::{DecodeError, Parsed, parse};

/// Version of the protocol; both ends must have the same.
pub const VERSION: u64 = 1;

/// Maximum length of the metadata in [`Frame::Open`], in bytes.
pub const MAX_METADATA: usize = 1024;

/// Maximum header length of a frame with a body, in bytes.
pub const MAX_HEADER: usize = 1 + 8 + 8 + 8;

/// Offset of a data frame in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// An explicit offset.
    At(u64),
    /// The end of the last data frame of this stream on this carrier; 0 if there was none.
    Continues,
}

/// First frame on each carrier, sent by both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Session id, the same on all carriers of a pair. The near end draws it at random.
    pub session: [u8; 16],
    /// Number of this carrier.
    pub carrier: CarrierId,
    /// Number of carriers of the pair.
    pub carriers: u8,
    /// Bytes of each stream that the sender of this frame accepts before its first credit.
    pub window: u64,
    /// Number of `Ack` frames that follow at once: how far each stream has arrived at the sender of this frame.
    pub positions: u64,
    /// The sender of this frame had this session up before.
    pub resume: bool,
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<B> {
    /// First frame on a carrier.
    Hello(Hello),
    /// A new stream.
    Open {
        /// Id of the stream.
        stream: StreamId,
        /// Data for the far end only, such as the client's address.
        metadata: B,
    },
    /// Bytes of a stream.
    Data {
        /// Id of the stream.
        stream: StreamId,
        /// Offset of the first byte.
        position: Position,
        /// The stream ends after these bytes.
        fin: bool,
        /// Payload.
        body: B,
    },
    /// Aborts the stream in both directions.
    Reset {
        /// Id of the stream.
        stream: StreamId,
        /// Reason; the constants in [`session`](crate::session) have the codes.
        code: u64,
    },
    /// Nothing more is wanted of the stream: it was reset, or all of it has arrived.
    Gone {
        /// Id of the stream.
        stream: StreamId,
    },
    /// Permission to send.
    Credit {
        /// Id of the stream.
        stream: StreamId,
        /// Offset up to which the stream may be sent.
        limit: u64,
    },
    /// Acknowledgement of the bytes of a stream that arrived without a hole.
    Ack {
        /// Id of the stream.
        stream: StreamId,
        /// Number of bytes, plus one if the end has arrived too.
        offset: u64,
    },
    /// Asks for a pong.
    Ping {
        /// Value that the pong must return.
        token: u64,
    },
    /// Answers a ping.
    Pong {
        /// Token of the ping.
        token: u64,
    },
    /// Asks the peer to open no new streams, because the sender of this frame is shutting down.
    Drain,
}

impl<B: Body> Frame<B> {
    /// Length on the wire in bytes, body included.
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

    /// The body, if this kind of frame has one.
    pub fn body(&self) -> Option<&B> {
        match self {
            Self::Open { metadata: body, .. } | Self::Data { body, .. } => Some(body),
            _ => None,
        }
    }

    /// Appends the encoded frame without its body. The caller appends the body.
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

    /// Replaces the body by `make(body)`.
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
