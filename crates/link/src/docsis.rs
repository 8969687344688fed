//! A DOCSIS upstream: a modem requests capacity and sends when the head end (CMTS) grants it. The cycle is that of the
//! DOCSIS MAC (CableLabs CM-SP-MULPIv3.1). Its times are those of CableLabs' docsis-ns3. The token bucket is that of
//! RFC 8034. `docs/models/docsis.md` has the formula of the latency and the source of each number.
//!
//! Time is divided into MAP intervals. An interval begins with request opportunities, for which all modems contend.
//! Then come the data grants of its MAP, in the order of the requests. A modem with a grant requests capacity for its
//! waiting packets in the same frame (piggy-back); a modem without one contends. A grant can carry several packets
//! (concatenation, can be switched off) and parts of packets (fragmentation). Left out: unsolicited grants and polling,
//! a size limit on requests, MAP intervals of variable length.

mod bucket;
mod channel;
mod config;
#[cfg(test)]
mod tests;

use alloc::format;
use gamelane_core::loss::Loss;
use gamelane_core::{ByteCount, Descriptor, Instant, PacketMeta, Seed, WireLen};
use gamelane_qdisc::Backlog;

use crate::link::{Flight, Link, PortId};
use crate::overhead::Overhead;
use bucket::TokenBucket;
use channel::{Channel, Given};
pub use config::{DocsisConfig, Neighbours};

/// DOCSIS in the catalogue.
pub const DOCSIS: Descriptor = Descriptor {
    word: "docsis",
    label: "DOCSIS",
    about: "Cable modem. Upstream, the modem requests the channel and the CMTS grants it.",
    keys: &["docsis"],
    page: "docsis",
    facts: (),
};

/// Bytes of the MAC header, with the extended header that carries a piggy-backed request (docsis-ns3).
const MAC_HEADER: u32 = 10;
/// Longest Ethernet frame with a VLAN tag, in bytes (RFC 8034). A modem sends a request when its buckets hold this
/// much, or enough for everything that waits if that is less.
const LONGEST_FRAME: u64 = 1522;
/// Ethernet framing: 18 B of header and FCS, and up to 6 B of padding for an IP packet of 40 B.
const FRAMING: u64 = 24;
/// Smallest part of a packet in bytes: the rest of a grant that is smaller stays unused.
const SMALLEST_FRAGMENT: u64 = 64;

/// A modem and its channel. The link has one port.
#[derive(Debug)]
pub struct DocsisUpstream {
    config: DocsisConfig,
    channel: Channel,
    loss: Loss,
    sustained: TokenBucket,
    peak: Option<TokenBucket>,
    waiting: Backlog,
    /// Bytes of a partly sent packet that are still to be sent.
    rest: Option<u64>,
    /// Bytes of the partly sent packet, counted as in [`DocsisUpstream::frames`].
    kept: u64,
    grant: Option<Open>,
    /// Whether a packet went into the open grant, so that the request for the packets behind it is due.
    asks: bool,
}

/// The grant in use.
#[derive(Debug)]
struct Open {
    at: Instant,
    bytes: u64,
    /// Whether the CMTS has granted all of the request.
    complete: bool,
}

impl DocsisUpstream {
    /// Makes an idle modem. The names of random streams begin with `path`.
    pub fn new(config: DocsisConfig, seed: Seed, path: &str) -> Self {
        Self {
            channel: Channel::new(&config, seed, path),
            loss: Loss::new(config.loss, seed.stream(&format!("{path}/loss"))),
            sustained: TokenBucket::new(config.sustained, config.burst),
            peak: config.peak.map(|rate| TokenBucket::new(rate, ByteCount(LONGEST_FRAME))),
            config,
            waiting: Backlog::default(),
            rest: None,
            kept: 0,
            grant: None,
            asks: false,
        }
    }

    /// Upper bound of the Ethernet bytes that wait.
    fn frames(&self) -> u64 {
        self.waiting.bytes + FRAMING * u64::from(self.waiting.packets)
    }

    /// Size of a request that ends at `end`, in bytes on the channel. It is limited to the tokens that the buckets will
    /// hold at the time of the earliest possible grant.
    fn request(&self, end: Instant) -> u64 {
        let then = end + self.channel.soonest_grant();
        let (begun, frames) = match self.rest {
            Some(rest) => (rest, self.frames().saturating_sub(self.kept)),
            None => (0, self.frames()),
        };
        let peak = self.peak.as_ref().map_or(u64::MAX, |bucket| bucket.tokens(then));
        let most = if self.config.concatenation { u64::MAX } else { LONGEST_FRAME };
        let allowed = frames.min(self.sustained.tokens(then)).min(peak).min(most);
        let alone = self.rest.is_some() && !self.config.concatenation;
        if alone || allowed < frames.min(LONGEST_FRAME) {
            return begun;
        }
        let headers = u64::from(MAC_HEADER) * u64::from(self.waiting.packets);
        begun + allowed + (headers * allowed).div_ceil(frames.max(1))
    }

