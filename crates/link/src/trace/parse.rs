//! Parsing of traces and the errors in them. The text is user input, so each error has the number of its line.

use alloc::vec::Vec;
use core::fmt;

/// Error in a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// Number of the line, from 1. If something is missing at the end, it is the last line.
    pub line: usize,
    /// What is wrong in that line.
    pub problem: TraceProblem,
}

/// Reason why a trace is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceProblem {
    /// The trace has no entry.
    Empty,
    /// The line does not have the numbers of its format.
    NotNumbers,
    /// The line is empty.
    Blank,
    /// A number is too large: the time above a day, or the rate above 1000 Gbit/s.
    TooLarge,
    /// The time is before that of the line above.
    Backwards,
    /// The time equals that of the line above, so the rate above would hold for no time.
    NoTime,
    /// The first rate does not start at 0 ms.
    LateStart,
    /// The last time is 0 ms, so the trace has no length.
    NoLength,
    /// The last line is not a time and `end`.
    NoEnd,
    /// There is a line after `end`.
    AfterEnd,
    /// All rates are zero.
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
            Self::Empty => "the trace is empty; it needs at least one time or rate",
            Self::NotNumbers => {
                "the line must be a time in ms (mahimahi's format), or a time in ms and a rate in kbit/s"
            }
            Self::Blank => "the line is empty; remove it",
            Self::TooLarge => {
                "a number is too large; times may be up to 86400000 ms, rates up to 1000000000 kbit/s"
            }
            Self::Backwards => "the time is before that of the line above; sort the lines by time",
            Self::NoTime => {
                "the time equals that of the line above; each rate needs a later time than the one before"
            }
            Self::LateStart => "the first rate must start at 0 ms",
            Self::NoLength => "the last time is 0 ms, so the trace has no length; add a later time",
            Self::NoEnd => {
                "the last line must be the length of the trace in ms and `end`, for example `8000 end`"
            }
            Self::AfterEnd => "no line may follow `end`",
            Self::NothingPasses => "all rates are zero; at least one must be above zero",
        })
    }
}

/// Longest trace in ms: one day.
pub(super) const LONGEST_MS: u64 = 86_400_000;
/// Highest rate in kbit/s: 1000 Gbit/s.
pub(super) const FASTEST_KBIT: u64 = 1_000_000_000;

/// Iterates over the lines with their numbers, without line ends.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let empty = text.is_empty();
    text.split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .enumerate()
        .map(|(index, line)| (index + 1, line))
        .filter(move |_| !empty)
}

/// Iterates over the words of a line, separated by spaces and tabs.
pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty())
}

pub(super) fn columns_of_first_line(text: &[u8]) -> usize {
    lines(text).next().map_or(1, |(_, line)| words(line).count().max(1))
}

/// Parses a whole number up to `most`.
pub(super) fn number(word: &[u8], most: u64) -> Result<u64, TraceProblem> {
    if word.is_empty() || !word.iter().all(u8::is_ascii_digit) {
        return Err(TraceProblem::NotNumbers);
    }
    let value = word.iter().try_fold(0u64, |value, digit| {
        value.checked_mul(10).and_then(|value| value.checked_add(u64::from(digit - b'0')))
    });
    value.filter(|value| *value <= most).ok_or(TraceProblem::TooLarge)
}

/// Parses each line with `read`, which also gets the row of the line above. Returns all rows.
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
