//! Addresses of the home behind address translation. At the interface towards the internet every packet has the router's address;
//! where it came from, the kernel's connection tracking knows for packets that leave. Packets that arrive are looked up by what those
//! showed.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use gamelane_core::{Direction, FlowKey, Instant, PacketMeta};
use gamelane_device::watch::Event;
use gamelane_device::{Headers, at_home};

/// Flows whose address at home is known, by the 5-tuple that the internet sees.
#[derive(Debug, Default)]
pub(super) struct Translated {
    homes: BTreeMap<FlowKey, SocketAddr>,
}

impl Translated {
    /// Parses a packet, with the home's own address in place of the router's. Returns that address, too, if there is another.
    pub(super) fn read(
        &mut self,
        event: &Event<'_>,
        direction: Direction,
        now: Instant,
    ) -> (Headers, PacketMeta, Option<SocketAddr>) {
        let mut known = None;
        let mut headers = parse(event);
        if let Some(ip) = &mut headers.ip {
            match (direction, event.source) {
                (Direction::Up, Some(home)) if home.ip() != ip.key.source.ip() => {
                    // Fragments have no ports.
                    let port = if ip.is_fragment { 0 } else { home.port() };
                    let home = SocketAddr::new(home.ip(), port);
                    self.remember(ip.key, home);
                    known = Some(home);
                    ip.key.source = home;
                }
                // On the kernel's fast path (flowtables) nothing says where it came from.
                (Direction::Up, None) if !self.homes.is_empty() => {
                    known = self.homes.get(&ip.key).copied();
                    ip.key.source = known.unwrap_or(ip.key.source);
                }
                (Direction::Down, _) if !self.homes.is_empty() => {
                    known = self.homes.get(&at_home(ip.key, Direction::Down)).copied();
                    ip.key.destination = known.unwrap_or(ip.key.destination);
                }
                _ => {}
            }
        }
        let meta = headers.meta(event.frame, now);
        (headers, meta, known)
    }

    fn remember(&mut self, seen: FlowKey, home: SocketAddr) {
        // Those that still send are known again with their next packet.
        if self.homes.len() >= MOST && !self.homes.contains_key(&seen) {
            self.homes.clear();
        }
        self.homes.insert(seen, home);
    }
}

/// Parses the packet of an event. Where an interface cannot add a VLAN tag itself, the kernel has put it before the packet and named
/// it as the protocol, but the packet still begins with its IP header.
fn parse(event: &Event<'_>) -> Headers {
    let headers = Headers::parse_start(event.frame, event.len);
    let (Some([first, second]), Some(begin)) = (event.frame.get(12..14), event.frame.get(14)) else {
        return headers;
    };
    let protocol: [u8; 2] = match (u16::from_be_bytes([*first, *second]), begin >> 4) {
        (VLAN | SERVICE_VLAN, 4) => [8, 0],
        (VLAN | SERVICE_VLAN, 6) => [0x86, 0xdd],
        _ => return headers,
    };
    if headers.ip.is_some() {
        return headers;
    }
    let mut frame = [0; LONGEST];
    let len = event.frame.len().min(LONGEST);
    frame[..len].copy_from_slice(&event.frame[..len]);
    frame[12..14].copy_from_slice(&protocol);
    Headers::parse_start(&frame[..len], event.len)
}

/// Bytes of an event's frame.
const LONGEST: usize = 128;
const VLAN: u16 = 0x8100;
const SERVICE_VLAN: u16 = 0x88a8;
/// Most flows remembered.
const MOST: usize = 8192;
