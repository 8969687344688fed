//! One UDP conversation out of a capture, as sizes and times per direction: what a scenario replays. A capture of several
//! interfaces holds a packet once for each, so a conversation is looked for on one of them. Leaves out loss: what the
//! capture point did not see is not replayed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use gamelane_core::Duration;

use crate::error::CaptureError;
use crate::packet::CapturedTransport;
use crate::read::Capture;

/// A recorded UDP conversation. Times count from its first packet in either direction; sizes are UDP payload bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedFlow {
    /// The side at home.
    pub client: SocketAddr,
    /// The side on the internet.
    pub server: SocketAddr,
    /// Client to server, in order of time.
    pub up: Vec<(Duration, u32)>,
    /// Server to client, in order of time.
    pub down: Vec<(Duration, u32)>,
}

/// Reads the UDP conversation with the most packets, of those `client` takes part in if it is given.
///
/// Without `client`, the client is the side with the higher port: servers listen on well-known ports, clients on ephemeral
/// ones. Games often use one port on both sides; then it is the side that sends at least a tenth more packets, for a
/// shooter's client sends faster than the server's tick. Failing that, it is the side that spoke first.
pub fn read_udp_flow(path: &Path, client: Option<IpAddr>) -> Result<RecordedFlow, CaptureError> {
    udp_flow(&mut Capture::open(path)?, client)
}

/// [`read_udp_flow`] of a capture from anywhere, read to its end.
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
    // Of equals the first in order, so that a file gives one answer.
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
        if self.low.port() != self.high.port() {
            return if self.low.port() > self.high.port() { self.low } else { self.high };
        }
        let from_low = self.packets.iter().filter(|packet| packet.from_low).count();
        let from_high = self.packets.len() - from_low;
        match (from_low * 10 > from_high * 11, from_high * 10 > from_low * 11) {
            (true, _) => self.low,
            (_, true) => self.high,
            _ => self.first_sender,
        }
    }
}
