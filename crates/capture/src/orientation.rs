//! Which side of a conversation is the client, if no handshake tells. The evidence is weak, so the result says what it
//! rests on.

use std::net::{IpAddr, SocketAddr};

use gamelane_core::{FlowKey, Protocol};

use crate::packet::TcpFields;

/// What tells that a side is the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientBy {
    /// It sent the SYN.
    Handshake,
    /// The other side has a port of a known kind: well-known or registered, where this side's is higher in kind.
    Ports,
    /// It sends smaller messages, or more of them.
    Traffic,
    /// It spoke first after the capture had begun, and got an answer.
    FirstWord,
    /// It has a private address and the other side a public one.
    Addresses,
    /// Nothing tells: the side with the higher port, or else the side of the first packet.
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
        let kinds = self.ends.map(|end| kind(end.port()));
        if kinds[0] != kinds[1] {
            return (usize::from(kinds[0] < kinds[1]), ClientBy::Ports);
        }
        if let Some(client) = self.by_traffic() {
            return (client, ClientBy::Traffic);
        }
        if self.began_late && self.packets[1] > 0 {
            return (0, ClientBy::FirstWord);
        }
        let private = self.ends.map(|end| is_private(end.ip()));
        if private[0] != private[1] {
            return (usize::from(private[1]), ClientBy::Addresses);
        }
        (usize::from(self.ends[0].port() < self.ends[1].port()), ClientBy::Guess)
    }

    /// A game's server sends larger messages than its client, and its tick is slower than a client's frames. If the two
    /// signs contradict each other, neither counts.
    fn by_traffic(&self) -> Option<usize> {
        if self.packets.iter().any(|&packets| packets < ENOUGH) {
            return None;
        }
        let more = |a: u64, b: u64, by: u64| u128::from(a) * 10 > u128::from(b) * u128::from(by);
        // Mean sizes are compared as cross products.
        let size = |n: usize| self.bytes[n].saturating_mul(self.packets[1 - n]);
        let larger = (0..2).find(|&n| more(size(n), size(1 - n), 12));
        let faster = (0..2).find(|&n| more(self.packets[n], self.packets[1 - n], 11));
        match (larger.map(|server| 1 - server), faster) {
            (Some(a), Some(b)) if a != b => None,
            (by_size, by_rate) => by_size.or(by_rate),
        }
    }
}

/// Returns `key` or its reverse, so that it leads from client to server, and what tells: the handshake, otherwise the
/// ports.
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

/// Kind of a port: 0 well-known (IANA), 1 registered, 2 what Linux and Windows choose for clients.
const fn kind(port: u16) -> u8 {
    match port {
        0..1024 => 0,
        1024..32_768 => 1,
        _ => 2,
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
    fn ports_tell_before_traffic_and_traffic_before_addresses() {
        let quiet = ([1, 1], [100, 100]);
        // Linux picks 40000, a game server listens on 27960, and a name server on 53.
        assert_eq!(client("9.9.9.9:27960", "10.0.0.2:40000", quiet.0, quiet.1), (1, ClientBy::Ports));
        assert_eq!(client("9.9.9.9:53", "10.0.0.2:5353", quiet.0, quiet.1), (1, ClientBy::Ports));
        // Quake III uses 27960 at both ends: the server sends larger snapshots less often.
        let match_ = ([2399, 3627], [2399 * 180, 3627 * 60]);
        assert_eq!(client("10.0.0.9:27960", "10.0.0.2:27960", match_.0, match_.1), (1, ClientBy::Traffic));
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
