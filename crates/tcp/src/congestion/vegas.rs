//! Vegas (Brakmo, O'Malley and Peterson, SIGCOMM 1994) as in Linux (`tcp_vegas.c`). Once per round trip it compares the
//! smallest RTT of that round trip with the smallest ever. It moves the window so that two to four segments wait in the
//! queue. Losses are handled as in Reno. The paper's finer retransmission timer is left out, as in Linux.

use super::{AckSample, CongestionControl, NewReno, Window};
use crate::facts::{TcpDescriptor, TcpFacts};
use gamelane_core::{ByteCount, Duration, Instant};

/// Vegas in the catalogue.
pub const VEGAS: TcpDescriptor = TcpDescriptor {
    word: "vegas",
    label: "Vegas",
    about: "Vegas: keeps two to four segments in the queue, estimated from the round trip time.",
    keys: &[],
    page: "tcp",
    facts: TcpFacts { linux: Some(&[("tcp_congestion_control", "vegas")]) },
};

/// With fewer queued segments than this, the window grows.
const ALPHA: u64 = 2;
/// With more queued segments than this, the window shrinks.
const BETA: u64 = 4;
/// With more queued segments than this, slow start ends.
const GAMMA: u64 = 1;
/// A round trip with this many samples or fewer follows Reno.
const FEW_SAMPLES: u32 = 2;

/// State of Vegas.
#[derive(Clone, Debug)]
pub struct Vegas {
    reno: NewReno,
    mss: u64,
    /// Smallest RTT ever.
    base: Duration,
    /// Smallest RTT of the current round trip.
    smallest: Duration,
    /// Number of RTT samples in the current round trip.
    samples: u32,
    /// The current round trip ends when more than this offset is acknowledged.
    round_end: u64,
}

impl Vegas {
    /// Slow start with the `initial` window.
    pub const fn new(mss: ByteCount, initial: ByteCount) -> Self {
        Self {
            reno: NewReno::new(mss, initial),
            mss: mss.bytes(),
            base: Duration::MAX,
            smallest: Duration::MAX,
            samples: 0,
            round_end: 0,
        }
    }

    /// Adjusts the window at the end of a round trip.
    fn adjust(&mut self, ack: &AckSample, now: Instant) {
        let (cwnd, ssthresh) = (self.reno.cwnd().bytes(), self.reno.ssthresh().bytes());
        let segments = cwnd / self.mss;
        let (base, rtt) = (self.base.as_nanos().max(1), self.smallest.as_nanos().max(1));
        let scaled = |by: u64, over: u64| {
            u64::try_from(u128::from(segments) * u128::from(by) / u128::from(over)).unwrap_or(u64::MAX)
        };
        let queued = scaled(rtt - base.min(rtt), base);
        if cwnd < ssthresh {
            if queued > GAMMA {
                let target = (scaled(base, rtt) + 1) * self.mss;
                let cwnd = cwnd.min(target).max(2 * self.mss);
                self.reno.set(cwnd, ssthresh.min(cwnd - self.mss).max(2 * self.mss));
            } else {
                self.reno.on_ack(ack, now);
            }
        } else if queued > BETA {
            let cwnd = (cwnd - self.mss).max(2 * self.mss);
            self.reno.set(cwnd, ssthresh.min(cwnd - self.mss).max(2 * self.mss));
        } else if queued < ALPHA {
            self.reno.set(cwnd + self.mss, ssthresh);
        }
    }
}

impl CongestionControl for Vegas {
    fn window(&self) -> &Window {
        self.reno.window()
    }

    fn window_mut(&mut self) -> &mut Window {
        self.reno.window_mut()
    }

    fn on_ack(&mut self, ack: &AckSample, now: Instant) {
        if let Some(rtt) = ack.rtt {
            self.base = self.base.min(rtt);
            self.smallest = self.smallest.min(rtt);
            self.samples += 1;
        }
        if ack.una <= self.round_end {
            if self.reno.cwnd() < self.reno.ssthresh() {
                self.reno.on_ack(ack, now);
            }
            return;
        }
        self.round_end = ack.next;
        if self.samples <= FEW_SAMPLES {
            self.reno.on_ack(ack, now);
        } else if ack.may_grow {
            self.adjust(ack, now);
        }
        (self.smallest, self.samples) = (Duration::MAX, 0);
    }

    fn on_congestion(&mut self, flight: ByteCount, now: Instant) {
        self.reno.on_congestion(flight, now);
    }

    fn on_timeout(&mut self, flight: ByteCount, repeated: bool, now: Instant) {
        self.reno.on_timeout(flight, repeated, now);
    }

    fn on_resume(&mut self, _idle: Duration, long: bool) {
        if long {
            (self.smallest, self.samples) = (Duration::MAX, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// Returns the window in segments after one round trip of ten samples of `rtt_ms`, from 20 segments and a smallest
    /// RTT of 100 ms.
    fn after(rtt_ms: u64, ssthresh: u64) -> u64 {
        let mut rule = Vegas::new(ByteCount(MSS), ByteCount(20 * MSS));
        rule.reno.set(20 * MSS, ssthresh);
        rule.base = Duration::from_millis(100);
        rule.round_end = 9;
        for una in 1..=10 {
            let rtt = Some(Duration::from_millis(rtt_ms));
            let credit = ByteCount(if una == 10 { MSS } else { 0 });
            let ack = AckSample { una, next: 20, credit, rtt, may_grow: true, ..AckSample::default() };
            rule.on_ack(&ack, Instant::ZERO);
        }
        rule.cwnd().bytes() / MSS
    }

    #[test]
    fn the_queue_is_kept_between_two_and_four_segments() {
        // Queued segments: 20 x (rtt - 100) / 100, so 1, 2, 4, 5.
        for (rtt_ms, window) in [(105, 21), (110, 20), (120, 20), (125, 19)] {
            assert_eq!(after(rtt_ms, 10 * MSS), window, "{rtt_ms}");
        }
    }

    #[test]
    fn slow_start_ends_when_a_queue_builds() {
        // 4 queued segments are more than 1: the window is 20 x 100 / 120 + 1 = 17.
        assert_eq!(after(120, u64::MAX), 17);
        assert_eq!(after(101, u64::MAX), 21);
    }
}
