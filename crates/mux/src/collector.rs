//! The receiving half of [`Repeater`](crate::Repeater). It delivers each message once and in order, and generates the
//! acknowledgements. Left out: detection of lost datagrams, which the sender does by time.

use crate::body::Body;
use crate::datagram::{Acknowledgement, Datagram, Message, WINDOW};
use alloc::collections::VecDeque;
use gamelane_core::{Duration, Instant};

/// Counters of the receiving half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CollectorCounters {
    /// New messages.
    pub messages: u64,
    /// Copies of messages that had already arrived.
    pub duplicates: u64,
    /// Messages held back behind a missing one.
    pub held: u64,
    /// Sum of their waiting times.
    pub held_time: Duration,
    /// The longest of these waiting times.
    pub longest_hold: Duration,
    /// Messages that the sender gave up before they arrived.
    pub lost: u64,
    /// Messages further ahead than [`WINDOW`] allows; they were ignored.
    pub beyond: u64,
}

/// The receiving half. See the [module](self).
#[derive(Debug)]
pub struct Collector<B> {
    ack_delay: Duration,
    next: u64,
    /// Slot i holds message `next` + i.
    held: VecDeque<Option<(B, Instant)>>,
    ready: VecDeque<Message<B>>,
    newest: Option<(u64, Instant)>,
    ack_due: Option<Instant>,
    counters: CollectorCounters,
}

impl<B: Body> Collector<B> {
    /// A collector that has received nothing. An acknowledgement waits up to `ack_delay` for a datagram that can carry
    /// it.
    pub fn new(ack_delay: Duration) -> Self {
        Self {
            ack_delay,
            next: 0,
            held: VecDeque::with_capacity(WINDOW as usize),
            ready: VecDeque::new(),
            newest: None,
            ack_due: None,
            counters: CollectorCounters::default(),
        }
    }

    /// Takes the messages out of a received datagram. Its acknowledgement is left for
    /// [`Repeater::handle_ack`](crate::Repeater::handle_ack).
    pub fn handle_datagram(&mut self, datagram: &mut Datagram<B>, now: Instant) {
        if self.newest.is_none_or(|(number, _)| number < datagram.number) {
            self.newest = Some((datagram.number, now));
        }
        self.skip_to(datagram.floor, now);
        let has_messages = !datagram.messages.is_empty();
        for message in datagram.messages.drain(..) {
            self.take(message, now);
        }
        self.release(now);
        if has_messages {
            self.ack_due.get_or_insert(now.saturating_add(self.ack_delay));
        }
    }

    /// Returns the next message in order.
    pub fn poll_message(&mut self) -> Option<Message<B>> {
        self.ready.pop_front()
    }

    /// Returns the acknowledgement to send if it is due. With `along` (a datagram is about to be sent anyway) it need
    /// not be due.
    pub fn poll_ack(&mut self, along: bool, now: Instant) -> Option<Acknowledgement> {
        let due = self.ack_due?;
        let (number, at) = self.newest?;
        if !along && due > now {
            return None;
        }
        self.ack_due = None;
        let bits = self.held.iter().skip(1).take(WINDOW as usize).enumerate();
        let above = bits.fold(0, |bits, (bit, held)| bits | u64::from(held.is_some()) << bit);
        Some(Acknowledgement { number, delay: now.saturating_since(at), next: self.next, above })
    }

    /// Time at which the acknowledgement is due.
    pub const fn poll_timeout(&self) -> Option<Instant> {
        self.ack_due
    }

    /// Number of messages held back behind a missing one.
    pub fn holding(&self) -> usize {
        self.held.iter().flatten().count()
    }

    /// Counters so far.
    pub const fn counters(&self) -> CollectorCounters {
        self.counters
    }

    fn take(&mut self, message: Message<B>, now: Instant) {
        let Some(ahead) = message.sequence.checked_sub(self.next) else {
            self.counters.duplicates += 1;
            return;
        };
        if ahead > WINDOW {
            self.counters.beyond += 1;
            return;
        }
        let index = ahead as usize;
        if self.held.len() <= index {
            self.held.resize_with(index + 1, || None);
        }
        if self.held[index].is_some() {
            self.counters.duplicates += 1;
            return;
        }
        self.counters.messages += 1;
        self.counters.held += u64::from(self.held.iter().take(index).any(Option::is_none));
        self.held[index] = Some((message.body, now));
    }

    fn release(&mut self, now: Instant) {
        while let Some(Some(_)) = self.held.front() {
            self.release_first(now);
        }
    }

    fn release_first(&mut self, now: Instant) {
        if let Some((body, since)) = self.held.pop_front().flatten() {
            let waited = now.saturating_since(since);
            self.counters.held_time += waited;
            self.counters.longest_hold = self.counters.longest_hold.max(waited);
            self.ready.push_back(Message { sequence: self.next, body });
        } else {
            self.counters.lost += 1;
        }
        self.next += 1;
    }

    fn skip_to(&mut self, floor: u64, now: Instant) {
        while self.next < floor && !self.held.is_empty() {
            self.release_first(now);
        }
        if self.next < floor {
            self.counters.lost += floor - self.next;
            self.next = floor;
        }
    }
}
