//! An 802.11g channel under DCF (reference/links.md section 3; IEEE 802.11-2007 clauses 9.2, 18, 19; ns-3.37's numbers):
//! half duplex, shared by the access point, its stations and, in a mesh, relays between them.
//!
//! Whoever has a frame waits for an idle medium, DIFS, and a random number of idle slots; a busy medium freezes the count.
//! Equal counts collide, and all who collide double their window. A frame is taken from its queue when its port wins the
//! medium (late binding). Left out: capture, hidden stations, EIFS as apart from an ACK timeout, lost ACKs, rate
//! adaptation, fragmentation, RTS/CTS, aggregation.

mod config;
pub mod exchange;
pub mod rate;
#[cfg(test)]
mod tests;

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use gamelane_core::{Duration, Instant, IpLen, PacketMeta, Seed, Stream};
use gamelane_qdisc::Backlog;

use crate::link::{Flight, Link, PortId};
pub use config::{Radio, Slot, WifiConfig, WifiPort};
use exchange::Exchange;
pub use rate::{PhyRate, Preamble};

/// The MAC frame a [`Radio`]'s error is stated for: 1500 B of IP.
const STATED_FRAME: f64 = 1536.0;

/// The medium.
#[derive(Debug)]
pub struct Dcf {
    config: WifiConfig,
    slot: Duration,
    difs: Duration,
    contenders: Vec<Contender>,
    /// Where slot 0 of the present count begins: a DIFS after the medium fell idle.
    idle_from: Instant,
    /// Ports that won the present slot, last to first.
    winners: Vec<PortId>,
    collision: bool,
    began: Instant,
    stations: Vec<StationCounters>,
    backoff: Stream,
    errors: Stream,
}

#[derive(Clone, Debug)]
struct Contender {
    waiting: bool,
    /// The slot, counted from `idle_from`, its backoff ends at. Counts on while it has nothing to send.
    expires: u64,
    window: u32,
    retries: u32,
}

/// What a station has cost the medium, its uplink and its downlink together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationCounters {
    /// Time of its exchanges, failed ones included: protection, frame, SIFS and ACK, without DIFS and backoff.
    pub airtime: Duration,
    /// Frames put on the medium.
    pub attempts: u64,
    /// Attempts that collided.
    pub collisions: u64,
    /// Attempts alone on the medium whose frame was damaged.
    pub errors: u64,
    /// Frames given up.
    pub drops: u64,
}

impl Dcf {
    /// An idle medium; random streams are named under `path`.
    pub fn new(config: WifiConfig, seed: Seed, path: &str) -> Self {
        let slot = config.slot.duration();
        let contender =
            |port: &WifiPort| Contender { waiting: false, expires: 0, window: port.window_min, retries: 0 };
        Self {
            slot,
            difs: exchange::SIFS + slot * 2,
            contenders: config.ports.iter().map(contender).collect(),
            idle_from: Instant::ZERO,
            winners: Vec::with_capacity(config.ports.len()),
            collision: false,
            began: Instant::ZERO,
            stations: vec![StationCounters::default(); config.stations.len()],
            backoff: seed.stream(&format!("{path}/backoff")),
            errors: seed.stream(&format!("{path}/errors")),
            config,
        }
    }

    /// What each station has cost, by its number in [`WifiConfig::stations`].
    pub fn stations(&self) -> &[StationCounters] {
        &self.stations
    }

    /// The slot a frame that comes at `now` can be sent in at the earliest.
    fn slot_at(&self, now: Instant) -> u64 {
        now.saturating_since(self.idle_from).as_nanos().div_ceil(self.slot.as_nanos())
    }

    /// When the next port sends.
    fn next_start(&self) -> Option<(u64, Instant)> {
        let waiting = self.contenders.iter().filter(|contender| contender.waiting);
        let slot = waiting.map(|contender| contender.expires).min()?;
        Some((slot, self.idle_from + self.slot * slot))
    }

    fn draw(&mut self, port: PortId) -> u64 {
        self.backoff.below(u64::from(self.contenders[port.index()].window) + 1)
    }

    fn damaged(&mut self, error: f64, len: IpLen) -> bool {
        if error <= 0.0 {
            return false;
        }
        let length = exchange::mac_len(len) as f64 / STATED_FRAME;
        self.errors.chance(-libm::expm1(length * libm::log1p(-error)))
    }
}

impl Link for Dcf {
    fn backlog_changed(&mut self, port: PortId, waiting: Backlog, now: Instant) {
        let had = core::mem::replace(&mut self.contenders[port.index()].waiting, !waiting.is_empty());
        if had || waiting.is_empty() {
            return;
        }
        // While the medium is busy, who has no count running draws one (802.11-2007 9.2.5.1).
        let busy_until = Instant::from_nanos(self.idle_from.as_nanos().saturating_sub(self.difs.as_nanos()));
        let earliest = self.slot_at(now);
        if now < busy_until && self.contenders[port.index()].expires == 0 {
            self.contenders[port.index()].expires = self.draw(port);
        }
        let own = &mut self.contenders[port.index()];
        own.expires = own.expires.max(earliest);
    }

    fn poll_grant(&mut self, now: Instant) -> Option<PortId> {
        if let Some(port) = self.winners.pop() {
            return Some(port);
        }
        let (slot, at) = self.next_start().filter(|(_, at)| *at <= now)?;
        for (port, own) in (0..).map(PortId).zip(&mut self.contenders) {
            if own.waiting && own.expires == slot {
                self.winners.push(port);
            }
            own.expires = own.expires.saturating_sub(slot);
        }
        self.winners.reverse();
        self.collision = self.winners.len() > 1;
        self.began = at.max(now);
        self.idle_from = self.began;
        self.winners.pop()
    }

    fn start(&mut self, port: PortId, frame: &PacketMeta, _now: Instant) -> Flight {
        let station = self.config.station_of[frame.flow.index()];
        let radio = self.config.radio(port, station);
        let exchange = Exchange::of(radio.rate, frame.len, &self.config);
        self.idle_from = self.idle_from.max(self.began + exchange.whole() + self.difs);
        let damaged = !self.collision && self.damaged(radio.error, frame.len);
        let counters = &mut self.stations[station];
        counters.airtime += exchange.whole();
        counters.attempts += 1;
        counters.collisions += u64::from(self.collision);
        counters.errors += u64::from(damaged);
        let limits = self.config.ports[port.index()];
        let own = &mut self.contenders[port.index()];
        own.retries += 1;
        let flight = if !self.collision && !damaged {
            Flight::Arrives(self.began + exchange.until_received())
        } else if own.retries >= self.config.retry_limit {
            counters.drops += 1;
            Flight::Lost
        } else {
            Flight::Kept
        };
        if flight == Flight::Kept {
            own.window = (2 * own.window + 1).min(self.config.window_max);
        } else {
            own.retries = 0;
            own.window = limits.window_min;
        }
        let slots = self.draw(port);
        self.contenders[port.index()].expires = slots;
        flight
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.winners.is_empty() { self.next_start().map(|(_, at)| at) } else { Some(self.began) }
    }
}
