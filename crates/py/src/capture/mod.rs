//! Captures for Python: files go in, a JSON document comes out, tables go to a callable in batches.

mod document;
mod games;
pub(crate) mod live;
mod pair;
mod sink;

use std::collections::BTreeMap;
use std::path::Path;

use gamelane_capture::{Analyzer, Capture, CaptureError, Input, Sink, pair as points};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};

use document::Read;
use sink::Tables;

/// One capture, called `name`: a file, `-` for standard input, or the files of a recording in order.
#[pyfunction]
#[pyo3(signature = (name, paths, on_batch = None))]
pub(crate) fn analyze_capture(
    py: Python<'_>,
    name: &str,
    paths: Vec<String>,
    on_batch: Option<Py<PyAny>>,
) -> PyResult<String> {
    let document = py.detach(|| {
        let (mut tables, mut analyzer) = (Tables::new(on_batch), Analyzer::default());
        let (mut read, mut errors) = (Read::default(), Vec::new());
        for path in &paths {
            let result = open(path).and_then(|mut capture| {
                let result = gamelane_capture::follow_apart(&mut capture, &mut analyzer, &mut tables);
                read.add(&capture);
                errors.extend(capture.mixed_link_types());
                result
            });
            errors.extend(result.err());
            if tables.is_tired() {
                break;
            }
        }
        analyzer.finish(&mut tables);
        tables.finish()?;
        Ok(document::capture(name, &read, &analyzer, &tables, &errors))
    });
    document.map(|document: Value| document.to_string())
}

/// Two captures of the same traffic; with `interfaces`, the packets of one interface of each.
#[pyfunction]
#[pyo3(signature = (first, second, on_batch = None, interfaces = None))]
pub(crate) fn compare_captures(
    py: Python<'_>,
    first: &str,
    second: &str,
    on_batch: Option<Py<PyAny>>,
    interfaces: Option<[u32; 2]>,
) -> PyResult<String> {
    let document = py.detach(|| {
        let mut documents = Vec::new();
        let mut seen = Vec::new();
        let mut each = [(); 2].map(|()| BTreeMap::new());
        for (number, path) in [first, second].into_iter().enumerate() {
            let onward = on_batch.as_ref().map(|call| Python::attach(|py| call.clone_ref(py)));
            let mut tables = Tables::of_two(onward, number as u8);
            let (mut capture, mut analyzer) = match open(path) {
                Ok(capture) => (capture, Analyzer::default()),
                Err(error) => {
                    documents.push(document::unread(path, &error));
                    continue;
                }
            };
            if let Some(interfaces) = interfaces {
                capture.only_interface(interfaces[number]);
            }
            let (watched, error) = points::watch(&mut capture, &mut analyzer, &mut tables);
            tables.finish()?;
            let mut read = Read::default();
            read.add(&capture);
            let errors: Vec<_> = error.into_iter().chain(capture.mixed_link_types()).collect();
            documents.push(document::capture(path, &read, &analyzer, &tables, &errors));
            seen.push(watched);
            each[number] = tables.each.take().unwrap_or_default();
        }
        let pair = match &seen[..] {
            [first, second] => {
                let compared = points::compare(first, second);
                let mut pair = pair::document(&compared);
                games::describe(&mut pair, &compared.flows, &each);
                pair
            }
            _ => Value::Null,
        };
        Ok(json!({ "captures": documents, "pair": pair }))
    });
    document.map(|document: Value| document.to_string())
}

/// One connection of a capture, annotated packet by packet.
#[pyfunction]
pub(crate) fn connection_log(
    py: Python<'_>,
    path: &str,
    flow: u32,
) -> PyResult<(Option<String>, Option<String>)> {
    py.detach(|| {
        let mut capture = open(path).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let (log, error) = gamelane_capture::log::connection_log(&mut capture, flow);
        Ok((log, error.map(|error| error.to_string())))
    })
}

fn open(path: &str) -> Result<Capture<Input>, CaptureError> {
    if path == "-" { Capture::stdin() } else { Capture::open(Path::new(path)) }
}
