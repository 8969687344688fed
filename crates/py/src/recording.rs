//! Runs of other engines than the simulator: Python hands events over in any order, and the recorder gets them in order of time.

use std::fs;
use std::path::Path;

use gamelane_core::{Bitrate, ByteCount, Direction, DropReason, Duration, FlowId, Instant, IpLen};
use gamelane_gateway::tap::replay::{self, Recorded};
use gamelane_gateway::tap::{About, about};
use gamelane_generator::played::{Played, read as parse};
use gamelane_qdisc::Backlog;
use gamelane_record::pairs::{Crossed, round_trips};
use gamelane_record::totals::{FlowTotals, FollowerTotals, QueueTotals};
use gamelane_record::{Event, Recorder, Records, RunSummary, Seen, Side, TcpState, Totals};
use gamelane_scenario::Model;
use gamelane_stage::autorate::AutorateCounters;
use gamelane_tcp::TcpCounters;
use gamelane_tcp::accounting::PacketHistory;
use gamelane_traffic::AppReport;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::messages::{Happened, account};
use crate::run::Run;
use crate::scenario::Scenario;

/// Collects the events of a run. Times are nanoseconds from its start; flows are positions in the scenario.
#[pyclass(module = "gamelane._native")]
pub(crate) struct Recording {
    model: Model,
    records: Records,
    totals: Totals,
    events: Vec<(Instant, Event<'static>)>,
    /// Packets of games over TCP that were sent more than once.
    retransmitted: Vec<(FlowId, PacketHistory)>,
}

#[pymethods]
impl Recording {
    #[new]
    fn new(scenario: &Scenario) -> Self {
        let model = scenario.model.clone();
        let own = FlowTotals::default();
        let totals = Totals { flows: vec![own; model.flows.len()], ..Totals::default() };
        let records = Records::new(&model);
        Self { records, model, totals, events: Vec::new(), retransmitted: Vec::new() }
    }

    /// Takes the packets of a flow in one direction, one element each. `arrived_ns` is -1 for a packet that did not arrive.
    #[expect(clippy::too_many_arguments, reason = "columns of a table")]
    fn packets(
        &mut self,
        flow: u32,
        direction: &str,
        connection: PyReadonlyArray1<'_, u32>,
        sent_ns: PyReadonlyArray1<'_, i64>,
        arrived_ns: PyReadonlyArray1<'_, i64>,
        queue_ns: PyReadonlyArray1<'_, i64>,
        length: PyReadonlyArray1<'_, u32>,
        marked: PyReadonlyArray1<'_, bool>,
    ) -> PyResult<()> {
        let direction = direction_of(direction)?;
        let first = self.lane(flow)?;
        let lanes = connection.as_slice()?.iter().map(|&number| self.nth_lane(flow, first, number));
        let lanes = lanes.collect::<PyResult<Vec<_>>>()?;
        let times = sent_ns.as_slice()?.iter().zip(arrived_ns.as_slice()?).zip(queue_ns.as_slice()?);
        let rest = length.as_slice()?.iter().zip(marked.as_slice()?);
        for ((((&sent, &arrived), &waited), (&len, &marked)), &lane) in times.zip(rest).zip(&lanes) {
            let packet = Seen { lane, len: IpLen(len), sent_at: instant(sent), waited: duration(waited) };
            self.events.push((packet.sent_at, Event::Sent { direction, packet }));
            if arrived >= 0 {
                self.events.push((instant(arrived), Event::Received { direction, packet }));
                if marked {
                    self.events.push((instant(arrived), Event::Marked { direction, packet }));
                }
            }
        }
        Ok(())
    }

    /// Takes a lost packet. [`Self::packets`] must have it too.
    fn drop(
        &mut self,
        flow: u32,
        direction: &str,
        sent_ns: i64,
        lost_ns: i64,
        length: u32,
        reason: &str,
    ) -> PyResult<()> {
        let direction = direction_of(direction)?;
        let reason = reason_of(reason)?;
        let lane = self.lane(flow)?;
        let packet = Seen { lane, len: IpLen(length), sent_at: instant(sent_ns), waited: Duration::ZERO };
        self.events.push((instant(lost_ns), Event::Dropped { direction, packet, reason }));
        Ok(())
    }

    /// Takes bytes that an application received.
    fn goodput(&mut self, flow: u32, at_ns: i64, byte_count: u64) -> PyResult<()> {
        let event = Event::Goodput { lane: self.lane(flow)?, bytes: byte_count };
        self.events.push((instant(at_ns), event));
        Ok(())
    }

