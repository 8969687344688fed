//! The clock of a capture. Its timestamps can be wrong in three ways, and a flow's timing must survive each of them:
//!
//! - A packet was stored after a later one (several queues of a network card). It counts at the latest time so far.
//! - The clock was stepped (NTP, a router without battery). Time continues where it was, and the step is reported.
//! - Single stamps are far ahead of all others. They count at the latest time so far.
//!
//! A few packets are held back until it is clear which case it is. A step forward of less than a day cannot be told from
//! silence, and counts as silence.

use crate::packet::CapturedPacket;

/// Start, length and faults of a capture's timestamps.
#[derive(Clone, Debug, Default)]
pub struct CaptureClock {
    /// Time of the first packet, in nanoseconds since 1970.
    pub start_ns: Option<u64>,
    /// Time from the first packet to the latest one.
    pub lasted_ns: u64,
    /// Packets with an earlier timestamp than one before them.
    pub went_back: Wrong,
    /// Steps of the clock.
    pub steps: Wrong,
    /// Packets whose timestamps were far ahead of those around them.
    pub ahead: Wrong,
    /// Added to timestamps since the last step, modulo 2^64.
    offset: u64,
    /// Latest time, with the offset.
    latest_ns: u64,
    /// Packets held back.
    doubtful: Vec<CapturedPacket>,
}

/// Wrong timestamps of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wrong {
    /// Number of packets, or of steps.
    pub count: u64,
    /// Largest error.
    pub furthest_ns: u64,
}

impl Wrong {
    fn saw(&mut self, error_ns: i64) {
        self.count += 1;
        self.furthest_ns = self.furthest_ns.max(error_ns.unsigned_abs());
    }
}

impl CaptureClock {
    /// Takes the next packet. `emit` gets this packet, or none, or several that were held back, each with its time since
    /// the start of the capture. That time never goes back, and [`CapturedPacket::at_ns`] agrees with it.
    #[inline]
    pub(super) fn read(&mut self, packet: &CapturedPacket, emit: &mut impl FnMut(&CapturedPacket, u64)) {
        if self.start_ns.is_none() {
            (self.start_ns, self.latest_ns) = (Some(packet.at_ns), packet.at_ns);
        }
        let ahead_ns = self.ahead_of_latest(packet);
        if self.doubtful.is_empty() && (-BACK_NS..=AHEAD_NS).contains(&ahead_ns) {
            self.pass(packet, ahead_ns, emit);
        } else {
            self.doubt(packet, ahead_ns, emit);
        }
    }

    /// Releases the packets held back, at the end of the capture.
    pub(super) fn finish(&mut self, emit: &mut impl FnMut(&CapturedPacket, u64)) {
        let Some(first_ns) = self.doubtful.first().map(|first| self.ahead_of_latest(first)) else { return };
        // A single late packet says nothing about the clock.
        if first_ns > DAY_NS || first_ns < 0 && self.doubtful.len() > 1 {
            self.step(first_ns);
        }
        self.release(emit);
    }

    /// What steps of the clock add to the timestamps of the file, modulo 2^64.
    pub const fn offset_ns(&self) -> u64 {
        self.offset
    }

    fn ahead_of_latest(&self, packet: &CapturedPacket) -> i64 {
        packet.at_ns.wrapping_add(self.offset).wrapping_sub(self.latest_ns).cast_signed()
    }

    #[inline]
    fn pass(&mut self, packet: &CapturedPacket, ahead_ns: i64, emit: &mut impl FnMut(&CapturedPacket, u64)) {
        if ahead_ns < 0 {
            self.went_back.saw(ahead_ns);
        } else {
            self.latest_ns = self.latest_ns.wrapping_add(ahead_ns.cast_unsigned());
            self.lasted_ns = self.lasted_ns.saturating_add(ahead_ns.cast_unsigned());
        }
        if packet.at_ns == self.latest_ns {
            emit(packet, self.lasted_ns);
        } else {
            emit(&CapturedPacket { at_ns: self.latest_ns, ..*packet }, self.lasted_ns);
        }
    }

