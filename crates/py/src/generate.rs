//! Plays both sources of a game without a network, as columns or as a capture. The random streams are those of a simulation with
//! the same scenario and seed, so the packets are the same.

use std::fs::File;
use std::io::{BufWriter, Write};

use gamelane_capture::{PacketHeader, PcapngWriter, WriteOptions};
use gamelane_core::{Direction, Ecn, Instant, Seed};
use gamelane_scenario::FlowModel;
use gamelane_traffic::{AppAction, Source, TrafficSource};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::scenario::Scenario;

struct Sent {
    at: Instant,
    direction: Direction,
    payload: u32,
}

/// Plays the first flow of `scenario`, which must use UDP. Writes a capture to `path`, if there is one. Releases the
/// interpreter lock.
#[pyfunction]
#[pyo3(signature = (scenario, seed, *, path = None))]
pub(crate) fn generate<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    seed: u64,
    path: Option<&str>,
) -> PyResult<Bound<'py, PyDict>> {
    let flow = scenario
        .model
        .flows
        .first()
        .ok_or_else(|| PyValueError::new_err("the scenario has no flow"))?
        .clone();
    let end = Instant::ZERO + scenario.model.duration;
    let sent = py.detach(|| play(&flow, Seed(seed), end));
    if let Some(path) = path {
        py.detach(|| write(&sent, &flow, path))?;
    }
    let columns = PyDict::new(py);
    let up = sent.iter().map(|packet| packet.direction == Direction::Up);
    columns.set_item("t_ns", PyArray1::from_iter(py, sent.iter().map(|packet| packet.at.as_nanos())))?;
    columns.set_item("up", PyArray1::from_iter(py, up))?;
    columns.set_item("payload", PyArray1::from_iter(py, sent.iter().map(|packet| packet.payload)))?;
    Ok(columns)
}

/// Returns every datagram of both sides before `end`, in order of time.
fn play(flow: &FlowModel, seed: Seed, end: Instant) -> Vec<Sent> {
    let path = format!("flow/{}/app", flow.name);
    let (client, server) = gamelane_traffic::build(&flow.app, flow.schedule, seed, &path);
    let mut sent = Vec::new();
    for (mut source, direction) in [(client, Direction::Up), (server, Direction::Down)] {
        while let Some(now) = source.poll_timeout().filter(|&now| now < end) {
            source.handle_timeout(now);
            drain(&mut source, direction, now, &mut sent);
        }
    }
    sent.sort_by_key(|packet| packet.at);
    sent
}

fn drain(source: &mut Source, direction: Direction, now: Instant, sent: &mut Vec<Sent>) {
    while let Some(action) = source.poll_action(now) {
        if let AppAction::SendDatagram { payload } = action {
            sent.push(Sent { at: now, direction, payload });
        }
    }
}

fn write(sent: &[Sent], flow: &FlowModel, path: &str) -> std::io::Result<()> {
    let file = BufWriter::new(File::create(path)?);
    let mut writer = PcapngWriter::new(file, WriteOptions::default())?;
    let interface = writer.add_interface("game")?;
    for (number, packet) in sent.iter().enumerate() {
        let up = packet.direction == Direction::Up;
        let header = PacketHeader {
            at: packet.at,
            key: if up { flow.key } else { flow.key.reverse() },
            ecn: Ecn::NotEct,
            dscp: flow.dscp,
            id: number as u16,
        };
        writer.write_udp(interface, &header, packet.payload)?;
    }
    writer.finish_file()?.flush()
}
