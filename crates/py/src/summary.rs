//! The summary of a run as the JSON of docs/json-schema.md.

use gamelane_core::{ByteCount, Direction, Duration};
use gamelane_scenario::Model;
use gamelane_sim::statistics::Distribution;
use gamelane_sim::summary::{DirectionSummary, FlowSummary, QueueSummary, StationSummary};
use gamelane_sim::thin_summary::{DeliverySummary, ThinSummary};
use gamelane_sim::{FollowingOutcome, Summary};
use gamelane_stage::voap::VoapCounters;
use gamelane_tcp::accounting::NthRetransmission;
use serde_json::{Map, Value, json};

/// One element of `runs`.
pub(crate) fn run(model: &Model, seed: u64, summary: &Summary) -> Value {
    let flows = model.flows.iter().zip(&summary.flows);
    let flows: Map<String, Value> =
        flows.map(|(model, summary)| (model.name.clone(), flow(model.app.name(), summary))).collect();
    let own = Direction::BOTH.iter().map(|direction| (direction.name(), &summary.queues[direction.index()]));
    let others = summary.others.iter().map(|(name, other)| (name.as_str(), other));
    let queues: Map<String, Value> =
        own.chain(others).map(|(name, own)| (name.to_owned(), queue(own))).collect();
    let mut run = json!({ "seed": seed, "flows": flows, "queues": queues });
    if !summary.stations.is_empty() {
        let stations = summary.stations.iter().map(|own| (own.name.clone(), station(own)));
        run["stations"] = stations.collect::<Map<String, Value>>().into();
    }
    if let Some(counters) = &summary.voap {
        run["voap"] = voap(counters);
    }
    let autorate = Direction::BOTH.iter().filter_map(|direction| {
        let own = summary.autorate[direction.index()].as_ref()?;
        Some((direction.name().to_owned(), following(own)))
    });
    let autorate: Map<String, Value> = autorate.collect();
    if !autorate.is_empty() {
        run["autorate"] = autorate.into();
    }
    run
}

fn following(outcome: &FollowingOutcome) -> Value {
    json!({
        "rate_bps": { "mean": outcome.mean_rate_bps, "last": outcome.last_rate_bps },
        "signals": outcome.counters.passive,
        "probes": outcome.counters.probes,
        "lowered": outcome.counters.lowered,
        "raised": outcome.counters.raised,
        "windows": outcome.counters.windows,
        "unheard": outcome.counters.unheard,
    })
}

fn voap(counters: &VoapCounters) -> Value {
    let bytes = |of: [ByteCount; 2]| json!({ "up": of[0].bytes(), "down": of[1].bytes() });
    json!({
        "segments": counters.segments,
        "lowered": counters.lowered,
        "not_ours": counters.not_ours,
        "unknown": counters.unknown,
        "connections": counters.opened,
        "no_room": counters.no_room,
        "bytes": { "tcp": bytes(counters.tcp), "quic": bytes(counters.quic), "other": bytes(counters.other) },
    })
}

fn station(summary: &StationSummary) -> Value {
    json!({
        "airtime": summary.airtime,
        "frames": summary.counters.attempts,
        "collisions": summary.counters.collisions,
        "damaged": summary.counters.errors,
        "given_up": summary.counters.drops,
    })
}

fn flow(app: &str, summary: &FlowSummary) -> Value {
    let mut flow = json!({
        "app": app,
        "up": direction(&summary.directions[0]),
        "down": direction(&summary.directions[1]),
        "rtt_ms": distribution(&summary.rtt_ms),
        "rtt_deviation_ms": if summary.rtt_ms.count == 0 { Value::Null } else { json!(summary.rtt_deviation_ms) },
        "rtt_samples": summary.rtt_ms.count,
        "goodput_bps": summary.goodput_bps,
        "retransmissions": summary.retransmissions,
        "timeouts": summary.timeouts,
        "chunks": summary.chunks,
        "stall_seconds": summary.stall_seconds,
        "transfers": summary.transfer_ms.count,
        "transfer_ms": distribution(&summary.transfer_ms),
    });
    if let Some(summary) = &summary.thin {
        flow["thin"] = thin(summary);
    }
    flow
}

fn thin(summary: &ThinSummary) -> Value {
    let (sent, again) = (&summary.server, &summary.retransmissions);
    let nth = |n: &NthRetransmission| {
        let mean = |sum: Duration, count: u64| match count {
            0 => Value::Null,
            _ => json!(sum.as_secs_f64() * 1e3 / count as f64),
        };
        json!({
            "total": n.itself + n.included,
            "self": n.itself,
            "included": n.included,
            "successful": n.successful,
            "delay_ms": mean(n.delay, n.successful),
            "delay_ms_self": mean(n.delay_itself, n.successful_itself),
        })
    };
    let numbered: Map<String, Value> =
        again.nth.iter().zip(1..).map(|(n, number)| (i32::to_string(&number), nth(n))).collect();
    json!({
        "players": summary.players,
        "connections": summary.connections,
        "up": delivery(&summary.directions[0]),
        "down": delivery(&summary.directions[1]),
        "packets": again.packets,
        "retransmitted_segments": again.retransmitted_segments,
        "most_retransmissions": again.most,
        "nth": numbered,
        "bundled_copies": again.bundled,
        "timeouts": sent.timeouts,
        "fast_retransmissions": sent.fast_retransmissions,
        "timeout_retransmissions": sent.timeout_retransmissions,
        "tail_probes": sent.tail_probes,
        "fast_recoveries": sent.fast_recoveries,
        "duplicate_segments": summary.in_vain,
        "spurious_timeouts": sent.spurious_timeouts,
    })
}

fn delivery(summary: &DeliverySummary) -> Value {
    let mut delivery = distribution(&summary.delivery_ms);
    let some = summary.delivery_ms.count > 0;
    delivery["p999"] = if some { json!(summary.delivery_ms_p999) } else { Value::Null };
    json!({
        "messages": summary.delivery_ms.count,
        "delivery_ms": delivery,
        "held_ms": distribution(&summary.held_ms),
    })
}

fn direction(summary: &DirectionSummary) -> Value {
    json!({
        "sent": summary.sent,
        "sent_bytes": summary.sent_bytes,
        "received": summary.received,
        "lost": summary.lost,
        "marked": summary.marked,
        "loss": summary.loss,
        "throughput_bps": { "mean": summary.throughput_bps, "cv": summary.throughput_cv },
        "queue_delay_ms": distribution(&summary.queue_delay_ms),
        "jitter_ms": distribution(&summary.jitter_ms),
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
            "ack_filter": summary.ack_filter_drops,
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
