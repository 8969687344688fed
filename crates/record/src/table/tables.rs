//! The ten tables of a run.

use alloc::vec::Vec;

use gamelane_core::{ByteCount, Direction, Duration, Instant};
use gamelane_traffic::AppReport;

use super::Table;
use super::cells::{Cell, Cells, Column};
use crate::records::{
    AppRow, ArrivalRow, DeliveryRow, DirectionRecords, DropRow, QueueRow, RateRow, Records,
    RetransmissionRow, TcpRow, View, WINDOW, Window,
};

/// Every table.
pub static TABLES: [Table; 10] = [
    rtt::TABLE,
    delay::TABLE,
    windows::TABLE,
    drops::TABLE,
    tcp::TABLE,
    queues::TABLE,
    rates::TABLE,
    app::TABLE,
    deliveries::TABLE,
    retransmissions::TABLE,
];

/// Describes a table: what a row is, the type of a row, where the rows are, and each column with its meaning.
macro_rules! table {
    ($name:ident: $row:literal, $type:ty, $records:ident => $rows:expr, { $($column:ident: $cell:expr, $about:literal;)+ }) => {
        mod $name {
            use super::*;

            type Row<'a> = $type;

            pub(super) const TABLE: Table = Table { name: stringify!($name), row: $row, columns, cells };

            fn columns() -> Vec<Column> {
                [$({
                    let cell: Cell<Row<'_>> = $cell;
                    Column { name: stringify!($column), unit: cell.unit(), about: $about }
                }),+].into()
            }

            fn cells($records: &Records) -> Vec<Cells> {
                let rows = $rows;
                [$({
                    let cell: Cell<Row<'_>> = $cell;
                    cell.read(rows.clone())
                }),+].into()
            }
        }
    };
}

table!(rtt: "a round-trip sample", (u32, Instant, Duration), records => round_trips(records), {
    flow: Cell::Flow(|row| row.0), "flow";
    t_s: Cell::At(|row| row.1), "arrival of the packet that closes the pair";
    rtt_ms: Cell::Lasted(|row| row.2), "network round trip, as two taps at the hosts see it";
});

table!(delay: "a packet that arrived", (u32, Direction, &'a ArrivalRow, View), records => arrivals(records), {
    flow: Cell::Flow(|row| row.0), "flow";
    direction: Cell::Direction(|row| row.1), "direction";
    t_s: Cell::At(|row| row.2.at), "arrival";
    queue_delay_ms: Cell::MaybeLasted(|row| (row.3 != View::Hosts).then_some(row.2.queue_delay)),
        "time in queues; null for `live` traffic, whose queues nobody sees";
    one_way_ms: Cell::MaybeLasted(|row| (row.3 != View::Gateway).then_some(row.2.one_way)),
        "time from host to host; null for a `gateway`, which does not see the path";
});

table!(windows: "a flow, a direction and a second", (u32, Direction, Instant, &'a Window), records => windows_of(records), {
    flow: Cell::Flow(|row| row.0), "flow";
    direction: Cell::Direction(|row| row.1), "direction";
    t_s: Cell::At(|row| row.2), "start of the second";
    sent: Cell::Count(|row| row.3.sent), "packets sent in it";
    received: Cell::Count(|row| row.3.received), "packets that arrived in it";
    lost: Cell::Count(|row| row.3.lost), "packets sent in it that were lost";
    marked: Cell::Count(|row| row.3.marked), "packets sent in it that a queue marked";
    bytes: Cell::Bytes(|row| ByteCount(row.3.received_bytes)), "IP bytes that arrived in it";
});

table!(drops: "a lost packet", &'a DropRow, records => records.drops.iter(), {
    t_s: Cell::At(|row| row.at), "when it was lost";
    flow: Cell::Flow(|row| row.flow), "flow";
    direction: Cell::Direction(|row| row.direction), "direction";
    reason: Cell::Reason(|row| row.reason), "why";
});

table!(tcp: "a TCP endpoint, every 100 ms, of the first four connections of a flow", &'a TcpRow,
    records => records.tcp.iter(), {
    t_s: Cell::At(|row| row.at), "when";
    flow: Cell::Flow(|row| row.flow), "flow";
    connection: Cell::Count(|row| row.connection), "number of the connection within the flow";
    side: Cell::Side(|row| row.side), "`client` is at home";
    cwnd_bytes: Cell::Bytes(|row| row.state.cwnd), "congestion window";
    ssthresh_bytes: Cell::MaybeBytes(|row| row.state.ssthresh), "slow start threshold; null before it is set";
    srtt_ms: Cell::MaybeLasted(|row| row.state.srtt), "smoothed round-trip time; null before a sample";
    rto_ms: Cell::Lasted(|row| row.state.rto), "retransmission timeout";
    in_flight_bytes: Cell::Bytes(|row| row.state.in_flight), "bytes in the network";
});

