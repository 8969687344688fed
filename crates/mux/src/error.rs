//! Protocol violations that either half can detect. Frames that cannot be decoded are
//! [`DecodeError`](crate::frame::DecodeError)s and are left out here.

use core::fmt;

/// A protocol violation by the peer. The session cannot continue; close all its carriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// Data beyond the announced credit.
    BeyondCredit,
    /// A stream with two different ends, or with data after its end.
    EndMoved,
    /// A stream in more pieces than a sender may keep.
    TooScattered,
    /// An acknowledgement of bytes that were never sent.
    AckBeyondSent,
    /// Data of a stream that was never opened.
    NeverOpened,
    /// A frame that only the other role may send, or a hello after the handshake.
    OutOfPlace,
    /// A new stream id that skips too many ids.
    SparseIds,
    /// Too many ended streams that the peer neither confirms nor lets us confirm.
    Unconfirmed,
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BeyondCredit => "the peer sent data beyond the credit it was given",
            Self::EndMoved => "the peer changed the end of a stream, or sent data after it",
            Self::TooScattered => "the peer sent a stream in too many separate pieces",
            Self::AckBeyondSent => "the peer acknowledged data that was never sent",
            Self::NeverOpened => "the peer sent a frame for a stream that was never opened",
            Self::OutOfPlace => "the peer sent a frame that is not allowed in this state",
            Self::SparseIds => "the peer skipped too many stream ids",
            Self::Unconfirmed => "the peer left too many ended streams unconfirmed",
        })
    }
}

impl core::error::Error for ProtocolError {}
