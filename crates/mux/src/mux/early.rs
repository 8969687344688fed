//! Early repeats by the sending half (see [`EarlyRepeat`](crate::EarlyRepeat)): a small message that is still unacknowledged
//! after a fraction of the round trip is sent again on another carrier. Repeats after the loss of a carrier are left out;
//! the stream handles those.

use super::Mux;
use crate::body::Body;
use crate::config::{CarrierId, CarrierKind, StreamId};
use crate::frame::Frame;
use crate::send::Slot;
use gamelane_core::{Duration, Instant};

impl<B: Body> Mux<B> {
    /// Queues early repeats of late messages on other carriers.
    pub fn handle_timeout(&mut self, now: Instant) {
        let (Some(after), Some(repeat)) = (self.repeat_after(), self.config.early_repeat) else { return };
        while let Some(late) = self.ledger.take_due(after, now) {
            let sent = self.streams.get(&late.stream).filter(|sender| sender.is_confirmed());
            let Some((on, repeats)) = sent.and_then(|sender| sender.unacknowledged(late.offset)) else {
                continue;
            };
            if repeats < repeat.max_repeats
                && let Some(other) = self.other_than(on, repeats)
            {
                self.carriers[other.index()].repeats.push_back((late.stream, late.offset));
            }
        }
    }

    pub(super) fn next_repeat(&mut self, slot: Slot, now: Instant) -> Option<Frame<B>> {
        while let Some((stream, offset)) = self.carriers[slot.carrier.index()].repeats.pop_front() {
            let Some(sender) = self.streams.get_mut(&stream) else { continue };
            if let Some(frame) = sender.repeat(stream, offset, slot) {
                self.counters.repeats += 1;
                self.counters.repeated_bytes += frame.body().map_or(0, Body::len) as u64;
                self.ledger.watch(stream, offset, now);
                return Some(frame);
            }
        }
        None
    }

    pub(super) fn watch(&mut self, stream: StreamId, frame: &Frame<B>, carrier: CarrierId, now: Instant) {
        let Some(repeat) = self.config.early_repeat.filter(|_| self.config.retain) else { return };
        if let Frame::Data { body, .. } = frame
            && (1..=repeat.max_len as usize).contains(&body.len())
            && let Some(sender) = self.streams.get(&stream)
        {
            self.ledger.watch(stream, sender.cursor(carrier) - body.len() as u64, now);
        }
    }

    pub(super) fn repeat_after(&self) -> Option<Duration> {
        let repeat = self.config.early_repeat?;
        let rtt = self.rtt?;
        Some(Duration::from_nanos(rtt.as_nanos() / 1000 * u64::from(repeat.after_permille)))
    }

    /// Picks a carrier for a repeat: a datagram carrier if one is up, otherwise the next ordered one.
    fn other_than(&self, carrier: CarrierId, skip: u8) -> Option<CarrierId> {
        let count = self.config.carriers;
        let others = || {
            (1..count)
                .map(|step| CarrierId((carrier.0 + step) % count))
                .filter(|other| self.carriers[other.index()].up)
        };
        let datagrams = others().find(|other| self.carriers[other.index()].kind == CarrierKind::Datagram);
        datagrams.or_else(|| {
            let ordered = others().count();
            others().nth(usize::from(skip) % ordered.max(1))
        })
    }
}
