//! Messages of games over TCP, from the write to the delivery: the delay of each, and the part of it that the complete message
//! waited at the receiver for earlier, lost data (head-of-line blocking). Messages are ranges of the stream, so lengths suffice.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use gamelane_core::{Duration, Instant};
use gamelane_tcp::accounting::{RetransmissionLedger, RetransmissionTotals};

/// Message accounts of one connection.
#[derive(Debug)]
pub struct ThinLane {
    /// Messages that are not yet delivered, by direction.
    pub ways: [Messages; 2],
    /// Packets of the server.
    pub ledger: RetransmissionLedger,
    /// Retransmissions of these packets.
    pub totals: RetransmissionTotals,
}

impl ThinLane {
    /// A connection without messages.
    pub fn new(order: Order) -> Self {
        Self {
            ways: [Messages::new(order), Messages::new(order)],
            ledger: RetransmissionLedger::new(FIRST_OFFSET),
            totals: RetransmissionTotals::default(),
        }
    }
}

/// Order of delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// A message waits for all earlier messages: TCP.
    Stream,
    /// A message waits for earlier messages of the same player only: QUIC.
    PerPlayer,
}

/// A delivered message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its player.
    pub player: u32,
    /// Time from the write to the delivery.
    pub delay: Duration,
    /// Part of `delay` that the complete message waited.
    pub held: Duration,
}

