//! Packet-delivery traces of mahimahi (Netravali et al., USENIX ATC 2015; `mm-link`). Each line is a time in ms at
//! which one packet of 1504 B may pass: 1500 B of IP and the 4 B header of mahimahi's TUN device. A time may occur more
//! than once. The trace starts again after its last time.

use alloc::vec::Vec;
use core::fmt::Write;

use gamelane_core::{Bitrate, Duration, Instant, IpLen};

use super::parse::{LONGEST_MS, TraceError, TraceProblem, each_line, lines, number};

/// Bytes that pass per opportunity.
pub(super) const OPPORTUNITY: u64 = 1504;
/// Bytes that the TUN device adds to an IP packet.
const TUN_HEADER: u64 = 4;
/// Length in ms of the window for the present and the peak rate.
const WINDOW_MS: u64 = 100;

/// Delivery opportunities: times in order, in ms from the start of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opportunities {
    at_ms: Vec<u64>,
}

impl Opportunities {
    /// Reads mahimahi's format.
    ///
    /// # Errors
    ///
    /// An empty trace, a line that is not a number, a time before that of the line above, or a last time of zero.
    /// mahimahi refuses the same traces.
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

    /// Makes a trace from times in order.
    ///
    /// # Errors
    ///
    /// No times, times out of order, or all times zero.
    pub fn new(at_ms: Vec<u64>) -> Result<Self, TraceProblem> {
        match at_ms.last() {
            None => Err(TraceProblem::Empty),
            Some(0) => Err(TraceProblem::NoLength),
            Some(_) if !at_ms.is_sorted() => Err(TraceProblem::Backwards),
            Some(_) => Ok(Self { at_ms }),
        }
    }

    /// Makes the trace of a constant rate over `length`. Opportunity n is at the time when n full packets would have
    /// passed.
    ///
    /// # Errors
    ///
    /// If no full packet passes in `length`.
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

    /// Times in order, in ms.
    pub fn at_ms(&self) -> &[u64] {
        &self.at_ms
    }

    /// Bytes of opportunities that an IP packet uses.
    pub(super) fn cost(len: IpLen) -> u64 {
        len.bytes() + TUN_HEADER
    }

    /// Length of the trace in ms.
    fn period_ms(&self) -> u64 {
        self.at_ms[self.at_ms.len() - 1]
    }

    /// Number of the first opportunity after `now`, counted through repeats of the trace.
    pub(super) fn first_after(&self, now: Instant) -> u64 {
        let ms = now.as_nanos() / 1_000_000 + 1;
        let (repeat, within) = (ms / self.period_ms(), ms % self.period_ms());
        // The end of a round is the start of the next. The opportunities at the end come first.
        let (repeat, within) = if within == 0 { (repeat - 1, self.period_ms()) } else { (repeat, within) };
        let index = self.at_ms.partition_point(|moment| *moment < within);
        repeat * self.at_ms.len() as u64 + index as u64
    }

    /// Time of an opportunity, given by its number.
    pub(super) fn at(&self, number: u64) -> Instant {
        let count = self.at_ms.len() as u64;
        Instant::from_millis(number / count * self.period_ms() + self.at_ms[(number % count) as usize])
    }

    pub(super) fn mean(&self) -> Bitrate {
        Bitrate::from_bps(self.at_ms.len() as u64 * OPPORTUNITY * 8 * 1000 / self.period_ms())
    }

    /// Rate in the [`WINDOW_MS`] up to `now`.
    pub(super) fn rate_at(&self, now: Instant) -> Bitrate {
        let before = Instant::from_nanos(now.as_nanos().saturating_sub(WINDOW_MS * 1_000_000));
        let passed = self.first_after(now) - self.first_after(before);
        Bitrate::from_bps(passed * OPPORTUNITY * 8 * 1000 / WINDOW_MS)
    }

    pub(super) fn peak(&self) -> Bitrate {
        // In this round and the next, a window reaches back over the end of the trace, also over a short one.
        let count = self.at_ms.len() as u64;
        let first = count * (WINDOW_MS / self.period_ms() + 1);
        (first..first + count).map(|number| self.rate_at(self.at(number))).max().unwrap_or_default()
    }
}
