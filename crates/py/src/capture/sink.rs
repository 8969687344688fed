//! Takes an analysis' rows as columns and hands them over in batches, so that a long capture takes no more memory than a
//! short one. Adds up all games, and keeps the reports of at most 1,000 flows: games before others, then those with the most
//! packets.

use std::collections::BTreeMap;

use gamelane_capture::analysis::{Acknowledged, Bin, Game, Games, Kind, Retransmission, RoundTrip};
use gamelane_capture::{CapturedPacket, FlowReport, Sink};
use numpy::{Element, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Tables being filled.
pub(super) struct Tables {
    on_batch: Option<Py<PyAny>>,
    capture: u8,
    bins: Vec<Bin>,
    round_trips: Vec<RoundTrip>,
    retransmissions: Vec<Retransmission>,
    acknowledged: Vec<Acknowledged>,
    /// Reports in the order in which they are left out, from the last to the first.
    flows: BTreeMap<Rank, FlowReport>,
    /// Flows without a report: their number, packets and bytes.
    pub(super) left_out: LeftOut,
    /// Sums over all games, including those without a report.
    pub(super) games: Games,
    /// All flows by number. Only a comparison of two captures needs them; otherwise `None`.
    pub(super) each: Option<BTreeMap<u32, Game>>,
    packets: u64,
    failed: Option<PyErr>,
}

/// True for a game, number of packets, number of the flow counted down.
type Rank = (bool, u64, u32);

/// Flows that are not listed.
#[derive(Default)]
pub(super) struct LeftOut {
    pub(super) flows: u64,
    pub(super) games: u64,
    pub(super) packets: u64,
    pub(super) bytes: u64,
}

impl Tables {
    pub(super) fn new(on_batch: Option<Py<PyAny>>) -> Self {
        Self {
            on_batch,
            capture: 0,
            bins: Vec::new(),
            round_trips: Vec::new(),
            retransmissions: Vec::new(),
            acknowledged: Vec::new(),
            flows: BTreeMap::new(),
            left_out: LeftOut::default(),
            games: Games::default(),
            each: None,
            packets: 0,
            failed: None,
        }
    }

    /// For one of two captures that are compared; `capture` is its position.
    pub(super) fn of_two(on_batch: Option<Py<PyAny>>, capture: u8) -> Self {
        Self { capture, each: Some(BTreeMap::new()), ..Self::new(on_batch) }
    }

    /// The reports kept, in order of their flows.
    pub(super) fn reports(&self) -> Vec<&FlowReport> {
        let mut reports: Vec<&FlowReport> = self.flows.values().collect();
        reports.sort_by_key(|report| report.flow);
        reports
    }

    /// Hands over what is left; gives the error of a batch that was not taken, or Ctrl-C.
    pub(super) fn finish(&mut self) -> PyResult<()> {
        self.hand_over("windows", Self::bin_columns);
        self.hand_over("rtt", Self::round_trip_columns);
        self.hand_over("retransmissions", Self::retransmission_columns);
        self.hand_over("delay", Self::acknowledged_columns);
        self.failed.take().map_or(Ok(()), Err)
    }

    fn hand_over(
        &mut self,
        table: &str,
        columns: impl FnOnce(&mut Self, Python<'_>) -> PyResult<Option<Py<PyDict>>>,
    ) {
        let result = Python::attach(|py| {
            py.check_signals()?;
            if self.on_batch.is_none() {
                return Ok(());
            }
            // Columns load numpy, which takes longer than many a capture.
            let columns = columns(self, py)?;
            if let (Some(call), Some(columns)) = (&self.on_batch, columns) {
                call.call1(py, (self.capture, table, columns))?;
            }
            Ok(())
        });
        if let Err(error) = result {
            self.failed.get_or_insert(error);
        }
    }

    fn wanted(&self) -> bool {
        self.on_batch.is_some() && self.failed.is_none()
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
    fn flow(&mut self, report: FlowReport) {
        let game = Game::of(&report);
        self.games.add(&game);
        if let Some(each) = &mut self.each {
            each.insert(report.flow, game);
        }
        self.flows.insert((game.kind != Kind::Other, report.packets(), u32::MAX - report.flow), report);
        if self.flows.len() > LISTED
            && let Some((_, least)) = self.flows.pop_first()
        {
            self.left_out.flows += 1;
            self.left_out.games += u64::from(least.kind() != Kind::Other);
            self.left_out.packets += least.packets();
            self.left_out.bytes += least.directions.iter().map(|direction| direction.bytes).sum::<u64>();
        }
    }

    fn packet(&mut self, _flow: u32, _direction: u8, _packet: &CapturedPacket) {
        self.packets += 1;
        if self.packets.is_multiple_of(SIGNALS) {
            let looked = Python::attach(|py| py.check_signals());
            if let Err(error) = looked {
                self.failed.get_or_insert(error);
            }
        }
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
        self.failed.is_some()
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

/// Flows listed one by one; the rest is summed up.
const LISTED: usize = 1000;
/// Rows handed over at a time: some megabytes.
const BATCH: usize = 1 << 17;
/// Packets between looks for Ctrl-C.
const SIGNALS: u64 = 1 << 18;
const NO_CAUSE: u8 = 255;
