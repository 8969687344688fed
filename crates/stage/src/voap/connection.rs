//! One TCP connection as it passes: what its SYNs agreed on, how long a round trip takes, and the windows its two ends
//! advertise. A window is 16 bits shifted left by what its own sender offered in its SYN, and only if both sides offered a
//! shift (RFC 7323 section 2.2); a SYN's own window is never scaled.

use gamelane_core::{Direction, Duration, Instant};

use super::config::VoapConfig;
use super::law::{Law, MeanWindow, Step};
use crate::hops::HopView;
use crate::tcp::TcpFacts;

#[derive(Clone, Copy, Debug)]
pub(super) struct Connection {
    phase: Phase,
    /// By the direction its segments go.
    sides: [Side; 2],
    /// A round trip without queues, once the handshake is over.
    base_round_trip: Duration,
    /// When the first SYN passed.
    syn_at: Instant,
    pub(super) last_seen: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// One SYN has passed, in this direction.
    Opening(Direction),
    /// Both SYNs have passed; the first one went this way and the ACK that ends the handshake is awaited.
    Answered(Direction),
    /// Data may flow.
    Open,
}

/// One end, and the data it is sent.
#[derive(Clone, Copy, Debug)]
struct Side {
    /// What its SYN offered.
    shift: Option<u8>,
    mss: u16,
    syn_window: u16,
    /// Highest sequence number it has sent, plus one.
    next_seq: u32,
    /// Highest acknowledgement it has sent.
    acked: u32,
    /// Right edge of the window that has gone out for it, at its highest.
    edge: u32,
    /// Steers the data this end receives.
    law: Law,
}

/// What becomes of a segment's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    /// It goes as it is.
    Keep,
    /// It is lowered to this value of the field.
    Lower(u16),
    /// A SYN, a reset, a keep-alive, or a segment that acknowledges nothing: not ours to touch.
    NotOurs,
}

impl Connection {
    /// From the SYN that opens it.
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

    /// False before both SYNs have passed: such an entry may make room.
    pub(super) const fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open)
    }

    /// A SYN that is neither the first nor its repetition nor its answer opens another connection on the same ports.
    pub(super) fn is_reopened_by(&self, syn: &TcpFacts) -> bool {
        let side = &self.sides[syn.direction.index()];
        match self.phase {
            Phase::Opening(first) => syn.direction == first && side.next_seq != syn.end(),
            Phase::Answered(_) | Phase::Open => side.next_seq != syn.end() && !syn.flags.ack,
        }
    }

    /// Takes note of a segment and says what becomes of its window.
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
                // The windows of the SYNs are good for the first data of the other side.
                for side in 0..2 {
                    self.sides[side].acked = self.sides[1 - side].next_seq;
                    self.sides[side].edge =
                        self.sides[side].acked.wrapping_add(u32::from(self.sides[side].syn_window));
                }
            }
            // A repetition: a round trip counted from the first SYN errs on the long side, which holds nobody back.
            Phase::Opening(_) | Phase::Answered(_) | Phase::Open => {}
        }
    }

    /// The law, the floor, the edge that must not move left, and the field's granularity, in this order.
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
        // The edge moves right by whole segments only: a smaller advance would invite small segments
        // (RFC 9293 section 3.8.6.2.2).
        let open = u64::try_from(distance(facts.ack, side.edge)).unwrap_or(0);
        let further = window.saturating_sub(open).div_ceil(mss) * mss;
        let unit = 1u64 << shift;
        let wanted = open.saturating_add(further);
        let field = wanted.div_ceil(unit).min(u64::from(facts.window)) as u16;
        let advertised = u64::from(field) * unit;
        // Rounded up, the field never takes back what it gave. A unit above a segment would then keep moving the edge
        // with every ACK, so such a field may waver by less than its unit, as any scaled window (RFC 7323 section 2.4).
        let edge = if unit <= mss { advertised } else { wanted.min(advertised) };
        let edge = facts.ack.wrapping_add(edge as u32);
        if distance(side.edge, edge) > 0 {
            side.edge = edge;
        }
        if field < facts.window { Window::Lower(field) } else { Window::Keep }
    }

    /// The shift of windows this side advertises.
    fn shift(&self, side: usize) -> u32 {
        match (self.sides[side].shift, self.sides[1 - side].shift) {
            (Some(shift), Some(_)) => u32::from(shift.min(LARGEST_SHIFT)),
            _ => 0,
        }
    }

    /// The smaller of what both ends take.
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

/// From one sequence number to another, negative if it is behind (RFC 9293 section 3.4).
const fn distance(from: u32, to: u32) -> i32 {
    to.wrapping_sub(from) as i32
}

/// RFC 9293 section 3.7.1: what a SYN without the option means. (IPv6's 1220 is on the safe side of it too.)
const DEFAULT_MSS: u16 = 536;
/// An option may say anything; a segment of a few bytes would make the floor a trickle.
const SMALLEST_MSS: u16 = 88;
/// RFC 7323 section 2.3.
const LARGEST_SHIFT: u8 = 14;
/// Keeps a handshake answered at once from making every instant a period.
const SHORTEST_ROUND_TRIP: Duration = Duration::from_millis(1);
