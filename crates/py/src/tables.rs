//! Records as columns: each table is a dictionary of numpy arrays, in order of flow and time.

use gamelane_core::{Bitrate, Direction, Duration, Instant};
use gamelane_sim::Records;
use gamelane_sim::records::WINDOW;
use gamelane_traffic::AppReport;
use numpy::{Element, PyArray1};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Makes one table of records.
type Make = for<'py> fn(Python<'py>, &Records) -> PyResult<Bound<'py, PyDict>>;

const TABLES: [(&str, Make); 10] = [
    ("rtt", rtt),
    ("delay", delay),
    ("windows", windows),
    ("drops", drops),
    ("tcp", tcp),
    ("queues", queues),
    ("rates", rates),
    ("app", app),
    ("deliveries", deliveries),
    ("retransmissions", retransmissions),
];

/// Every table by name.
pub(crate) fn all<'py>(py: Python<'py>, records: &Records) -> PyResult<Bound<'py, PyDict>> {
    let tables = PyDict::new(py);
    for (name, make) in TABLES {
        tables.set_item(name, make(py, records)?)?;
    }
    Ok(tables)
}

/// One table.
pub(crate) fn one<'py>(py: Python<'py>, records: &Records, name: &str) -> PyResult<Bound<'py, PyDict>> {
    match TABLES.iter().find(|(known, _)| *known == name) {
        Some((_, make)) => make(py, records),
        None => Err(PyKeyError::new_err(name.to_owned())),
    }
}

/// A table being built from rows.
struct Table<'py> {
    py: Python<'py>,
    columns: Bound<'py, PyDict>,
}

impl<'py> Table<'py> {
    fn new(py: Python<'py>) -> Self {
        Self { py, columns: PyDict::new(py) }
    }

    fn column<T: Element>(self, name: &str, values: impl Iterator<Item = T>) -> PyResult<Self> {
        self.columns.set_item(name, PyArray1::from_vec(self.py, values.collect()))?;
        Ok(self)
    }
}

/// Rows of every flow and direction.
fn by_direction(
    records: &Records,
) -> impl Iterator<Item = (u32, Direction, &gamelane_sim::records::DirectionRecords)> + Clone {
    (0u32..).zip(&records.flows).flat_map(|(id, flow)| {
        Direction::BOTH.into_iter().map(move |direction| (id, direction, &flow.directions[direction.index()]))
    })
}

fn rtt<'py>(py: Python<'py>, records: &Records) -> PyResult<Bound<'py, PyDict>> {
    let rows =
        || (0u32..).zip(&records.flows).flat_map(|(id, flow)| flow.rtt.iter().map(move |row| (id, row)));
    let table = Table::new(py)
        .column("flow", rows().map(|(id, _)| id))?
        .column("t_ns", rows().map(|(_, (at, _))| at.as_nanos()))?
        .column("rtt_ns", rows().map(|(_, (_, rtt))| rtt.as_nanos()))?;
    Ok(table.columns)
}

fn delay<'py>(py: Python<'py>, records: &Records) -> PyResult<Bound<'py, PyDict>> {
    let rows = || {
        by_direction(records)
            .flat_map(|(id, direction, own)| own.arrivals.iter().map(move |row| (id, direction, row)))
    };
    let table = Table::new(py)
        .column("flow", rows().map(|(id, _, _)| id))?
        .column("direction", rows().map(|(_, direction, _)| direction as u8))?
        .column("t_ns", rows().map(|(_, _, row)| row.at.as_nanos()))?
        .column("queue_delay_ns", rows().map(|(_, _, row)| row.queue_delay.as_nanos()))?
        .column("one_way_ns", rows().map(|(_, _, row)| row.one_way.as_nanos()))?;
    Ok(table.columns)
}

fn windows<'py>(py: Python<'py>, records: &Records) -> PyResult<Bound<'py, PyDict>> {
    let rows = || {
        by_direction(records).flat_map(|(id, direction, own)| {
            (0u64..).zip(&own.windows).map(move |(n, row)| (id, direction, n, row))
        })
    };
    let table = Table::new(py)
        .column("flow", rows().map(|(id, _, _, _)| id))?
        .column("direction", rows().map(|(_, direction, _, _)| direction as u8))?
        .column("t_ns", rows().map(|(_, _, n, _)| n * WINDOW.as_nanos()))?
        .column("sent", rows().map(|(_, _, _, row)| row.sent))?
        .column("received", rows().map(|(_, _, _, row)| row.received))?
        .column("lost", rows().map(|(_, _, _, row)| row.lost))?
        .column("marked", rows().map(|(_, _, _, row)| row.marked))?
        .column("bytes", rows().map(|(_, _, _, row)| row.received_bytes))?;
    Ok(table.columns)
}

