//! Quantities as text, such as `12mbit`, for Python: the reader of scenarios.

use gamelane_core::quantity::{KINDS, Kind};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;

/// Reads a quantity of a kind, in the kind's base unit.
#[pyfunction]
pub(crate) fn read_quantity(text: &str, kind: &str) -> PyResult<u64> {
    find(kind)?.read(text).map_err(|refused| PyValueError::new_err(refused.to_string()))
}

/// The units of a kind, ascending.
#[pyfunction]
pub(crate) fn quantity_units(kind: &str) -> PyResult<Vec<&'static str>> {
    Ok(find(kind)?.units().collect())
}

fn find(noun: &str) -> PyResult<&'static Kind> {
    KINDS
        .into_iter()
        .find(|kind| kind.noun() == noun)
        .ok_or_else(|| PyKeyError::new_err(format!("{noun} is not a kind of quantity")))
}
