//! A match that was played over real sockets, as events for the recorder: from the record files of one or both ends.
//!
//! Times count from the client's first packet. The ends cannot see queues, nor why a packet was lost: a packet that one end
//! sent and the other never received counts as lost on the path. With the client's file alone, losses are not known.

use std::collections::HashSet;

use gamelane_core::headers::{IPV4_HEADER, UDP_HEADER};
use gamelane_core::{ByteCount, Direction, DropReason, Duration, FlowId, Instant, IpLen};
use gamelane_record::records::WINDOW;
use gamelane_record::{Event, Recorder, Records, Seen, Side, TcpState, View};

use crate::record::{RECORD_BYTES, Record, What};

/// The records of a match.
#[derive(Debug)]
pub struct Played {
    client: Vec<Record>,
    server: Option<Vec<Record>>,
}

/// These bytes are not records of `gamelane-traffic`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("these are no records of gamelane-traffic")]
pub struct NotRecords;

/// Reads a file of records. A program that was killed leaves part of a record at the end, which is ignored.
///
/// # Errors
/// If a record has an unknown kind or direction.
pub fn read(bytes: &[u8]) -> Result<Vec<Record>, NotRecords> {
    let (records, _) = bytes.as_chunks::<RECORD_BYTES>();
    records.iter().map(|record| Record::from_bytes(record).ok_or(NotRecords)).collect()
}

impl Played {
    /// Joins the files of the client and, where there is one, the server. The server's records of other sessions are left out;
    /// a client without records leaves out none.
    pub fn new(client: Vec<Record>, server: Option<Vec<Record>>) -> Self {
        let sessions: HashSet<u64> = client.iter().map(|record| record.session).collect();
        let server = server.map(|mut records| {
            records.retain(|record| sessions.is_empty() || sessions.contains(&record.session));
            let shift = shift(&client, &records);
            for record in &mut records {
                record.at = Instant::from_nanos(record.at.as_nanos().saturating_add_signed(shift));
            }
            records
        });
        Self { client, server }
    }

    /// Hands everything to `records`, in order of time. A match that was stopped early ends with its last packet.
    pub fn record(&self, records: &mut Records) {
        let began = self.began();
        let mut events = Vec::new();
        for direction in Direction::BOTH {
            self.direction(direction, records, &mut events);
        }
        let trips = self.client.iter().filter(|record| record.direction == Direction::Up);
        for record in trips {
            if let (What::RoundTrip { took }, Some(lane)) = (record.what, lane(record, records)) {
                events.push((record.at, Event::Rtt { lane, rtt: took }));
            }
        }
        for record in self.client.iter().chain(self.server.iter().flatten()) {
            if let Some(event) = tcp(record, records) {
                events.push((record.at, event));
            }
        }
        events.sort_by_key(|(at, _)| *at);
        let since = |at: Instant| Instant::ZERO + at.saturating_since(began);
        records.view = View::Hosts;
        let last = events.last().map_or(Instant::ZERO, |(at, _)| since(*at));
        for (at, event) in events {
            records.record(since(at), &moved(event, since));
        }
        if last.saturating_add(WINDOW) < records.end() {
            records.cut(last);
        }
        records.leave_out_silent_flows();
    }

    /// When the client's first packet was due, or came.
    fn began(&self) -> Instant {
        let due = |record: &Record| match record.what {
            What::Sent { late } => Instant::from_nanos(record.at.as_nanos().saturating_sub(late.as_nanos())),
            _ => record.at,
        };
        self.client.iter().map(due).min().unwrap_or(Instant::ZERO)
    }

    /// The records of the end that sends packets of `direction`, and of the end that receives them.
    fn ends(&self, direction: Direction) -> [Option<&[Record]>; 2] {
        let (client, server) = (Some(self.client.as_slice()), self.server.as_deref());
        match direction {
            Direction::Up => [client, server],
            Direction::Down => [server, client],
        }
    }

    fn direction(
        &self,
        direction: Direction,
        records: &Records,
        events: &mut Vec<(Instant, Event<'static>)>,
    ) {
        let [sender, receiver] = self.ends(direction);
        let own = |of: Option<&'_ [Record]>| {
            of.into_iter()
                .flatten()
                .filter(|record| record.direction == direction)
                .copied()
                .collect::<Vec<_>>()
        };
        let arrived: Option<HashSet<(u64, u32)>> = receiver.map(|_| {
            let received =
                own(receiver).into_iter().filter(|record| matches!(record.what, What::Received { .. }));
            received.map(|record| (record.session, record.number)).collect()
        });
        for record in own(sender) {
            let (What::Sent { .. }, Some(lane)) = (record.what, lane(&record, records)) else { continue };
            let packet = Seen { lane, len: ip_len(&record), sent_at: record.at, waited: Duration::ZERO };
            events.push((record.at, Event::Sent { direction, packet }));
            if arrived.as_ref().is_some_and(|arrived| !arrived.contains(&(record.session, record.number))) {
                events.push((record.at, Event::Dropped { direction, packet, reason: DropReason::Path }));
            }
        }
        for record in own(receiver) {
            let (What::Received { one_way }, Some(lane)) = (record.what, lane(&record, records)) else {
                continue;
            };
            let len = ip_len(&record);
            let event = match one_way {
                Some(one_way) => {
                    let sent_at =
                        Instant::from_nanos(record.at.as_nanos().saturating_sub(one_way.as_nanos()));
                    Event::Received { direction, packet: Seen { lane, len, sent_at, waited: Duration::ZERO } }
                }
                None => Event::Heard { direction, lane, len },
            };
            events.push((record.at, event));
            events.push((record.at, Event::Goodput { lane, bytes: u64::from(record.payload) }));
        }
    }
}

