//! The congestion window: how it grows with ACKs and shrinks with losses. A row of [`crate::CongestionKind`] each; what
//! was lost and what to resend is [`crate::recovery`]'s affair.

mod bic;
mod cubic;
mod newreno;
mod vegas;
mod westwood;
mod window;

pub use bic::Bic;
pub use cubic::Cubic;
pub use newreno::NewReno;
pub use vegas::Vegas;
pub use westwood::Westwood;

use crate::config::{CongestionKind, InitialWindow};
use gamelane_core::{ByteCount, Duration, Instant};

/// What one acknowledgement told the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckSample {
    /// First offset not yet acknowledged, this ACK counted.
    pub una: u64,
    /// Next offset to send.
    pub next: u64,
    /// Bytes newly acknowledged by the cumulative ACK.
    pub acked: ByteCount,
    /// Bytes newly acknowledged selectively.
    pub sacked: ByteCount,
    /// A duplicate ACK in the sense of RFC 5681 section 2.
    pub duplicate: bool,
    /// How many duplicate ACKs in a row mean a loss now: three, fewer for thin streams if so configured.
    pub duplicate_threshold: u32,
    /// Round-trip sample, if there is an unambiguous one.
    pub rtt: Option<Duration>,
    /// Bytes in flight just before it arrived.
    pub in_flight: ByteCount,
    /// The window may grow: no loss is being repaired, and the window, not the application or the receiver, is what
    /// held the sender back.
    pub may_grow: bool,
}

/// A window rule. All sizes in bytes.
pub trait CongestionControl {
    /// Congestion window.
    fn cwnd(&self) -> ByteCount;
    /// Slow start threshold.
    fn ssthresh(&self) -> ByteCount;
    /// An ACK acknowledged new data. Called in recovery too, with `may_grow` off.
    fn on_ack(&mut self, ack: &AckSample, now: Instant);
    /// Fast retransmit or an ECN echo, with `flight` bytes outstanding: once per window of data.
    fn on_congestion(&mut self, flight: ByteCount, now: Instant);
    /// The retransmission timer expired with `flight` bytes outstanding; `repeated` if for the same data again.
    fn on_timeout(&mut self, flight: ByteCount, repeated: bool, now: Instant);
    /// Recovery ended and a larger window would send a burst (RFC 6582 section 3.2 step 3).
    fn limit(&mut self, cwnd: ByteCount);
    /// Nothing was sent for longer than a timeout (RFC 5681 section 4.1).
    fn on_idle(&mut self, now: Instant);
}

/// The configured rule; an enum, so that the per-ACK call is a jump and not a pointer.
#[derive(Clone, Debug)]
pub enum Congestion {
    /// RFC 5681.
    NewReno(NewReno),
    /// RFC 9438.
    Cubic(Cubic),
    /// Binary increase.
    Bic(Bic),
    /// Delay-based.
    Vegas(Vegas),
    /// Bandwidth after a loss.
    Westwood(Westwood),
}

impl Congestion {
    /// `initial` is the window at the start and after idle.
    pub fn new(kind: CongestionKind, mss: ByteCount, initial: ByteCount) -> Self {
        match kind {
            CongestionKind::NewReno => Self::NewReno(NewReno::new(mss, initial)),
            CongestionKind::Cubic => Self::Cubic(Cubic::new(mss, initial)),
            CongestionKind::Bic => Self::Bic(Bic::new(mss, initial)),
            CongestionKind::Vegas => Self::Vegas(Vegas::new(mss, initial)),
            CongestionKind::Westwood => Self::Westwood(Westwood::new(mss, initial)),
        }
    }
}

/// The commonest rule by a comparison, the others by a jump: the window is read several times a segment.
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
    fn cwnd(&self) -> ByteCount {
        dispatch!(self, rule => rule.cwnd())
    }

    fn ssthresh(&self) -> ByteCount {
        dispatch!(self, rule => rule.ssthresh())
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

    fn limit(&mut self, cwnd: ByteCount) {
        dispatch!(self, rule => rule.limit(cwnd));
    }

    fn on_idle(&mut self, now: Instant) {
        dispatch!(self, rule => rule.on_idle(now));
    }
}

impl InitialWindow {
    /// The window in bytes for segments of `mss`.
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
