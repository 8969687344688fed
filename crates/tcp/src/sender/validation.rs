//! Whether the congestion window limits the sender, and what becomes of a window that is not used. With
//! [`WindowValidation::Decay`] both are Linux's: `tcp_cwnd_validate`, `tcp_is_cwnd_limited`, `tcp_cwnd_restart`,
//! `tcp_cwnd_application_limited`.

use super::Sender;
use crate::config::WindowValidation;
use crate::congestion::CongestionControl;
use crate::recovery::Phase;
use gamelane_core::{ByteCount, Duration, Instant};

/// Use of the window in the current window of data.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// The window limited the sender.
    limited: bool,
    /// Most bytes outstanding.
    most: u64,
    /// The window of data ends when this offset is acknowledged.
    end: u64,
    /// Since when the window limits nothing, and the most bytes outstanding since.
    unlimited_since: Option<Instant>,
    used: u64,
}

impl Sender {
    /// Notes how much of the window is used, after a new segment or when the window holds data back (`limited`).
    pub(super) fn note_usage(&mut self, limited: bool, now: Instant) {
        if self.tuning.window_validation != WindowValidation::Decay {
            return;
        }
        let outstanding = self.board.outstanding().bytes();
        let usage = &mut self.usage;
        if self.board.una() >= usage.end || limited || !usage.limited && outstanding > usage.most {
            (usage.limited, usage.most, usage.end) = (limited, outstanding, self.board.next());
        }
        if self.is_window_in_use() {
            (self.usage.unlimited_since, self.usage.used) = (Some(now), 0);
            return;
        }
        self.usage.used = self.usage.used.max(outstanding);
        let since = *self.usage.unlimited_since.get_or_insert(now);
        if self.restart_after_idle && now.saturating_since(since) >= self.timeout.rto() {
            if self.recovery.phase() == Phase::Open {
                self.congestion.window_mut().approach(ByteCount(self.usage.used));
                self.usage.used = 0;
            }
            self.usage.unlimited_since = Some(now);
        }
    }

    /// True if the window limited the sender in this window of data. In slow start, half of it is enough.
    fn is_window_in_use(&self) -> bool {
        let cwnd = self.cwnd();
        self.usage.limited || cwnd < self.congestion.ssthresh() && cwnd.bytes() < 2 * self.usage.most
    }

    /// True if an ACK may grow the window. `in_flight` is the flight just before it.
    pub(super) fn is_window_limited(&self, in_flight: ByteCount, cwnd: ByteCount) -> bool {
        match self.tuning.window_validation {
            WindowValidation::Decay => self.is_window_in_use(),
            WindowValidation::Restart if cwnd < self.congestion.ssthresh() => {
                2 * in_flight.bytes() >= cwnd.bytes()
            }
            WindowValidation::Restart => in_flight.bytes() + self.mss > cwnd.bytes(),
        }
    }

    /// Adapts the window before the first new segment after a time without anything outstanding.
    pub(super) fn resume(&mut self, now: Instant) {
        let Some(last) = self.last_sent else { return };
        let idle = now.saturating_since(last);
        let rto = self.timeout.rto();
        let long = self.restart_after_idle && idle > rto;
        if long {
            match self.tuning.window_validation {
                WindowValidation::Restart => self.congestion.window_mut().restart(),
                WindowValidation::Decay => {
                    self.congestion.window_mut().decay(timeouts_within(idle, rto));
                    (self.usage.unlimited_since, self.usage.used) = (Some(now), 0);
                }
            }
        }
        self.congestion.on_resume(idle, long);
    }
}

/// Number of whole timeouts that end before the idle time does.
fn timeouts_within(idle: Duration, rto: Duration) -> u64 {
    idle.as_nanos().saturating_sub(1) / rto.as_nanos().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_timeout_that_ends_before_the_idle_time_counts() {
        let ms = Duration::from_millis;
        // Linux: 500 - 240 = 260, then 20, then below 0.
        for (idle, timeouts) in [(240, 0), (241, 1), (480, 1), (481, 2), (500, 2)] {
            assert_eq!(timeouts_within(ms(idle), ms(240)), timeouts, "{idle} ms");
        }
    }
}
