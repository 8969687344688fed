//! A recording for Python, which owns time, signals and the terminal: it asks for one step after the other.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gamelane_capture::document::{Document, Documented, Findings};
use gamelane_core::Protocol;
use gamelane_live::{Files, FlowNow, LiveError, Progress, Recorder, Rotation, Settings, Source};
use gamelane_scenario::text::known_applications;
use pyo3::exceptions::{PyConnectionError, PyOSError, PyPermissionError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Analysis;
use super::sink::{Fallible as _, NoTables};

/// An interface being recorded.
#[pyclass(module = "gamelane._native")]
pub(crate) struct Live {
    stage: Mutex<Stage>,
}

enum Stage {
    Opened(Source),
    Recording(Box<Recorder<Documented<NoTables>>>, String),
    Over,
}

#[pymethods]
impl Live {
    /// Opens an interface; packets are taken from now on.
    #[staticmethod]
    fn open(
        interface: &str,
        snap_len: u32,
        expression: &str,
        promiscuous: bool,
        ring_bytes: usize,
    ) -> PyResult<Self> {
        let settings = Settings {
            interface: interface.to_owned(),
            snap_len,
            filter: expression.to_owned(),
            promiscuous,
            ring_bytes,
        };
        let source = Source::open(&settings).map_err(explained)?;
        Ok(Self { stage: Mutex::new(Stage::Opened(source)) })
    }

    /// Begins to record, into a folder or not. `top` needs `has_top`.
    #[pyo3(signature = (folder, rotate_bytes, rotate_ns, keep, has_top = false))]
    fn begin(
        &self,
        folder: Option<&str>,
        rotate_bytes: Option<u64>,
        rotate_ns: Option<u64>,
        keep: Option<usize>,
        has_top: bool,
    ) -> PyResult<()> {
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let Stage::Opened(source) = std::mem::replace(&mut *stage, Stage::Over) else {
            return Err(PyRuntimeError::new_err("this recording has begun already"));
        };
        let rotation = Rotation { bytes: rotate_bytes, span_ns: rotate_ns, keep };
        let files = folder.map(|folder| Files::new(Path::new(folder), &source.describe(), rotation));
        let name = source.name().to_owned();
        let sink = Documented { findings: Findings::default(), onward: NoTables::default() };
        let recorder = Recorder::start(source, files.transpose().map_err(explained)?, sink, has_top);
        *stage = Stage::Recording(Box::new(recorder), name);
        Ok(())
    }

    /// Takes what there is, or waits for it at most so long.
    fn step<'py>(&self, py: Python<'py>, timeout_ms: u64) -> PyResult<Bound<'py, PyDict>> {
        let result = py.detach(|| {
            let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
            let Stage::Recording(recorder, _) = &mut *stage else { return None };
            Some(recorder.step(Duration::from_millis(timeout_ms)))
        });
        let Some(result) = result else {
            return Err(PyRuntimeError::new_err("this recording is not going on"));
        };
        progress(py, &result.map_err(explained)?)
    }

    /// The flows at a time in nanoseconds since 1970, those that wait longest first.
    fn top<'py>(&self, py: Python<'py>, now_ns: u64) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let flows = py.detach(|| {
            let stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
            let Stage::Recording(recorder, _) = &*stage else { return None };
            Some(recorder.top(now_ns))
        });
        let Some(flows) = flows else {
            return Err(PyRuntimeError::new_err("this recording is not going on"));
        };
        flows.iter().map(|flow| row(py, flow)).collect()
    }

    /// Ends the file and the analysis: the findings, what was seen, and what could not be written.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<(Analysis, Bound<'py, PyDict>, Option<String>)> {
        let ended = py.detach(|| {
            let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
            let Stage::Recording(recorder, name) = std::mem::replace(&mut *stage, Stage::Over) else {
                return None;
            };
            drop(stage);
            let (watched, seen, error) = recorder.finish();
            let document = watched.map(|mut watched| {
                let failed = watched.sink.onward.finish();
                let mut findings = watched.sink.findings;
                findings.file(&watched.capture, watched.error);
                findings.dropped(seen.dropped);
                let captured = findings.finish(&name, &watched.analyzer, &known_applications());
                failed.map(|()| Document::new(vec![captured], None))
            });
            Some((document, seen, error))
        });
        let Some((document, seen, error)) = ended else {
            return Err(PyRuntimeError::new_err("this recording is not going on"));
        };
        let Some(document) = document else {
            return Err(PyRuntimeError::new_err("what was recorded cannot be read"));
        };
        Ok((Analysis(document?), progress(py, &seen)?, error.map(|error| error.to_string())))
    }
}

/// Gives up every privilege of this thread and those it starts.
#[pyfunction]
pub(crate) fn drop_privileges() -> PyResult<()> {
    Ok(gamelane_live::drop_privileges()?)
}

fn progress<'py>(py: Python<'py>, of: &Progress) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("packets", of.packets)?;
    dict.set_item("bytes", of.bytes)?;
    dict.set_item("dropped", of.dropped)?;
    dict.set_item("put_together", of.put_together)?;
    dict.set_item("flows", of.flows)?;
    dict.set_item("games", of.games)?;
    dict.set_item("files", of.files)?;
    dict.set_item("written_bytes", of.written_bytes)?;
    Ok(dict)
}

fn row<'py>(py: Python<'py>, of: &FlowNow) -> PyResult<Bound<'py, PyDict>> {
    let ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
    let dict = PyDict::new(py);
    dict.set_item("flow", of.flow)?;
    dict.set_item("protocol", if of.key.protocol == Protocol::Tcp { "tcp" } else { "udp" })?;
    dict.set_item("kind", of.kind.name())?;
    dict.set_item("client", of.key.source.to_string())?;
    dict.set_item("server", of.key.destination.to_string())?;
    dict.set_item("packets_per_s", of.packets_per_second)?;
    dict.set_item("bps", of.bits_per_second)?;
    dict.set_item("rtt_ms", ms(of.rtt_ns))?;
    dict.set_item("wait_ms", ms(of.wait_ns))?;
    dict.set_item("lost", of.lost)?;
    dict.set_item("late", of.late)?;
    Ok(dict)
}

/// What makes no sense is a `ValueError`; `OSError` is what cannot be written, of its kinds `PermissionError` what this machine
/// or user cannot do, and `ConnectionError` an interface that failed.
fn explained(error: LiveError) -> PyErr {
    let text = error.to_string();
    match error {
        LiveError::NoInterface { .. } | LiveError::Filter { .. } => PyValueError::new_err(text),
        LiveError::NotPermitted { .. } | LiveError::NoCompiler { .. } | LiveError::Unsupported { .. } => {
            PyPermissionError::new_err(text)
        }
        LiveError::Gone { .. } | LiveError::System { .. } => PyConnectionError::new_err(text),
        LiveError::Output { .. } => PyOSError::new_err(text),
    }
}
