//! Python exceptions.

use gamelane_scenario::ScenarioError as Refusal;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

create_exception!(
    _native,
    ScenarioError,
    PyValueError,
    "A scenario was refused. The message has the reason and a hint."
);
create_exception!(_native, Cancelled, PyException, "A run was cancelled.");

/// Makes the exception for a refused scenario; the parts of its message are attributes.
pub(crate) fn refused(py: Python<'_>, refusal: &Refusal) -> PyErr {
    let error = ScenarioError::new_err(refusal.to_string());
    let attributes = [
        ("file", Some(&refusal.file)),
        ("key", refusal.key.as_ref()),
        ("value", refusal.value.as_ref()),
        ("allowed", refusal.allowed.as_ref()),
        ("hint", refusal.hint.as_ref()),
    ];
    let instance = error.value(py);
    if let Err(failed) = instance.setattr("line", refusal.line) {
        return failed;
    }
    for (name, value) in attributes {
        if let Err(failed) = instance.setattr(name, value) {
            return failed;
        }
    }
    error
}
