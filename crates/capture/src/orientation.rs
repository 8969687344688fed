//! Which side of a conversation is the client, if no handshake tells. A well-known port decides. Otherwise several weak
//! signs vote, and the result says what it rests on.

use std::cmp::Ordering;
use std::net::{IpAddr, SocketAddr};

use gamelane_core::{FlowKey, Protocol};

use crate::packet::TcpFields;

/// What tells that a side is the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientBy {
    /// It sent the SYN.
    Handshake,
    /// The other side has a well-known port, or this one has a port that systems choose for clients.
    Ports,
    /// It sends smaller messages than the other side, or more messages.
    Traffic,
    /// It spoke first after the capture had begun, and got an answer.
    FirstWord,
    /// It has a private address and the other side a public one.
    Addresses,
    /// Nothing tells, or the signs contradict each other: the side with the higher port, or else that of the first packet.
    Guess,
}

impl ClientBy {
    /// Name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Ports => "ports",
            Self::Traffic => "traffic",
            Self::FirstWord => "first-word",
            Self::Addresses => "addresses",
            Self::Guess => "guess",
        }
    }
}

/// A conversation as it can be seen without its content. The first of each pair is the side that sent the first packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    pub(crate) ends: [SocketAddr; 2],
    /// Packets with payload that each side sent.
    pub(crate) packets: [u64; 2],
    /// Payload bytes that each side sent.
    pub(crate) bytes: [u64; 2],
    /// The capture ran for a while before the first packet.
    pub(crate) began_late: bool,
}

impl Evidence {
    /// Returns the index of the client, and what tells.
    pub(crate) fn client(&self) -> (usize, ClientBy) {
        let well_known = self.ends.map(|end| end.port() < WELL_KNOWN);
        if well_known[0] != well_known[1] {
            return (usize::from(well_known[0]), ClientBy::Ports);
        }
        let votes = [
            (ClientBy::Ports, 2, differing(self.ends.map(|end| end.port() >= EPHEMERAL))),
            (ClientBy::Addresses, 2, differing(self.ends.map(|end| is_private(end.ip())))),
            (ClientBy::FirstWord, 2, (self.began_late && self.packets[1] > 0).then_some(0)),
            (ClientBy::Traffic, 1, self.larger().map(|server| 1 - server)),
            (ClientBy::Traffic, 1, self.faster()),
        ];
        let weight = |side| votes.iter().filter(|vote| vote.2 == Some(side)).map(|vote| vote.1).sum::<u32>();
        let client = match weight(0).cmp(&weight(1)) {
            Ordering::Greater => 0,
            Ordering::Less => 1,
            Ordering::Equal => {
                return (usize::from(self.ends[0].port() < self.ends[1].port()), ClientBy::Guess);
            }
        };
        // The first of the votes for it names the reason.
        let by = votes.iter().find(|vote| vote.2 == Some(client)).map_or(ClientBy::Guess, |vote| vote.0);
        (client, by)
    }

    /// Side that sends larger messages, by a fifth: a game's server.
    fn larger(&self) -> Option<usize> {
        // Mean sizes are compared as cross products.
        let size = |n: usize| self.bytes[n].saturating_mul(self.packets[1 - n]);
        self.is_telling().then(|| (0..2).find(|&n| exceeds(size(n), size(1 - n), 12)))?
    }

    /// Side that sends more messages, by a tenth: a game's client, whose frames are faster than the server's tick.
    fn faster(&self) -> Option<usize> {
        self.is_telling().then(|| (0..2).find(|&n| exceeds(self.packets[n], self.packets[1 - n], 11)))?
    }

    fn is_telling(&self) -> bool {
        self.packets.iter().all(|&packets| packets >= ENOUGH)
    }
}

/// Returns the side for which it is true, if it is true for one only.
const fn differing(is: [bool; 2]) -> Option<usize> {
    match is {
        [true, false] => Some(0),
        [false, true] => Some(1),
        _ => None,
    }
}

/// True if `a` is more than `tenths` tenths of `b`.
fn exceeds(a: u64, b: u64, tenths: u64) -> bool {
    u128::from(a) * 10 > u128::from(b) * u128::from(tenths)
}

