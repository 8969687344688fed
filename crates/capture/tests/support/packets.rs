//! Captures of games written packet by packet, and the judgement of who is to blame for their lag.

use std::net::Ipv4Addr;

use gamelane_capture::analysis::Sink;
use gamelane_capture::blame::{Blame, Evidence, of_one};
use gamelane_capture::{Analyzer, FlowReport, analyze};

use super::open;

pub(crate) const PLAYER: (Ipv4Addr, u16) = (Ipv4Addr::new(192, 168, 1, 2), 40_000);
pub(crate) const SERVER: (Ipv4Addr, u16) = (Ipv4Addr::new(203, 0, 113, 5), 27_960);

/// A capture of raw IP packets, written in any order.
#[derive(Default)]
pub(crate) struct Packets {
    pub(crate) packets: Vec<(u64, Vec<u8>)>,
    /// The capture is one of all interfaces of a router: time inside it for a direction and a time, both in microseconds.
    pub(crate) in_router_us: Option<fn(usize, u64) -> u64>,
    /// The capture is one of Wi-Fi frames: says of a number of a packet and its time in microseconds whether the frame is
    /// repeated.
    pub(crate) repeats: Option<fn(u32, u64) -> bool>,
    /// Address of the player; [`PLAYER`] if there is none.
    pub(crate) player: Option<Ipv4Addr>,
    /// Routers that packets have passed before: from the player, and to it.
    pub(crate) hops: [u8; 2],
}

#[derive(Default)]
struct Facts(Evidence);

impl Sink for Facts {
    fn flow(&mut self, report: FlowReport) {
        self.0.add(&report);
    }
}

/// A segment: sequence number, acknowledgment, flags, window, bytes of data.
pub(crate) struct Tcp {
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) flags: u8,
    pub(crate) window: u16,
    pub(crate) len: usize,
}

pub(crate) const SYN: u8 = 2;
pub(crate) const ACK: u8 = 16;

impl Packets {
    fn add(
        &mut self,
        at_us: u64,
        from: (Ipv4Addr, u16),
        to: (Ipv4Addr, u16),
        protocol: u8,
        transport: &[u8],
    ) {
        let len = 20 + transport.len() as u16;
        let id = self.packets.len() as u16 + 1;
        let mut packet = vec![0x45, 0];
        packet.extend(len.to_be_bytes());
        packet.extend(id.to_be_bytes());
        let player = self.player.unwrap_or(PLAYER.0);
        packet.extend([0, 0, 64 - self.hops[usize::from(from.0 != player)], protocol, 0, 0]);
        packet.extend(from.0.octets());
        packet.extend(to.0.octets());
        packet.extend(transport);
        let Some(in_router_us) = self.in_router_us else {
            self.packets.push((at_us, packet));
            return;
        };
        // Linux cooked 2: interface 2 is the home, 3 the internet; type 0 came in, 4 went out.
        let direction = usize::from(from.0 == SERVER.0);
        let waited_us = in_router_us(direction, at_us);
        for (at_us, interface, kind) in
            [(at_us, 2 + direction as u8, 0), (at_us + waited_us, 3 - direction as u8, 4)]
        {
            let header = [8, 0, 0, 0, 0, 0, 0, interface, 0, 1, kind, 6, 0, 0, 0, 0, 0, 0, 0, 0];
            self.packets.push((at_us, [&header[..], &packet].concat()));
        }
    }

    pub(crate) fn udp(&mut self, at_us: u64, from: (Ipv4Addr, u16), to: (Ipv4Addr, u16), payload: &[u8]) {
        let header = [from.1, to.1, 8 + payload.len() as u16, 0].map(u16::to_be_bytes).concat();
        self.add(at_us, from, to, 17, &[&header, payload].concat());
    }

    pub(crate) fn tcp(&mut self, at_us: u64, from: (Ipv4Addr, u16), to: (Ipv4Addr, u16), of: &Tcp) {
        let mut header = [from.1, to.1].map(u16::to_be_bytes).concat();
        header.extend([of.seq, of.ack].map(u32::to_be_bytes).concat());
        header.extend([0x50, of.flags]);
        header.extend([of.window, 0, 0].map(u16::to_be_bytes).concat());
        header.resize(20 + of.len, 7);
        self.add(at_us, from, to, 6, &header);
    }

    /// Adds the updates of a numbered game for 60 s: 20 per second each way, and `change` decides over each. It has the
    /// direction (0 from the player), the number, and the time in milliseconds; `None` loses the update or does not send it.
    pub(crate) fn game(self, change: impl Fn(usize, u64, u64) -> Option<u64>) -> Self {
        self.game_with(SERVER, change)
    }