/// Messages of one direction of a connection.
#[derive(Debug)]
pub struct Messages {
    order: Order,
    /// In ascending order, without gaps.
    pending: VecDeque<Message>,
    /// Offset after the last byte written.
    end: u64,
    /// Ranges that arrived after the start of the first pending message: disjoint, ascending.
    arrived: Vec<(u64, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Message {
    start: u64,
    end: u64,
    player: u32,
    written_at: Instant,
    /// Number of bytes that have not arrived.
    missing: u32,
    complete_at: Instant,
    delivered: bool,
}

/// The first data byte follows the SYN.
const FIRST_OFFSET: u64 = 1;

impl Messages {
    const fn new(order: Order) -> Self {
        Self { order, pending: VecDeque::new(), end: FIRST_OFFSET, arrived: Vec::new() }
    }

    /// Notes that `bytes` were written for `player`, including headers of the carriage.
    pub fn wrote(&mut self, player: u32, bytes: u32, now: Instant) {
        let (start, end) = (self.end, self.end + u64::from(bytes));
        self.pending.push_back(Message {
            start,
            end,
            player,
            written_at: now,
            missing: bytes,
            complete_at: Instant::MAX,
            delivered: false,
        });
        self.end = end;
    }

    /// Takes the bytes of a segment that arrived. Messages that can now be delivered go to `deliver`. Returns whether any of
    /// the bytes had not arrived before.
    pub fn arrived(&mut self, start: u64, len: u32, now: Instant, mut deliver: impl FnMut(Arrival)) -> bool {
        let end = start + u64::from(len);
        let Some(first) = self.pending.front() else { return false };
        let (start, end) = (start.max(first.start), end.min(self.end));
        if start >= end {
            return false;
        }
        let fresh = self.take_fresh(start, end, now);
        match self.order {
            Order::Stream => self.deliver_in_order(now, &mut deliver),
            Order::PerPlayer => self.deliver_complete(now, &mut deliver),
        }
        while self.pending.front().is_some_and(|message| message.delivered) {
            self.pending.pop_front();
        }
        let low = self.pending.front().map_or(self.end, |message| message.start);
        self.arrived.retain(|range| range.1 > low);
        fresh
    }

    /// Counts the bytes of `start..end` that had not arrived before as arrived. Returns whether there are any.
    fn take_fresh(&mut self, start: u64, end: u64, now: Instant) -> bool {
        let first = self.arrived.partition_point(|range| range.1 < start);
        let mut last = first;
        let mut merged = (start, end);
        let mut from = start;
        let mut fresh = false;
        while let Some(&range) = self.arrived.get(last).filter(|range| range.0 <= end) {
            fresh |= self.take(from, range.0, now);
            from = from.max(range.1);
            merged = (merged.0.min(range.0), merged.1.max(range.1));
            last += 1;
        }
        fresh |= self.take(from, end, now);
        self.arrived.splice(first..last, [merged]);
        fresh
    }

    fn take(&mut self, start: u64, end: u64, now: Instant) -> bool {
        if start >= end {
            return false;
        }
        let first = self.pending.partition_point(|message| message.end <= start);
        for message in self.pending.iter_mut().skip(first).take_while(|message| message.start < end) {
            message.missing -= (end.min(message.end) - start.max(message.start)) as u32;
            if message.missing == 0 {
                message.complete_at = now;
            }
        }
        true
    }

    fn deliver_in_order(&mut self, now: Instant, deliver: &mut impl FnMut(Arrival)) {
        for message in self.pending.iter_mut().take_while(|message| message.missing == 0) {
            if !message.delivered {
                deliver(message.delivered_at(now));
            }
        }
    }

    fn deliver_complete(&mut self, now: Instant, deliver: &mut impl FnMut(Arrival)) {
        for index in 0..self.pending.len() {
            let message = self.pending[index];
            if message.missing > 0 || message.delivered {
                continue;
            }
            let waits = self
                .pending
                .range(..index)
                .any(|before| before.player == message.player && before.missing > 0);
            if !waits {
                deliver(self.pending[index].delivered_at(now));
            }
        }
    }
}

impl Message {
    fn delivered_at(&mut self, now: Instant) -> Arrival {
        self.delivered = true;
        Arrival {
            player: self.player,
            delay: now.saturating_since(self.written_at),
            held: now.saturating_since(self.complete_at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Instant = Instant::from_millis;

    /// Three messages, of players 1, 2 and 1 again, 10 ms apart.
    fn three(order: Order) -> Messages {
        let mut messages = Messages::new(order);
        for (player, at) in [(1, 0), (2, 10), (1, 20)] {
            messages.wrote(player, 100, MS(at));
        }
        messages
    }

    fn arrive(messages: &mut Messages, start: u64, len: u32, at: u64) -> Vec<(u32, u64, u64)> {
        let mut seen = Vec::new();
        let millis = |duration: Duration| duration.as_nanos() / 1_000_000;
        messages.arrived(start, len, MS(at), |arrival| {
            seen.push((arrival.player, millis(arrival.delay), millis(arrival.held)));
        });
        seen
    }

    #[test]
    fn a_stream_holds_everything_behind_a_hole() {
        let mut messages = three(Order::Stream);
        assert_eq!(arrive(&mut messages, 101, 100, 110), []);
        assert_eq!(arrive(&mut messages, 201, 100, 120), []);
        assert_eq!(arrive(&mut messages, 1, 100, 400), [(1, 400, 0), (2, 390, 290), (1, 380, 280)]);
        assert!(messages.pending.is_empty() && messages.arrived.is_empty());
    }

    #[test]
    fn players_with_streams_of_their_own_wait_for_themselves() {
        let mut messages = three(Order::PerPlayer);
        assert_eq!(arrive(&mut messages, 101, 100, 110), [(2, 100, 0)]);
        assert_eq!(arrive(&mut messages, 201, 100, 120), []);
        assert_eq!(arrive(&mut messages, 1, 100, 400), [(1, 400, 0), (1, 380, 280)]);
        assert!(messages.pending.is_empty());
    }

    #[test]
    fn pieces_and_copies_count_once() {
        let mut messages = three(Order::Stream);
        assert_eq!(arrive(&mut messages, 1, 60, 100), []);
        assert_eq!(arrive(&mut messages, 31, 100, 110), [(1, 110, 0)]);
        assert_eq!(arrive(&mut messages, 1, 300, 120), [(2, 110, 0), (1, 100, 0)]);
        assert_eq!(arrive(&mut messages, 1, 300, 130), []);
    }
}
