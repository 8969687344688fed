//! The TCP connections of a capture, for replay.

use std::path::Path;

use gamelane_capture::{ConnectionWrites, Write, read_tcp_writes};
use gamelane_core::Duration;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};

/// Describes the TCP connections of a capture as JSON: number, bytes and last time of the writes of each side.
#[pyfunction]
pub(crate) fn recorded_streams(py: Python<'_>, path: &str) -> PyResult<String> {
    let read = py.detach(|| read_tcp_writes(Path::new(path)));
    let connections = read.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let first = connections.iter().map(|one| one.start_ns).min().unwrap_or(0);
    Ok(Value::from_iter(connections.iter().map(|one| stream(one, first))).to_string())
}

fn stream(one: &ConnectionWrites, first_ns: u64) -> Value {
    let opened = Duration::from_nanos(one.start_ns - first_ns);
    let side = |writes: &[Write]| {
        let bytes: u64 = writes.iter().map(|write| u64::from(write.bytes)).sum();
        let last = writes.last().map_or(Duration::ZERO, |write| write.at);
        json!({ "writes": writes.len(), "bytes": bytes, "last_s": (opened + last).as_secs_f64() })
    };
    json!({
        "client": one.key.source.to_string(),
        "server": one.key.destination.to_string(),
        "opened_s": opened.as_secs_f64(),
        "from_handshake": one.from_handshake,
        "up": side(&one.up),
        "down": side(&one.down),
    })
}
