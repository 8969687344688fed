//! What the payload of one packet says about the protocol.

use super::server_name::ServerName;
use super::signature::Signature;

/// What the first bytes of a payload say, without a look at other packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Said {
    /// Nothing, or too few bytes were captured.
    #[default]
    Nothing,
    /// A datagram without a signature.
    Unsigned {
        /// Bytes 4 to 7. [`CapturedPacket::start`](crate::CapturedPacket::start) has the first four.
        next: [u8; 4],
        /// Source (SSRC), if it also has the form of RTP (RFC 3550 section 5.1).
        source: Option<u32>,
    },
    /// A signature.
    Signed(Signature),
    /// A signature, and the server that the client asks for.
    Named(Signature, ServerName),
}
