//! Finds the rate of a scenario's link by trials.

use gamelane_core::{Bitrate, Direction, Duration, Seed};
use gamelane_sim::trial::{self, Trial};
use gamelane_stage::FinderConfig;
use gamelane_stage::finder::{Found, Judgement};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::scenario::Scenario;

/// Runs trials with packets of `payload` bytes of UDP payload, alone on the link. Rates are bit/s as a shaper counts them.
#[pyfunction]
#[pyo3(signature = (scenario, direction, payload, seed, *, length_s, lowest_bps, highest_bps, resolution))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub(crate) fn find_rate<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    direction: &str,
    payload: u32,
    seed: u64,
    length_s: f64,
    lowest_bps: u64,
    highest_bps: u64,
    resolution: u32,
) -> PyResult<Bound<'py, PyDict>> {
    let Some(direction) = Direction::BOTH.into_iter().find(|way| way.name() == direction) else {
        return Err(PyValueError::new_err(format!("direction is {direction:?}; give \"up\" or \"down\"")));
    };
    let config = FinderConfig {
        lowest: Bitrate::from_bps(lowest_bps),
        highest: Bitrate::from_bps(highest_bps),
        resolution,
        ..FinderConfig::default()
    };
    config.check().map_err(|fault| PyValueError::new_err(format!("{fault:?}")))?;
    let length = Duration::from_secs_f64(length_s);
    let model = &scenario.model;
    let (found, trials) =
        py.detach(|| trial::find_rate(model, direction, payload, length, config, Seed(seed)));
    let (word, free, queued) = match found {
        Found::Rate { free, queued } => ("rate", Some(free), Some(queued)),
        Found::AboveHighest => ("above-highest", Some(config.highest), None),
        Found::BelowLowest => ("below-lowest", None, Some(config.lowest)),
        Found::GaveUp { free, queued } => ("gave-up", free, queued),
    };
    let result = PyDict::new(py);
    result.set_item("found", word)?;
    result.set_item("free_bps", free.map(Bitrate::bps))?;
    result.set_item("queued_bps", queued.map(Bitrate::bps))?;
    let trials = trials.iter().map(|trial| one(py, trial)).collect::<PyResult<Vec<_>>>()?;
    result.set_item("trials", trials)?;
    Ok(result)
}

fn one<'py>(py: Python<'py>, trial: &Trial) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("rate_bps", trial.rate.bps())?;
    row.set_item(
        "shows",
        match trial.judgement {
            Judgement::Free => "free",
            Judgement::Queue => "queue",
            Judgement::Loss => "loss",
            Judgement::TooFew => "too-few",
        },
    )?;
    row.set_item("sent", trial.sent)?;
    row.set_item("lost", trial.lost)?;
    row.set_item("delay_ms_p50", trial.delay_ms.quantiles[2])?;
    row.set_item("delay_ms_p95", trial.delay_ms.quantiles[4])?;
    Ok(row)
}
