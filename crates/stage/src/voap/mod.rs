//! VoAP, "Vegas over Access Point" (palazzi-voap). The gateway measures the queueing delay of its bottleneck. It slows
//! TCP senders down by lowering the window in the ACKs that pass.
//!
//! The window scale comes from both SYNs (RFC 7323 section 2.2). An advertised right edge is never taken back (RFC 9293
//! section 3.8.6), and no window goes below a floor. Segments that the gateway does not understand pass unchanged. Left
//! out: traffic whose windows the gateway cannot see, such as QUIC, other UDP and tunnels. Its bytes are counted.

mod config;
mod connection;
mod law;
mod table;

use gamelane_core::{ByteCount, Direction, FlowKey, Instant, IpLen, Protocol, Seed};

pub use config::{Period, VoapConfig, VoapFault};
use connection::{Connection, Window};
use law::MeanWindow;
use table::Table;

use crate::hops::HopView;
use crate::tcp::TcpFacts;

/// The VoAP stage. It must see every segment of both directions, and decides about the window of each.
#[derive(Clone, Debug)]
pub struct Voap {
    config: VoapConfig,
    table: Table,
    /// Indexed by the direction of the data.
    mean_windows: [MeanWindow; 2],
    counters: VoapCounters,
}

/// Decision about a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Forward the segment unchanged.
    Keep,
    /// Set the window field to this value, which is lower than before and never zero; see [`crate::tcp::set_window`].
    SetWindow(u16),
}

/// Counters of VoAP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VoapCounters {
    /// Number of TCP segments seen.
    pub segments: u64,
    /// Number of segments whose window was lowered.
    pub lowered: u64,
    /// Number of segments that VoAP never changes: SYNs, RSTs, keep-alives, segments without ACK and handshakes.
    pub not_ours: u64,
    /// Number of segments of connections that are not in the table.
    pub unknown: u64,
    /// Number of connections opened.
    pub opened: u64,
    /// Number of SYNs that found the table full.
    pub no_room: u64,
    /// Smallest window field that was set, not scaled; `None` before the first.
    pub smallest_field: Option<u16>,
    /// Bytes of IP packets in controlled directions that VoAP cannot slow down: UDP with far port 443, taken for QUIC.
    /// Indexed by direction.
    pub quic: [ByteCount; 2],
    /// Bytes of IP packets in controlled directions that VoAP cannot slow down: everything else that is not TCP.
    pub other: [ByteCount; 2],
    /// Bytes of TCP packets in controlled directions. VoAP can slow these down unless the connection is unknown.
    pub tcp: [ByteCount; 2],
}

impl Voap {
    /// Makes the stage with an empty table. `seed` gives the salt of its hash.
    ///
    /// # Panics
    ///
    /// If `config` does not pass [`VoapConfig::check`].
    pub fn new(config: VoapConfig, seed: Seed) -> Self {
        assert_eq!(config.check(), Ok(()), "the caller must check a VoAP configuration before using it");
        let salt = seed.stream("gateway/voap").bits();
        let table = Table::new(config.connections, config.idle, salt);
        Self { config, table, mean_windows: [MeanWindow::default(); 2], counters: VoapCounters::default() }
    }

    /// The configuration.
    pub const fn config(&self) -> &VoapConfig {
        &self.config
    }

    /// Counters since the start.
    pub const fn counters(&self) -> &VoapCounters {
        &self.counters
    }

    /// Takes a TCP segment and decides about its window; `len` is the length of its IP packet. Call it before the
    /// segment enters the queue, with the present queueing delays in `hops`. Zero stands for an unknown delay and slows
    /// nothing down.
    pub fn inspect(&mut self, facts: &TcpFacts, len: IpLen, hops: &HopView, now: Instant) -> Verdict {
        self.counters.segments += 1;
        if self.config.steers(facts.direction) {
            self.counters.tcp[facts.direction.index()] += ByteCount(len.bytes());
        }
        let key = &facts.connection;
        if facts.flags.syn && !facts.flags.ack {
            let known = self.table.get_mut(key).is_some_and(|known| !known.is_reopened_by(facts));
            if !known {
                return self.open(facts, now);
            }
        }
        let Some(connection) = self.table.get_mut(key) else {
            self.counters.unknown += 1;
            return Verdict::Keep;
        };
        let mean_window = &mut self.mean_windows[facts.direction.reverse().index()];
        let window = connection.inspect(facts, hops, &self.config, mean_window, now);
        if facts.flags.rst {
            self.table.remove(key);
        }
        match window {
            Window::Keep => Verdict::Keep,
            Window::NotOurs => {
                self.counters.not_ours += 1;
                Verdict::Keep
            }
            Window::Lower(field) => {
                self.counters.lowered += 1;
                let smallest = self.counters.smallest_field.map_or(field, |smallest| smallest.min(field));
                self.counters.smallest_field = Some(smallest);
                Verdict::SetWindow(field)
            }
        }
    }

    /// Counts a packet that is not TCP, if VoAP controls its direction. `connection` is its 5-tuple in the upstream
    /// direction.
    pub fn note_other(&mut self, connection: &FlowKey, direction: Direction, len: IpLen) {
        if self.config.steers(direction) {
            let quic = connection.protocol == Protocol::Udp && connection.destination.port() == QUIC_PORT;
            let counts = if quic { &mut self.counters.quic } else { &mut self.counters.other };
            counts[direction.index()] += ByteCount(len.bytes());
        }
    }

    fn open(&mut self, syn: &TcpFacts, now: Instant) -> Verdict {
        if self.table.insert(syn.connection, Connection::open(syn, now), now) {
            self.counters.opened += 1;
            self.counters.not_ours += 1;
        } else {
            self.counters.no_room += 1;
            self.counters.unknown += 1;
        }
        Verdict::Keep
    }
}

/// Port of HTTP/3 (RFC 9114 section 3.1.2).
const QUIC_PORT: u16 = 443;

#[cfg(test)]
mod tests;
