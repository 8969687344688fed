//! Two capture points compared, as the JSON of docs/json-schema.md.

use gamelane_capture::pair::{Comparison, Delivery, Losses, PairedDirection, PairedFlow};
use gamelane_capture::tcp::Cause;
use serde_json::{Map, Value, json};

use super::document::{ms, samples};

/// The value of `pair`.
pub(super) fn document(of: &Comparison) -> Value {
    json!({
        "clock_drift_ppm": of.drift_ppb.map(|ppb| ppb / 1e3),
        "flows": of.flows.iter().map(flow).collect::<Vec<_>>(),
    })
}

fn flow(of: &PairedFlow) -> Value {
    json!({
        "client": of.key.source.to_string(),
        "server": of.key.destination.to_string(),
        "ids": of.flows,
        "near_client": of.first_is_near_client.map(|first| if first { 0 } else { 1 }),
        "rtt_ms": samples(&of.rtt, 1e6),
        "up": direction(&of.directions[0]),
        "down": direction(&of.directions[1]),
    })
}

fn direction(of: &PairedDirection) -> Value {
    let losses = of.losses.as_ref().ok();
    let count = |count: fn(&Losses) -> u64| losses.map(count);
    let share = |lost: u64, sent: u64| (sent > 0).then(|| lost as f64 / sent as f64);
    json!({
        "seen": of.seen,
        "unknown": of.losses.as_ref().err().map(ToString::to_string),
        "sent": count(|of| of.sent),
        "lost": count(|of| of.lost),
        "undecided": count(|of| of.undecided),
        "loss": losses.and_then(|of| share(of.lost, of.sent)),
        "sent_with_data": count(|of| of.sent_with_data),
        "lost_with_data": count(|of| of.lost_with_data),
        "loss_of_data": losses.and_then(|of| share(of.lost_with_data, of.sent_with_data)),
        "duplicated": count(|of| of.duplicated),
        "reordered": count(|of| of.reordered),
        "unsent": count(|of| of.unsent),
        "loss_runs": losses.map(|of| samples(&of.runs, 1.0)),
        "loss_after_loss": losses.and_then(|of| of.after_loss),
        "worst_second": losses.map(|of| of.worst_second),
        "longest_gap_ms": losses.map(|of| ms(of.longest_gap_ns)),
        "delay_above_least_ms": samples(&of.one_way.above_least, 1e6),
        "clock_difference_ms": {
            "least": of.one_way.difference.map(|difference| difference.least_ns as f64 / 1e6),
            "median": of.one_way.difference.map(|difference| difference.median_ns as f64 / 1e6),
        },
        "clock_drift_ppm": of.one_way.drift_ppb.map(|ppb| ppb / 1e3),
        "jitter_ms": of.one_way.jitter_ns / 1e6,
        "delivery": of.delivery.as_ref().map(delivery),
    })
}

fn delivery(of: &Delivery) -> Value {
    let late: Map<String, Value> = Cause::ALL
        .iter()
        .map(|cause| {
            let n = cause.index();
            (cause.name().to_owned(), json!({ "packets": of.late[n], "lag_ms": ms(of.late_ns[n]) }))
        })
        .collect();
    json!({
        "lag_ms": samples(&of.lag, 1e6),
        "late": late,
        "late_lag_ms": ms(of.total_ns()),
        "held_up": of.held_up,
        "undelivered": of.undelivered,
    })
}
