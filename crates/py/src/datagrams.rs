//! The UDP packets of a capture as columns of times and sizes. Python gets no addresses. Endpoints are numbered in order of
//! appearance, so the columns identify nobody.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use gamelane_capture::{Capture, CaptureError};
use gamelane_core::Protocol;
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

#[derive(Default)]
struct Datagrams {
    at_ns: Vec<u64>,
    interface: Vec<u32>,
    sender: Vec<u32>,
    receiver: Vec<u32>,
    payload: Vec<u32>,
    packets_read: u64,
    /// Why reading ended before the end of the file.
    damage: Option<String>,
}

/// Reads the UDP packets of a capture. If the file is damaged, returns the packets before the damage and its description.
/// Releases the interpreter lock.
#[pyfunction]
pub(crate) fn udp_datagrams<'py>(py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyDict>> {
    let read =
        py.detach(|| read(Path::new(path))).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let columns = PyDict::new(py);
    columns.set_item("t_ns", PyArray1::from_vec(py, read.at_ns))?;
    columns.set_item("interface", PyArray1::from_vec(py, read.interface))?;
    columns.set_item("sender", PyArray1::from_vec(py, read.sender))?;
    columns.set_item("receiver", PyArray1::from_vec(py, read.receiver))?;
    columns.set_item("payload", PyArray1::from_vec(py, read.payload))?;
    columns.set_item("packets_read", read.packets_read)?;
    columns.set_item("damage", read.damage)?;
    Ok(columns)
}

fn read(path: &Path) -> Result<Datagrams, CaptureError> {
    let mut capture = Capture::open(path)?;
    let mut endpoints: BTreeMap<SocketAddr, u32> = BTreeMap::new();
    let mut found = Datagrams::default();
    loop {
        let packet = match capture.next_packet() {
            Ok(Some(packet)) => packet,
            Ok(None) => break,
            Err(error) if found.at_ns.is_empty() => return Err(error),
            Err(error) => {
                found.damage = Some(error.to_string());
                break;
            }
        };
        if packet.key.protocol != Protocol::Udp {
            continue;
        }
        let mut number = |endpoint| {
            let next = endpoints.len() as u32;
            *endpoints.entry(endpoint).or_insert(next)
        };
        found.at_ns.push(packet.at_ns);
        found.interface.push(packet.interface);
        found.sender.push(number(packet.key.source));
        found.receiver.push(number(packet.key.destination));
        found.payload.push(packet.payload_len);
    }
    found.packets_read = capture.packets_read();
    Ok(found)
}
