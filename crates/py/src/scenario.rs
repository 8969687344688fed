//! The Python class `Scenario`.

use gamelane_core::Direction;
use gamelane_scenario as text;
use gamelane_scenario::text::model_file::Quality;
use gamelane_scenario::text::source::{Label, Sources};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::error::refused;

/// A checked scenario.
#[pyclass(frozen, module = "gamelane._native")]
pub(crate) struct Scenario {
    pub(crate) text: text::Scenario,
    pub(crate) model: text::Model,
    source: String,
    file: String,
    overrides: Vec<(String, String)>,
}

#[pymethods]
impl Scenario {
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str, file: &str, overrides: Vec<(String, String)>) -> PyResult<Self> {
        let scenario =
            text::Scenario::parse(text, file, &overrides).map_err(|refusal| refused(py, &refusal))?;
        let model = scenario.to_model().map_err(|refusal| refused(py, &refusal))?;
        Ok(Self { text: scenario, model, source: text.to_owned(), file: file.to_owned(), overrides })
    }

    fn with_overrides(&self, py: Python<'_>, overrides: Vec<(String, String)>) -> PyResult<Self> {
        let all = self.overrides.iter().cloned().chain(overrides).collect();
        Self::parse(py, &self.source, &self.file, all)
    }

    #[getter]
    fn name(&self) -> &str {
        self.text.name()
    }

    #[getter]
    fn question(&self) -> &str {
        self.text.question()
    }

    #[getter]
    fn hash(&self) -> String {
        self.text.hash()
    }

    #[getter]
    fn fingerprint(&self) -> String {
        format!("{:032x}", self.model.fingerprint())
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.model.seed.0
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.model.duration.as_secs_f64()
    }

    #[getter]
    fn warmup_s(&self) -> f64 {
        self.model.warmup.as_secs_f64()
    }

    #[getter]
    fn caveats(&self) -> Vec<String> {
        self.text.caveats(&self.model)
    }

    /// The rate that the applications ask for, up and down, in bit/s.
    fn offered_bps(&self) -> (f64, f64) {
        let [up, down] = Direction::BOTH.map(|direction| text::text::offered_bps(&self.model, direction));
        (up, down)
    }

    fn show(&self) -> String {
        self.text.show()
    }

    fn to_toml(&self) -> String {
        self.text.to_toml()
    }

    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let flows = self.text.describe_flows().into_iter().map(|flow| {
            let dict = PyDict::new(py);
            dict.set_item("name", flow.name)?;
            dict.set_item("app", flow.app)?;
            dict.set_item("label", flow.label)?;
            dict.set_item("start_s", flow.start.as_secs_f64())?;
            dict.set_item("dscp", flow.dscp)?;
            dict.set_item("provenance", flow.provenance.map(Label::word))?;
            dict.set_item("caveats", flow.caveats)?;
            Ok(dict)
        });
        PyList::new(py, flows.collect::<PyResult<Vec<_>>>()?)
    }

    fn __repr__(&self) -> String {
        format!("<Scenario {} {}>", self.text.name(), self.text.hash())
    }
}

/// Returns the JSON Schema of scenario files.
#[pyfunction]
pub(crate) fn schema() -> String {
    text::schema().to_string()
}

/// Returns the catalogue as JSON.
#[pyfunction]
pub(crate) fn catalogue() -> PyResult<String> {
    serde_json::to_string(&text::text::catalogue::catalogue())
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Describes the presets.
#[pyfunction]
pub(crate) fn presets(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let presets = serde_json::to_string(&text::text::presets())
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    py.import("json")?.call_method1("loads", (presets,))
}

/// Describes the shipped models.
#[pyfunction]
pub(crate) fn models(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let models = text::models().into_iter().map(|model| {
        let dict = PyDict::new(py);
        dict.set_item("app", model.app)?;
        dict.set_item("name", model.name)?;
        dict.set_item("title", model.title)?;
        dict.set_item("provenance", model.sources.weakest().map(Label::word))?;
        dict.set_item("sources", sources(py, model.sources)?)?;
        dict.set_item("players", model.players)?;
        dict.set_item("ports", model.ports.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        dict.set_item("quality", model.quality.map(|quality| limits(py, quality)).transpose()?)?;
        dict.set_item("host", model.host)?;
        dict.set_item("tcp", model.tcp)?;
        dict.set_item("notes", model.notes)?;
        Ok(dict)
    });
    PyList::new(py, models.collect::<PyResult<Vec<_>>>()?)
}

fn sources<'py>(py: Python<'py>, sources: &Sources) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    sources.iter().try_for_each(|(key, source)| dict.set_item(key, source.to_string()))?;
    Ok(dict)
}

fn limits(py: Python<'_>, quality: Quality) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("good_ms", quality.good_ms)?;
    dict.set_item("playable_ms", quality.playable_ms)?;
    dict.set_item("bad_ms", quality.bad_ms)?;
    Ok(dict)
}
