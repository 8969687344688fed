//! The status in Prometheus' text format 0.0.4. Single flows are left out: there may be thousands, and they come and go.

use std::fmt::Write as _;

use super::{AutorateStatus, QueueStatus, ShaperStatus, State, Status};

/// Returns all metrics.
pub fn prometheus(status: &Status) -> String {
    let mut page = Page::default();
    queues(&mut page, status);
    drops(&mut page, status);
    sojourn(&mut page, status);
    shapers(&mut page, status);
    followers(&mut page, status);
    moves(&mut page, status);
    engine(&mut page, status);
    page.0
}

/// Metrics written so far.
#[derive(Default)]
struct Page(String);

impl Page {
    /// Writes one metric: its help, its type, and a line for each set of labels.
    fn family(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        values: impl IntoIterator<Item = (String, f64)>,
    ) {
        let out = &mut self.0;
        let _ = writeln!(out, "# HELP gamelane_gateway_{name} {help}\n# TYPE gamelane_gateway_{name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(out, "gamelane_gateway_{name}{{{labels}}} {value}");
        }
    }
}

/// Name, type, help, and how to read the value.
type Metric<T> = (&'static str, &'static str, &'static str, fn(&T) -> f64);

const QUEUES: [Metric<QueueStatus>; 9] = [
    ("bytes_total", "counter", "IP bytes that left the queue.", |queue| queue.bytes as f64),
    ("packets_total", "counter", "Packets that left the queue.", |queue| queue.packets as f64),
    ("arrived_total", "counter", "Packets that arrived at the queue.", |queue| queue.arrived as f64),
    ("overlimits_total", "counter", "Times the shaper held back a waiting packet.", |queue| {
        queue.overlimits as f64
    }),
    ("ecn_mark_total", "counter", "Packets marked.", |queue| queue.ecn_mark as f64),
    ("backlog_bytes", "gauge", "IP bytes that wait.", |queue| queue.backlog as f64),
    ("qlen_packets", "gauge", "Packets that wait.", |queue| f64::from(queue.qlen)),
    ("no_room_total", "counter", "Frames lost because the pool was full.", |queue| queue.no_room as f64),
    ("not_sent_total", "counter", "Frames the interface refused.", |queue| queue.not_sent as f64),
];

const SHAPERS: [Metric<ShaperStatus>; 3] = [
    ("shaper_rate_bps", "gauge", "Rate it is set to, 0 for none.", |shaper| {
        shaper.rate_bps.unwrap_or(0) as f64
    }),
    ("shaper_measured_bps", "gauge", "Rate over the last second.", |shaper| shaper.measured_bps as f64),
    ("shaper_bypass_bps", "gauge", "Sent by others past the shaper.", |shaper| shaper.bypass_bps as f64),
];

const FOLLOWERS: [Metric<AutorateStatus>; 6] = [
    ("autorate_rate_bps", "gauge", "Current rate.", |own| own.rate_bps as f64),
    ("autorate_signals_total", "counter", "Signals received.", |own| own.signals as f64),
    ("autorate_lowered_total", "counter", "Times it was lowered.", |own| own.lowered as f64),
    ("autorate_raised_total", "counter", "Times it was raised.", |own| own.raised as f64),
    ("autorate_windows_total", "counter", "Windows with traffic.", |own| own.windows as f64),
    ("autorate_windows_unheard_total", "counter", "Windows with traffic and no signal.", |own| {
        own.windows_unheard as f64
    }),
];

fn direction(name: &str) -> String {
    format!("direction=\"{name}\"")
}

fn queues(page: &mut Page, status: &Status) {
    for (name, kind, help, field) in QUEUES {
        page.family(
            name,
            kind,
            help,
            status.queues.iter().map(|(way, queue)| (direction(way), field(queue))),
        );
    }
}

fn drops(page: &mut Page, status: &Status) {
    let values = status.queues.iter().flat_map(|(way, queue)| {
        queue
            .drop_reasons
            .iter()
            .map(move |(reason, count)| (format!("direction=\"{way}\",reason=\"{reason}\""), *count as f64))
    });
    page.family("drops_total", "counter", "Packets dropped, by reason.", values);
}

fn sojourn(page: &mut Page, status: &Status) {
    let values = status.queues.iter().flat_map(|(way, queue)| {
        let spread = &queue.sojourn_ms;
        [("0.5", spread.p50), ("0.95", spread.p95), ("0.99", spread.p99), ("1", spread.max)]
            .map(|(quantile, ms)| (format!("direction=\"{way}\",quantile=\"{quantile}\""), ms / 1e3))
    });
    page.family("sojourn_seconds", "gauge", "Time in the queue since the start, by quantile.", values);
}

fn shapers(page: &mut Page, status: &Status) {
    for (name, kind, help, field) in SHAPERS {
        let values = status.shaper.iter().map(|(way, shaper)| (direction(way), field(shaper)));
        page.family(name, kind, help, values);
    }
}

fn followers(page: &mut Page, status: &Status) {
    if status.autorate.is_empty() {
        return;
    }
    for (name, kind, help, field) in FOLLOWERS {
        page.family(name, kind, help, status.autorate.iter().map(|(way, own)| (direction(way), field(own))));
    }
}

fn moves(page: &mut Page, status: &Status) {
    let values: Vec<_> = status
        .autorate
        .iter()
        .filter_map(|(way, own)| {
            let moved = own.moved.as_ref()?;
            let signal = moved.signal.as_deref().unwrap_or("none");
            let labels = format!("direction=\"{way}\",cause=\"{}\",signal=\"{signal}\"", moved.cause);
            Some((labels, moved.ago_s))
        })
        .collect();
    if !values.is_empty() {
        let help = "Seconds since its rate moved last, and why it did.";
        page.family("autorate_moved_seconds", "gauge", help, values);
    }
}

fn engine(page: &mut Page, status: &Status) {
    let ring = status.engine.ring_full;
    let ring = [(direction("up"), ring.up as f64), (direction("down"), ring.down as f64)];
    let help = "Frames the kernel dropped because the gateway was late.";
    page.family("ring_full_total", "counter", help, ring);
    let fine = if status.verdict.state == State::Suffering { 0.0 } else { 1.0 };
    let labels = format!("policy=\"{}\"", status.policy);
    page.family("game_fine", "gauge", "0 while a game or call suffers here.", [(labels, fine)]);
}
