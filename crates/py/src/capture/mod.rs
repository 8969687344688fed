//! Captures for Python: files go in, a JSON document comes out, tables go to a callable in batches.

mod sink;

use std::io::{BufWriter, Write};
use std::path::Path;

use gamelane_capture::document::{self, Choice, Document};
use gamelane_capture::{Capture, Filter, log};
use gamelane_scenario::text::known_applications;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use sink::{Fallible, NoTables, Tables};

/// Findings about captures.
#[pyclass(module = "gamelane._native", frozen)]
pub(crate) struct Analysis(Document);

#[pymethods]
impl Analysis {
    /// What could not be read, with a hint on a line of its own.
    #[getter]
    fn problems(&self) -> Vec<String> {
        self.0.problems().map(ToString::to_string).collect()
    }

    /// True if nothing of one of the captures could be read.
    #[getter]
    fn unread(&self) -> bool {
        self.0.is_unread()
    }

    /// Packets of each capture.
    #[getter]
    fn packets(&self) -> Vec<u64> {
        self.0.packets().collect()
    }

    /// The JSON document on one line.
    fn text(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.text(false))
    }

    /// Prints the JSON document to standard output, on one line or indented.
    fn print(&self, py: Python<'_>, indented: bool) -> PyResult<()> {
        py.detach(|| {
            let mut out = BufWriter::with_capacity(OUT, std::io::stdout().lock());
            self.0.write(&mut out, indented)?;
            out.write_all(b"\n")?;
            Ok(out.flush()?)
        })
    }
}

/// Analyses captures: each has a name and its files in order; `-` is standard input. Two captures of one file each are
/// compared; with `interfaces`, the packets of one interface of each. `words` filters packets, and `flows` chooses flows
/// of one capture.
#[pyfunction]
#[pyo3(signature = (captures, on_batch = None, *, interfaces = None, words = "", flows = None))]
pub(crate) fn analyze_captures(
    py: Python<'_>,
    captures: Vec<(String, Vec<String>)>,
    on_batch: Option<Py<PyAny>>,
    interfaces: Option<[u32; 2]>,
    words: &str,
    flows: Option<Vec<u32>>,
) -> PyResult<Analysis> {
    let known = known_applications();
    let choice = Choice { filter: filter(words)?, flows: flows.unwrap_or_default(), known, interfaces };
    match on_batch {
        Some(call) => {
            let tables =
                (0..captures.len()).map(|place| Tables::new(call.clone_ref(py), place as u8)).collect();
            py.detach(|| analyze(&captures, &choice, tables))
        }
        None => {
            let tables = captures.iter().map(|_| NoTables::default()).collect();
            py.detach(|| analyze(&captures, &choice, tables))
        }
    }
}

fn analyze<S: Fallible>(
    captures: &[(String, Vec<String>)],
    choice: &Choice,
    mut sinks: Vec<S>,
) -> PyResult<Analysis> {
    let document = match (captures, &mut sinks[..]) {
        ([(_, first), (_, second)], [first_sink, second_sink]) if first.len() == 1 && second.len() == 1 => {
            let onward = [first_sink, second_sink];
            let (captures, pair) = document::read_two([&first[0], &second[0]], choice, onward);
            Document::new(captures, pair)
        }
        _ => {
            let each = captures.iter().zip(&mut sinks);
            let read = each.map(|((name, paths), sink)| document::read(name, paths, choice, sink));
            let read = read.collect::<Result<_, _>>();
            Document::new(read.map_err(|error| PyValueError::new_err(error.to_string()))?, None)
        }
    };
    sinks.iter_mut().try_for_each(Fallible::finish)?;
    Ok(Analysis(document))
}

/// One connection of a capture, annotated packet by packet.
#[pyfunction]
pub(crate) fn connection_log(
    py: Python<'_>,
    path: &str,
    flow: u32,
    words: &str,
) -> PyResult<(Option<String>, Option<String>)> {
    let filter = filter(words)?;
    py.detach(|| {
        let capture = if path == "-" { Capture::stdin() } else { Capture::open(Path::new(path)) };
        let mut capture = capture.map_err(|error| PyValueError::new_err(error.to_string()))?;
        capture.only(filter);
        let (log, error) = log::connection_log(&mut capture, flow);
        Ok((log, error.map(|error| error.to_string())))
    })
}

/// Refuses what is not a filter, and returns whether it keeps all packets of a flow or none.
#[pyfunction]
pub(crate) fn keeps_whole_flows(words: &str) -> PyResult<bool> {
    Ok(filter(words)?.keeps_whole_flows())
}

/// A document, as JSON, for a terminal of `width` columns: the text of each line, and its style. `is_ascii` is for a terminal that cannot
/// show blocks.
#[pyfunction]
pub(crate) fn capture_lines(
    py: Python<'_>,
    document: &str,
    width: usize,
    is_ascii: bool,
) -> PyResult<Vec<(String, &'static str)>> {
    let lines = py.detach(|| Document::parse(document).map(|document| document.lines(width, is_ascii)));
    let lines = lines.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(lines.into_iter().map(|line| (line.text, line.style.name())).collect())
}

fn filter(words: &str) -> PyResult<Filter> {
    words.parse().map_err(|error| PyValueError::new_err(format!("--filter {error}")))
}

/// Bytes written at a time.
const OUT: usize = 1 << 16;
