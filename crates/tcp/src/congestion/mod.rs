//! The congestion window: how it grows with ACKs and shrinks with losses. Each file has one row of
//! [`crate::CongestionKind`]. Loss detection and retransmission are left to [`crate::recovery`].

mod bic;
mod cubic;
mod hystart;
mod newreno;
mod vegas;
mod westwood;
mod window;

pub use bic::{BIC, Bic};
pub use cubic::{CUBIC, Cubic};
pub use newreno::{NEWRENO, NewReno};
pub use vegas::{VEGAS, Vegas};
pub use westwood::{WESTWOOD, Westwood};
pub use window::Window;

use crate::config::{CongestionKind, InitialWindow, SlowStart};
use gamelane_core::{ByteCount, Duration, Instant};

/// What the sender learned from one ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckSample {
    /// First unacknowledged offset after this ACK.
    pub una: u64,
    /// Next offset to send.
    pub next: u64,
    /// Bytes newly acknowledged by the cumulative ACK, in units of the congestion window.
    pub acked: ByteCount,
    /// Bytes newly SACKed.
    pub sacked: ByteCount,
    /// Bytes by which the window may grow: `acked`, or with Linux's slow start all that is known to have arrived since
    /// the last ACK, SACKed or not (`tcp_cong_avoid`).
    pub credit: ByteCount,
    /// The ACK is a duplicate in the sense of RFC 5681 section 2.
    pub duplicate: bool,
    /// Number of duplicate ACKs in a row that signal a loss: 3, or fewer for thin streams if configured.
    pub duplicate_threshold: u32,
    /// RTT sample, if there is an unambiguous one.
    pub rtt: Option<Duration>,
    /// Bytes in flight just before the ACK.
    pub in_flight: ByteCount,
    /// The window may grow: no loss is being repaired, and the window limited the sender, not the application or the
    /// receiver.
    pub may_grow: bool,
    /// How much an ACK adds in slow start.
    pub slow_start: SlowStart,
}

/// A congestion control algorithm. All sizes are in bytes.
pub trait CongestionControl {
    /// Window and threshold.
    fn window(&self) -> &Window;
    /// Window and threshold, for the steps that are the same for all algorithms.
    fn window_mut(&mut self) -> &mut Window;
    /// Handles an ACK of new data. It is called during recovery too, then with `may_grow` false.
    fn on_ack(&mut self, ack: &AckSample, now: Instant);
    /// Handles fast retransmit or an ECN echo with `flight` bytes outstanding. It is called once per window of data.
    fn on_congestion(&mut self, flight: ByteCount, now: Instant);
    /// Handles a retransmission timeout with `flight` bytes outstanding. `repeated` is true if the same data timed out
    /// before.
    fn on_timeout(&mut self, flight: ByteCount, repeated: bool, now: Instant);
    /// Handles the first new segment after `idle` without anything in flight. `long` is true if that was longer than a
    /// timeout.
    fn on_resume(&mut self, _idle: Duration, _long: bool) {}
    /// Congestion window.
    fn cwnd(&self) -> ByteCount {
        ByteCount(self.window().cwnd)
    }
    /// Slow start threshold.
    fn ssthresh(&self) -> ByteCount {
        ByteCount(self.window().ssthresh)
    }
}

/// The configured algorithm. It is an enum, so the call per ACK needs no pointer.
#[derive(Clone, Debug)]
pub enum Congestion {
    /// Reno (RFC 5681).
    NewReno(NewReno),
    /// RFC 9438.
    Cubic(Cubic),
    /// BIC, binary increase.
    Bic(Bic),
    /// Vegas, based on delay.
    Vegas(Vegas),
    /// Westwood+, based on the measured bandwidth.
    Westwood(Westwood),
}

impl Congestion {
    /// The algorithm of this `kind`. `initial` is the window at the start and after idle, in bytes. `hystart` enables
    /// `HyStart` in CUBIC.
    pub fn new(kind: CongestionKind, mss: ByteCount, initial: ByteCount, hystart: bool) -> Self {
        match kind {
            CongestionKind::NewReno => Self::NewReno(NewReno::new(mss, initial)),
            CongestionKind::Cubic => Self::Cubic(Cubic::new(mss, initial, hystart)),
            CongestionKind::Bic => Self::Bic(Bic::new(mss, initial)),
            CongestionKind::Vegas => Self::Vegas(Vegas::new(mss, initial)),
            CongestionKind::Westwood => Self::Westwood(Westwood::new(mss, initial)),
        }
    }
}

/// Tests for the most common algorithm first, because the window is read several times per segment.
macro_rules! dispatch {
    ($self:ident, $rule:ident => $call:expr) => {
        if let Congestion::NewReno($rule) = $self {
            $call
        } else {
            match $self {
                Congestion::NewReno($rule) => $call,
                Congestion::Cubic($rule) => $call,
                Congestion::Bic($rule) => $call,
                Congestion::Vegas($rule) => $call,
                Congestion::Westwood($rule) => $call,
            }
        }
    };
}

impl CongestionControl for Congestion {
    fn window(&self) -> &Window {
        dispatch!(self, rule => rule.window())
    }

    fn window_mut(&mut self) -> &mut Window {
        dispatch!(self, rule => rule.window_mut())
    }

    fn on_ack(&mut self, ack: &AckSample, now: Instant) {
        dispatch!(self, rule => rule.on_ack(ack, now));
    }

    fn on_congestion(&mut self, flight: ByteCount, now: Instant) {
        dispatch!(self, rule => rule.on_congestion(flight, now));
    }

    fn on_timeout(&mut self, flight: ByteCount, repeated: bool, now: Instant) {
        dispatch!(self, rule => rule.on_timeout(flight, repeated, now));
    }

    fn on_resume(&mut self, idle: Duration, long: bool) {
        dispatch!(self, rule => rule.on_resume(idle, long));
    }
}

impl InitialWindow {
    /// The initial window in bytes for segments of `mss` bytes.
    pub fn bytes(self, mss: ByteCount) -> ByteCount {
        let segments = match self {
            Self::Segments(segments) => u64::from(segments.max(1)),
            Self::Rfc5681 if mss.bytes() > 2190 => 2,
            Self::Rfc5681 if mss.bytes() > 1095 => 3,
            Self::Rfc5681 => 4,
        };
        ByteCount(segments * mss.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_windows_follow_the_segment_size() {
        for (mss, segments) in [(536, 4), (1095, 4), (1096, 3), (2190, 3), (2191, 2)] {
            assert_eq!(InitialWindow::Rfc5681.bytes(ByteCount(mss)), ByteCount(segments * mss));
        }
        assert_eq!(InitialWindow::Segments(10).bytes(ByteCount(1448)), ByteCount(14_480));
    }
}