/// Returns `key` or its reverse, so that it leads from client to server, and what tells: the handshake, otherwise
/// ports and addresses.
pub(crate) fn client_to_server(key: FlowKey, tcp: &TcpFields) -> (FlowKey, ClientBy) {
    debug_assert_eq!(key.protocol, Protocol::Tcp);
    let from_server = (key.reverse(), ClientBy::Handshake);
    match (tcp.flags.syn, tcp.flags.ack) {
        (true, false) => (key, ClientBy::Handshake),
        (true, true) => from_server,
        (false, _) => {
            let ends = [key.source, key.destination];
            let (client, by) = Evidence { ends, packets: [0; 2], bytes: [0; 2], began_late: false }.client();
            (if client == 0 { key } else { key.reverse() }, by)
        }
    }
}

/// True for addresses of a home network (RFC 1918, RFC 6598, RFC 4193) or a link.
pub(crate) fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let shared = v4.octets()[0] == 100 && v4.octets()[1] & 0xc0 == 64;
            v4.is_private() || v4.is_link_local() || v4.is_loopback() || shared
        }
        IpAddr::V6(v6) => v6.is_unique_local() || v6.is_unicast_link_local() || v6.is_loopback(),
    }
}

/// Ports below are well-known (RFC 6335).
const WELL_KNOWN: u16 = 1024;
/// Linux chooses ports from here on for clients, Windows and macOS from 49152.
const EPHEMERAL: u16 = 32_768;
/// Packets of each side after which its traffic tells.
const ENOUGH: u64 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn client(first: &str, second: &str, packets: [u64; 2], bytes: [u64; 2]) -> (usize, ClientBy) {
        let ends = [first, second].map(|end| end.parse().unwrap());
        Evidence { ends, packets, bytes, began_late: false }.client()
    }

    #[test]
    fn several_signs_vote() {
        let quiet = ([1, 1], [100, 100]);
        // A name server listens on 53. Of two public addresses the one with the higher kind of port is the client.
        assert_eq!(client("9.9.9.9:53", "10.0.0.2:5353", quiet.0, quiet.1), (1, ClientBy::Ports));
        assert_eq!(client("9.9.9.9:27960", "8.8.8.8:40000", quiet.0, quiet.1), (1, ClientBy::Ports));
        assert_eq!(client("9.9.9.9:27960", "10.0.0.2:40000", quiet.0, quiet.1), (1, ClientBy::Ports));
        // Quake III uses 27960 at both ends: the server sends larger snapshots less often.
        let match_ = ([2399, 3627], [2399 * 180, 3627 * 60]);
        assert_eq!(client("10.0.0.9:27960", "10.0.0.2:27960", match_.0, match_.1), (1, ClientBy::Traffic));
        // A console uses a registered port, and its server one that others choose for clients.
        assert_eq!(
            client("20.1.2.3:44000", "192.168.1.5:3074", match_.0, match_.1),
            (1, ClientBy::Addresses)
        );
        // A server at home, and an upload through a tunnel.
        let served = ([3627, 2399], [3627 * 60, 2399 * 180]);
        assert_eq!(client("8.8.8.8:50000", "10.0.0.2:27015", served.0, served.1), (0, ClientBy::Ports));
        let upload = ([900, 300], [900 * 1400, 300 * 90]);
        assert_eq!(client("10.0.0.2:40000", "9.9.9.9:51820", upload.0, upload.1), (0, ClientBy::Addresses));
        assert_eq!(client("10.0.0.2:27960", "9.9.9.9:27960", quiet.0, quiet.1), (0, ClientBy::Addresses));
        assert_eq!(client("9.9.9.9:27960", "10.0.0.2:27960", quiet.0, quiet.1), (1, ClientBy::Addresses));
        assert_eq!(client("10.0.0.1:5000", "10.0.0.2:6000", quiet.0, quiet.1), (1, ClientBy::Guess));
    }

    #[test]
    fn traffic_that_contradicts_itself_tells_nothing() {
        // Larger messages, but more of them.
        let both = ([400, 200], [400 * 300, 200 * 60]);
        assert_eq!(client("10.0.0.1:27960", "10.0.0.2:27960", both.0, both.1), (0, ClientBy::Guess));
        // A call: equal ways.
        let call = ([500, 501], [500 * 160, 501 * 160]);
        assert_eq!(client("10.0.0.1:9000", "10.0.0.2:9000", call.0, call.1), (0, ClientBy::Guess));
    }
}