    pub(crate) fn game_with(
        mut self,
        server: (Ipv4Addr, u16),
        change: impl Fn(usize, u64, u64) -> Option<u64>,
    ) -> Self {
        for n in 0..1200u64 {
            for direction in 0..2 {
                let Some(at_ms) = change(direction, n, 1000 + n * 50) else { continue };
                let player = (self.player.unwrap_or(PLAYER.0), PLAYER.1);
                let (from, to) = if direction == 0 { (player, server) } else { (server, player) };
                let mut payload = vec![0; 60];
                payload[..4].copy_from_slice(&(n as u32 + 1).to_le_bytes());
                self.udp(at_ms * 1000 + direction as u64 * 7, from, to, &payload);
            }
        }
        self
    }

    /// Adds a thin upload over TCP for 60 s: 20 packets per second. Those of which `lost` is true are lost behind the capture point
    /// and sent again after a quarter of a second.
    pub(crate) fn upload(mut self, server: (Ipv4Addr, u16), lost: impl Fn(u64) -> bool) -> Self {
        let (server, client) = ((server.0, 443), (self.player.unwrap_or(PLAYER.0), 41_000));
        let seq = |n: u64| 1 + n as u32 * 100;
        let plain = |seq, ack, len| Tcp { seq, ack, flags: ACK, window: 60_000, len };
        let mut arrivals: Vec<(u64, u64)> = Vec::new();
        for n in 0..1200 {
            let at_us = (1000 + n * 50) * 1000;
            self.tcp(at_us, client, server, &plain(seq(n), 1, 100));
            let again_us = at_us + 250_000;
            if lost(n) {
                self.tcp(again_us, client, server, &plain(seq(n), 1, 100));
            }
            arrivals.push((20_000 + if lost(n) { again_us } else { at_us }, n));
        }
        arrivals.sort_unstable();
        let mut arrived = std::collections::BTreeSet::new();
        for (at_us, n) in arrivals {
            arrived.insert(n);
            let next = (0..).find(|n| !arrived.contains(n)).unwrap_or_default();
            self.tcp(at_us + 20_000, server, client, &plain(1, seq(next), 0));
        }
        self
    }

    /// Adds short connections once a second, which show the place of the capture point: the round trips to the player and to
    /// another server in microseconds.
    pub(crate) fn handshakes(self, home_us: u64, away_us: u64) -> Self {
        self.handshakes_with(Ipv4Addr::new(198, 51, 100, 9), home_us, away_us)
    }

    pub(crate) fn handshakes_with(mut self, server: Ipv4Addr, home_us: u64, away_us: u64) -> Self {
        let server = (server, 443);
        for n in 0..60 {
            let (client, at) =
                ((self.player.unwrap_or(PLAYER.0), 50_000 + n as u16), 1_000_000 + n * 1_000_000);
            let segment = |seq, ack, flags| Tcp { seq, ack, flags, window: 60_000, len: 0 };
            self.tcp(at, client, server, &segment(1, 0, SYN));
            self.tcp(at + away_us, server, client, &segment(1, 2, SYN | ACK));
            self.tcp(at + away_us + home_us, client, server, &segment(2, 2, ACK));
        }
        self
    }

    pub(crate) fn blame(mut self) -> Blame {
        self.packets.sort_by_key(|packet| packet.0);
        let link = match (self.in_router_us, self.repeats) {
            (Some(_), _) => 276,
            (_, Some(_)) => 105,
            _ => 101,
        };
        if let Some(repeats) = self.repeats {
            let ip = std::mem::take(&mut self.packets);
            for (n, (at_us, packet)) in (0u32..).zip(ip) {
                for retry in 0..=u8::from(repeats(n, at_us)) {
                    // Data to the access point, with a sequence number.
                    let mut frame = vec![8, 1 | (8 * retry), 0, 0];
                    frame.extend([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 3]);
                    frame.extend(((n % 4096) as u16 * 16).to_le_bytes());
                    frame.extend([0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
                    frame.extend(&packet);
                    self.packets.push((at_us + u64::from(retry), frame));
                }
            }
        }
        let mut file = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, link].map(u32::to_le_bytes).concat();
        for (at_us, packet) in &self.packets {
            let len = packet.len() as u32;
            let record = [(at_us / 1_000_000) as u32, (at_us % 1_000_000) as u32, len, len];
            file.extend(record.map(u32::to_le_bytes).concat());
            file.extend(packet);
        }
        let mut facts = Facts::default();
        let mut capture = open(file).unwrap();
        analyze(&mut capture, &mut Analyzer::default(), &mut facts).unwrap();
        facts.0.wifi(capture.on_air());
        let blame = of_one(&facts.0);
        assert!(
            blame.text.ends_with('.')
                && blame.because.iter().chain(&blame.advice).all(|said| said.ends_with('.'))
        );
        blame
    }
}
