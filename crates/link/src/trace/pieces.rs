//! A trace of rates. Each line has a time in ms and the rate in kbit/s from that time on. The last line has the length
//! of the trace in ms and `end`; there the trace starts again.
//!
//! ```text
//! 0 12000
//! 5000 800
//! 7500 0
//! 8000 end
//! ```

use alloc::vec::Vec;
use core::fmt::Write;

use gamelane_core::{Bitrate, Instant, WireLen};

use super::parse::{FASTEST_KBIT, LONGEST_MS, TraceError, TraceProblem, each_line, number, words};

/// Work of one byte, in units of bit/s times ns. In this unit all sums are exact.
const PER_BYTE: u128 = 8 * 1_000_000_000;

/// A trace of rates. At least one rate is above zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RatePieces {
    /// Start in ns and rate of each piece.
    pieces: Vec<(u64, Bitrate)>,
    /// Length of the trace in ns.
    period: u64,
    /// Work that passes in one round of the trace, in bit/s times ns.
    round: u128,
}

enum Line {
    Piece(u64, u64),
    End(u64),
}

impl RatePieces {
    /// Reads the format above.
    ///
    /// # Errors
    ///
    /// An empty trace, a line that is not two numbers, a first time above zero, times that do not increase, no `end`,
    /// or only rates of zero.
    pub fn parse(text: &[u8]) -> Result<Self, TraceError> {
        let rows = each_line(text, |line, before: Option<&Line>| {
            let mut words = words(line);
            let (Some(at), Some(rate), None) = (words.next(), words.next(), words.next()) else {
                return Err(if line.is_empty() { TraceProblem::Blank } else { TraceProblem::NotNumbers });
            };
            let at = number(at, LONGEST_MS)?;
            match before {
                None if at > 0 => return Err(TraceProblem::LateStart),
                Some(Line::End(_)) => return Err(TraceProblem::AfterEnd),
                Some(Line::Piece(before, _)) if at < *before => return Err(TraceProblem::Backwards),
                Some(Line::Piece(before, _)) if at == *before => return Err(TraceProblem::NoTime),
                _ => {}
            }
            if rate == b"end" {
                return Ok(Line::End(at));
            }
            Ok(Line::Piece(at, number(rate, FASTEST_KBIT)?))
        })?;
        let last = |problem| TraceError { line: rows.len(), problem };
        let Some(Line::End(end)) = rows.last() else { return Err(last(TraceProblem::NoEnd)) };
        let pieces = rows.iter().filter_map(|row| match row {
            Line::Piece(at, kbit) => Some((*at, Bitrate::from_bps(kbit * 1000))),
            Line::End(_) => None,
        });
        Self::new(pieces.collect(), *end).map_err(last)
    }

    /// Makes a trace from pieces, each given by its start in ms and its rate. `end_ms` is the length of the trace in
    /// ms.
    ///
    /// # Errors
    ///
    /// No pieces, a first start above zero, times that do not increase, or only rates of zero.
    pub fn new(pieces: Vec<(u64, Bitrate)>, end_ms: u64) -> Result<Self, TraceProblem> {
        let Some((first, _)) = pieces.first() else { return Err(TraceProblem::Empty) };
        if *first > 0 {
            return Err(TraceProblem::LateStart);
        }
        let times = pieces.iter().map(|(at, _)| *at).chain([end_ms]);
        if !times.is_sorted_by(|a, b| a < b) {
            return Err(TraceProblem::NoTime);
        }
        if pieces.iter().all(|(_, rate)| rate.bps() == 0) {
            return Err(TraceProblem::NothingPasses);
        }
        let nanos = |(at, rate): (u64, Bitrate)| (at * 1_000_000, rate);
        let mut trace =
            Self { pieces: pieces.into_iter().map(nanos).collect(), period: end_ms * 1_000_000, round: 0 };
        trace.round = (0..trace.pieces.len()).map(|piece| trace.work(piece, trace.pieces[piece].0)).sum();
        Ok(trace)
    }

    /// Writes the format above.
    pub fn write(&self, out: &mut impl Write) -> core::fmt::Result {
        for (at, rate) in &self.pieces {
            writeln!(out, "{} {}", at / 1_000_000, rate.bps() / 1000)?;
        }
        writeln!(out, "{} end", self.period / 1_000_000)
    }

    /// Time at which a packet that starts at `begin` has passed; [`Instant::MAX`] if that is too late for an
    /// [`Instant`].
    pub(super) fn pass(&self, len: WireLen, begin: Instant) -> Instant {
        let mut left = u128::from(len.0) * PER_BYTE;
        let (mut start, mut within) =
            (begin.as_nanos() / self.period * self.period, begin.as_nanos() % self.period);
        let rounds = left / self.round;
        start = start.saturating_add(self.period.saturating_mul(rounds as u64));
        left -= rounds * self.round;
        let mut piece = self.pieces.partition_point(|(at, _)| *at <= within) - 1;
        loop {
            let work = self.work(piece, within);
            if left <= work {
                let rate = u128::from(self.pieces[piece].1.bps());
                let took = if left == 0 { 0 } else { left.div_ceil(rate) as u64 };
                return Instant::from_nanos(start.saturating_add(within + took));
            }
            left -= work;
            piece += 1;
            within = self.end(piece - 1);
            if piece == self.pieces.len() {
                (piece, within, start) = (0, 0, start.saturating_add(self.period));
            }
        }
    }

    /// Work that passes from `within` to the end of a piece, in bit/s times ns.
    fn work(&self, piece: usize, within: u64) -> u128 {
        u128::from(self.end(piece) - within) * u128::from(self.pieces[piece].1.bps())
    }

    fn end(&self, piece: usize) -> u64 {
        self.pieces.get(piece + 1).map_or(self.period, |(at, _)| *at)
    }

    pub(super) fn rate_at(&self, now: Instant) -> Bitrate {
        let within = now.as_nanos() % self.period;
        let piece = self.pieces.partition_point(|(at, _)| *at <= within) - 1;
        self.pieces[piece].1
    }

    pub(super) fn mean(&self) -> Bitrate {
        Bitrate::from_bps((self.round / u128::from(self.period)) as u64)
    }

    pub(super) fn peak(&self) -> Bitrate {
        self.pieces.iter().map(|(_, rate)| *rate).max().unwrap_or_default()
    }
}
