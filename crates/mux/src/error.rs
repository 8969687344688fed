//! Violations of the protocol that either half can find. Frames that cannot be decoded are
//! [`DecodeError`](crate::frame::DecodeError)s.

use core::fmt;

/// The peer does what no peer of ours does. The session cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// Data beyond what was credited.
    BeyondCredit,
    /// A stream ends in two places, or goes on behind its end.
    EndMoved,
    /// A stream in more pieces than a sender keeps.
    TooScattered,
    /// An acknowledgement of what was never sent.
    AckBeyondSent,
    /// Data of a stream that was never opened.
    NeverOpened,
    /// A frame the other role sends, or a hello in the middle.
    OutOfPlace,
    /// Stream ids that leave out too many.
    SparseIds,
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BeyondCredit => "the peer sends beyond its credit",
            Self::EndMoved => "the peer moves the end of a stream",
            Self::TooScattered => "the peer sends a stream in too many pieces",
            Self::AckBeyondSent => "the peer acknowledges what was never sent",
            Self::NeverOpened => "the peer sends data of a stream that was never opened",
            Self::OutOfPlace => "the peer sends a frame that has no place here",
            Self::SparseIds => "the peer leaves out too many stream ids",
        })
    }
}

impl core::error::Error for ProtocolError {}
