//! Traces of a link's rate, in either format: what is read prints to the same, and its rates add up.

use gamelane_core::{Duration, Instant};
use gamelane_link::trace::RateTrace;

/// A file of mahimahi's format, or of rates.
pub(crate) fn trace(bytes: &[u8]) {
    let trace = match RateTrace::parse(bytes) {
        Ok(trace) => trace,
        Err(error) => {
            let lines = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
            assert!((1..=lines).contains(&error.line), "{error}");
            return;
        }
    };
    let mut text = String::new();
    let written = match &trace {
        RateTrace::Opportunities(trace) => trace.write(&mut text),
        RateTrace::Pieces(trace) => trace.write(&mut text),
    };
    written.expect("a string takes everything");
    assert_eq!(RateTrace::parse(text.as_bytes()).as_ref(), Ok(&trace));
    let peak = trace.peak();
    assert!(peak.bps() > 0);
    if let RateTrace::Pieces(_) = trace {
        assert!(trace.mean() <= peak);
    }
    for ms in [0, 1, 99, 100, 12_345, 86_400_000, 1 << 40] {
        assert!(trace.rate_at(Instant::ZERO + Duration::from_millis(ms)) <= peak, "at {ms} ms");
    }
}
