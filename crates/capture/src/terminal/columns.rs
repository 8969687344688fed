//! Cells in columns. No cell is cut or wrapped: columns that do not fit are left out.

use std::borrow::Cow;

use textwrap::core::display_width;

/// A column with a heading of one line or more. The highest `rank` is left out first; rank 0 always stays.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) heading: Cow<'static, str>,
    pub(super) cells: Vec<String>,
    pub(super) rank: u8,
    pub(super) is_number: bool,
}

/// Spaces between two columns.
pub(super) const GAP: usize = 2;

impl Column {
    fn width(&self) -> usize {
        let cells = self.cells.iter().map(String::as_str);
        self.heading.lines().chain(cells).map(display_width).max().unwrap_or(0)
    }

    /// Whether any cell has text.
    pub(super) fn is_filled(&self) -> bool {
        self.cells.iter().any(|cell| !cell.is_empty())
    }

    /// Its heading in one word.
    pub(super) fn name(&self) -> &str {
        let first = self.heading.lines().next().unwrap_or_default();
        first.strip_suffix(" ms").unwrap_or(first)
    }
}

/// Width of all columns.
pub(super) fn width<'a>(columns: impl IntoIterator<Item = &'a Column>) -> usize {
    let each = columns.into_iter().map(|column| column.width() + GAP);
    each.sum::<usize>().saturating_sub(GAP)
}

/// The columns that fit, and those that are left out for them.
pub(super) fn fitting(mut columns: Vec<Column>, available: usize) -> (Vec<Column>, Vec<Column>) {
    let mut is_left_out = vec![false; columns.len()];
    let kept =
        |is_left_out: &[bool]| -> Vec<usize> { (0..columns.len()).filter(|at| !is_left_out[*at]).collect() };
    while width(kept(&is_left_out).into_iter().map(|at| &columns[at])) > available {
        // The first of the highest rank.
        match kept(&is_left_out).into_iter().rev().max_by_key(|at| columns[*at].rank) {
            Some(at) if columns[at].rank > 0 => is_left_out[at] = true,
            _ => break,
        }
    }
    let mut left_out = is_left_out.into_iter();
    let left = columns.extract_if(.., |_| left_out.next() == Some(true)).collect();
    (columns, left)
}

/// The lines of the heading, and those of the rows.
pub(super) fn lines(columns: &[Column]) -> (Vec<String>, Vec<String>) {
    let row = |cell: &dyn Fn(&Column) -> String| {
        let padded: Vec<String> = columns.iter().map(|column| column.padded(&cell(column))).collect();
        padded.join(&" ".repeat(GAP)).trim_end().to_owned()
    };
    let deep = columns.iter().map(|column| column.heading.lines().count()).max().unwrap_or(0);
    let head =
        (0..deep).map(|at| row(&|column| column.heading.lines().nth(at).unwrap_or_default().to_owned()));
    let count = columns.first().map_or(0, |column| column.cells.len());
    let rows = (0..count).map(|at| row(&|column| column.cells[at].clone()));
    (head.collect(), rows.collect())
}

impl Column {
    fn padded(&self, cell: &str) -> String {
        let space = " ".repeat(self.width() - display_width(cell));
        if self.is_number { space + cell } else { cell.to_owned() + &space }
    }
}

/// Numbers the hosts of an output in the order in which they appear, for addresses that would not fit.
#[derive(Debug)]
pub(super) struct Hosts {
    is_narrow: bool,
    numbered: Vec<String>,
}

const HOSTS: &str = "hosts: ";

impl Hosts {
    /// With `is_narrow`, hosts get numbers.
    pub(super) const fn new(is_narrow: bool) -> Self {
        Self { is_narrow, numbered: Vec::new() }
    }

    /// Returns an endpoint. Without room for addresses, a number stands for its address.
    pub(super) fn name(&mut self, endpoint: &str) -> String {
        let Some((address, port)) = endpoint.rsplit_once(':').filter(|_| self.is_narrow) else {
            return endpoint.to_owned();
        };
        let address = address.trim_matches(['[', ']']);
        let at = self.numbered.iter().position(|known| known == address).unwrap_or_else(|| {
            self.numbered.push(address.to_owned());
            self.numbered.len() - 1
        });
        format!("{}:{port}", at + 1)
    }

    /// The meaning of the numbers, as many on a line as fit; no line without numbers.
    pub(super) fn legend(&self, available: usize) -> Vec<String> {
        let entries: Vec<String> =
            (1..).zip(&self.numbered).map(|(number, address)| format!("{number} = {address}")).collect();
        let widest = entries.iter().map(String::len).max().unwrap_or(0);
        let many = (available.saturating_add(GAP).saturating_sub(HOSTS.len()) / (widest + GAP)).max(1);
        let rows = entries.chunks(many).map(|row| {
            let row: Vec<String> = row.iter().map(|entry| format!("{entry:<widest$}")).collect();
            row.join(&" ".repeat(GAP)).trim_end().to_owned()
        });
        rows.enumerate()
            .map(|(at, row)| if at == 0 { HOSTS.to_owned() + &row } else { " ".repeat(HOSTS.len()) + &row })
            .collect()
    }
}
