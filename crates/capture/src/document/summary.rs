//! A distribution in the document.

use serde::{Deserialize, Serialize};

use crate::samples::Samples;

/// Numbers of a distribution; without samples they are null.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Summary {
    pub(crate) count: u64,
    mean: Option<f64>,
    sd: Option<f64>,
    pub(crate) min: Option<f64>,
    p5: Option<f64>,
    p25: Option<f64>,
    pub(crate) p50: Option<f64>,
    p75: Option<f64>,
    p95: Option<f64>,
    pub(crate) p99: Option<f64>,
    max: Option<f64>,
}

impl Summary {
    /// Summarises samples in units of `unit`.
    pub(super) fn of(samples: &Samples, unit: f64) -> Self {
        let whole = |value: Option<u64>| value.map(|value| value as f64 / unit);
        let (mean, sd) = samples.mean_and_deviation();
        let quantiles = samples.quantiles([0.05, 0.25, 0.5, 0.75, 0.95, 0.99]);
        let [p5, p25, p50, p75, p95, p99] =
            quantiles.map_or([None; 6], |values| values.map(|v| Some(v / unit)));
        Self {
            count: samples.count(),
            mean: mean.map(|mean| mean / unit),
            sd: sd.map(|sd| sd / unit),
            min: whole(samples.min()),
            p5,
            p25,
            p50,
            p75,
            p95,
            p99,
            max: whole(samples.max()),
        }
    }
}
