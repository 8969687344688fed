//! Types of columns and their cells.

use alloc::vec::Vec;

use gamelane_core::{Bitrate, ByteCount, Direction, DropReason, Duration, Instant};

use crate::event::Side;

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Name; ends in the unit where there is one.
    pub name: &'static str,
    /// Type and unit.
    pub unit: Unit,
    /// Meaning.
    pub about: &'static str,
}

/// Type and unit of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Name of a flow of the scenario.
    Flow,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Seconds from the start of the run.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Milliseconds, or null.
    MaybeMilliseconds,
    /// A number of things.
    Count,
    /// A number of things below 65,536.
    SmallCount,
    /// Bytes.
    Bytes,
    /// Bytes, or null.
    MaybeBytes,
    /// Bits per second.
    BitsPerSecond,
    /// Bits per second, or null.
    MaybeBitsPerSecond,
}

impl Unit {
    /// Whether cells may be null.
    pub const fn is_nullable(self) -> bool {
        matches!(self, Self::MaybeMilliseconds | Self::MaybeBytes | Self::MaybeBitsPerSecond)
    }

    /// The unit in words, as tables and reports name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flow => "flow",
            Self::Word(_) => "word",
            Self::Seconds => "s",
            Self::Milliseconds | Self::MaybeMilliseconds => "ms",
            Self::Count | Self::SmallCount => "count",
            Self::Bytes | Self::MaybeBytes => "B",
            Self::BitsPerSecond | Self::MaybeBitsPerSecond => "bit/s",
        }
    }
}

/// Cells of a column, ready to become an Arrow array.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Positions of flows in the scenario.
    Flows(Vec<u32>),
    /// Positions in [`Unit::Word`].
    Words(Vec<u8>),
    /// Seconds or milliseconds.
    Times(Vec<f64>),
    /// Milliseconds, or null.
    MaybeTimes(Vec<Option<f64>>),
    /// Counts.
    Counts(Vec<u32>),
    /// Counts below 65,536.
    SmallCounts(Vec<u16>),
    /// Bytes or bits per second.
    Amounts(Vec<u64>),
    /// Bytes or bits per second, or null.
    MaybeAmounts(Vec<Option<u64>>),
}

/// How to read one cell from a row of type `R`. The variant decides type and unit of the column.
pub(super) enum Cell<R> {
    Flow(fn(&R) -> u32),
    Direction(fn(&R) -> Direction),
    Reason(fn(&R) -> DropReason),
    Side(fn(&R) -> Side),
    Report(fn(&R) -> u8),
    At(fn(&R) -> Instant),
    Lasted(fn(&R) -> Duration),
    MaybeLasted(fn(&R) -> Option<Duration>),
    Count(fn(&R) -> u32),
    SmallCount(fn(&R) -> u16),
    Bytes(fn(&R) -> ByteCount),
    MaybeBytes(fn(&R) -> Option<ByteCount>),
    Rate(fn(&R) -> Bitrate),
    MaybeRate(fn(&R) -> Option<Bitrate>),
}

impl<R> Cell<R> {
    pub(super) const fn unit(&self) -> Unit {
        match self {
            Self::Flow(_) => Unit::Flow,
            Self::Direction(_) => Unit::Word(&DIRECTIONS),
            Self::Reason(_) => Unit::Word(&REASONS),
            Self::Side(_) => Unit::Word(&SIDES),
            Self::Report(_) => Unit::Word(&REPORTS),
            Self::At(_) => Unit::Seconds,
            Self::Lasted(_) => Unit::Milliseconds,
            Self::MaybeLasted(_) => Unit::MaybeMilliseconds,
            Self::Count(_) => Unit::Count,
            Self::SmallCount(_) => Unit::SmallCount,
            Self::Bytes(_) => Unit::Bytes,
            Self::MaybeBytes(_) => Unit::MaybeBytes,
            Self::Rate(_) => Unit::BitsPerSecond,
            Self::MaybeRate(_) => Unit::MaybeBitsPerSecond,
        }
    }

    pub(super) fn read(&self, rows: impl Iterator<Item = R>) -> Cells {
        let rows = rows.into_iter();
        match *self {
            Self::Flow(cell) => Cells::Flows(rows.map(|row| cell(&row)).collect()),
            Self::Direction(cell) => Cells::Words(rows.map(|row| cell(&row).index() as u8).collect()),
            Self::Reason(cell) => Cells::Words(rows.map(|row| cell(&row).index() as u8).collect()),
            Self::Side(cell) => Cells::Words(rows.map(|row| cell(&row) as u8).collect()),
            Self::Report(cell) => Cells::Words(rows.map(|row| cell(&row)).collect()),
            Self::At(cell) => Cells::Times(rows.map(|row| cell(&row).as_secs_f64()).collect()),
            Self::Lasted(cell) => Cells::Times(rows.map(|row| cell(&row).as_millis_f64()).collect()),
            Self::MaybeLasted(cell) => {
                Cells::MaybeTimes(rows.map(|row| cell(&row).map(Duration::as_millis_f64)).collect())
            }
            Self::Count(cell) => Cells::Counts(rows.map(|row| cell(&row)).collect()),
            Self::SmallCount(cell) => Cells::SmallCounts(rows.map(|row| cell(&row)).collect()),
            Self::Bytes(cell) => Cells::Amounts(rows.map(|row| cell(&row).bytes()).collect()),
            Self::MaybeBytes(cell) => {
                Cells::MaybeAmounts(rows.map(|row| cell(&row).map(ByteCount::bytes)).collect())
            }
            Self::Rate(cell) => Cells::Amounts(rows.map(|row| cell(&row).bps()).collect()),
            Self::MaybeRate(cell) => {
                Cells::MaybeAmounts(rows.map(|row| cell(&row).map(Bitrate::bps)).collect())
            }
        }
    }
}

const DIRECTIONS: [&str; 2] = [Direction::Up.name(), Direction::Down.name()];
const SIDES: [&str; 2] = [Side::Client.name(), Side::Server.name()];
/// Reports of applications, in the order of [`super::tables::report`].
const REPORTS: [&str; 3] = ["chunk", "stall", "transfer"];
const REASONS: [&str; DropReason::ALL.len()] = {
    let mut names = [""; DropReason::ALL.len()];
    let mut position = 0;
    while position < names.len() {
        names[position] = DropReason::ALL[position].name();
        position += 1;
    }
    names
};
