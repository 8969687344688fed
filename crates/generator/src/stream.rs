//! One end of one flow: runs the application, numbers its packets, and measures the other end's packets. Pure: bytes and times are
//! arguments.

use gamelane_core::{Direction, Duration, Instant};
use gamelane_traffic::{AppAction, AppEvent, Source, TrafficSource};

use crate::record::{Record, Records, What};
use crate::wire::{Echo, Header, LONGEST, Seen};

/// One end of one flow.
#[derive(Debug)]
pub struct Stream {
    source: Source,
    direction: Direction,
    flow: u16,
    session: u64,
    /// Time zero of the application.
    began: Instant,
    /// The application sends nothing from this time on.
    ends: Instant,
    /// True if the other end's time stamps are of this host's clock.
    same_clock: bool,
    next: u32,
    departures: Box<[Instant; REMEMBERED]>,
    arrivals: Arrivals,
    to_echo: Option<(u32, Instant)>,
    seen: Seen,
}

/// Settings of a stream.
#[derive(Debug)]
pub struct StreamConfig {
    /// This end's application.
    pub source: Source,
    /// Direction in which this end sends.
    pub direction: Direction,
    /// Index of the flow in the scenario.
    pub flow: u16,
    /// Id of the session.
    pub session: u64,
    /// Time for which the application runs.
    pub duration: Duration,
    /// True if both ends share a clock.
    pub same_clock: bool,
}

/// A datagram to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Its length; the bytes are in the caller's buffer.
    pub payload: usize,
}

/// Number of send times kept for echoes: ten seconds at 100 packets a second.
const REMEMBERED: usize = 1024;

impl Stream {
    /// Starts the application at `now`.
    pub fn new(config: StreamConfig, now: Instant) -> Self {
        Self {
            source: config.source,
            direction: config.direction,
            flow: config.flow,
            session: config.session,
            began: now,
            ends: now.saturating_add(config.duration),
            same_clock: config.same_clock,
            next: 0,
            departures: Box::new([Instant::ZERO; REMEMBERED]),
            arrivals: Arrivals::default(),
            to_echo: None,
            seen: Seen::default(),
        }
    }

    /// The time at which the application ends.
    pub const fn ends(&self) -> Instant {
        self.ends
    }

    /// Ends the application at `now`.
    pub fn stop(&mut self, now: Instant) {
        self.ends = self.ends.min(now);
    }

    /// Counters of this end.
    pub const fn seen(&self) -> Seen {
        self.seen
    }

