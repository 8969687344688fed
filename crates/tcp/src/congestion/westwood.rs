//! Westwood+ (Mascolo, Casetti and others, with the constants of Linux `tcp_westwood.c`). The window grows as in Reno.
//! After a loss it becomes the estimated bandwidth times the smallest RTT. The bandwidth is the progress of the
//! cumulative ACK per round trip (at least 50 ms), filtered twice. Left out: counting data when duplicate ACKs arrive;
//! it counts when the cumulative ACK advances.

use super::{AckSample, CongestionControl, NewReno, Window};
use crate::facts::{TcpDescriptor, TcpFacts};
use gamelane_core::{ByteCount, Duration, Instant};

/// Westwood+ in the catalogue.
pub const WESTWOOD: TcpDescriptor = TcpDescriptor {
    word: "westwood",
    label: "Westwood+",
    about: "Westwood+: after a loss, the window is the measured bandwidth times the shortest round trip \
            time.",
    keys: &[],
    page: "tcp",
    facts: TcpFacts { linux: Some(&[("tcp_congestion_control", "westwood")]) },
};

/// Shortest measurement interval.
const MIN_INTERVAL: Duration = Duration::from_millis(50);

/// State of Westwood+.
#[derive(Clone, Debug)]
pub struct Westwood {
    reno: NewReno,
    mss: u64,
    /// Bandwidth filtered once (`filtered`) and twice (`bandwidth`), in bytes per second; 0 before the first interval.
    filtered: u64,
    bandwidth: u64,
    /// Start of the current interval.
    since: Option<Instant>,
    /// Bytes acknowledged in the current interval.
    acked: u64,
    rtt: Duration,
    smallest_rtt: Duration,
}

impl Westwood {
    /// Slow start with the `initial` window.
    pub const fn new(mss: ByteCount, initial: ByteCount) -> Self {
        Self {
            reno: NewReno::new(mss, initial),
            mss: mss.bytes(),
            filtered: 0,
            bandwidth: 0,
            since: None,
            acked: 0,
            rtt: Duration::ZERO,
            smallest_rtt: Duration::MAX,
        }
    }

    fn measure(&mut self, acked: ByteCount, now: Instant) {
        self.acked += acked.bytes();
        let elapsed = now.saturating_since(*self.since.get_or_insert(now));
        if elapsed <= self.rtt.max(MIN_INTERVAL) {
            return;
        }
        let rate = (u128::from(self.acked) * 1_000_000_000 / u128::from(elapsed.as_nanos())) as u64;
        if self.bandwidth == 0 {
            (self.filtered, self.bandwidth) = (rate, rate);
        } else {
            self.filtered = (7 * self.filtered + rate) / 8;
            self.bandwidth = (7 * self.bandwidth + self.filtered) / 8;
        }
        (self.since, self.acked) = (Some(now), 0);
    }

    /// Window that fills the path without a queue: bandwidth times smallest RTT, in bytes.
    fn fitting(&self) -> u64 {
        if self.bandwidth == 0 {
            return 2 * self.mss;
        }
        let bytes = u128::from(self.bandwidth) * u128::from(self.smallest_rtt.as_nanos()) / 1_000_000_000;
        (bytes as u64 / self.mss).max(2) * self.mss
    }
}

impl CongestionControl for Westwood {
    fn window(&self) -> &Window {
        self.reno.window()
    }

    fn window_mut(&mut self) -> &mut Window {
        self.reno.window_mut()
    }

    fn on_ack(&mut self, ack: &AckSample, now: Instant) {
        if let Some(rtt) = ack.rtt {
            self.rtt = rtt;
            self.smallest_rtt = self.smallest_rtt.min(rtt);
        }
        self.measure(ack.acked, now);
        self.reno.on_ack(ack, now);
    }

    fn on_congestion(&mut self, flight: ByteCount, now: Instant) {
        self.reno.on_congestion(flight, now);
        // The window must not grow after a loss.
        let fitting = self.fitting().min(flight.bytes().max(2 * self.mss));
        self.reno.set(fitting, fitting);
    }

    fn on_timeout(&mut self, flight: ByteCount, repeated: bool, now: Instant) {
        self.reno.on_timeout(flight, repeated, now);
        if !repeated {
            self.reno.set(self.mss, self.fitting());
        }
    }

    fn on_resume(&mut self, _idle: Duration, long: bool) {
        if long {
            (self.since, self.acked) = (None, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_after_a_loss_is_bandwidth_times_the_smallest_round_trip() {
        let mut rule = Westwood::new(ByteCount(1000), ByteCount(100_000));
        // 1000 bytes per millisecond are 1 MB/s. Round trips of 80 ms, one of 40 ms, give 40 kB.
        for at in 0..1_000 {
            let rtt = Some(Duration::from_millis(if at == 500 { 40 } else { 80 }));
            let ack = AckSample { acked: ByteCount(1000), rtt, ..AckSample::default() };
            rule.on_ack(&ack, Instant::from_millis(at));
        }
        assert!(rule.bandwidth.abs_diff(1_000_000) < 20_000, "{}", rule.bandwidth);
        rule.on_congestion(ByteCount(100_000), Instant::from_secs(1));
        assert!((39_000..=41_000).contains(&rule.cwnd().bytes()), "{:?}", rule.cwnd());
        rule.on_timeout(ByteCount(40_000), false, Instant::from_secs(1));
        assert_eq!(rule.cwnd(), ByteCount(1000));
        assert!((39_000..=41_000).contains(&rule.ssthresh().bytes()));
    }
}
