//! Runs scenarios without holding the interpreter lock.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gamelane_capture::write::HEADERS_ONLY;
use gamelane_capture::{PacketHeader, PcapngWriter, TcpNumbers, WriteOptions};
use gamelane_core::headers::{IPV4_HEADER, TCP_HEADER, UDP_HEADER};
use gamelane_core::{Direction, Duration, Instant, Seed};
use gamelane_record::{Records, RunSummary};
use gamelane_scenario::{FlowModel, Model};
use gamelane_sim::payload::{Content, connection_key, lane_key};
use gamelane_sim::{Household, Passed, Tap};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use rustix::time::{ClockId, clock_gettime};

use crate::arrow;
use crate::error::{Cancelled, refused};
use crate::scenario::Scenario;

/// Simulated time between checks of the cancel flag: some milliseconds of real time on a busy link.
const SLICE: Duration = Duration::from_secs(1);

/// Cancels the runs that use it.
#[pyclass(frozen, module = "gamelane._native")]
#[derive(Clone, Default)]
pub(crate) struct Cancel(Arc<AtomicBool>);

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A finished run.
#[pyclass(frozen, module = "gamelane._native")]
pub(crate) struct Run {
    cpu_seconds: f64,
    events: u64,
    bottleneck_packets: u64,
    /// What was simulated; `None` for another engine.
    model: Option<Model>,
    records: Records,
    /// Packets at each tap; empty unless kept.
    packets: Vec<Passed>,
    summary: RunSummary,
}

#[pymethods]
impl Run {
    #[getter]
    fn seed(&self) -> u64 {
        self.summary.seed
    }

    #[getter]
    fn cpu_seconds(&self) -> f64 {
        self.cpu_seconds
    }

    #[getter]
    fn events(&self) -> u64 {
        self.events
    }

    #[getter]
    fn bottleneck_packets(&self) -> u64 {
        self.bottleneck_packets
    }

    fn summary_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.summary).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Makes a table. `flows` are the categories of its column `flow`: pass the flows of all runs to concatenate.
    #[pyo3(signature = (name, flows = None))]
    fn table(&self, name: &str, flows: Option<Vec<String>>) -> PyResult<arrow::Table> {
        let own: Vec<&str> = self.records.flows.iter().map(|own| own.flow.name.as_str()).collect();
        let all = flows.unwrap_or_else(|| own.iter().map(|name| (*name).to_owned()).collect());
        arrow::table(&self.records, name, &own, &all)
    }

    /// Writes a capture of one side of the gateway (`lan`, `wan`) or of the server's host (`server`).
    fn write_pcapng(&self, py: Python<'_>, path: &str, side: &str) -> PyResult<()> {
        let tap = match side {
            "lan" => Tap::Lan,
            "wan" => Tap::Wan,
            "server" => Tap::Server,
            other => {
                return Err(PyValueError::new_err(format!(
                    "side is {other:?}; give \"lan\", \"wan\" or \"server\""
                )));
            }
        };
        py.detach(|| self.write_tap(path, side, tap))
            .map_err(|error| PyOSError::new_err(format!("{path}: {error}")))
    }
}

impl Run {
    /// Makes the run of another engine than the simulator.
    pub(crate) fn recorded(records: Records, summary: RunSummary, cpu_seconds: f64) -> Self {
        let bottleneck_packets = summary.queues.values().map(|queue| queue.packets).sum();
        Self {
            cpu_seconds,
            events: 0,
            bottleneck_packets,
            model: None,
            records,
            packets: Vec::new(),
            summary,
        }
    }

    fn write_tap(&self, path: &str, name: &str, tap: Tap) -> std::io::Result<()> {
        let options = WriteOptions { snap_len: Some(HEADERS_ONLY), ..WriteOptions::default() };
        let mut writer = PcapngWriter::new(BufWriter::new(File::create(path)?), options)?;
        let interface = writer.add_interface(name)?;
        let flows =
            self.model.iter().flat_map(|model| model.lanes().map(|(flow, lane)| (&model.flows[flow], lane)));
        let lanes: Vec<(&FlowModel, u32)> = flows.collect();
        for row in self.packets.iter().filter(|row| row.tap == tap) {
            let (meta, body) = (&row.meta, &row.payload);
            let Some((flow, number)) = lanes.get(meta.flow.index()) else { continue };
            let key = lane_key(flow, *number);
            let own = if row.direction == Direction::Up { key } else { key.reverse() };
            let header = PacketHeader {
                at: row.at,
                key: connection_key(own, body.connection),
                ecn: meta.ecn,
                dscp: meta.dscp,
                id: body.number as u16,
            };
            match &body.content {
                Content::Datagram(payload) => writer.write_udp(interface, &header, *payload)?,
                Content::Repeated(_) => {
                    writer.write_udp(interface, &header, meta.len.0 - IPV4_HEADER - UDP_HEADER)?
                }
                Content::Segment(segment) => {
                    let numbers = TcpNumbers {
                        initial_sequence: 0,
                        peer_initial_sequence: 0,
                        maximum_segment_size: (flow.tcp.mtu.0 - IPV4_HEADER - TCP_HEADER) as u16,
                    };
                    writer.write_tcp(interface, &header, segment, &numbers)?;
                }
            }
        }
        writer.finish_file()?.flush()
    }
}

/// Runs `scenario` with `seed`. Releases the interpreter lock.
#[pyfunction]
#[pyo3(signature = (scenario, seed, *, samples = true, packets = false, cancel = None))]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Scenario,
    seed: u64,
    samples: bool,
    packets: bool,
    cancel: Option<PyRef<'_, Cancel>>,
) -> PyResult<Run> {
    scenario.text.check_simulated().map_err(|refusal| refused(py, &refusal))?;
    let model = scenario.model.clone();
    let cancel = cancel.map_or_else(Cancel::default, |cancel| cancel.clone());
    py.detach(|| simulate(model, seed, samples, packets, &cancel))
        .ok_or_else(|| Cancelled::new_err("the run was cancelled"))
}

fn simulate(model: Model, seed: u64, samples: bool, packets: bool, cancel: &Cancel) -> Option<Run> {
    let started = cpu_seconds();
    let build = if packets { Household::with_packets } else { Household::new };
    let mut household = build(&model, Seed(seed), Records::new(&model));
    let mut until = Instant::ZERO + SLICE;
    while household.run_until(until) {
        if cancel.0.load(Ordering::Relaxed) {
            return None;
        }
        until += SLICE;
    }
    let mut outcome = household.finish();
    let summary = outcome.summary(&model, seed);
    if !samples {
        outcome.recorder.forget_samples();
    }
    Some(Run {
        cpu_seconds: cpu_seconds() - started,
        events: outcome.events,
        bottleneck_packets: outcome.bottleneck_packets(),
        model: Some(model),
        records: outcome.recorder,
        packets: outcome.packets,
        summary,
    })
}

/// CPU time of this thread.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
