//! Who is to blame for lag, for Python.

use std::path::Path;

use gamelane_capture::blame::{Evidence, of_one, of_two};
use gamelane_capture::{Analyzer, Capture, CaptureError, FlowReport, Sink, pair};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;

#[derive(Default)]
struct Facts(Evidence);

impl Sink for Facts {
    fn flow(&mut self, report: FlowReport) {
        self.0.add(&report);
    }
}

/// Judges one capture, or two of the same traffic: the value of `verdict.blame`.
#[pyfunction]
pub(crate) fn judge_captures(py: Python<'_>, paths: Vec<String>) -> PyResult<String> {
    py.detach(|| judged(&paths)).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn judged(paths: &[String]) -> Result<String, CaptureError> {
    let mut seen = Vec::new();
    for path in paths {
        let mut capture = Capture::open(Path::new(path))?;
        let mut facts = Facts::default();
        let (packets, error) = pair::watch(&mut capture, &mut Analyzer::default(), &mut facts);
        error.map_or(Ok(()), Err)?;
        facts.0.wifi_retries(capture.skipped().wifi_retries);
        seen.push((facts.0, packets));
    }
    let blame = match &seen[..] {
        [first, second] => of_two([&first.0, &second.0], &pair::compare(&first.1, &second.1)),
        [(one, _), ..] => of_one(one),
        [] => of_one(&Evidence::default()),
    };
    Ok(json!({
        "who": blame.who.name(), "sure": blame.sure.name(), "text": blame.text, "because": blame.because, "advice": blame.advice,
    })
    .to_string())
}
