//! Messages over datagrams, each repeated until it is acknowledged, as games do that have their own reliability on UDP.
//!
//! - A datagram carries the new messages. It also repeats small unacknowledged ones, as redundant data bundling does in
//!   TCP (Evensen et al. 2008).
//! - A message that is unacknowledged after a fraction of the round trip is sent again in a datagram of its own.
//! - A message is given up at a maximum age. The next datagram tells the receiver.
//!
//! Congestion control is left out: a thin stream sends at most one timed repeat of each message per repeat interval.

use crate::body::Body;
use crate::datagram::{Acknowledgement, Datagram, Message, WINDOW};
use alloc::collections::VecDeque;
use gamelane_core::{Duration, Instant};

/// Limits of repeating: which messages, how often, how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepeatLimits {
    /// Maximum payload of a datagram, in bytes. A message and its header must fit into one.
    pub max_datagram: u32,
    /// Largest message that is repeated in datagrams of other messages, in bytes.
    pub max_bundled: u32,
    /// A message is bundled with others only until it was repeated this often. Timed repeats have no such limit.
    pub max_copies: u8,
    /// Age at which an unacknowledged message is sent again, in thousandths of the round trip, counted from its last
    /// copy. `None`: only bundled with other messages.
    pub after_permille: Option<u32>,
    /// Round trip assumed before the first measurement.
    pub initial_rtt: Duration,
    /// Minimum time between the last copy of a message and a timed repeat.
    pub min_gap: Duration,
    /// Age at which a message is given up. The receiver continues without it.
    pub max_age: Duration,
}

impl Default for RepeatLimits {
    fn default() -> Self {
        Self {
            max_datagram: 1200,
            max_bundled: 300,
            max_copies: 3,
            after_permille: Some(1250),
            initial_rtt: Duration::from_millis(200),
            min_gap: Duration::from_millis(10),
            max_age: Duration::from_secs(10),
        }
    }
}

/// Counters of the sending half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepeaterCounters {
    /// Datagrams, including those that carry only an acknowledgement.
    pub datagrams: u64,
    /// Payload of the datagrams, in bytes.
    pub wire_bytes: u64,
    /// Messages sent for the first time.
    pub messages: u64,
    /// Repeats in a datagram of another message.
    pub bundled: u64,
    /// Repeats by the timer.
    pub timed: u64,
    /// Messages given up.
    pub abandoned: u64,
}

#[derive(Debug)]
struct Unacknowledged<B> {
    body: B,
    written: Instant,
    last: Instant,
    /// Number of transmissions.
    copies: u32,
    done: bool,
    chosen: bool,
}

/// The sending half. See the [module](self).
#[derive(Debug)]
pub struct Repeater<B> {
    limits: RepeatLimits,
    /// Sequence number of the first of `messages`.
    floor: u64,
    messages: VecDeque<Unacknowledged<B>>,
    number: u64,
    /// Send times of the last datagrams, indexed by number modulo the length.
    sent: [Instant; 64],
    rtt: Option<Duration>,
    /// The receiver must learn of a new floor.
    floor_moved: bool,
    counters: RepeaterCounters,
}

impl<B: Body> Repeater<B> {
    /// A sender that has sent nothing.
    pub fn new(limits: RepeatLimits) -> Self {
        Self {
            limits,
            floor: 0,
            messages: VecDeque::with_capacity(WINDOW as usize),
            number: 0,
            sent: [Instant::ZERO; 64],
            rtt: None,
            floor_moved: false,
            counters: RepeaterCounters::default(),
        }
    }

    /// Queues a message and returns its sequence number.
    ///
    /// # Errors
    /// Returns the body if too many messages are unacknowledged, or if it does not fit into a datagram.
    pub fn send(&mut self, body: B, now: Instant) -> Result<u64, B> {
        let room = (self.limits.max_datagram as usize).saturating_sub(Datagram::<B>::MAX_HEADER);
        if self.messages.len() as u64 >= WINDOW || Datagram::<B>::message_len(WINDOW, body.len()) > room {
            return Err(body);
        }
        let message = Unacknowledged { body, written: now, last: now, copies: 0, done: false, chosen: false };
        self.messages.push_back(message);
        Ok(self.floor + self.messages.len() as u64 - 1)
    }

