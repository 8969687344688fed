//! Decoding of frames from bytes of the peer. No input makes it panic. What a frame means is left to the two halves.

use super::{
    ACK, CREDIT, DATA, DRAIN, EXPLICIT, FIN, Frame, GONE, HELLO, Hello, MAGIC, MAX_METADATA, OPEN, PING,
    PONG, Position, RESET, RESUME, VERSION,
};
use crate::body::{Body, Length};
use crate::config::{CarrierId, MAX_CARRIERS, StreamId};
use crate::varint;
use core::fmt;

/// Result of decoding the bytes received so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A whole frame: `header` bytes, followed by its body.
    Frame {
        /// The frame, with the length of its body.
        frame: Frame<Length>,
        /// Number of bytes before the body.
        header: usize,
    },
    /// An incomplete frame.
    Incomplete {
        /// Number of bytes needed in total, at least. Never more than the longest allowed frame.
        need: usize,
    },
}

/// Invalid bytes from the peer. Close the carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// Unknown kind or flag.
    Kind(u8),
    /// A hello of another protocol.
    Magic,
    /// A peer with another version of the protocol.
    Version(u64),
    /// A body that is too long.
    TooLong {
        /// Its length in bytes.
        len: u64,
        /// Maximum length in bytes.
        allowed: usize,
    },
    /// A carrier number or an offset out of range.
    Range,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(byte) => write!(f, "0x{byte:02x} is not the first byte of a frame"),
            Self::Magic => f.write_str("the peer does not speak this protocol: check its address and port"),
            Self::Version(version) => write!(
                f,
                "the peer speaks version {version} of the protocol, this end version {VERSION}: \
                 install the same release on both ends"
            ),
            Self::TooLong { len, allowed } => {
                write!(f, "a frame has a body of {len} bytes, but at most {allowed} are allowed")
            }
            Self::Range => f.write_str("a carrier number or offset is out of range"),
        }
    }
}

impl core::error::Error for DecodeError {}

/// Decodes the frame at the front of `bytes`. `max_payload` is the maximum body of a data frame in bytes. After
/// [`Parsed::Incomplete`], call it again with more bytes.
///
/// # Errors
/// If the bytes are not a valid frame.
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
