//! Games over TCP in a run that is not simulated: what their applications write, and when it arrives.

use gamelane_core::{Direction, FlowId, Instant, Seed};
use gamelane_record::Event;
use gamelane_record::messages::{Order, ThinLane};
use gamelane_record::totals::ThinTotals;
use gamelane_tcp::accounting::PacketHistory;
use gamelane_traffic::{AppAction, AppEvent, Source, TrafficSource};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::scenario::Scenario;

/// Returns when the clients of flow `flow` connect, and every write of both ends until the end of the run. The random streams are those
/// of a simulation with the same scenario and seed, so the writes are the same.
#[pyfunction]
pub(crate) fn message_schedule<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    flow: usize,
    seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let model = scenario.model.flows.get(flow);
    let model = model.ok_or_else(|| PyValueError::new_err(format!("the scenario has no flow {flow}")))?;
    let end = Instant::ZERO + scenario.model.duration;
    let (mut opens, mut writes) = (Vec::new(), Vec::new());
    for connection in 0..model.players {
        let path = format!("flow/{}/{connection}/app", model.name);
        let (mut client, mut server) =
            gamelane_traffic::build_connection(&model.app, connection, model.schedule, Seed(seed), &path);
        server.handle_event(&AppEvent::Connected, Instant::ZERO);
        let mut opened = None;
        for (source, up) in [(&mut client, true), (&mut server, false)] {
            play(source, end, &mut opened, |at, bytes| writes.push((at, connection, up, bytes)));
        }
        opens.push(opened.map_or(-1, |at| at.as_nanos() as i64));
    }
    writes.sort_by_key(|(at, ..)| *at);
    let columns = PyDict::new(py);
    columns.set_item("opens_ns", PyArray1::from_vec(py, opens))?;
    columns.set_item("at_ns", PyArray1::from_iter(py, writes.iter().map(|(at, ..)| at.as_nanos() as i64)))?;
    columns.set_item("connection", PyArray1::from_iter(py, writes.iter().map(|write| write.1)))?;
    columns.set_item("up", PyArray1::from_iter(py, writes.iter().map(|write| write.2)))?;
    columns.set_item("bytes", PyArray1::from_iter(py, writes.iter().map(|write| write.3)))?;
    Ok(columns)
}

/// Plays one end. `opened` becomes the time at which it connects.
fn play(
    source: &mut Source,
    end: Instant,
    opened: &mut Option<Instant>,
    mut wrote: impl FnMut(Instant, u32),
) {
    while let Some(now) = source.poll_timeout().filter(|&now| now < end) {
        source.handle_timeout(now);
        while let Some(action) = source.poll_action(now) {
            match action {
                AppAction::Connect => {
                    *opened = Some(now);
                    source.handle_event(&AppEvent::Connected, now);
                }
                AppAction::Write { bytes } => wrote(now, bytes.bytes() as u32),
                _ => {}
            }
        }
    }
}

/// Something that happened on a connection. In order of the variants, if at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Happened {
    /// An application wrote a message.
    Wrote { up: bool, bytes: u32 },
    /// A host sent a segment; offsets count from the SYN of its direction.
    Sent { up: bool, offset: u64, bytes: u32 },
    /// A segment arrived. `ack` is 0 without an acknowledgement.
    Arrived { up: bool, offset: u64, bytes: u32, ack: u64 },
}

/// What a connection gave.
pub(crate) struct Accounted {
    pub(crate) delivered: Vec<(Instant, Event<'static>)>,
    pub(crate) retransmitted: Vec<PacketHistory>,
}

/// Accounts for connection `player` as the simulator does, and adds to `totals`.
pub(crate) fn account(
    lane: FlowId,
    player: u32,
    mut happened: Vec<(Instant, Happened)>,
    totals: &mut ThinTotals,
) -> Accounted {
    happened.sort_unstable();
    let mut thin = ThinLane::new(Order::Stream);
    let mut found = Accounted { delivered: Vec::new(), retransmitted: Vec::new() };
    let way = |up| if up { Direction::Up } else { Direction::Down };
    for (now, what) in happened {
        match what {
            Happened::Wrote { up, bytes } => thin.ways[way(up).index()].wrote(player, bytes, now),
            Happened::Sent { up: false, offset, bytes } => {
                thin.ledger.sent(now, offset, bytes, &mut thin.totals);
            }
            Happened::Sent { up: true, .. } => {}
            Happened::Arrived { up, offset, bytes, ack } => {
                let direction = way(up);
                let fresh = thin.ways[direction.index()].arrived(offset, bytes, now, |of| {
                    let (player, delay, held) = (of.player, of.delay, of.held);
                    found.delivered.push((now, Event::Delivered { lane, direction, player, delay, held }));
                });
                if up {
                    thin.ledger.acknowledged(now, ack, &mut thin.totals, |history| {
                        found.retransmitted.extend((history.retransmissions > 0).then_some(*history));
                    });
                } else {
                    totals.duplicate_segments += u64::from(bytes > 0 && !fresh);
                }
            }
        }
    }
    totals.retransmissions.add(&thin.totals);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message is lost, and a copy of it arrives twice.
    #[test]
    fn a_lost_message_is_delivered_late_and_its_second_copy_is_a_duplicate() {
        let ms = Instant::from_millis;
        let (up, offset, bytes) = (false, 1, 100);
        let happened = vec![
            (ms(0), Happened::Wrote { up, bytes }),
            (ms(0), Happened::Sent { up, offset, bytes }),
            (ms(300), Happened::Sent { up, offset, bytes }),
            (ms(350), Happened::Arrived { up, offset, bytes, ack: 1 }),
            (ms(360), Happened::Arrived { up, offset, bytes, ack: 1 }),
            (ms(400), Happened::Arrived { up: true, offset: 1, bytes: 0, ack: 101 }),
        ];
        let mut totals = ThinTotals::default();
        let found = account(FlowId(0), 0, happened, &mut totals);
        let [(at, Event::Delivered { delay, .. })] = found.delivered[..] else { panic!("one delivery") };
        assert_eq!((at, delay.as_nanos()), (ms(350), 350_000_000));
        assert_eq!(found.retransmitted[0].retransmission_delay().as_nanos(), 300_000_000);
        assert_eq!((totals.duplicate_segments, totals.retransmissions.retransmitted_segments), (1, 1));
    }
}
