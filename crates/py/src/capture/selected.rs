//! Parts of captures for Python: the packets that a filter keeps, or flows by their numbers.

use std::collections::BTreeMap;

use gamelane_capture::{Analyzer, Capture, CaptureError, Filter, Input, Only, Sink, pair as points};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};

use super::super::document::{self, Read};
use super::super::sink::Tables;
use super::super::{games, pair};

/// Refuses what is not a filter, and returns whether it keeps all packets of a flow or none.
#[pyfunction]
pub(crate) fn keeps_whole_flows(words: &str) -> PyResult<bool> {
    Ok(parsed(words)?.keeps_whole_flows())
}

/// Like `analyze_capture`, of the packets that a filter keeps. If there are `flows`, only their results.
#[pyfunction]
pub(crate) fn analyze_selected(
    py: Python<'_>,
    name: &str,
    paths: Vec<String>,
    on_batch: Option<Py<PyAny>>,
    words: &str,
    flows: Vec<u32>,
) -> PyResult<String> {
    let filter = parsed(words)?;
    let document = py.detach(|| {
        let (mut only, mut analyzer) = (Only::new(&flows, Tables::new(on_batch)), Analyzer::default());
        let (mut read, mut errors) = (Read::default(), Vec::new());
        for path in &paths {
            let result = open(path, &filter).and_then(|mut capture| {
                let result = gamelane_capture::follow_apart(&mut capture, &mut analyzer, &mut only);
                read.add(&capture);
                errors.extend(capture.mixed_link_types());
                result
            });
            errors.extend(result.err());
            if only.is_tired() {
                break;
            }
        }
        analyzer.finish(&mut only);
        let missing: Vec<String> = only.missing().map(|flow| flow.to_string()).collect();
        only.sink.finish()?;
        if !missing.is_empty() && analyzer.flows() > 0 {
            return Err(PyValueError::new_err(unknown(&missing, name, analyzer.flows())));
        }
        Ok(document::capture(name, &read, &analyzer, &only.sink, &errors))
    });
    document.map(|document: Value| document.to_string())
}

/// Like `compare_captures`, of the packets that a filter keeps.
#[pyfunction]
pub(crate) fn compare_selected(
    py: Python<'_>,
    first: &str,
    second: &str,
    on_batch: Option<Py<PyAny>>,
    interfaces: Option<[u32; 2]>,
    words: &str,
) -> PyResult<String> {
    let filter = parsed(words)?;
    let document = py.detach(|| {
        let (mut documents, mut seen) = (Vec::new(), Vec::new());
        let mut each = [(); 2].map(|()| BTreeMap::new());
        for (number, path) in [first, second].into_iter().enumerate() {
            let onward = on_batch.as_ref().map(|call| Python::attach(|py| call.clone_ref(py)));
            let (mut tables, mut analyzer) = (Tables::of_two(onward, number as u8), Analyzer::default());
            let mut capture = match open(path, &filter) {
                Ok(capture) => capture,
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

/// Like `connection_log`, of the packets that a filter keeps.
#[pyfunction]
pub(crate) fn log_selected(
    py: Python<'_>,
    path: &str,
    flow: u32,
    words: &str,
) -> PyResult<(Option<String>, Option<String>)> {
    let filter = parsed(words)?;
    py.detach(|| {
        let mut capture = open(path, &filter).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let (log, error) = gamelane_capture::log::connection_log(&mut capture, flow);
        Ok((log, error.map(|error| error.to_string())))
    })
}

fn parsed(expression: &str) -> PyResult<Filter> {
    expression.parse().map_err(|error| PyValueError::new_err(format!("--filter {error}")))
}

fn open(path: &str, filter: &Filter) -> Result<Capture<Input>, CaptureError> {
    let mut capture = super::super::open(path)?;
    capture.only(filter.clone());
    Ok(capture)
}

fn unknown(missing: &[String], name: &str, flows: u32) -> String {
    let exist = match flows {
        1 => "there is one, number 0".to_owned(),
        _ => format!("there are {flows}, numbered from 0"),
    };
    format!(
        "--flow {}: no such flow in {name}; {exist}\nhint: `gamelane analyze {name} --csv` lists them",
        missing.join(", ")
    )
}
