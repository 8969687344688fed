//! Two capture points compared, as the JSON of docs/json-schema.md.

use gamelane_capture::pair::{Delivery, PairedDirection, PairedFlow};
use gamelane_capture::tcp::Cause;
use serde_json::{Map, Value, json};

use super::document::{ms, samples};

/// The value of `pair`.
pub(super) fn document(flows: &[PairedFlow]) -> Value {
    json!({ "flows": flows.iter().map(flow).collect::<Vec<_>>() })
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
    let losses = &of.losses;
    let share = |lost: u64, sent: u64| (sent > 0).then(|| lost as f64 / sent as f64);
    json!({
        "sent": of.sent,
        "lost": losses.lost,
        "loss": share(losses.lost, of.sent),
        "sent_with_data": losses.sent_with_data,
        "lost_with_data": losses.lost_with_data,
        "loss_of_data": share(losses.lost_with_data, losses.sent_with_data),
        "duplicated": losses.duplicated,
        "reordered": losses.reordered,
        "unsent": losses.unsent,
        "loss_runs": samples(&losses.runs, 1.0),
        "loss_after_loss": losses.after_loss,
        "worst_second": losses.worst_second,
        "longest_gap_ms": ms(losses.longest_gap_ns),
        "delay_above_least_ms": samples(&of.one_way.above_least, 1e6),
        "clock_difference_ms": {
            "least": of.one_way.difference.least_ns as f64 / 1e6,
            "median": of.one_way.difference.median_ns as f64 / 1e6,
        },
        "clock_drift_ppm": of.one_way.drift.ppb / 1e3,
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
