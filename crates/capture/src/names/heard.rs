//! What the first packets of a flow said.

use super::channel::Channel;
use super::media::Media;
use super::said::Said;
use super::server_name::ServerName;
use super::signature::Signature;
use crate::packet::CapturedPacket;

/// Signatures of a flow. Only the first messages of each direction count, so its size and its cost are bounded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heard {
    ways: [Way; 2],
    /// The first server name, and where it was.
    pub(super) name: Option<(Signature, ServerName)>,
}

/// One direction.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    messages: u8,
    /// Messages of which enough bytes were captured to look at them.
    captured: u8,
    signed: [u8; Signature::ALL.len()],
    media: Media,
    channel: Channel,
}

impl Heard {
    /// Adds a packet of a direction.
    #[inline]
    pub(crate) fn saw(&mut self, packet: &CapturedPacket, direction: usize) {
        let heard = self.ways[direction].messages;
        if heard < DATAGRAMS && packet.payload_len > 0 && (heard < SEGMENTS || packet.tcp().is_none()) {
            self.hear(packet, direction);
        }
    }

    #[inline(never)]
    fn hear(&mut self, packet: &CapturedPacket, direction: usize) {
        let [first, second] = &mut self.ways;
        let (way, other) = if direction == 0 { (first, second) } else { (second, first) };
        way.messages += 1;
        way.captured += u8::from(packet.said != Said::Nothing);
        let start = packet.start.unwrap_or_default();
        match packet.said {
            Said::Nothing => {}
            Said::Unsigned { next, source } => {
                way.channel.saw(start, next, &other.channel);
                if let Some(source) = source {
                    way.media.saw(source, u16::from_be_bytes([start[2], start[3]]));
                }
            }
            Said::Signed(signature) => way.signed[signature.index()] += 1,
            Said::Named(signature, name) => {
                way.signed[signature.index()] += 1;
                self.name.get_or_insert((signature, name));
            }
        }
    }

    /// Exchanges client and server.
    pub(crate) const fn exchange(&mut self) {
        let [first, second] = self.ways;
        self.ways = [second, first];
    }

    /// Number of messages that were looked at.
    pub(super) fn messages(&self) -> u32 {
        self.ways.iter().map(|way| u32::from(way.messages)).sum()
    }

    /// True if too few bytes were captured to tell anything.
    pub(super) fn is_deaf(&self) -> bool {
        self.ways.iter().all(|way| way.captured == 0)
    }

    /// Number of messages with a signature.
    pub(super) fn count(&self, signature: Signature) -> u32 {
        self.each(signature).into_iter().sum()
    }

    /// Number of messages with a signature in each direction.
    pub(super) fn each(&self, signature: Signature) -> [u32; 2] {
        self.ways.map(|way| way.signed[signature.index()].into())
    }

    /// Number of RTP packets in each direction that continue the sequence of an earlier one.
    pub(super) fn media(&self) -> [u32; 2] {
        self.ways.map(|way| way.media.goes_on.into())
    }

    /// True if only the client's messages have a `qport`: the form of Quake III.
    pub(super) fn has_client_port(&self) -> bool {
        self.ways[0].channel.has_port()
    }

    /// True if the messages of both sides acknowledge each other: the form of QuakeWorld, GoldSrc and Source.
    pub(super) fn acknowledges(&self) -> bool {
        self.ways.iter().all(|way| way.channel.acknowledges())
    }
}

/// Datagrams of each direction that are looked at: at 60 a second those of 4 s, with the checks before a call.
const DATAGRAMS: u8 = 250;
/// Segments with data of each direction that are looked at.
const SEGMENTS: u8 = 4;
