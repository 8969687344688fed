//! The summary of a run as the JSON of docs/json-schema.md.

use gamelane_core::Direction;
use gamelane_scenario::Model;
use gamelane_sim::Summary;
use gamelane_sim::statistics::Distribution;
use gamelane_sim::summary::{DirectionSummary, FlowSummary, QueueSummary};
use serde_json::{Map, Value, json};

/// One element of `runs`.
pub(crate) fn run(model: &Model, seed: u64, summary: &Summary) -> Value {
    let flows = model.flows.iter().zip(&summary.flows);
    let flows: Map<String, Value> =
        flows.map(|(model, summary)| (model.name.clone(), flow(model.app.name(), summary))).collect();
    let queues: Map<String, Value> = Direction::BOTH
        .iter()
        .map(|direction| (direction.name().to_owned(), queue(&summary.queues[direction.index()])))
        .collect();
    json!({ "seed": seed, "flows": flows, "queues": queues })
}

fn flow(app: &str, summary: &FlowSummary) -> Value {
    json!({
        "app": app,
        "up": direction(&summary.directions[0]),
        "down": direction(&summary.directions[1]),
        "rtt_ms": distribution(&summary.rtt_ms),
        "rtt_samples": summary.rtt_ms.count,
        "goodput_bps": summary.goodput_bps,
        "retransmissions": summary.retransmissions,
        "timeouts": summary.timeouts,
        "chunks": summary.chunks,
        "stall_seconds": summary.stall_seconds,
    })
}

fn direction(summary: &DirectionSummary) -> Value {
    json!({
        "sent": summary.sent,
        "received": summary.received,
        "lost": summary.lost,
        "marked": summary.marked,
        "loss": summary.loss,
        "throughput_bps": { "mean": summary.throughput_bps, "cv": summary.throughput_cv },
        "queue_delay_ms": distribution(&summary.queue_delay_ms),
    })
}

fn queue(summary: &QueueSummary) -> Value {
    json!({
        "packets": summary.packets,
        "drops": {
            "tail": summary.tail_drops,
            "overlimit": summary.overlimit_drops,
            "aqm": summary.aqm_drops,
            "link": summary.link_losses,
        },
        "marks": summary.marks,
        "backlog_packets": { "mean": summary.mean_backlog, "max": summary.peak_backlog },
    })
}

/// A number that does not exist, such as a quantile of no samples, is null.
fn distribution(of: &Distribution) -> Value {
    let value = |number: f64| if of.count == 0 { Value::Null } else { json!(number) };
    let [p5, p25, p50, p75, p95, p99] = of.quantiles.map(value);
    json!({
        "mean": value(of.mean), "p5": p5, "p25": p25, "p50": p50, "p75": p75, "p95": p95, "p99": p99,
        "max": value(of.max),
    })
}
