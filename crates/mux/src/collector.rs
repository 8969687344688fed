//! The receiving half of [`Repeater`](crate::Repeater): each message once and in order, and what to acknowledge.

use crate::body::Body;
use crate::datagram::{Acknowledgement, Datagram, Message, WINDOW};
use alloc::collections::VecDeque;
use gamelane_core::{Duration, Instant};

/// What arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CollectorCounters {
    /// Messages that were new.
    pub messages: u64,
    /// Copies of messages that had been here.
    pub duplicates: u64,
    /// Messages held back behind a missing one.
    pub held: u64,
    /// How long these waited, together.
    pub held_time: Duration,
    /// The longest of these waits.
    pub longest_hold: Duration,
    /// Messages the sender gave up before they came.
    pub lost: u64,
    /// Messages further ahead than any sender of ours goes.
    pub beyond: u64,
}

/// The receiving half.
#[derive(Debug)]
pub struct Collector<B> {
    ack_delay: Duration,
    next: u64,
    /// Slot i is for `next` + i.
    held: VecDeque<Option<(B, Instant)>>,
    ready: VecDeque<Message<B>>,
    newest: Option<(u64, Instant)>,
    ack_due: Option<Instant>,
    counters: CollectorCounters,
}

impl<B: Body> Collector<B> {
    /// Nothing received yet. An acknowledgement waits up to `ack_delay` for a datagram to go along with.
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

    /// A datagram from the network, its messages taken out. What it acknowledges is the [`Repeater`](crate::Repeater)'s.
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

    /// The next message in order.
    pub fn poll_message(&mut self) -> Option<Message<B>> {
        self.ready.pop_front()
    }

    /// What to acknowledge, once that is due, or earlier if a datagram goes out anyway (`along`).
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

    /// When an acknowledgement is due.
    pub const fn poll_timeout(&self) -> Option<Instant> {
        self.ack_due
    }

    /// Messages held behind a missing one.
    pub fn holding(&self) -> usize {
        self.held.iter().flatten().count()
    }

    /// What has arrived so far.
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