    #[cold]
    fn doubt(&mut self, packet: &CapturedPacket, ahead_ns: i64, emit: &mut impl FnMut(&CapturedPacket, u64)) {
        let Some(first_ns) = self.doubtful.first().map(|first| self.ahead_of_latest(first)) else {
            self.doubtful.push(*packet);
            return;
        };
        if (-BACK_NS..=AHEAD_NS).contains(&ahead_ns) {
            // The clock is as before: only the packets held back were wrong.
            for held in std::mem::take(&mut self.doubtful) {
                let error_ns = self.ahead_of_latest(&held);
                if error_ns > 0 {
                    self.ahead.saw(error_ns)
                } else {
                    self.went_back.saw(error_ns)
                }
                emit(&CapturedPacket { at_ns: self.latest_ns, ..held }, self.lasted_ns);
            }
            self.pass(packet, ahead_ns, emit);
            return;
        }
        if first_ns > 0 && ahead_ns < 0 {
            // The clock went forward and back: single stamps were ahead, or it was stepped twice.
            self.release(emit);
            self.read(packet, emit);
            return;
        }
        self.doubtful.push(*packet);
        if self.is_clear(first_ns, ahead_ns) {
            if !(0..=DAY_NS).contains(&first_ns) {
                self.step(first_ns);
            }
            self.release(emit);
        }
    }

    /// True if the packets held back show what the clock did. The first is `first_ns` and the last `last_ns` ahead.
    fn is_clear(&self, first_ns: i64, last_ns: i64) -> bool {
        let packets = self.doubtful.len();
        if first_ns > 0 {
            return packets >= AHEAD_PACKETS;
        }
        packets >= BACK_PACKETS
            || packets >= FEW_BACK_PACKETS && last_ns.saturating_sub(first_ns) >= BACK_SPREAD_NS
    }

    /// Sets the clock so that the packet `ahead_ns` ahead of the latest time continues it.
    fn step(&mut self, ahead_ns: i64) {
        self.steps.saw(ahead_ns);
        self.offset = self.offset.wrapping_sub(ahead_ns.cast_unsigned());
    }

    /// Passes the packets held back on, at their times.
    fn release(&mut self, emit: &mut impl FnMut(&CapturedPacket, u64)) {
        for held in std::mem::take(&mut self.doubtful) {
            let ahead_ns = self.ahead_of_latest(&held);
            self.pass(&held, ahead_ns, emit);
        }
    }
}