table!(queues: "a direction, every 100 ms: all its queues together", &'a QueueRow,
    records => records.queues.iter(), {
    t_s: Cell::At(|row| row.at), "when";
    direction: Cell::Direction(|row| row.direction), "direction";
    packets: Cell::Count(|row| row.backlog.packets), "packets waiting";
    bytes: Cell::Bytes(|row| ByteCount(row.backlog.bytes)), "IP bytes waiting";
});

table!(rates: "a direction whose shaper follows its link (`gateway.autorate`), every 100 ms", &'a RateRow,
    records => records.rates.iter(), {
    t_s: Cell::At(|row| row.at), "when";
    direction: Cell::Direction(|row| row.direction), "direction";
    shaped_bps: Cell::Rate(|row| row.shaped), "rate of the shaper";
    link_bps: Cell::MaybeRate(|row| row.link),
        "rate of the link; null where the link has none of its own (DOCSIS upstream, Wi-Fi)";
});

table!(app: "a report of an application", &'a AppRow, records => records.app.iter(), {
    t_s: Cell::At(|row| row.at), "when";
    flow: Cell::Flow(|row| row.flow), "flow";
    kind: Cell::Report(|row| report(row).0),
        "`chunk`: a video chunk arrived; `stall`: video stood still; `transfer`: a transfer of a known size arrived whole";
    index: Cell::Count(|row| report(row).1), "number of the chunk";
    bytes: Cell::Bytes(|row| report(row).2), "size";
    took_ms: Cell::Lasted(|row| report(row).3), "how long it took";
});

table!(deliveries: "a delivered message of an `mmo`", &'a DeliveryRow,
    records => records.deliveries.iter(), {
    t_s: Cell::At(|row| row.at), "delivery";
    flow: Cell::Flow(|row| row.flow), "flow";
    direction: Cell::Direction(|row| row.direction), "direction";
    player: Cell::Count(|row| row.player), "player the message belongs to";
    delay_ms: Cell::Lasted(|row| row.delay), "time from the write to the delivery";
    held_ms: Cell::Lasted(|row| row.held), "part of it that the complete message waited for earlier, lost data";
});

table!(retransmissions: "a packet that the server of an `mmo` sent more than once", &'a RetransmissionRow,
    records => records.retransmissions.iter(), {
    t_s: Cell::At(|row| row.history.acknowledged_at), "acknowledgement";
    flow: Cell::Flow(|row| row.flow), "flow";
    connection: Cell::Count(|row| row.connection), "number of the connection within the flow";
    retransmissions: Cell::SmallCount(|row| row.history.retransmissions), "retransmissions";
    itself: Cell::SmallCount(|row| row.history.itself), "those at the head of a segment";
    included: Cell::SmallCount(|row| row.history.included), "those inside another packet's retransmission";
    delay_ms: Cell::Lasted(|row| row.history.retransmission_delay()), "time from the first transmission to the last";
    application_delay_ms: Cell::Lasted(|row| row.history.application_delay()),
        "time from the first transmission to the acknowledgement";
});

fn round_trips(records: &Records) -> impl Iterator<Item = (u32, Instant, Duration)> + Clone {
    (0u32..)
        .zip(&records.flows)
        .flat_map(|(flow, own)| own.rtt.iter().map(move |(at, rtt)| (flow, *at, *rtt)))
}

fn by_direction(records: &Records) -> impl Iterator<Item = (u32, Direction, &DirectionRecords)> + Clone {
    (0u32..).zip(&records.flows).flat_map(|(flow, own)| {
        Direction::BOTH
            .into_iter()
            .map(move |direction| (flow, direction, &own.directions[direction.index()]))
    })
}

fn arrivals(records: &Records) -> impl Iterator<Item = (u32, Direction, &ArrivalRow, View)> + Clone {
    by_direction(records).flat_map(move |(flow, direction, own)| {
        own.arrivals.iter().map(move |row| (flow, direction, row, records.view))
    })
}

fn windows_of(records: &Records) -> impl Iterator<Item = (u32, Direction, Instant, &Window)> + Clone {
    by_direction(records).flat_map(|(flow, direction, own)| {
        let starts = (0..).map(|second| Instant::ZERO + WINDOW.saturating_mul(second));
        starts.zip(&own.windows).map(move |(start, window)| (flow, direction, start, window))
    })
}

/// Position of the kind of a report in its column's words, number, size and duration.
fn report(row: &AppRow) -> (u8, u32, ByteCount, Duration) {
    match row.report {
        AppReport::Chunk { index, bytes, took } => (0, index, bytes, took),
        AppReport::Stall { lasted } => (1, 0, ByteCount::ZERO, lasted),
        AppReport::Transfer { bytes, took } => (2, 0, bytes, took),
    }
}