    /// Takes round trips that the application of a flow measured itself, from the record file of its client.
    fn echoes(&mut self, flow: u32, path: &str, began_ns: u64) -> PyResult<()> {
        let lane = self.lane(flow)?;
        for record in read(path)? {
            if let gamelane_generator::record::What::RoundTrip { took } = record.what
                && record.at.as_nanos() >= began_ns
            {
                let at = Instant::from_nanos(record.at.as_nanos() - began_ns);
                if at < self.records.end() {
                    self.events.push((at, Event::Echo { lane, rtt: took }));
                }
            }
        }
        Ok(())
    }

    /// Takes a connection of a game over TCP: the writes of its applications, and its segments. Offsets count from the SYN of
    /// their direction; `ack` is 0 without an acknowledgement; `arrived_ns` is -1 for a segment that did not arrive.
    #[expect(clippy::too_many_arguments, reason = "columns of two tables")]
    fn messages(
        &mut self,
        flow: u32,
        connection: u32,
        wrote_ns: PyReadonlyArray1<'_, i64>,
        wrote_up: PyReadonlyArray1<'_, bool>,
        wrote_bytes: PyReadonlyArray1<'_, u32>,
        sent_ns: PyReadonlyArray1<'_, i64>,
        arrived_ns: PyReadonlyArray1<'_, i64>,
        up: PyReadonlyArray1<'_, bool>,
        offset: PyReadonlyArray1<'_, u64>,
        payload: PyReadonlyArray1<'_, u32>,
        ack: PyReadonlyArray1<'_, u64>,
    ) -> PyResult<()> {
        let lane = self.nth_lane(flow, self.lane(flow)?, connection)?;
        let end = self.records.end();
        let mut happened = Vec::new();
        let writes = wrote_ns.as_slice()?.iter().zip(wrote_up.as_slice()?).zip(wrote_bytes.as_slice()?);
        for ((&at, &up), &bytes) in writes {
            happened.push((instant(at), Happened::Wrote { up, bytes }));
        }
        let times = sent_ns.as_slice()?.iter().zip(arrived_ns.as_slice()?).zip(up.as_slice()?);
        let ranges = offset.as_slice()?.iter().zip(payload.as_slice()?).zip(ack.as_slice()?);
        for (((&sent, &arrived), &up), ((&offset, &bytes), &ack)) in times.zip(ranges) {
            happened.push((instant(sent), Happened::Sent { up, offset, bytes }));
            if arrived >= 0 && instant(arrived) < end {
                happened.push((instant(arrived), Happened::Arrived { up, offset, bytes, ack }));
            }
        }
        let totals = self.totals.flows[flow as usize].thin.get_or_insert_default();
        let found = account(lane, connection, happened, totals);
        self.events.extend(found.delivered);
        self.retransmitted.extend(found.retransmitted.into_iter().map(|history| (lane, history)));
        Ok(())
    }

    /// Takes the counters of the server of a game over TCP, over the whole run.
    #[expect(clippy::too_many_arguments, reason = "counters of a summary")]
    fn game_server(
        &mut self,
        flow: u32,
        timeouts: u64,
        timeout_retransmissions: u64,
        fast_retransmissions: u64,
        fast_recoveries: u64,
        tail_probes: u64,
        spurious_timeouts: u64,
    ) -> PyResult<()> {
        self.lane(flow)?;
        let thin = self.totals.flows[flow as usize].thin.get_or_insert_default();
        thin.server = TcpCounters {
            timeouts,
            timeout_retransmissions,
            fast_retransmissions,
            fast_recoveries,
            tail_probes,
            spurious_timeouts,
            ..TcpCounters::default()
        };
        Ok(())
    }

    /// Takes the backlog of a direction at a time.
    fn backlog(&mut self, direction: &str, at_ns: i64, packets: u32, byte_count: u64) -> PyResult<()> {
        let event = Event::Queue {
            direction: direction_of(direction)?,
            backlog: Backlog { packets, bytes: byte_count },
        };
        self.events.push((instant(at_ns), event));
        Ok(())
    }

    /// Takes the rate of a shaper that follows its link.
    fn rate(&mut self, direction: &str, at_ns: i64, shaped_bps: u64, link_bps: Option<u64>) -> PyResult<()> {
        let (shaped, link) = (Bitrate::from_bps(shaped_bps), link_bps.map(Bitrate::from_bps));
        let event = Event::Rate { direction: direction_of(direction)?, shaped, link };
        self.events.push((instant(at_ns), event));
        Ok(())
    }

