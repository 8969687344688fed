//! Messages over datagrams, each repeated until it is acknowledged: what a game does that builds its own reliability on UDP.
//! A datagram carries new messages and, behind them, unacknowledged small ones once more (as redundant data bundling does
//! inside TCP); one that is still unacknowledged after a fraction of the round trip makes a datagram of its own. There is no
//! congestion control: a thin stream sends at most one timed repeat of each message per round trip, and gives a message
//! up at an age. That a message was given up the receiver learns from the next datagram.

use crate::body::Body;
use crate::datagram::{Acknowledgement, Datagram, Message, WINDOW};
use alloc::collections::VecDeque;
use gamelane_core::{Duration, Instant};

/// What is repeated, how often, how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepeatLimits {
    /// Largest datagram payload. A message must fit in one, with its header.
    pub max_datagram: u32,
    /// Messages up to this size go along with others' datagrams.
    pub max_bundled: u32,
    /// So often, beyond the first time.
    pub max_copies: u8,
    /// A message unacknowledged after this many thousandths of the round trip is sent again, and again. `None`: only along
    /// with others.
    pub after_permille: Option<u32>,
    /// Round trip assumed before the first acknowledgement.
    pub initial_rtt: Duration,
    /// No timed repeat sooner than this after the copy before.
    pub min_gap: Duration,
    /// A message this old is given up; the receiver goes on without it.
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

/// What was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepeaterCounters {
    /// Datagrams, those with nothing but an acknowledgement included.
    pub datagrams: u64,
    /// Their payload.
    pub wire_bytes: u64,
    /// Messages sent a first time.
    pub messages: u64,
    /// Repeats along with another message's datagram.
    pub bundled: u64,
    /// Repeats because time was up.
    pub timed: u64,
    /// Messages given up.
    pub abandoned: u64,
}

#[derive(Debug)]
struct Unacknowledged<B> {
    body: B,
    written: Instant,
    last: Instant,
    /// Times it was sent.
    copies: u32,
    done: bool,
    chosen: bool,
}

/// The sending half.
#[derive(Debug)]
pub struct Repeater<B> {
    limits: RepeatLimits,
    /// The sequence of the first in `messages`.
    floor: u64,
    messages: VecDeque<Unacknowledged<B>>,
    number: u64,
    /// When the last datagrams were sent, by number modulo the length.
    sent: [Instant; 64],
    rtt: Option<Duration>,
    /// The receiver has to be told of a new floor.
    floor_moved: bool,
    counters: RepeaterCounters,
}

impl<B: Body> Repeater<B> {
    /// Nothing sent yet.
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

    /// Takes a message to send and gives its sequence; gives the body back while too many are unacknowledged, or if it fits in
    /// no datagram.
    pub fn send(&mut self, body: B, now: Instant) -> Result<u64, B> {
        let room = (self.limits.max_datagram as usize).saturating_sub(Datagram::<B>::MAX_HEADER);
        if self.messages.len() as u64 >= WINDOW || Datagram::<B>::message_len(WINDOW, body.len()) > room {
            return Err(body);
        }
        let message = Unacknowledged { body, written: now, last: now, copies: 0, done: false, chosen: false };
        self.messages.push_back(message);
        Ok(self.floor + self.messages.len() as u64 - 1)
    }

    /// Fills `datagram` with the next one to send; false if there is none. `ack` is what came the other way, and alone is
    /// reason enough.
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
            // The oldest holds up the others, so it comes first.
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

    /// The peer says what it has.
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

    /// When [`poll_datagram`](Self::poll_datagram) would send by itself.
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

    /// Smoothed round trip, once measured.
    pub const fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// Messages not acknowledged.
    pub fn unacknowledged(&self) -> usize {
        self.messages.iter().filter(|message| !message.done).count()
    }

    /// What was sent so far.
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
