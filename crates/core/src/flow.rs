//! Identity of a flow: its direction through the gateway, its 5-tuple, and its dense id within a run. The hashes are
//! fixed by their definition, so every machine computes the same ones.

use core::net::{IpAddr, SocketAddr};

use crate::rng::Fnv1a;

/// Direction of a packet through the home gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the home to the internet.
    Up,
    /// From the internet to the home.
    Down,
}

impl Direction {
    /// Both directions, upstream first.
    pub const BOTH: [Self; 2] = [Self::Up, Self::Down];

    /// Index into a pair: 0 for up, 1 for down.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the opposite direction.
    pub const fn reverse(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }

    /// Name in scenarios and records: `up` or `down`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

/// Transport protocol, as far as queues and hashes need to tell it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// IP protocol 6.
    Tcp,
    /// IP protocol 17.
    Udp,
    /// Any other IP protocol, by number.
    Other(u8),
}

impl Protocol {
    /// Protocol number in the IP header.
    pub const fn number(self) -> u8 {
        match self {
            Self::Tcp => 6,
            Self::Udp => 17,
            Self::Other(number) => number,
        }
    }
}

/// Id of an application flow within a run. Ids start at 0 without gaps, so tables can be indexed by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

impl FlowId {
    /// The id as a table index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The 5-tuple of one direction of a transport conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// Address and port of the sender.
    pub source: SocketAddr,
    /// Address and port of the receiver.
    pub destination: SocketAddr,
    /// Transport protocol.
    pub protocol: Protocol,
}

impl FlowKey {
    /// Returns the 5-tuple of the opposite direction: source and destination exchanged.
    pub const fn reverse(self) -> Self {
        Self { source: self.destination, destination: self.source, protocol: self.protocol }
    }

    /// Computes a 32-bit hash of the 5-tuple, the same on every machine. Each queue mixes in a salt of its own.
    /// So an attacker who knows this function cannot choose the bucket a flow falls in (RFC 8290 section 4.1.2).
    pub fn hash(&self) -> u32 {
        let mut state = Fnv1a::default();
        for end in [self.source, self.destination] {
            write_address(&mut state, end.ip());
            state.write(&end.port().to_be_bytes());
        }
        state.write(&[self.protocol.number()]);
        fold(state)
    }

    /// Computes a hash that is the same for both directions of a conversation.
    pub fn conversation_hash(&self) -> u32 {
        self.hash().wrapping_add(self.reverse().hash())
    }

    /// [`host_hash`] of source and destination, in this order: the value of [`crate::PacketMeta::hosts`].
    pub fn host_hashes(&self) -> [u32; 2] {
        [host_hash(self.source.ip()), host_hash(self.destination.ip())]
    }
}

/// Computes a 32-bit hash of a host's IP address, the same on every machine.
pub fn host_hash(address: IpAddr) -> u32 {
    let mut state = Fnv1a::default();
    write_address(&mut state, address);
    fold(state)
}

fn write_address(state: &mut Fnv1a, address: IpAddr) {
    match address {
        IpAddr::V4(v4) => state.write(&v4.octets()),
        IpAddr::V6(v6) => state.write(&v6.octets()),
    }
}

fn fold(state: Fnv1a) -> u32 {
    let hash = crate::rng::mix(state.finish());
    (hash ^ (hash >> 32)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> FlowKey {
        FlowKey {
            source: "192.168.1.2:27960".parse().unwrap(),
            destination: "10.0.0.1:27960".parse().unwrap(),
            protocol: Protocol::Udp,
        }
    }

    #[test]
    fn the_hash_tells_directions_and_protocols_apart() {
        let tcp = FlowKey { protocol: Protocol::Tcp, ..key() };
        assert_ne!(key().hash(), key().reverse().hash());
        assert_ne!(key().hash(), tcp.hash());
        assert_eq!(key().hash(), key().reverse().reverse().hash());
        assert_eq!(key().conversation_hash(), key().reverse().conversation_hash());
        assert_ne!(key().conversation_hash(), tcp.conversation_hash());
        let [source, destination] = key().host_hashes();
        assert_eq!(key().reverse().host_hashes(), [destination, source]);
    }
}