    /// Fills `datagram` with the next datagram to send. Returns false if there is none. `ack` acknowledges the other
    /// direction; it is sent even if there is nothing else to send.
    pub fn poll_datagram(
        &mut self,
        ack: Option<Acknowledgement>,
        now: Instant,
        datagram: &mut Datagram<B>,
    ) -> bool {
        self.give_up_old(now);
        let gap = self.gap();
        let is_due = |message: &Unacknowledged<B>| {
            message.copies == 0 || gap.is_some_and(|gap| message.last.saturating_add(gap) <= now)
        };
        let due = self.messages.iter().any(|message| !message.done && is_due(message));
        if !due && ack.is_none() && !self.floor_moved {
            return false;
        }
        let mut room = (self.limits.max_datagram as usize).saturating_sub(Datagram::<B>::MAX_HEADER);
        let limits = self.limits;
        let counters = &mut self.counters;
        let mut choose = |message: &mut Unacknowledged<B>, count: &mut u64| {
            let len = Datagram::<B>::message_len(WINDOW, message.body.len());
            if !message.done && !message.chosen && len <= room {
                room -= len;
                message.chosen = true;
                *count += 1;
            }
        };
        for message in &mut self.messages {
            if message.copies == 0 {
                choose(message, &mut counters.messages);
            } else if is_due(message) {
                choose(message, &mut counters.timed);
            }
        }
        if due {
            // The oldest message holds up the others, so it comes first.
            for message in &mut self.messages {
                let small = message.body.len() <= limits.max_bundled as usize;
                if message.copies > 0 && small && message.copies <= u32::from(limits.max_copies) {
                    choose(message, &mut counters.bundled);
                }
            }
        }
        datagram.number = self.number;
        datagram.floor = self.floor;
        datagram.ack = ack;
        datagram.messages.clear();
        for (sequence, message) in (self.floor..).zip(&mut self.messages) {
            if message.chosen {
                message.chosen = false;
                message.copies += 1;
                message.last = now;
                datagram.messages.push(Message { sequence, body: message.body.clone() });
            }
        }
        self.sent[(self.number % 64) as usize] = now;
        self.number += 1;
        self.floor_moved = false;
        self.counters.datagrams += 1;
        self.counters.wire_bytes += datagram.wire_len() as u64;
        true
    }

    /// Handles an acknowledgement from the peer and measures the round trip.
    pub fn handle_ack(&mut self, ack: Acknowledgement, now: Instant) {
        if ack.number >= self.number {
            return;
        }
        if self.number - ack.number <= self.sent.len() as u64 {
            let sent = self.sent[(ack.number % 64) as usize];
            let sample = now.saturating_since(sent).saturating_sub(ack.delay);
            self.rtt = Some(self.rtt.map_or(sample, |rtt| {
                Duration::from_nanos(rtt.as_nanos() - rtt.as_nanos() / 8 + sample.as_nanos() / 8)
            }));
        }
        for (sequence, message) in (self.floor..).zip(&mut self.messages) {
            let above = sequence.checked_sub(ack.next.saturating_add(1));
            let has = sequence < ack.next || above.is_some_and(|bit| bit < 64 && ack.above >> bit & 1 == 1);
            message.done |= has && message.copies > 0;
        }
        self.drop_done();
    }

    /// Time at which [`poll_datagram`](Self::poll_datagram) has a datagram to send without an acknowledgement.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let gap = self.gap();
        let waiting = self.messages.iter().filter(|message| !message.done);
        let due = waiting.map(|message| {
            let old = message.written.saturating_add(self.limits.max_age);
            match gap {
                _ if message.copies == 0 => message.written,
                Some(gap) => old.min(message.last.saturating_add(gap)),
                None => old,
            }
        });
        due.chain(self.floor_moved.then_some(Instant::ZERO)).min()
    }

    /// Smoothed round trip; `None` before the first measurement.
    pub const fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// Number of unacknowledged messages.
    pub fn unacknowledged(&self) -> usize {
        self.messages.iter().filter(|message| !message.done).count()
    }

    /// Counters so far.
    pub const fn counters(&self) -> RepeaterCounters {
        self.counters
    }

    fn gap(&self) -> Option<Duration> {
        let rtt = self.rtt.unwrap_or(self.limits.initial_rtt);
        let after = u64::from(self.limits.after_permille?);
        Some(Duration::from_nanos(rtt.as_nanos() / 1000 * after).max(self.limits.min_gap))
    }

    fn give_up_old(&mut self, now: Instant) {
        for message in &mut self.messages {
            if !message.done && message.written.saturating_add(self.limits.max_age) <= now {
                message.done = true;
                self.counters.abandoned += 1;
                self.floor_moved = true;
            }
        }
        self.drop_done();
    }

    fn drop_done(&mut self) {
        while self.messages.front().is_some_and(|message| message.done) {
            self.messages.pop_front();
            self.floor += 1;
        }
    }
}
