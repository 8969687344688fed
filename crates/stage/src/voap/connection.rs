//! State of one TCP connection that passes the gateway: the options of its SYNs, its round-trip time, and the windows
//! that both ends advertise. A window is the 16-bit field shifted left by the window scale in the SYN of the same
//! sender. Both SYNs must have the option, and the window of a SYN itself is never scaled (RFC 7323 section 2.2).

use gamelane_core::{Direction, Duration, Instant};

use super::config::VoapConfig;
use super::law::{Law, MeanWindow, Step};
use crate::hops::HopView;
use crate::tcp::TcpFacts;

#[derive(Clone, Copy, Debug)]
pub(super) struct Connection {
    phase: Phase,
    /// The two ends, indexed by the direction of the segments that each sends.
    sides: [Side; 2],
    /// Round-trip time without queues; known after the handshake.
    base_round_trip: Duration,
    /// Time of the first SYN.
    syn_at: Instant,
    pub(super) last_seen: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// A SYN in this direction has passed.
    Opening(Direction),
    /// Both SYNs have passed, the first in this direction. The last ACK of the handshake is still missing.
    Answered(Direction),
    /// The handshake is over.
    Open,
}

/// One end of the connection, with the law for the data that it receives.
#[derive(Clone, Copy, Debug)]
struct Side {
    /// Window scale of its SYN.
    shift: Option<u8>,
    /// Maximum segment size of its SYN in bytes.
    mss: u16,
    /// Window of its SYN in bytes.
    syn_window: u16,
    /// Highest sequence number that it has sent, plus one.
    next_seq: u32,
    /// Highest acknowledgement number that it has sent.
    acked: u32,
    /// Highest right edge of its window that the gateway has forwarded.
    edge: u32,
    /// Controls the data that this end receives.
    law: Law,
}

/// Decision about the window of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    /// The window is not changed.
    Keep,
    /// The window field is lowered to this value.
    Lower(u16),
    /// The segment must not be changed: part of the handshake, an RST, a keep-alive, or a segment without ACK.
    NotOurs,
}

impl Connection {
    /// Makes the state of a connection from its first SYN.
    pub(super) fn open(syn: &TcpFacts, now: Instant) -> Self {
        let side = Side {
            shift: None,
            mss: DEFAULT_MSS,
            syn_window: 0,
            next_seq: 0,
            acked: 0,
            edge: 0,
            law: Law::new(now),
        };
        let mut connection = Self {
            phase: Phase::Opening(syn.direction),
            sides: [side; 2],
            base_round_trip: Duration::ZERO,
            syn_at: now,
            last_seen: now,
        };
        connection.sides[syn.direction.index()].take_syn(syn);
        connection
    }