fn drops<'py>(py: Python<'py>, records: &Records) -> PyResult<Bound<'py, PyDict>> {
    let rows = || records.drops.iter();
    let table = Table::new(py)
        .column("t_ns", rows().map(|row| row.at.as_nanos()))?
        .column("flow", rows().map(|row| row.flow.0))?
        .column("direction", rows().map(|row| row.direction as u8))?
        .column("reason", rows().map(|row| row.reason.index() as u8))?;
    Ok(table.columns)
}

fn tcp<'py>(py: Python<'py>, records: &Records) -> PyResult<Bound<'py, PyDict>> {
    let rows = || records.tcp.iter();
    let nanos = |duration: Option<Duration>| duration.map_or(0, Duration::as_nanos);
    let table = Table::new(py)
        .column("t_ns", rows().map(|row| row.at.as_nanos()))?
        .column("flow", rows().map(|row| row.flow.0))?
        .column("connection", rows().map(|row| row.connection))?
        .column("side", rows().map(|row| row.side as u8))?
        .column("cwnd_bytes", rows().map(|row| row.observation.cwnd.bytes()))?
        .column("ssthresh_bytes", rows().map(|row| row.observation.ssthresh.bytes()))?
        .column("srtt_ns", rows().map(|row| nanos(row.observation.srtt)))?
        .column("rto_ns", rows().map(|row| row.observation.rto.as_nanos()))?
        .column("in_flight_bytes", rows().map(|row| row.observation.bytes_in_flight.bytes()))?;
    Ok(table.columns)
}

fn deliveries<'py>(py: Python<'py>, records: &Records) -> PyResult<Bound<'py, PyDict>> {
    let rows = || records.deliveries.iter();
    let table = Table::new(py)
        .column("t_ns", rows().map(|row| row.at.as_nanos()))?
        .column("flow", rows().map(|row| row.flow))?
        .column("direction", rows().map(|row| row.direction as u8))?
        .column("player", rows().map(|row| row.player))?
        .column("delay_ns", rows().map(|row| row.delay.as_nanos()))?
        .column("held_ns", rows().map(|row| row.held.as_nanos()))?;
    Ok(table.columns)
}

fn retransmissions<'py>(py: Python<'py>, records: &Records) -> PyResult<Bound<'py, PyDict>> {
    let rows = || records.retransmissions.iter();
    let table = Table::new(py)
        .column("t_ns", rows().map(|row| row.history.acknowledged_at.as_nanos()))?
        .column("flow", rows().map(|row| row.flow))?
        .column("connection", rows().map(|row| row.connection))?
        .column("retransmissions", rows().map(|row| row.history.retransmissions))?
        .column("itself", rows().map(|row| row.history.itself))?
        .column("included", rows().map(|row| row.history.included))?
        .column("delay_ns", rows().map(|row| row.history.retransmission_delay().as_nanos()))?
        .column("application_delay_ns", rows().map(|row| row.history.application_delay().as_nanos()))?;
    Ok(table.columns)
}

fn queues<'py>(py: Python<'py>, records: &Records) -> PyResult<Bound<'py, PyDict>> {
    let rows = || records.queues.iter();
    let table = Table::new(py)
        .column("t_ns", rows().map(|row| row.at.as_nanos()))?
        .column("direction", rows().map(|row| row.direction as u8))?
        .column("packets", rows().map(|row| row.backlog.packets))?
        .column("bytes", rows().map(|row| row.backlog.bytes))?;
    Ok(table.columns)
}

fn rates<'py>(py: Python<'py>, records: &Records) -> PyResult<Bound<'py, PyDict>> {
    let rows = || records.rates.iter();
    let table = Table::new(py)
        .column("t_ns", rows().map(|row| row.at.as_nanos()))?
        .column("direction", rows().map(|row| row.direction as u8))?
        .column("shaped_bps", rows().map(|row| row.shaped.bps()))?
        .column("link_bps", rows().map(|row| row.link.map_or(0, Bitrate::bps)))?;
    Ok(table.columns)
}

fn app<'py>(py: Python<'py>, records: &Records) -> PyResult<Bound<'py, PyDict>> {
    let rows = || {
        records.app.iter().map(|row| {
            let (kind, index, bytes, took) = match row.report {
                AppReport::Chunk { index, bytes, took } => (0u8, index, bytes.bytes(), took),
                AppReport::Stall { lasted } => (1, 0, 0, lasted),
                AppReport::Transfer { bytes, took } => (2, 0, bytes.bytes(), took),
            };
            (row.at, row.flow, kind, index, bytes, took)
        })
    };
    let table = Table::new(py)
        .column("t_ns", rows().map(|row| Instant::as_nanos(row.0)))?
        .column("flow", rows().map(|row| row.1.0))?
        .column("kind", rows().map(|row| row.2))?
        .column("index", rows().map(|row| row.3))?
        .column("bytes", rows().map(|row| row.4))?
        .column("took_ns", rows().map(|row| row.5.as_nanos()))?;
    Ok(table.columns)
}
