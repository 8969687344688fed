//! The status in Prometheus' text format 0.0.4. Single flows are left out: there may be thousands, and they come and go.

use std::fmt::Write as _;

use crate::status::Status;
use crate::verdict::State;

/// Everything that is counted.
pub fn prometheus(status: &Status) -> String {
    let mut out = String::new();
    let mut family = |name: &str, kind: &str, help: &str, values: &[(String, f64)]| {
        let name = format!("gamelane_gateway_{name}");
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(out, "{name}{{{labels}}} {value}");
        }
    };
    type Field = fn(&crate::status::QueueStatus) -> f64;
    let queues: [(&str, &str, &str, Field); 9] = [
        ("bytes_total", "counter", "IP bytes that left the queue.", |queue| queue.bytes as f64),
        ("packets_total", "counter", "Packets that left the queue.", |queue| queue.packets as f64),
        ("arrived_total", "counter", "Packets that came to the queue.", |queue| queue.arrived as f64),
        ("overlimits_total", "counter", "Times the shaper held a waiting packet back.", |queue| {
            queue.overlimits as f64
        }),
        ("ecn_mark_total", "counter", "Packets marked.", |queue| queue.ecn_mark as f64),
        ("backlog_bytes", "gauge", "IP bytes that wait.", |queue| queue.backlog as f64),
        ("qlen_packets", "gauge", "Packets that wait.", |queue| f64::from(queue.qlen)),
        ("no_room_total", "counter", "Frames that found no place in memory.", |queue| queue.no_room as f64),
        ("not_sent_total", "counter", "Frames the interface refused.", |queue| queue.not_sent as f64),
    ];
    for (name, kind, help, field) in queues {
        let values: Vec<_> = status
            .queues
            .iter()
            .map(|(direction, queue)| (format!("direction=\"{direction}\""), field(queue)))
            .collect();
        family(name, kind, help, &values);
    }
    let drops: Vec<_> = status
        .queues
        .iter()
        .flat_map(|(direction, queue)| {
            queue.drop_reasons.iter().map(move |(reason, count)| {
                (format!("direction=\"{direction}\",reason=\"{reason}\""), *count as f64)
            })
        })
        .collect();
    family("drops_total", "counter", "Packets dropped, by reason.", &drops);
    let sojourn: Vec<_> = status
        .queues
        .iter()
        .flat_map(|(direction, queue)| {
            let spread = &queue.sojourn_ms;
            [("0.5", spread.p50), ("0.95", spread.p95), ("0.99", spread.p99), ("1", spread.max)].map(
                |(quantile, ms)| (format!("direction=\"{direction}\",quantile=\"{quantile}\""), ms / 1e3),
            )
        })
        .collect();
    family("sojourn_seconds", "gauge", "Time in the queue since the start, by quantile.", &sojourn);
    let shapers = |of: fn(&crate::status::ShaperStatus) -> f64| -> Vec<(String, f64)> {
        let value = |(direction, shaper): (&String, &crate::status::ShaperStatus)| {
            (format!("direction=\"{direction}\""), of(shaper))
        };
        status.shaper.iter().map(value).collect()
    };
    family(
        "shaper_rate_bps",
        "gauge",
        "Rate it is set to, 0 for none.",
        &shapers(|shaper| shaper.rate_bps.unwrap_or(0) as f64),
    );
    family(
        "shaper_measured_bps",
        "gauge",
        "Rate over the last second.",
        &shapers(|shaper| shaper.measured_bps as f64),
    );
    family(
        "shaper_bypass_bps",
        "gauge",
        "Sent by others past the shaper.",
        &shapers(|shaper| shaper.bypass_bps as f64),
    );
    type Follows = fn(&crate::status::AutorateStatus) -> f64;
    let followers: [(&str, &str, &str, Follows); 6] = [
        ("autorate_rate_bps", "gauge", "Rate it has come to.", |own| own.rate_bps as f64),
        ("autorate_signals_total", "counter", "Signals heard.", |own| own.signals as f64),
        ("autorate_lowered_total", "counter", "Times it was lowered.", |own| own.lowered as f64),
        ("autorate_raised_total", "counter", "Times it was raised.", |own| own.raised as f64),
        ("autorate_windows_total", "counter", "Windows with traffic.", |own| own.windows as f64),
        ("autorate_windows_unheard_total", "counter", "Windows with traffic and no signal.", |own| {
            own.windows_unheard as f64
        }),
    ];
    for (name, kind, help, field) in followers {
        let values: Vec<_> = status
            .autorate
            .iter()
            .map(|(direction, own)| (format!("direction=\"{direction}\""), field(own)))
            .collect();
        if !values.is_empty() {
            family(name, kind, help, &values);
        }
    }
    let moves: Vec<_> = status
        .autorate
        .iter()
        .filter_map(|(direction, own)| {
            let moved = own.moved.as_ref()?;
            let signal = moved.signal.as_deref().unwrap_or("none");
            let labels = format!("direction=\"{direction}\",cause=\"{}\",signal=\"{signal}\"", moved.cause);
            Some((labels, moved.ago_s))
        })
        .collect();
    if !moves.is_empty() {
        family("autorate_moved_seconds", "gauge", "Since its rate moved last, and why it did.", &moves);
    }
    let ring: Vec<_> = ["up", "down"]
        .into_iter()
        .zip(status.engine.ring_full)
        .map(|(direction, count)| (format!("direction=\"{direction}\""), count as f64))
        .collect();
    family("ring_full_total", "counter", "Frames the kernel dropped because the gateway was late.", &ring);
    let fine = if status.verdict.state == State::Suffering { 0.0 } else { 1.0 };
    family(
        "game_fine",
        "gauge",
        "0 while a game or call suffers here.",
        &[(format!("policy=\"{}\"", status.policy), fine)],
    );
    out
}
