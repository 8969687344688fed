//! VoAP, "Vegas over Access Point" (palazzi-voap): a gateway that measures the queueing delay of its bottleneck and
//! steers TCP senders by lowering the window advertised in the ACKs that pass it. Header mechanics from
//! reference/tcp.md section 5: both SYNs give the window scale, a right edge once advertised is never taken back, no
//! window falls below a floor, and what is not understood passes untouched. Cannot reach what hides its windows: QUIC,
//! other UDP, tunnels; those are counted.

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

/// The stage. Shown every segment that passes, in both directions, it answers which window goes on.
#[derive(Clone, Debug)]
pub struct Voap {
    config: VoapConfig,
    table: Table,
    /// By the direction of the data.
    mean_windows: [MeanWindow; 2],
    counters: VoapCounters,
}

/// What happens to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on as it came.
    Keep,
    /// Its window field becomes this, always lower than it was and never zero; see [`crate::tcp::set_window`].
    SetWindow(u16),
}

/// What the stage did, and what it could not do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VoapCounters {
    /// TCP segments shown to it.
    pub segments: u64,
    /// Of these: their window lowered.
    pub lowered: u64,
    /// Of these: SYNs, resets, keep-alives and handshakes under way, never touched.
    pub not_ours: u64,
    /// Of these: of connections whose SYNs it did not see or could not remember.
    pub unknown: u64,
    /// Connections opened.
    pub opened: u64,
    /// SYNs that found no room in the table.
    pub no_room: u64,
    /// The smallest window set, in units of its own scale; `None` before the first.
    pub smallest_field: Option<u16>,
    /// Bytes of steered directions out of reach: UDP on port 443 at the far end, taken for QUIC. Indexed by direction.
    pub quic: [ByteCount; 2],
    /// Bytes of steered directions out of reach: everything else that is not TCP.
    pub other: [ByteCount; 2],
    /// Bytes of TCP in steered directions, within reach unless unknown.
    pub tcp: [ByteCount; 2],
}

impl Voap {
    /// A stage that knows no connection yet. `seed` salts its table.
    ///
    /// # Panics
    ///
    /// If `config` does not pass [`VoapConfig::check`].
    pub fn new(config: VoapConfig, seed: Seed) -> Self {
        assert_eq!(config.check(), Ok(()), "whoever reads a configuration checks it");
        let salt = seed.stream("gateway/voap").bits();
        let table = Table::new(config.connections, config.idle, salt);
        Self { config, table, mean_windows: [MeanWindow::default(); 2], counters: VoapCounters::default() }
    }

    /// How it steers.
    pub const fn config(&self) -> &VoapConfig {
        &self.config
    }

    /// What it did so far.
    pub const fn counters(&self) -> &VoapCounters {
        &self.counters
    }

    /// A TCP segment passes, of this length as an IP packet. Must be called before the segment enters the queue, with
    /// `hops` as they are; a queue delay of zero for an unknown one steers nothing.
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

    /// A packet that is no TCP passes: counted as out of reach if it goes a steered way. `connection` is its 5-tuple as
    /// the home sends it.
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

/// HTTP/3 (RFC 9114 section 3.1.2).
const QUIC_PORT: u16 = 443;

#[cfg(test)]
mod tests;