    /// Time from which the next request may be sent.
    fn allowed_at(&self) -> Instant {
        if self.rest.is_some() {
            return Instant::ZERO;
        }
        let least = self.frames().min(LONGEST_FRAME);
        let peak = self.peak.as_ref().map_or(Instant::ZERO, |bucket| bucket.ready(least));
        let ready = self.sustained.ready(least).max(peak);
        Instant::from_nanos(ready.as_nanos().saturating_sub(self.channel.soonest_grant().as_nanos()))
    }

    /// Runs the intervals that have begun by `now`.
    fn catch_up(&mut self, now: Instant) {
        self.channel.skip_to(now);
        while let Some(start) = self.channel.next_interval(now) {
            let wanted = if self.waiting.is_empty() { 0 } else { self.request(start) };
            let given = self.channel.run_interval(wanted);
            self.grant = given.map(|Given { at, bytes, complete }| Open { at, bytes, complete });
        }
    }
}

impl Link for DocsisUpstream {
    fn backlog_changed(&mut self, _port: PortId, waiting: Backlog, now: Instant) {
        self.catch_up(now);
        self.waiting = waiting;
        if core::mem::take(&mut self.asks)
            && let Some(grant) = self.grant.as_ref().filter(|grant| grant.complete)
        {
            let (end, left) = (grant.at, grant.bytes);
            let bytes = if waiting.is_empty() { 0 } else { self.request(end).saturating_sub(left) };
            self.channel.piggy_back(bytes, end);
        }
    }

    fn poll_grant(&mut self, now: Instant) -> Option<PortId> {
        self.catch_up(now);
        if self.waiting.is_empty() {
            return None;
        }
        if self.channel.gave_up() {
            return Some(PortId(0));
        }
        let frames = self.frames();
        let grant = self.grant.as_mut().filter(|grant| grant.at <= now)?;
        let least = frames.min(LONGEST_FRAME);
        let peak = self.peak.as_ref().map_or(u64::MAX, |bucket| bucket.tokens(now));
        if self.rest.is_none() && self.sustained.tokens(now).min(peak) < least {
            // The buckets do not allow the next packet yet, so the rest of the grant cannot be used.
            self.grant = None;
            return None;
        }
        // The part of the grant that passed while the modem had nothing to send is lost.
        let unused = self.config.channel.bytes_in(now.saturating_since(grant.at)).bytes();
        grant.bytes = grant.bytes.saturating_sub(unused);
        grant.at = now;
        (grant.bytes >= SMALLEST_FRAGMENT.min(self.rest.unwrap_or(u64::MAX))).then_some(PortId(0))
    }

    fn start(&mut self, _port: PortId, frame: &PacketMeta, now: Instant) -> Flight {
        if self.channel.gave_up() {
            self.channel.start_over();
            self.rest = None;
            return Flight::Lost;
        }
        let ethernet = Overhead::Docsis.wire_len(frame.len);
        let whole = (ethernet + WireLen(MAC_HEADER)).bytes();
        let rest = self.rest.take().unwrap_or_else(|| {
            self.sustained.take(ethernet.bytes(), now);
            if let Some(peak) = &mut self.peak {
                peak.take(ethernet.bytes(), now);
            }
            whole
        });
        let grant = self.grant.as_mut().expect("`start` is called only while a grant is open");
        let sent = rest.min(grant.bytes);
        grant.bytes -= sent;
        grant.at = now + self.config.channel.time_to_send(WireLen(sent as u32));
        let end = grant.at;
        self.asks = true;
        if sent < rest {
            self.rest = Some(rest - sent);
            self.kept = frame.len.bytes() + FRAMING;
            return Flight::Kept;
        }
        if !self.config.concatenation {
            // Without concatenation the rest of the grant is not for the next packet.
            grant.bytes = 0;
            grant.complete = true;
        }
        if self.loss.loses_next() { Flight::Lost } else { Flight::Arrives(end + self.config.delay) }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.waiting.is_empty() {
            return None;
        }
        if let Some(grant) = &self.grant
            && grant.bytes >= SMALLEST_FRAGMENT.min(self.rest.unwrap_or(u64::MAX))
        {
            return Some(grant.at);
        }
        Some(self.channel.next_deadline(self.allowed_at()))
    }
}
