//! Reading traces. The text comes from outside: what is wrong with it is said with its line.

use alloc::vec::Vec;
use core::fmt;

/// A trace was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// Line, from one; the last one for what is missing at the end.
    pub line: usize,
    /// What is wrong.
    pub problem: TraceProblem,
}

/// What is wrong with a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceProblem {
    /// No line at all.
    Empty,
    /// A line that is not the numbers it should be.
    NotNumbers,
    /// A line with nothing on it.
    Blank,
    /// A number too large.
    TooLarge,
    /// A time before that of the line above.
    Backwards,
    /// A time that is that of the line above, which would last no time.
    NoTime,
    /// The trace begins later than at zero.
    LateStart,
    /// The trace ends at zero.
    NoLength,
    /// The last line has no `end`.
    NoEnd,
    /// A line follows `end`.
    AfterEnd,
    /// Nothing ever passes.
    NothingPasses,
}

impl core::error::Error for TraceError {}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl fmt::Display for TraceProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the trace is empty",
            Self::NotNumbers => {
                "this is neither a time in ms (mahimahi), nor a time in ms and a rate in kbit/s"
            }
            Self::Blank => "a line with nothing on it",
            Self::TooLarge => "a number out of reach",
            Self::Backwards => "time goes backwards",
            Self::NoTime => "the rate above would last no time",
            Self::LateStart => "a trace of rates starts at 0 ms",
            Self::NoLength => "the trace lasts no time",
            Self::NoEnd => "the last line of a trace of rates is its length in ms and `end`",
            Self::AfterEnd => "a line after `end`",
            Self::NothingPasses => "no rate is above zero: nothing would ever pass",
        })
    }
}

/// A day in milliseconds: the longest trace.
pub(super) const LONGEST_MS: u64 = 86_400_000;
/// 1000 Gbit/s in kbit/s.
pub(super) const FASTEST_KBIT: u64 = 1_000_000_000;

/// Lines with their numbers, without the last line end.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let empty = text.is_empty();
    text.split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .enumerate()
        .map(|(index, line)| (index + 1, line))
        .filter(move |_| !empty)
}

/// The words of a line.
pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty())
}

pub(super) fn columns_of_first_line(text: &[u8]) -> usize {
    lines(text).next().map_or(1, |(_, line)| words(line).count().max(1))
}

/// A whole number up to `most`.
pub(super) fn number(word: &[u8], most: u64) -> Result<u64, TraceProblem> {
    if word.is_empty() || !word.iter().all(u8::is_ascii_digit) {
        return Err(TraceProblem::NotNumbers);
    }
    let value = word.iter().try_fold(0u64, |value, digit| {
        value.checked_mul(10).and_then(|value| value.checked_add(u64::from(digit - b'0')))
    });
    value.filter(|value| *value <= most).ok_or(TraceProblem::TooLarge)
}

/// Collects what `read` makes of each line.
pub(super) fn each_line<T>(
    text: &[u8],
    mut read: impl FnMut(&[u8], Option<&T>) -> Result<T, TraceProblem>,
) -> Result<Vec<T>, TraceError> {
    let mut rows = Vec::new();
    for (line, content) in lines(text) {
        let row = read(content, rows.last()).map_err(|problem| TraceError { line, problem })?;
        rows.push(row);
    }
    if rows.is_empty() { Err(TraceError { line: 1, problem: TraceProblem::Empty }) } else { Ok(rows) }
}
