//! An 802.11g channel with DCF (IEEE 802.11-2007 clauses 9.2, 18 and 19; parameter values of ns-3.37). The access
//! point, its stations and, in a mesh, the relays share the half-duplex medium.
//!
//! A sender with a frame waits until the medium is idle, then DIFS, then a random number of idle slots. A busy medium
//! freezes its count. Senders whose counts end in the same slot collide and double their contention window. A frame is
//! taken from its queue only when its port wins the medium (late binding).
//!
//! Left out: capture, hidden stations, an EIFS different from the ACK timeout, lost ACKs, rate adaptation,
//! fragmentation, RTS/CTS, aggregation.

mod config;
pub mod exchange;
pub mod rate;
#[cfg(test)]
mod tests;

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use gamelane_core::{Descriptor, Duration, Instant, IpLen, PacketMeta, Seed, Stream};
use gamelane_qdisc::Backlog;

use crate::link::{Flight, Link, PortId};
pub use config::{Radio, Slot, WifiConfig, WifiPort};
use exchange::Exchange;
pub use rate::{PhyRate, Preamble};

/// 802.11g in the catalogue.
pub const WIFI_G: Descriptor = Descriptor {
    word: "wifi-g",
    label: "802.11g",
    about: "Wired link to an access point, and 802.11g between it and the stations.",
    keys: &["wifi"],
    page: "wifi-g",
    facts: (),
};

/// Length in bytes of the MAC frame that [`Radio::error`] is given for: 1500 B of IP.
const STATED_FRAME: f64 = exchange::mac_len(IpLen(1500)) as f64;

/// The 802.11g channel as a link.
#[derive(Debug)]
pub struct Dcf {
    config: WifiConfig,
    slot: Duration,
    difs: Duration,
    contenders: Vec<Contender>,
    /// Start of slot 0: a DIFS after the medium became idle.
    idle_from: Instant,
    /// Ports that won the present slot, in reverse order.
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
    /// Slot, counted from `idle_from`, at which the backoff ends. It continues to count down while no frame waits.
    expires: u64,
    window: u32,
    retries: u32,
}

/// Use of the medium by a station, uplink and downlink together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationCounters {
    /// Time of all exchanges, failed ones included: protection, frame, SIFS and ACK, without DIFS and backoff.
    pub airtime: Duration,
    /// Number of frames put on the medium, retries included.
    pub attempts: u64,
    /// Number of attempts that collided.
    pub collisions: u64,
    /// Number of attempts without collision whose frame was damaged.
    pub errors: u64,
    /// Number of frames dropped at the retry limit.
    pub drops: u64,
}

impl Dcf {
    /// Makes an idle channel. The names of random streams begin with `path`.
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

    /// Use of the medium by each station, indexed like [`WifiConfig::stations`].
    pub fn stations(&self) -> &[StationCounters] {
        &self.stations
    }

    /// Earliest slot in which a frame that arrives at `now` can be sent.
    fn slot_at(&self, now: Instant) -> u64 {
        now.saturating_since(self.idle_from).as_nanos().div_ceil(self.slot.as_nanos())
    }

    /// Slot and time at which the next port sends; `None` while no frame waits.
    fn next_start(&self) -> Option<(u64, Instant)> {
        let waiting = self.contenders.iter().filter(|contender| contender.waiting);
        let slot = waiting.map(|contender| contender.expires).min()?;
        Some((slot, self.idle_from + self.slot * slot))
    }

    /// Draws a backoff in slots from the contention window of a port.
    fn draw(&mut self, port: PortId) -> u64 {
        self.backoff.below(u64::from(self.contenders[port.index()].window) + 1)
    }

    /// Draws whether a frame of this length is damaged. All frames have the same error probability per byte.
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
        // A frame that arrives while the medium is busy needs a backoff; draw one unless a count is running
        // (IEEE 802.11-2007 clause 9.2.5.1).
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
