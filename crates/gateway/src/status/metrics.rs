//! The status in Prometheus' text format. Single flows are left out: there may be thousands, and they come and go.

use std::collections::BTreeMap;

use gamelane_core::Direction;
use gamelane_service::prometheus::{Exposition, Family};

use super::{AutorateStatus, QueueStatus, ShaperStatus, State, Status};

/// Returns all metrics.
pub fn metrics(status: &Status) -> Exposition {
    let mut out = Exposition::default();
    by_direction(&mut out, &QUEUES, &status.queues);
    drops(&mut out, status, "gamelane_gateway_drops_total", "Packets dropped, by reason.", |queue| {
        &queue.drop_reasons
    });
    sojourn(&mut out, status);
    by_direction(&mut out, &SHAPERS, &status.shaper);
    if !status.autorate.is_empty() {
        by_direction(&mut out, &FOLLOWERS, &status.autorate);
    }
    moves(&mut out, status);
    engine(&mut out, status);
    if let Some(watch) = &status.watch {
        let name = "gamelane_gateway_kernel_drops_total";
        drops(&mut out, status, name, "Drops, by the kernel's name of the reason.", |queue| {
            &queue.kernel_reasons
        });
        let help = "Events of packets that were lost because there were too many at once.";
        out.counter("gamelane_gateway_watch_lost_total", help).add(&[], watch.lost);
        let help = "Packets that came and were not seen to leave or to be dropped.";
        out.counter("gamelane_gateway_watch_unseen_total", help).add(&[], watch.unseen);
    }
    out
}

/// Begins a counter or a gauge.
type Kind = for<'a> fn(&'a mut Exposition, &'a str, &str) -> Family<'a>;

const COUNTER: Kind = Exposition::counter;
const GAUGE: Kind = Exposition::gauge;

/// Name, type, help, and how to read the value.
type Metric<T> = (&'static str, Kind, &'static str, fn(&T) -> u64);

const QUEUES: [Metric<QueueStatus>; 9] = [
    ("gamelane_gateway_bytes_total", COUNTER, "IP bytes that left the queue.", |queue| queue.bytes),
    ("gamelane_gateway_packets_total", COUNTER, "Packets that left the queue.", |queue| queue.packets),
    ("gamelane_gateway_arrived_total", COUNTER, "Packets that arrived at the queue.", |queue| queue.arrived),
    ("gamelane_gateway_overlimits_total", COUNTER, "Times the shaper held back a waiting packet.", |queue| {
        queue.overlimits
    }),
    ("gamelane_gateway_ecn_mark_total", COUNTER, "Packets marked.", |queue| queue.ecn_mark),
    ("gamelane_gateway_backlog_bytes", GAUGE, "IP bytes that wait.", |queue| queue.backlog),
    ("gamelane_gateway_qlen_packets", GAUGE, "Packets that wait.", |queue| u64::from(queue.qlen)),
    ("gamelane_gateway_no_room_total", COUNTER, "Frames lost because the pool was full.", |queue| {
        queue.no_room
    }),
    ("gamelane_gateway_not_sent_total", COUNTER, "Frames the interface refused.", |queue| queue.not_sent),
];

const SHAPERS: [Metric<ShaperStatus>; 3] = [
    ("gamelane_gateway_shaper_rate_bps", GAUGE, "Rate it is set to, 0 for none.", |shaper| {
        shaper.rate_bps.unwrap_or(0)
    }),
    ("gamelane_gateway_shaper_measured_bps", GAUGE, "Rate over the last second.", |shaper| {
        shaper.measured_bps
    }),
    ("gamelane_gateway_shaper_bypass_bps", GAUGE, "Sent by others past the shaper.", |shaper| {
        shaper.bypass_bps
    }),
];

const FOLLOWERS: [Metric<AutorateStatus>; 6] = [
    ("gamelane_gateway_autorate_rate_bps", GAUGE, "Current rate.", |own| own.rate_bps),
    ("gamelane_gateway_autorate_signals_total", COUNTER, "Signals received.", |own| own.signals),
    ("gamelane_gateway_autorate_lowered_total", COUNTER, "Times it was lowered.", |own| own.lowered),
    ("gamelane_gateway_autorate_raised_total", COUNTER, "Times it was raised.", |own| own.raised),
    ("gamelane_gateway_autorate_windows_total", COUNTER, "Windows with traffic.", |own| own.windows),
    (
        "gamelane_gateway_autorate_windows_unheard_total",
        COUNTER,
        "Windows with traffic and no signal.",
        |own| own.windows_unheard,
    ),
];

fn by_direction<T>(out: &mut Exposition, metrics: &[Metric<T>], values: &BTreeMap<String, T>) {
    for (name, kind, help, read) in metrics {
        let mut family = kind(out, name, help);
        for (direction, value) in values {
            family.add(&[("direction", direction)], read(value));
        }
    }
}

fn drops(
    out: &mut Exposition,
    status: &Status,
    name: &str,
    help: &str,
    reasons: fn(&QueueStatus) -> &BTreeMap<String, u64>,
) {
    let mut family = out.counter(name, help);
    for (direction, queue) in &status.queues {
        for (reason, count) in reasons(queue) {
            family.add(&[("direction", direction), ("reason", reason)], *count);
        }
    }
}

fn sojourn(out: &mut Exposition, status: &Status) {
    let mut family = out.histogram("gamelane_gateway_sojourn_seconds", "Time in the queue.");
    for (direction, queue) in status.queues.iter().filter(|(_, queue)| queue.sojourn_ms.is_some()) {
        family.add(&[("direction", direction)], &queue.sojourn);
    }
}

fn moves(out: &mut Exposition, status: &Status) {
    let mut moved =
        status.autorate.iter().filter_map(|(way, own)| Some((way, own.moved.as_ref()?))).peekable();
    if moved.peek().is_none() {
        return;
    }
    let help = "Seconds since its rate moved last, and why it did.";
    let mut family = out.gauge("gamelane_gateway_autorate_moved_seconds", help);
    for (direction, moved) in moved {
        let signal = moved.signal.as_deref().unwrap_or("none");
        let labels = [("direction", direction.as_str()), ("cause", &moved.cause), ("signal", signal)];
        family.add(&labels, moved.ago_s);
    }
}

fn engine(out: &mut Exposition, status: &Status) {
    if let Some(engine) = &status.engine {
        let help = "Frames the kernel dropped because the gateway was late.";
        let mut family = out.counter("gamelane_gateway_ring_full_total", help);
        family.add(&[("direction", Direction::Up.name())], engine.ring_full.up);
        family.add(&[("direction", Direction::Down.name())], engine.ring_full.down);
    }
    if status.verdict.state == State::Unknown {
        return;
    }
    let help = "0 while a game or call suffers here.";
    let is_fine = u64::from(status.verdict.state != State::Suffering);
    out.gauge("gamelane_gateway_game_fine", help)
        .add(&[("policy", status.policy.as_deref().unwrap_or(""))], is_fine);
}
