//! The tables of a run. Each is described once, in [`tables`]: its name, what a row is, and its columns with type, unit and
//! meaning. From here come the Arrow arrays that Python and Parquet files get, `docs/records.md`, and the types of the web page.

mod cells;
mod tables;

use alloc::vec::Vec;

pub use cells::{Cells, Column, Unit};
pub use tables::TABLES;

use crate::records::Records;

/// A table: a description, and how to read it from records.
pub struct Table {
    /// Name, also of the Parquet file.
    pub name: &'static str,
    /// What a row is.
    pub row: &'static str,
    columns: fn() -> Vec<Column>,
    cells: fn(&Records) -> Vec<Cells>,
}

impl Table {
    /// The table called `name`.
    pub fn named(name: &str) -> Option<&'static Self> {
        TABLES.iter().find(|table| table.name == name)
    }

    /// Its columns. `variant` and `seed`, which tell the runs of an experiment apart, come before them.
    pub fn columns(&self) -> Vec<Column> {
        (self.columns)()
    }

    /// The cells of each column, in the order of [`Table::columns`].
    pub fn cells(&self, records: &Records) -> Vec<Cells> {
        (self.cells)(records)
    }
}
