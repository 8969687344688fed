//! mahimahi's packet-delivery traces (Netravali et al., USENIX ATC 2015; `mm-link`): each line is a moment in ms at which
//! one packet of 1504 B (1500 B of IP and the 4 B header of its TUN device) may pass. A number may repeat. The trace
//! begins again when its last moment has passed.

use alloc::vec::Vec;
use core::fmt::Write;

use gamelane_core::{Bitrate, Duration, Instant, IpLen};

use super::parse::{LONGEST_MS, TraceError, TraceProblem, each_line, lines, number};

/// Bytes of an opportunity.
pub(super) const OPPORTUNITY: u64 = 1504;
/// What the TUN device adds to an IP packet.
const TUN_HEADER: u64 = 4;
/// Width of the window for the peak rate.
const WINDOW_MS: u64 = 100;

/// Delivery opportunities, in order, milliseconds from the start of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opportunities {
    at_ms: Vec<u64>,
}

impl Opportunities {
    /// Reads mahimahi's format.
    ///
    /// # Errors
    ///
    /// An empty trace, a line that is no number, time that goes backwards, a trace that ends at zero: what mahimahi
    /// refuses too.
    pub fn parse(text: &[u8]) -> Result<Self, TraceError> {
        let at_ms = each_line(text, |line, before: Option<&u64>| {
            if line.is_empty() {
                return Err(TraceProblem::Blank);
            }
            let at = number(line, LONGEST_MS)?;
            if before.is_some_and(|before| at < *before) { Err(TraceProblem::Backwards) } else { Ok(at) }
        })?;
        Self::new(at_ms).map_err(|problem| TraceError { line: lines(text).count(), problem })
    }

    /// From moments in order.
    ///
    /// # Errors
    ///
    /// None, out of order, or all at zero.
    pub fn new(at_ms: Vec<u64>) -> Result<Self, TraceProblem> {
        match at_ms.last() {
            None => Err(TraceProblem::Empty),
            Some(0) => Err(TraceProblem::NoLength),
            Some(_) if !at_ms.is_sorted() => Err(TraceProblem::Backwards),
            Some(_) => Ok(Self { at_ms }),
        }
    }

    /// The opportunities of a constant rate over `length`: the n-th when n packets would have passed.
    ///
    /// # Errors
    ///
    /// If no packet passes in that time.
    pub fn constant(rate: Bitrate, length: Duration) -> Result<Self, TraceProblem> {
        let packets = rate.bytes_in(length).bytes() / OPPORTUNITY;
        let at = |packet: u64| {
            let nanos = u128::from(packet) * u128::from(OPPORTUNITY) * 8_000_000_000 / u128::from(rate.bps());
            nanos.div_ceil(1_000_000) as u64
        };
        Self::new((1..=packets).map(at).collect())
    }

    /// Writes mahimahi's format.
    pub fn write(&self, out: &mut impl Write) -> core::fmt::Result {
        self.at_ms.iter().try_for_each(|at| writeln!(out, "{at}"))
    }

    /// Moments, in order.
    pub fn at_ms(&self) -> &[u64] {
        &self.at_ms
    }

    /// What an IP packet uses of opportunities.
    pub(super) fn cost(len: IpLen) -> u64 {
        len.bytes() + TUN_HEADER
    }

    /// How long the trace lasts.
    fn period_ms(&self) -> u64 {
        self.at_ms[self.at_ms.len() - 1]
    }

    /// Number of the first opportunity after `now`, counting on through repeats.
    pub(super) fn first_after(&self, now: Instant) -> u64 {
        let ms = now.as_nanos() / 1_000_000 + 1;
        let (repeat, within) = (ms / self.period_ms(), ms % self.period_ms());
        // The end of one round is where the next begins; its opportunities come first.
        let (repeat, within) = if within == 0 { (repeat - 1, self.period_ms()) } else { (repeat, within) };
        let index = self.at_ms.partition_point(|moment| *moment < within);
        repeat * self.at_ms.len() as u64 + index as u64
    }

    /// When an opportunity is.
    pub(super) fn at(&self, number: u64) -> Instant {
        let count = self.at_ms.len() as u64;
        Instant::from_millis(number / count * self.period_ms() + self.at_ms[(number % count) as usize])
    }

    pub(super) fn mean(&self) -> Bitrate {
        Bitrate::from_bps(self.at_ms.len() as u64 * OPPORTUNITY * 8 * 1000 / self.period_ms())
    }

    /// Of the [`WINDOW_MS`] up to now.
    pub(super) fn rate_at(&self, now: Instant) -> Bitrate {
        let before = Instant::from_nanos(now.as_nanos().saturating_sub(WINDOW_MS * 1_000_000));
        let passed = self.first_after(now) - self.first_after(before);
        Bitrate::from_bps(passed * OPPORTUNITY * 8 * 1000 / WINDOW_MS)
    }

    pub(super) fn peak(&self) -> Bitrate {
        let mut from = 0;
        let mut most = 0;
        for (to, at) in self.at_ms.iter().enumerate() {
            while self.at_ms[from] + WINDOW_MS <= *at {
                from += 1;
            }
            most = most.max(to - from + 1);
        }
        let in_window = Bitrate::from_bps(most as u64 * OPPORTUNITY * 8 * 1000 / WINDOW_MS);
        in_window.max(self.mean())
    }
}
