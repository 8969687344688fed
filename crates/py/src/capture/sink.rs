//! Takes an analysis' rows as columns and hands them over in batches, so that a long capture takes no more memory than a
//! short one.

use gamelane_capture::analysis::{Acknowledged, Bin, Retransmission, RoundTrip};
use gamelane_capture::{CapturedPacket, FlowReport, Sink};
use numpy::{Element, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A sink that can fail.
pub(super) trait Fallible: Sink {
    /// Ends the work; gives the error that stopped it.
    fn finish(&mut self) -> PyResult<()>;
}

/// Notices Ctrl-C and drops all rows. An analysis that makes no rows is faster by a tenth.
#[derive(Default)]
pub(super) struct NoTables {
    packets: u64,
    failed: Option<PyErr>,
}

impl Sink for NoTables {
    fn flow(&mut self, _report: FlowReport) {}

    fn packet(&mut self, _flow: u32, _direction: u8, _packet: &CapturedPacket) {
        self.packets += 1;
        if self.packets.is_multiple_of(SIGNALS) {
            self.failed = Python::attach(|py| py.check_signals()).err();
        }
    }

    fn is_tired(&self) -> bool {
        self.failed.is_some()
    }
}

impl Fallible for NoTables {
    fn finish(&mut self) -> PyResult<()> {
        Python::attach(|py| py.check_signals())?;
        self.failed.take().map_or(Ok(()), Err)
    }
}

/// Tables being filled.
pub(super) struct Tables {
    on_batch: Py<PyAny>,
    capture: u8,
    bins: Vec<Bin>,
    round_trips: Vec<RoundTrip>,
    retransmissions: Vec<Retransmission>,
    acknowledged: Vec<Acknowledged>,
    signals: NoTables,
    failed: Option<PyErr>,
}

impl Tables {
    /// `capture` is the position of the capture.
    pub(super) fn new(on_batch: Py<PyAny>, capture: u8) -> Self {
        Self {
            on_batch,
            capture,
            bins: Vec::new(),
            round_trips: Vec::new(),
            retransmissions: Vec::new(),
            acknowledged: Vec::new(),
            signals: NoTables::default(),
            failed: None,
        }
    }

    fn hand_over(
        &mut self,
        table: &str,
        columns: impl FnOnce(&mut Self, Python<'_>) -> PyResult<Option<Py<PyDict>>>,
    ) {
        let result = Python::attach(|py| {
            py.check_signals()?;
            if let Some(columns) = columns(self, py)? {
                self.on_batch.call1(py, (self.capture, table, columns))?;
            }
            Ok(())
        });
        if let Err(error) = result {
            self.failed.get_or_insert(error);
        }
    }

    const fn wanted(&self) -> bool {
        self.failed.is_none()
    }

    fn bin_columns(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyDict>>> {
        let rows = std::mem::take(&mut self.bins);
        Columns::new(py)
            .put("flow", rows.iter().map(|row| row.flow))?
            .put("direction", rows.iter().map(|row| row.direction))?
            .put("t_ns", rows.iter().map(|row| row.t_ns))?
            .put("packets", rows.iter().map(|row| row.packets))?
            .put("bytes", rows.iter().map(|row| row.bytes))?
            .put("resent", rows.iter().map(|row| row.resent))?
            .unless_empty(rows.is_empty())
    }

    fn round_trip_columns(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyDict>>> {
        let rows = std::mem::take(&mut self.round_trips);
        Columns::new(py)
            .put("flow", rows.iter().map(|row| row.flow))?
            .put("towards", rows.iter().map(|row| row.direction))?
            .put("method", rows.iter().map(|row| row.method as u8))?
            .put("t_ns", rows.iter().map(|row| row.t_ns))?
            .put("rtt_ns", rows.iter().map(|row| row.rtt_ns))?
            .unless_empty(rows.is_empty())
    }

    fn retransmission_columns(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyDict>>> {
        let rows = std::mem::take(&mut self.retransmissions);
        Columns::new(py)
            .put("flow", rows.iter().map(|row| row.flow))?
            .put("direction", rows.iter().map(|row| row.direction))?
            .put("t_ns", rows.iter().map(|row| row.t_ns))?
            .put("start", rows.iter().map(|row| row.start))?
            .put("len", rows.iter().map(|row| row.len))?
            .put("cause", rows.iter().map(|row| row.cause.index() as u8))?
            .put("nth", rows.iter().map(|row| row.nth))?
            .put("since_first_ns", rows.iter().map(|row| row.since_first_ns))?
            .unless_empty(rows.is_empty())
    }

    fn acknowledged_columns(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyDict>>> {
        let rows = std::mem::take(&mut self.acknowledged);
        Columns::new(py)
            .put("flow", rows.iter().map(|row| row.flow))?
            .put("direction", rows.iter().map(|row| row.direction))?
            .put("t_ns", rows.iter().map(|row| row.t_ns))?
            .put("delay_ns", rows.iter().map(|row| row.delay_ns))?
            .put("len", rows.iter().map(|row| row.len))?
            .put("itself", rows.iter().map(|row| row.itself))?
            .put("included", rows.iter().map(|row| row.included))?
            .put("cause", rows.iter().map(|row| row.cause.map_or(NO_CAUSE, |cause| cause.index() as u8)))?
            .unless_empty(rows.is_empty())
    }
}

impl Sink for Tables {
    fn flow(&mut self, _report: FlowReport) {}

    fn packet(&mut self, flow: u32, direction: u8, packet: &CapturedPacket) {
        self.signals.packet(flow, direction, packet);
    }

    fn bin(&mut self, row: &Bin) {
        if self.wanted() {
            self.bins.push(*row);
            if self.bins.len() == BATCH {
                self.hand_over("windows", Self::bin_columns);
            }
        }
    }

    fn round_trip(&mut self, row: &RoundTrip) {
        if self.wanted() {
            self.round_trips.push(*row);
            if self.round_trips.len() == BATCH {
                self.hand_over("rtt", Self::round_trip_columns);
            }
        }
    }

    fn retransmission(&mut self, row: &Retransmission) {
        if self.wanted() {
            self.retransmissions.push(*row);
            if self.retransmissions.len() == BATCH {
                self.hand_over("retransmissions", Self::retransmission_columns);
            }
        }
    }

    fn acknowledged(&mut self, row: &Acknowledged) {
        if self.wanted() {
            self.acknowledged.push(*row);
            if self.acknowledged.len() == BATCH {
                self.hand_over("delay", Self::acknowledged_columns);
            }
        }
    }

    fn is_tired(&self) -> bool {
        self.failed.is_some() || self.signals.is_tired()
    }
}

impl Fallible for Tables {
    /// Hands over what is left.
    fn finish(&mut self) -> PyResult<()> {
        self.hand_over("windows", Self::bin_columns);
        self.hand_over("rtt", Self::round_trip_columns);
        self.hand_over("retransmissions", Self::retransmission_columns);
        self.hand_over("delay", Self::acknowledged_columns);
        self.failed.take().map_or(Ok(()), Err)?;
        self.signals.finish()
    }
}

/// A dictionary of numpy arrays.
struct Columns<'py>(Bound<'py, PyDict>);

impl<'py> Columns<'py> {
    fn new(py: Python<'py>) -> Self {
        Self(PyDict::new(py))
    }

    fn put<T: Element>(self, name: &str, values: impl Iterator<Item = T>) -> PyResult<Self> {
        self.0.set_item(name, PyArray1::from_vec(self.0.py(), values.collect()))?;
        Ok(self)
    }

    fn unless_empty(self, empty: bool) -> PyResult<Option<Py<PyDict>>> {
        Ok((!empty).then(|| self.0.unbind()))
    }
}

/// Rows handed over at a time: some megabytes.
const BATCH: usize = 1 << 17;
/// Packets between looks for Ctrl-C.
const SIGNALS: u64 = 1 << 18;
const NO_CAUSE: u8 = 255;