    /// Takes the state of a TCP endpoint; `ssthresh_bytes` and `srtt_ns` are None before they are known.
    #[expect(clippy::too_many_arguments, reason = "columns of a table")]
    fn tcp(
        &mut self,
        flow: u32,
        connection: u32,
        side: &str,
        at_ns: i64,
        cwnd_bytes: u64,
        ssthresh_bytes: Option<u64>,
        srtt_ns: Option<u64>,
        rto_ns: u64,
        in_flight_bytes: u64,
    ) -> PyResult<()> {
        let side = Side::BOTH.into_iter().find(|known| known.name() == side);
        let state = TcpState {
            cwnd: ByteCount(cwnd_bytes),
            ssthresh: ssthresh_bytes.map(ByteCount),
            srtt: srtt_ns.map(Duration::from_nanos),
            rto: Duration::from_nanos(rto_ns),
            in_flight: ByteCount(in_flight_bytes),
        };
        let side = side.ok_or_else(|| PyValueError::new_err("side must be `client` or `server`"))?;
        self.events.push((instant(at_ns), Event::Tcp { flow, connection, side, state }));
        Ok(())
    }

    /// Takes a report of an application: `kind` is a word of the column `kind` in the table `app`.
    fn app(
        &mut self,
        flow: u32,
        kind: &str,
        at_ns: i64,
        index: u32,
        byte_count: u64,
        took_ns: i64,
    ) -> PyResult<()> {
        let (bytes, took) = (ByteCount(byte_count), duration(took_ns));
        let report = match kind {
            "chunk" => AppReport::Chunk { index, bytes, took },
            "stall" => AppReport::Stall { lasted: took },
            "transfer" => AppReport::Transfer { bytes, took },
            other => {
                return Err(PyValueError::new_err(format!(
                    "kind is {other:?}; give `chunk`, `stall` or `transfer`"
                )));
            }
        };
        let event = Event::App { lane: self.lane(flow)?, report };
        self.events.push((instant(at_ns), event));
        Ok(())
    }

    /// Takes the counters of a queue over the whole run; `drops` are counts by reason.
    fn queue(
        &mut self,
        name: &str,
        packets: u64,
        drops: Vec<(String, u64)>,
        marks: u64,
        peak: u32,
    ) -> PyResult<()> {
        let mut own = QueueTotals { peak_backlog: peak, ..QueueTotals::default() };
        own.counters.arrived = packets;
        own.counters.marked = marks;
        for (reason, count) in drops {
            own.counters.dropped.add_many(reason_of(&reason)?, count);
        }
        self.totals.queues.push((name.to_owned(), own));
        Ok(())
    }

    /// Takes the counters of a shaper that follows its link, over the whole run.
    #[expect(clippy::too_many_arguments, reason = "counters of a table")]
    fn follower(
        &mut self,
        direction: &str,
        last_rate_bps: u64,
        signals: u64,
        lowered: u64,
        raised: u64,
        windows: u64,
        unheard: u64,
    ) -> PyResult<()> {
        let counters = AutorateCounters { passive: signals, probes: 0, lowered, raised, windows, unheard };
        let own = FollowerTotals { mean_rate_bps: None, last_rate_bps, counters };
        self.totals.autorate[direction_of(direction)?.index()] = Some(own);
        Ok(())
    }

    /// Takes the number of segments that both ends of a flow retransmitted.
    fn retransmissions(&mut self, flow: u32, segments: u64) -> PyResult<()> {
        self.lane(flow)?;
        self.totals.flows[flow as usize].retransmissions = segments;
        Ok(())
    }

    /// Ends the run and makes its tables and summary.
    fn finish(&mut self, seed: u64, cpu_seconds: f64) -> Run {
        self.pair();
        self.events.sort_by_key(|(at, _)| *at);
        let mut records = std::mem::replace(&mut self.records, Records::new(&self.model));
        for (at, event) in self.events.drain(..) {
            records.record(at, &event);
        }
        self.retransmitted.sort_by_key(|(_, history)| history.acknowledged_at);
        for (lane, history) in self.retransmitted.drain(..) {
            records.record(history.acknowledged_at, &Event::Retransmitted { lane, history: &history });
        }
        let summary = RunSummary::new(seed, &records, &self.totals);
        Run::recorded(records, summary, cpu_seconds)
    }
}

impl Recording {
    fn lane(&self, flow: u32) -> PyResult<FlowId> {
        let known = self.records.first_lane(flow);
        known.ok_or_else(|| PyValueError::new_err(format!("the scenario has no flow {flow}")))
    }