/// What to add to the server's times, in nanoseconds. Ends with one clock stamp one-way delays; where no packet has one, the
/// clocks differ, and the quickest packet from client to server counts as immediate.
fn shift(client: &[Record], server: &[Record]) -> i64 {
    let one_clock = |record: &Record| matches!(record.what, What::Received { one_way: Some(_) });
    if server.iter().chain(client).any(one_clock) {
        return 0;
    }
    let up = |records: &'_ [Record], sent: bool| -> Vec<((u64, u32), u64)> {
        let own = records.iter().filter(|record| record.direction == Direction::Up);
        let kind = own.filter(|record| match record.what {
            What::Sent { .. } => sent,
            What::Received { .. } => !sent,
            _ => false,
        });
        kind.map(|record| ((record.session, record.number), record.at.as_nanos())).collect()
    };
    let mut sent = up(client, true);
    sent.sort_unstable();
    let differences = up(server, false).into_iter().filter_map(|(name, arrived)| {
        let found = sent.binary_search_by_key(&name, |(name, _)| *name).ok()?;
        Some(sent[found].1.wrapping_sub(arrived) as i64)
    });
    differences.max().unwrap_or(0)
}

/// The event with the time its packet was sent counted as `since` does.
fn moved(event: Event<'static>, since: impl Fn(Instant) -> Instant) -> Event<'static> {
    let at = |packet: Seen| Seen { sent_at: since(packet.sent_at), ..packet };
    match event {
        Event::Sent { direction, packet } => Event::Sent { direction, packet: at(packet) },
        Event::Received { direction, packet } => Event::Received { direction, packet: at(packet) },
        Event::Dropped { direction, packet, reason } => {
            Event::Dropped { direction, packet: at(packet), reason }
        }
        other => other,
    }
}

/// The connection of a record's flow; `None` if the scenario has no such flow.
fn lane(record: &Record, records: &Records) -> Option<FlowId> {
    records.first_lane(u32::from(record.flow))
}

/// The state of a TCP stream as an event.
fn tcp(record: &Record, records: &Records) -> Option<Event<'static>> {
    let What::Tcp { in_flight, srtt_us, rto_us } = record.what else { return None };
    lane(record, records)?;
    let side = Side::BOTH.into_iter().find(|side| side.sends() == record.direction)?;
    let micros = |value: u32| Duration::from_micros(value.into());
    let state = TcpState {
        cwnd: ByteCount(record.payload.into()),
        ssthresh: None,
        srtt: Some(micros(srtt_us)),
        rto: micros(rto_us),
        in_flight: ByteCount(in_flight.into()),
    };
    Some(Event::Tcp { flow: record.flow.into(), connection: record.number, side, state })
}

fn ip_len(record: &Record) -> IpLen {
    IpLen(record.payload.saturating_add(IPV4_HEADER + UDP_HEADER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gamelane_scenario::{Model, Scenario};
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn model() -> Model {
        let text = "name = \"pair\"\nduration = \"2s\"\n[link]\ndown = \"1gbit\"\nup = \"1gbit\"\n\
                    [[flow]]\nname = \"game\"\napp = \"game\"\nmodel = \"quake3\"\n";
        Scenario::parse(text, "pair.toml", &[]).unwrap().to_model().unwrap()
    }

    /// A packet up, as one end saw it.
    fn up(what: What, number: u32, at_ms: u64) -> Record {
        let at = Instant::from_millis(at_ms);
        Record { what, direction: Direction::Up, flow: 0, payload: 100, session: 7, number, at }
    }

    #[test]
    fn ends_with_different_clocks_share_one_time_axis() {
        let sent = What::Sent { late: Duration::ZERO };
        let heard = What::Received { one_way: None };
        let client = vec![up(sent, 0, 5_000), up(sent, 1, 5_900), up(sent, 2, 6_500)];
        // The clock of this host began 95 s earlier. The second packet waited 10 ms, the third was lost.
        let server = vec![up(heard, 0, 100_000), up(heard, 1, 100_910)];
        let mut records = Records::new(&model());
        Played::new(client, Some(server)).record(&mut records);
        let windows = &records.flows[0].directions[Direction::Up.index()].windows;
        let counts: Vec<_> = windows.iter().map(|own| (own.sent, own.received, own.lost)).collect();
        assert_eq!(counts, [(2, 2, 0), (1, 0, 1)]);
    }

    /// Bytes of a record: any, or the extremes of every field.
    fn record() -> impl Strategy<Value = [u8; RECORD_BYTES]> {
        prop_oneof![any::<[u8; RECORD_BYTES]>(), Just([0; RECORD_BYTES]), Just([0xff; RECORD_BYTES])]
    }

    proptest! {
        #[test]
        fn no_file_makes_the_recorder_panic(
            client in vec(record(), 0..20),
            server in vec(record(), 0..20),
            kinds in vec(0..5u8, 40),
        ) {
            let mut kinds = kinds.into_iter();
            let mut file = |records: Vec<[u8; RECORD_BYTES]>| {
                let valid = records.into_iter().flat_map(|mut record| {
                    record[0] = kinds.next().unwrap_or(0);
                    record[1] %= 2;
                    record[2..4].fill(0);
                    record[8..16].fill(0);
                    record
                });
                read(&valid.collect::<Vec<u8>>()).unwrap()
            };
            let (client, server) = (file(client), file(server));
            let model = model();
            let mut records = Records::new(&model);
            Played::new(client, Some(server)).record(&mut records);
            let summary = gamelane_record::RunSummary::new(1, &records, &gamelane_record::Totals::default());
            prop_assert!(summary.queues.is_empty());
        }
    }
}