/// Largest disorder of packets from several queues. TPACKET_V3 hands a queue over after tens of milliseconds.
const BACK_NS: i64 = 100_000_000;
/// Longest silence that is taken without a doubt.
const AHEAD_NS: i64 = 1_000_000_000;
/// Longest silence within a capture. More is the clock.
const DAY_NS: i64 = 86_400_000_000_000;
/// Packets in a row that show that the clock was set back.
const BACK_PACKETS: usize = 32;
/// In a quiet capture fewer packets show it, if they span [`BACK_SPREAD_NS`]. Queues of a card are never that late.
const FEW_BACK_PACKETS: usize = 8;
/// Time from the first to the last of these packets.
const BACK_SPREAD_NS: i64 = 500_000_000;
/// Packets in a row that show that the time ahead is real.
const AHEAD_PACKETS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads stamps in milliseconds. Returns the times since the start in milliseconds, and the clock.
    fn read(stamps: impl IntoIterator<Item = u64>) -> (Vec<u64>, CaptureClock) {
        let mut clock = CaptureClock::default();
        let mut times = Vec::new();
        let mut emit = |_: &CapturedPacket, at_ns| times.push(at_ns / 1_000_000);
        for at_ms in stamps {
            clock.read(&CapturedPacket { at_ns: at_ms * 1_000_000, ..CapturedPacket::default() }, &mut emit);
        }
        clock.finish(&mut emit);
        (times, clock)
    }

    const HOUR: u64 = 3_600_000;
    /// A day in 2026, in milliseconds.
    const T: u64 = 1_795_000_000_000;

    #[test]
    fn a_clock_set_back_goes_on_from_where_it_was() {
        for back in [2_000, HOUR, T] {
            let stamps = (0..50).map(|n| T + n * 20).chain((0..50).map(|n| T + 1000 - back + n * 20));
            let (times, clock) = read(stamps);
            let expected: Vec<u64> = (0..50).map(|n| n * 20).chain((0..50).map(|n| 980 + n * 20)).collect();
            assert_eq!(times, expected);
            let step = Wrong { count: 1, furthest_ns: (back - 20) * 1_000_000 };
            assert_eq!((clock.steps, clock.went_back), (step, Wrong::default()));
        }
    }

    #[test]
    fn a_quiet_capture_shows_a_small_step_too() {
        let stamps = (0..50).map(|n| T + n * 100).chain((0..50).map(|n| T + 3000 + n * 100));
        let (times, clock) = read(stamps);
        assert_eq!(
            times,
            (0..50).map(|n| n * 100).chain((0..50).map(|n| 4900 + n * 100)).collect::<Vec<_>>()
        );
        assert_eq!((clock.steps.count, clock.went_back.count), (1, 0));
    }

    #[test]
    fn a_stamp_from_the_future_freezes_nothing() {
        let stamps = (0..100).map(|n| if n == 40 { T + HOUR } else { T + n * 20 });
        let (times, clock) = read(stamps);
        assert_eq!(times, (0..100).map(|n| if n == 40 { 780 } else { n * 20 }).collect::<Vec<_>>());
        assert_eq!((clock.ahead.count, clock.steps.count, clock.lasted_ns), (1, 0, 1_980_000_000));
    }

    #[test]
    fn late_packets_count_at_the_latest_time() {
        let (times, clock) = read([T, T + 20, T + 10, T + 30, T + 500, T + 250, T + 501]);
        assert_eq!(times, [0, 20, 20, 30, 500, 500, 501]);
        assert_eq!(clock.went_back, Wrong { count: 2, furthest_ns: 250_000_000 });
        assert_eq!(clock.steps.count, 0);
    }

    #[test]
    fn silence_is_no_step_but_a_router_that_learns_the_date_is() {
        let (times, clock) = read([T, T + HOUR, T + 2 * HOUR, T + 2 * HOUR + 5]);
        assert_eq!((times, clock.steps.count), (vec![0, HOUR, 2 * HOUR, 2 * HOUR + 5], 0));
        let (times, clock) = read([0, 20, T, T + 20, T + 40, T + 60, T + 80]);
        assert_eq!((times, clock.steps.count), (vec![0, 20, 20, 40, 60, 80, 100], 1));
    }

    #[test]
    fn the_end_of_a_capture_decides_what_was_open() {
        // One late packet, and a clock set back shortly before the end.
        assert_eq!(read([T, T + 900, T + 1]).0, [0, 900, 900]);
        assert_eq!(read([T, T + 900, T + 1, T + 21]).0, [0, 900, 900, 920]);
        assert_eq!(read([T, T + 10, T + HOUR]).0, [0, 10, HOUR]);
    }

    proptest::proptest! {
        #[test]
        fn time_never_goes_back_and_no_packet_is_lost(stamps in proptest::collection::vec(proptest::prelude::any::<u64>(), 0..200)) {
            let mut clock = CaptureClock::default();
            let mut times = Vec::new();
            let mut emit = |_: &CapturedPacket, at_ns| times.push(at_ns);
            for &at_ns in &stamps {
                clock.read(&CapturedPacket { at_ns, ..CapturedPacket::default() }, &mut emit);
            }
            clock.finish(&mut emit);
            proptest::prop_assert_eq!(times.len(), stamps.len());
            proptest::prop_assert!(times.is_sorted());
        }
    }
}