    /// Returns whether the handshake is over. Before that the entry may be replaced.
    pub(super) const fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open)
    }

    /// Returns whether a SYN opens a new connection on the same ports: it is neither a repetition of the first SYN nor
    /// the answer to it.
    pub(super) fn is_reopened_by(&self, syn: &TcpFacts) -> bool {
        let side = &self.sides[syn.direction.index()];
        match self.phase {
            Phase::Opening(first) => syn.direction == first && side.next_seq != syn.end(),
            Phase::Answered(_) | Phase::Open => side.next_seq != syn.end() && !syn.flags.ack,
        }
    }

    /// Takes a segment and decides about its window.
    pub(super) fn inspect(
        &mut self,
        facts: &TcpFacts,
        hops: &HopView,
        config: &VoapConfig,
        mean_window: &mut MeanWindow,
        now: Instant,
    ) -> Window {
        self.last_seen = now;
        if facts.flags.syn {
            self.handle_syn(facts);
            return Window::NotOurs;
        }
        if facts.flags.rst || !facts.flags.ack {
            return Window::NotOurs;
        }
        if self.phase == Phase::Answered(facts.direction) {
            let elapsed = now.saturating_since(self.syn_at);
            self.base_round_trip = elapsed.saturating_sub(hops.round_trip()).max(SHORTEST_ROUND_TRIP);
            self.phase = Phase::Open;
        }
        if self.phase != Phase::Open {
            return Window::NotOurs;
        }
        let here = facts.direction.index();
        let keep_alive = facts.payload <= 1 && facts.seq == self.sides[here].next_seq.wrapping_sub(1);
        if distance(self.sides[here].next_seq, facts.end()) > 0 {
            self.sides[here].next_seq = facts.end();
        }
        if keep_alive {
            return Window::NotOurs;
        }
        if !config.steers(facts.direction.reverse()) {
            return Window::Keep;
        }
        self.steer(facts, hops, config, mean_window, now)
    }

    fn handle_syn(&mut self, syn: &TcpFacts) {
        self.sides[syn.direction.index()].take_syn(syn);
        match self.phase {
            Phase::Opening(first) if first != syn.direction => {
                self.phase = Phase::Answered(first);
                // The windows in the SYNs allow the first data of the other side.
                for side in 0..2 {
                    self.sides[side].acked = self.sides[1 - side].next_seq;
                    self.sides[side].edge =
                        self.sides[side].acked.wrapping_add(u32::from(self.sides[side].syn_window));
                }
            }
            // A repeated SYN: the round trip counted from the first SYN is too long, which only makes windows larger.
            Phase::Opening(_) | Phase::Answered(_) | Phase::Open => {}
        }
    }

    /// Computes the window of an ACK. The steps are the law, the floor, the right edge that must not move left, and
    /// rounding to the unit of the field.
    fn steer(
        &mut self,
        facts: &TcpFacts,
        hops: &HopView,
        config: &VoapConfig,
        mean_window: &mut MeanWindow,
        now: Instant,
    ) -> Window {
        let here = facts.direction.index();
        let shift = self.shift(here);
        let round_trip = self.base_round_trip + hops.round_trip();
        let mss = u64::from(self.mss());
        let side = &mut self.sides[here];
        let own = u64::from(facts.window) << shift;
        let advance = distance(side.acked, facts.ack);
        let step = Step {
            acked: u64::try_from(advance).unwrap_or(0),
            delay: hops.delay(facts.direction.reverse()),
            round_trip,
            mss,
            own,
        };
        if advance > 0 {
            side.acked = facts.ack;
        }
        let window = side.law.step(step, config, mean_window, now).max(u64::from(config.floor) * mss);
        // Move the edge right by whole segments only. A smaller step could make the sender send small segments (RFC
        // 9293 section 3.8.6.2.2).
        let open = u64::try_from(distance(facts.ack, side.edge)).unwrap_or(0);
        let further = window.saturating_sub(open).div_ceil(mss) * mss;
        let unit = 1u64 << shift;
        let wanted = open.saturating_add(further);
        let field = wanted.div_ceil(unit).min(u64::from(facts.window)) as u16;
        let advertised = u64::from(field) * unit;
        // Rounded up, the field never takes back window. But with a unit above a segment, each rounding would move the
        // edge further right. So store the edge before rounding: the window may then shrink by less than its unit, as
        // any scaled window may (RFC 7323 section 2.4).
        let edge = if unit <= mss { advertised } else { wanted.min(advertised) };
        let edge = facts.ack.wrapping_add(edge as u32);
        if distance(side.edge, edge) > 0 {
            side.edge = edge;
        }
        if field < facts.window { Window::Lower(field) } else { Window::Keep }
    }

    /// Shift of the windows that this end advertises.
    fn shift(&self, side: usize) -> u32 {
        match (self.sides[side].shift, self.sides[1 - side].shift) {
            (Some(shift), Some(_)) => u32::from(shift.min(LARGEST_SHIFT)),
            _ => 0,
        }
    }

    /// Maximum segment size of the connection: the smaller one of both ends.
    fn mss(&self) -> u16 {
        self.sides[0].mss.min(self.sides[1].mss)
    }
}

impl Side {
    fn take_syn(&mut self, syn: &TcpFacts) {
        self.shift = syn.window_scale;
        self.mss = syn.mss.unwrap_or(DEFAULT_MSS).max(SMALLEST_MSS);
        self.syn_window = syn.window;
        self.next_seq = syn.end();
    }
}

/// Distance between two sequence numbers; negative if `to` is before `from` (RFC 9293 section 3.4).
const fn distance(from: u32, to: u32) -> i32 {
    to.wrapping_sub(from) as i32
}

/// Segment size of a SYN without the option over IPv4 (RFC 9293 section 3.7.1). IPv6 has 1220; the smaller value is
/// safe.
const DEFAULT_MSS: u16 = 536;
/// Smallest segment size that is accepted. An option with a few bytes would make the floor of the window useless.
const SMALLEST_MSS: u16 = 88;
/// Largest shift of the window scale option (RFC 7323 section 2.3).
const LARGEST_SHIFT: u8 = 14;
/// Smallest base round trip, so that a handshake without delay does not make the period zero.
const SHORTEST_ROUND_TRIP: Duration = Duration::from_millis(1);
