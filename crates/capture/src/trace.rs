//! Extracts one UDP conversation from a capture, as sizes and times per direction, for replay in a scenario. A capture
//! of several interfaces has each packet several times, so a conversation is searched on one interface. Packets lost
//! before the capture point are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::net::{IpAddr, SocketAddr};

use gamelane_core::Duration;

use crate::error::CaptureError;
use crate::orientation::Evidence;
use crate::packet::CapturedTransport;
use crate::read::Capture;

/// A recorded UDP conversation. Times count from its first packet in either direction; sizes are UDP payload bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedFlow {
    /// Address of the side at home.
    pub client: SocketAddr,
    /// Address of the side on the internet.
    pub server: SocketAddr,
    /// Packets from client to server, in order of time.
    pub up: Vec<(Duration, u32)>,
    /// Packets from server to client, in order of time.
    pub down: Vec<(Duration, u32)>,
}

/// Reads a capture to its end, and returns the UDP conversation with the most packets. If `client` is given, only conversations of that host count.
///
/// Without `client`, the client is guessed as in the analysis ([`ClientBy`](crate::analysis::ClientBy)).
///
/// # Errors
/// If the capture cannot be read, or has no such conversation.
pub fn udp_flow<R: Read>(
    capture: &mut Capture<R>,
    client: Option<IpAddr>,
) -> Result<RecordedFlow, CaptureError> {
    let mut conversations: BTreeMap<(u32, SocketAddr, SocketAddr), Conversation> = BTreeMap::new();
    while let Some(packet) = capture.next_packet()? {
        if packet.transport != CapturedTransport::Udp {
            continue;
        }
        let (source, destination) = (packet.key.source, packet.key.destination);
        let (low, high) = (source.min(destination), source.max(destination));
        conversations
            .entry((packet.interface, low, high))
            .or_insert_with(|| Conversation { low, high, first_sender: source, packets: Vec::new() })
            .packets
            .push(Sighting { at_ns: packet.at_ns, payload: packet.payload_len, from_low: source == low });
    }
    if conversations.is_empty() {
        return Err(CaptureError::NoUdpFlow {
            path: capture.path().to_owned(),
            packets_read: capture.packets_read(),
        });
    }
    let with_client =
        |c: &&Conversation| client.is_none_or(|client| client == c.low.ip() || client == c.high.ip());
    // If several are equal, the first one in order is used, so that the result is deterministic.
    match conversations.values().filter(with_client).rev().max_by_key(|c| c.packets.len()) {
        Some(largest) => Ok(largest.recorded(client)),
        None => {
            let hosts: BTreeSet<IpAddr> =
                conversations.values().flat_map(|c| [c.low.ip(), c.high.ip()]).collect();
            Err(CaptureError::UnknownClient {
                path: capture.path().to_owned(),
                client: client.expect("without a client every conversation will do"),
                hosts: hosts.into_iter().collect(),
            })
        }
    }
}

struct Conversation {
    low: SocketAddr,
    high: SocketAddr,
    first_sender: SocketAddr,
    packets: Vec<Sighting>,
}

struct Sighting {
    at_ns: u64,
    payload: u32,
    from_low: bool,
}

impl Conversation {
    fn recorded(&self, client: Option<IpAddr>) -> RecordedFlow {
        let client = self.client(client);
        let server = if client == self.low { self.high } else { self.low };
        let start_ns = self.packets.iter().map(|packet| packet.at_ns).min().unwrap_or(0);
        let direction = |from: SocketAddr| {
            let mut packets: Vec<(Duration, u32)> = self
                .packets
                .iter()
                .filter(|packet| packet.from_low == (from == self.low))
                .map(|packet| (Duration::from_nanos(packet.at_ns - start_ns), packet.payload))
                .collect();
            packets.sort_by_key(|&(at, _)| at);
            packets
        };
        RecordedFlow { client, server, up: direction(client), down: direction(server) }
    }

    fn client(&self, named: Option<IpAddr>) -> SocketAddr {
        match named {
            Some(host) if self.low.ip() != self.high.ip() => {
                return if host == self.low.ip() { self.low } else { self.high };
            }
            _ => {}
        }
        let ends = if self.first_sender == self.low { [self.low, self.high] } else { [self.high, self.low] };
        let of =
            |end: SocketAddr| self.packets.iter().filter(move |packet| packet.from_low == (end == self.low));
        let packets = ends.map(|end| of(end).filter(|packet| packet.payload > 0).count() as u64);
        let bytes = ends.map(|end| of(end).map(|packet| u64::from(packet.payload)).sum());
        let (client, _) = Evidence { ends, packets, bytes, began_late: false }.client();
        ends[client]
    }
}