    /// Connection `number` of a flow whose first one is `first`.
    fn nth_lane(&self, flow: u32, first: FlowId, number: u32) -> PyResult<FlowId> {
        let lanes = self.model.flows[flow as usize].lanes();
        if number < lanes {
            return Ok(FlowId(first.0 + number));
        }
        Err(PyValueError::new_err(format!("flow {flow} has {lanes} connections, but not number {number}")))
    }

    /// Adds the round trips of packet pairs.
    fn pair(&mut self) {
        let mut crossed: Vec<[Vec<Crossed>; 2]> = vec![Default::default(); self.model.lanes().count()];
        for (at, event) in &self.events {
            if let Event::Received { direction, packet } = event {
                let own = &mut crossed[packet.lane.index()][direction.index()];
                own.push(Crossed { sent_at: packet.sent_at, arrived_at: *at });
            }
        }
        for (lane, [mut ups, mut downs]) in (0..).map(FlowId).zip(crossed) {
            let found = |at, rtt| self.events.push((at, Event::Rtt { lane, rtt }));
            round_trips(&mut ups, &mut downs, found);
        }
    }
}

/// Makes a run from the record files of `gamelane-traffic`, of one or both ends.
#[pyfunction]
#[pyo3(signature = (scenario, seed, client, server = None))]
pub(crate) fn played(scenario: &Scenario, seed: u64, client: &str, server: Option<&str>) -> PyResult<Run> {
    let played = Played::new(read(client)?, server.map(read).transpose()?);
    let mut records = Records::new(&scenario.model);
    played.record(&mut records);
    let summary = RunSummary::new(seed, &records, &Totals::default());
    Ok(Run::recorded(records, summary, 0.0))
}

/// Name, question, hash and TOML of a policy.
type Words = (String, String, String, String);

/// Makes a run from a gateway's recording. Returns it with its length in seconds, how the recording ends, and its first policy.
#[pyfunction]
pub(crate) fn tapped(py: Python<'_>, folder: &str) -> PyResult<(Run, f64, &'static str, Words)> {
    let refused = |error: &dyn std::fmt::Display| PyValueError::new_err(format!("{folder}: {error}"));
    let path = Path::new(folder);
    let recorded = py.detach(|| replay::recorded(path));
    let Recorded { records, summary, report } = recorded.map_err(|error| refused(&error))?;
    let about = About::read(path).map_err(|error| refused(&error))?;
    let file = about::policy(path, 0);
    let text = fs::read_to_string(&file).map_err(|error| refused(&error))?;
    // A policy need not have flows, so it need not be a scenario that can be run.
    let policy = gamelane_scenario::Scenario::parse(&text, &file.display().to_string(), &about.overrides);
    let policy = policy.map_err(|error| refused(&error))?;
    let words = (policy.name().into(), policy.question().into(), policy.hash(), policy.to_toml());
    Ok((Run::recorded(records, summary, 0.0), report.until_s, report.ended.name(), words))
}

fn read(path: &str) -> PyResult<Vec<gamelane_generator::record::Record>> {
    let bytes =
        fs::read(path).map_err(|error| PyOSError::new_err(format!("{path}: cannot be read: {error}")))?;
    parse(&bytes).map_err(|error| PyValueError::new_err(format!("{path}: {error}")))
}

fn direction_of(word: &str) -> PyResult<Direction> {
    let known = Direction::BOTH.into_iter().find(|direction| direction.name() == word);
    known.ok_or_else(|| PyValueError::new_err(format!("direction is {word:?}; give `up` or `down`")))
}

fn reason_of(word: &str) -> PyResult<DropReason> {
    let known = DropReason::ALL.into_iter().find(|reason| reason.name() == word);
    let names = || DropReason::ALL.map(DropReason::name).join(", ");
    known.ok_or_else(|| PyValueError::new_err(format!("drop reason is {word:?}; give one of {}", names())))
}

/// Converts a time; times before the start become the start.
fn instant(nanos: i64) -> Instant {
    Instant::from_nanos(u64::try_from(nanos).unwrap_or(0))
}

fn duration(nanos: i64) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}
