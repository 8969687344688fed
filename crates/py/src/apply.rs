//! Lines to paste for a scenario's gateway.

use gamelane_policy::apply;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use crate::scenario::Scenario;

/// Shell lines for one target.
#[pyclass(frozen, module = "gamelane._native")]
pub(crate) struct Recipe(apply::Recipe);

#[pymethods]
impl Recipe {
    #[getter]
    fn target(&self) -> &'static str {
        self.0.target
    }

    #[getter]
    fn edit(&self) -> Vec<String> {
        self.0.edit.clone()
    }

    #[getter]
    fn undo(&self) -> Vec<String> {
        self.0.undo.clone()
    }

    #[getter]
    fn apply(&self) -> Vec<String> {
        self.0.apply.clone()
    }

    #[getter]
    fn unsaid(&self) -> Vec<String> {
        self.0.unsaid.clone()
    }

    #[getter]
    fn matches(&self) -> bool {
        self.0.matches()
    }

    fn lines(&self) -> Vec<String> {
        self.0.lines()
    }
}

/// Returns a recipe for each target by its word, in the order of `recipe_targets`. `today` is the scenario of the gateway to be
/// changed.
#[pyfunction]
#[pyo3(signature = (scenario, today = None))]
pub(crate) fn recipes<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    today: Option<&Scenario>,
) -> PyResult<Bound<'py, PyDict>> {
    let found = apply::recipes(&scenario.text, today.map(|today| &today.text));
    found.map(|recipe| (recipe.target, Recipe(recipe))).into_py_dict(py)
}

/// Returns the words of the targets.
#[pyfunction]
pub(crate) fn recipe_targets() -> [&'static str; 3] {
    apply::TARGETS
}
