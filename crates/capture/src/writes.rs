//! Application writes at both ends of a TCP connection, as far as the packets show them: sizes and times of data sent
//! for the first time. Replay gives them to another TCP. Retransmissions are left out.
//!
//! A write is seen when its first segment is sent. If TCP held it back (Nagle's algorithm, a full window), it appears
//! later than it was made, with the size that was sent. Several segments of one burst stay separate, each with its
//! time. Data lost before the capture point gets the time of the packet after it.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use gamelane_core::{Duration, FlowKey};

use crate::error::CaptureError;
use crate::orientation::client_to_server;
use crate::packet::{CapturedPacket, TcpFields};
use crate::read::Capture;
use crate::tcp::sequence::Sequence;
use crate::tcp::stream::{Revealed, Stream};

/// One write, or the part of it that was sent in one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// Time since the first packet of the connection in the capture.
    pub at: Duration,
    /// Bytes of application data.
    pub bytes: u32,
}

/// Writes of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionWrites {
    /// Addresses from client to server. The client is the side that opened the connection. Without a handshake in the
    /// capture, it is the side with the higher port.
    pub key: FlowKey,
    /// Interface, as in [`CapturedPacket::interface`].
    pub interface: u32,
    /// Time of the first packet of the connection, in nanoseconds since 1970.
    pub start_ns: u64,
    /// True if the capture has the SYN of the connection.
    pub from_handshake: bool,
    /// Writes from client to server, in order of time.
    pub up: Vec<Write>,
    /// Writes from server to client, in order of time.
    pub down: Vec<Write>,
}

/// Reads the writes of all TCP connections of a capture file, in order of their first packets.
///
/// # Errors
/// If the file cannot be read, is cut or malformed.
pub fn read_tcp_writes(path: &Path) -> Result<Vec<ConnectionWrites>, CaptureError> {
    tcp_writes(&mut Capture::open(path)?)
}

/// Like [`read_tcp_writes`], for any capture; reads it to its end.
///
/// # Errors
/// As [`read_tcp_writes`].
pub fn tcp_writes<R: Read>(capture: &mut Capture<R>) -> Result<Vec<ConnectionWrites>, CaptureError> {
    let mut open: BTreeMap<(u32, FlowKey), usize> = BTreeMap::new();
    let mut connections: Vec<Connection> = Vec::new();
    while let Some(packet) = capture.next_packet()? {
        let Some(tcp) = packet.tcp() else { continue };
        let canonical = packet.key.min(packet.key.reverse());
        let place = open.get(&(packet.interface, canonical)).copied();
        let place = match place {
            Some(place) if !connections[place].is_reopened_by(&packet, tcp) => place,
            _ => {
                open.insert((packet.interface, canonical), connections.len());
                connections.push(Connection::new(&packet, tcp));
                connections.len() - 1
            }
        };
        connections[place].handle(&packet, tcp);
    }
    Ok(connections.into_iter().map(Connection::finish).collect())
}

#[derive(Debug)]
struct Connection {
    key: FlowKey,
    interface: u32,
    start_ns: u64,
    from_handshake: bool,
    directions: [Half; 2],
}

#[derive(Debug, Default)]
struct Half {
    sequence: Option<Sequence>,
    stream: Stream,
    writes: Vec<Write>,
}

impl Connection {
    fn new(packet: &CapturedPacket, tcp: &TcpFields) -> Self {
        let (key, from_handshake) = (client_to_server(packet.key, tcp).0, tcp.flags.syn);
        let directions = [Half::default(), Half::default()];
        Self { key, interface: packet.interface, start_ns: packet.at_ns, from_handshake, directions }
    }

    /// True if the packet is a SYN with another sequence number: a new connection between the same ports.
    fn is_reopened_by(&self, packet: &CapturedPacket, tcp: &TcpFields) -> bool {
        let half = &self.directions[usize::from(packet.key != self.key)];
        tcp.flags.syn
            && !tcp.flags.ack
            && half.sequence.is_some_and(|sequence| sequence.origin() != tcp.sequence)
    }

    fn handle(&mut self, packet: &CapturedPacket, tcp: &TcpFields) {
        let half = &mut self.directions[usize::from(packet.key != self.key)];
        let sequence = half.sequence.get_or_insert_with(|| match tcp.flags.syn {
            true => Sequence::after_syn(tcp.sequence),
            false => Sequence::from_within(tcp.sequence),
        });
        let Some(offset) = sequence.sent(tcp.sequence) else { return };
        let revealed = Revealed { at_ns: packet.at_ns, ..Revealed::default() };
        if tcp.flags.rst || packet.payload_len == 0 {
            if !tcp.flags.rst && !tcp.flags.syn {
                half.stream.reached(offset, revealed);
            }
            return;
        }
        let start = offset + u64::from(tcp.flags.syn);
        let brought = half.stream.saw(start, packet.payload_len, revealed);
        let since_start = |at_ns: u64| Duration::from_nanos(at_ns.saturating_sub(self.start_ns));
        if let Some(hole) = brought.hole {
            half.writes.push(Write { at: since_start(hole.at_ns), bytes: brought.filled });
        }
        if brought.new > 0 {
            half.writes.push(Write { at: since_start(packet.at_ns), bytes: brought.new });
        }
    }

    fn finish(self) -> ConnectionWrites {
        let [up, down] = self.directions.map(|half| {
            let mut writes = half.writes;
            // The sort is stable: data that filled a hole stays behind the data that showed it.
            writes.sort_by_key(|write| write.at);
            writes
        });
        let Self { key, interface, start_ns, from_handshake, .. } = self;
        ConnectionWrites { key, interface, start_ns, from_handshake, up, down }
    }
}
