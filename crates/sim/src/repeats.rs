//! Carries a player's messages in UDP datagrams. Each datagram repeats all unacknowledged messages, as games with a reliability
//! of their own do. The logic is in [`gamelane_mux`]. This file keeps the content of datagrams in flight, and when messages were written.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use gamelane_core::time::earliest;
use gamelane_core::{Duration, Instant};
use gamelane_mux::{Collector, Datagram, Length, RepeatLimits, Repeater};
use gamelane_record::messages::Arrival;

/// One end of the transport.
#[derive(Debug)]
pub(crate) struct Repeats {
    repeater: Repeater<Length>,
    collector: Collector<Length>,
    /// The last datagrams sent, by number modulo [`IN_NETWORK`].
    sent: Vec<Datagram<Length>>,
    /// Sequence number of the first message, and when it and later ones were written.
    written: (u64, VecDeque<Instant>),
    /// Sequence number and arrival of messages that wait for earlier ones.
    arrived: Vec<(u64, Instant)>,
    received: Datagram<Length>,
}

/// Maximum number of datagrams of one end in the network. A thin stream has a few.
const IN_NETWORK: usize = 32;
/// Time that an acknowledgement waits for a datagram that can carry it.
const ACK_DELAY: Duration = Duration::from_millis(10);

impl Repeats {
    pub(crate) fn new() -> Self {
        Self {
            repeater: Repeater::new(RepeatLimits::default()),
            collector: Collector::new(ACK_DELAY),
            sent: Vec::new(),
            written: (0, VecDeque::new()),
            arrived: Vec::new(),
            received: Datagram::default(),
        }
    }

    /// Takes a message of the application. Returns false if too many are unacknowledged; the message is then lost.
    pub(crate) fn write(&mut self, bytes: u32, now: Instant) -> bool {
        let taken = self.repeater.send(Length(bytes), now).is_ok();
        if taken {
            self.written.1.push_back(now);
        }
        taken
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        earliest(self.repeater.poll_timeout(), self.collector.poll_timeout())
    }

    /// Returns number and length of the next datagram.
    pub(crate) fn poll_datagram(&mut self, now: Instant) -> Option<(u64, u32)> {
        let along = self.repeater.poll_timeout().is_some_and(|at| at <= now);
        let ack = self.collector.poll_ack(along, now);
        if !along && ack.is_none() {
            return None;
        }
        let mut datagram = Datagram::default();
        let place = self.repeater.counters().datagrams as usize % IN_NETWORK;
        if let Some(old) = self.sent.get_mut(place) {
            core::mem::swap(old, &mut datagram);
        }
        let sends = self.repeater.poll_datagram(ack, now, &mut datagram);
        let said = sends.then(|| (datagram.number, datagram.wire_len() as u32));
        match self.sent.get_mut(place) {
            Some(old) => *old = datagram,
            None if sends => self.sent.push(datagram),
            None => {}
        }
        said
    }

    /// Takes datagram `number` of the peer. Messages that can now be delivered go to `deliver`.
    pub(crate) fn handle_datagram(
        &mut self,
        peer: &mut Self,
        number: u64,
        player: u32,
        now: Instant,
        mut deliver: impl FnMut(Arrival),
    ) {
        let Some(datagram) = peer.sent.get(number as usize % IN_NETWORK).filter(|sent| sent.number == number)
        else {
            return;
        };
        // A derived `clone_from` would allocate a new vector.
        let mut messages = core::mem::take(&mut self.received.messages);
        messages.clear();
        messages.extend_from_slice(&datagram.messages);
        let Datagram { number, floor, ack, .. } = *datagram;
        self.received = Datagram { number, floor, ack, messages };
        if let Some(ack) = self.received.ack {
            self.repeater.handle_ack(ack, now);
        }
        for message in &self.received.messages {
            if message.sequence >= peer.written.0
                && !self.arrived.iter().any(|(seen, _)| *seen == message.sequence)
            {
                self.arrived.push((message.sequence, now));
            }
        }
        self.collector.handle_datagram(&mut self.received, now);
        while let Some(message) = self.collector.poll_message() {
            let arrived = self.arrived.iter().position(|(sequence, _)| *sequence == message.sequence);
            let arrived = arrived.map_or(now, |place| self.arrived.swap_remove(place).1);
            while peer.written.0 < message.sequence {
                // The peer gave up on this message.
                peer.written.1.pop_front();
                peer.written.0 += 1;
            }
            let Some(written) = peer.written.1.pop_front() else { continue };
            peer.written.0 += 1;
            deliver(Arrival {
                player,
                delay: now.saturating_since(written),
                held: now.saturating_since(arrived),
            });
        }
        let done = peer.written.0;
        self.arrived.retain(|(sequence, _)| *sequence >= done);
    }
}
