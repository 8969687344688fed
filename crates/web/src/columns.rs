//! Tables of records as typed arrays: numbers in a row, where JavaScript reads them without a copy.

use gamelane_record::Records;
use gamelane_record::table::{Cells, Column, Table, Unit};
use serde::Serialize;

/// A column, and where its numbers are. It owns them.
#[derive(Debug)]
pub(crate) struct Array {
    column: Column,
    numbers: Numbers,
}

#[derive(Debug)]
enum Numbers {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    F64(Vec<f64>),
}

/// What a page needs to make a typed array of a column.
#[derive(Debug, Serialize)]
pub(crate) struct Place {
    name: &'static str,
    unit: &'static str,
    /// The words that numbers stand for.
    #[serde(skip_serializing_if = "Option::is_none")]
    words: Option<&'static [&'static str]>,
    /// Type of the numbers: `u8`, `u16`, `u32` or `f64`.
    kind: &'static str,
    /// Address of the first one.
    at: usize,
    length: usize,
}

/// The columns of a table.
pub(crate) fn arrays(table: &Table, records: &Records) -> Vec<Array> {
    let columns = table.columns().into_iter().zip(table.cells(records));
    columns.map(|(column, cells)| Array { column, numbers: Numbers::from(cells) }).collect()
}

impl Array {
    /// Where it is. It stays there while it lives.
    pub(crate) fn place(&self) -> Place {
        let (kind, at, length) = match &self.numbers {
            Numbers::U8(numbers) => ("u8", numbers.as_ptr() as usize, numbers.len()),
            Numbers::U16(numbers) => ("u16", numbers.as_ptr() as usize, numbers.len()),
            Numbers::U32(numbers) => ("u32", numbers.as_ptr() as usize, numbers.len()),
            Numbers::F64(numbers) => ("f64", numbers.as_ptr() as usize, numbers.len()),
        };
        let words = if let Unit::Word(words) = self.column.unit { Some(words) } else { None };
        Place { name: self.column.name, unit: self.column.unit.name(), words, kind, at, length }
    }
}

impl From<Cells> for Numbers {
    /// Null becomes NaN. Amounts become floats, which are exact up to 2^53.
    fn from(cells: Cells) -> Self {
        match cells {
            Cells::Flows(cells) | Cells::Counts(cells) => Self::U32(cells),
            Cells::Words(cells) => Self::U8(cells),
            Cells::SmallCounts(cells) => Self::U16(cells),
            Cells::Times(cells) => Self::F64(cells),
            Cells::MaybeTimes(cells) => {
                Self::F64(cells.into_iter().map(|cell| cell.unwrap_or(f64::NAN)).collect())
            }
            Cells::Amounts(cells) => Self::F64(cells.into_iter().map(|cell| cell as f64).collect()),
            Cells::MaybeAmounts(cells) => {
                Self::F64(cells.into_iter().map(|cell| cell.map_or(f64::NAN, |cell| cell as f64)).collect())
            }
        }
    }
}