    /// The time of the next packet; `None` after the end.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let own = self.source.poll_timeout()?;
        let at = self.began.saturating_add(own.saturating_since(Instant::ZERO));
        (at < self.ends).then_some(at)
    }

    /// Runs the application's timers that are due before the end. An early call does nothing; in a late one, packets that were due
    /// before the end are still sent.
    pub fn handle_timeout(&mut self, now: Instant) {
        let before_end = Instant::from_nanos(self.ends.as_nanos().saturating_sub(1));
        self.source.handle_timeout(self.own_time(now.min(before_end)));
    }

    /// Writes the next packet into `buffer`; call it until `None`. `due` is the time at which the application wanted to send it.
    pub fn poll_transmit(
        &mut self,
        due: Instant,
        now: Instant,
        buffer: &mut [u8; LONGEST],
        records: &mut dyn Records,
    ) -> Option<Transmit> {
        loop {
            // Other actions of a datagram application do not need a socket.
            let AppAction::SendDatagram { payload } = self.source.poll_action(self.own_time(now))? else {
                continue;
            };
            let payload = (payload as usize).min(LONGEST);
            let number = self.next;
            self.next = self.next.wrapping_add(1);
            self.departures[number as usize % REMEMBERED] = now;
            let echo = self.to_echo.map(|(number, arrived)| {
                let held = now.saturating_since(arrived).as_nanos();
                Echo { number, held_ns: u32::try_from(held).unwrap_or(u32::MAX) }
            });
            let header = Header { number, stamp_ns: Some(now.as_nanos()), echo };
            if header.write(&mut buffer[..payload]) {
                self.to_echo = None;
            }
            self.seen.sent += 1;
            let late = now.saturating_since(due);
            self.record(What::Sent { late }, self.direction, payload, number, now, records);
            return Some(Transmit { payload });
        }
    }

    /// Handles a data packet that arrived at `at`, and ignores other packets.
    pub fn handle_datagram(&mut self, packet: &[u8], at: Instant, records: &mut dyn Records) {
        let Some(header) = Header::read(packet, self.arrivals.expected()) else { return };
        let theirs = self.direction.reverse();
        if !self.arrivals.is_new(header.number) {
            self.seen.duplicates += 1;
            return self.record(What::Duplicate, theirs, packet.len(), header.number, at, records);
        }
        self.seen.received += 1;
        self.seen.bytes += packet.len() as u64;
        let stamp = header.stamp_ns.filter(|_| self.same_clock).map(Instant::from_nanos);
        let one_way = stamp.map(|stamp| at.saturating_since(stamp));
        self.record(What::Received { one_way }, theirs, packet.len(), header.number, at, records);
        self.to_echo = Some((header.number, at));
        if let Some(echo) = header.echo {
            self.handle_echo(echo, at, records);
        }
        self.source.handle_event(&AppEvent::Datagram { payload: packet.len() as u32 }, self.own_time(at));
    }

    fn handle_echo(&mut self, echo: Echo, at: Instant, records: &mut dyn Records) {
        let age = self.next.wrapping_sub(echo.number);
        if age == 0 || age as usize > REMEMBERED || echo.held_ns == u32::MAX {
            return;
        }
        let left = self.departures[echo.number as usize % REMEMBERED];
        let took = at.saturating_since(left).saturating_sub(Duration::from_nanos(echo.held_ns.into()));
        self.record(What::RoundTrip { took }, self.direction, 0, echo.number, at, records);
    }

    fn record(
        &self,
        what: What,
        direction: Direction,
        payload: usize,
        number: u32,
        at: Instant,
        records: &mut dyn Records,
    ) {
        let (flow, session) = (self.flow, self.session);
        records.record(&Record { what, direction, flow, payload: payload as u32, session, number, at });
    }

    fn own_time(&self, now: Instant) -> Instant {
        Instant::ZERO + now.saturating_since(self.began)
    }
}

/// The other end's packet numbers that have arrived: the newest, and the 127 before it.
#[derive(Clone, Copy, Debug, Default)]
struct Arrivals {
    /// One past the newest number; zero before the first.
    next: u32,
    /// Bit n is set if number `next - 1 - n` has arrived.
    recent: u128,
}

impl Arrivals {
    const fn expected(self) -> u32 {
        self.next
    }

    /// Notes `number`. False if it has arrived before. A number that is more than 128 behind counts as new: no path delays a copy for
    /// that long.
    fn is_new(&mut self, number: u32) -> bool {
        if number >= self.next {
            let ahead = (number - self.next).saturating_add(1);
            self.recent = self.recent.checked_shl(ahead).unwrap_or(0) | 1;
            self.next = number.saturating_add(1);
            return true;
        }
        let bit = 1u128.checked_shl(self.next - 1 - number).unwrap_or(0);
        let is_new = self.recent & bit == 0;
        self.recent |= bit;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn arrivals_know_which_numbers_have_arrived(numbers in prop::collection::vec(0u32..120, 0..200)) {
            let (mut arrivals, mut model) = (Arrivals::default(), BTreeSet::new());
            for number in numbers {
                prop_assert_eq!(arrivals.is_new(number), model.insert(number));
                prop_assert_eq!(arrivals.expected(), model.last().unwrap() + 1);
            }
        }
    }

    #[test]
    fn a_jump_of_any_size_is_handled() {
        let mut arrivals = Arrivals::default();
        for number in [5, 1000, 999, u32::MAX - 1, u32::MAX, 3] {
            assert!(arrivals.is_new(number), "{number}");
        }
        assert!(!arrivals.is_new(u32::MAX - 1));
        assert!(Arrivals::default().is_new(u32::MAX), "a first number may be any");
    }
}
