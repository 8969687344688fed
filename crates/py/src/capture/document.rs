//! What an analysis found as the JSON of docs/json-schema.md.

use gamelane_capture::analysis::direction::Direction;
use gamelane_capture::analysis::{
    Behaviour, Games, HalfReport, Samples, TcpReport, TransportReport, Updates,
};
use gamelane_capture::tcp::Cause;
use gamelane_capture::tcp::connection::End;
use gamelane_capture::{Analyzer, Capture, CaptureError, FlowReport, Skipped};
use serde_json::{Map, Value, json};

use super::games;
use super::sink::Tables;

/// A capture that could not be opened.
pub(super) fn unread(path: &str, error: &CaptureError) -> Value {
    json!({
        "file": path, "complete": false, "error": explained(error), "further_errors": [], "packets": 0,
        "flows_total": 0, "games": games::sums(&Games::default()), "flows": [],
    })
}

/// What was read of a capture's files.
#[derive(Default)]
pub(super) struct Read {
    packets: u64,
    skipped: Skipped,
    untimed: u64,
    pub(super) dropped: Option<u64>,
    dropped_before: u64,
}

impl Read {
    /// A file was read, as far as it went.
    pub(super) fn add<R: std::io::Read>(&mut self, capture: &Capture<R>) {
        self.packets += capture.packets_read();
        self.untimed += capture.untimed();
        let more = capture.skipped();
        self.skipped.not_ip += more.not_ip;
        self.skipped.other_protocol += more.other_protocol;
        self.skipped.cut_header += more.cut_header;
        self.skipped.encrypted += more.encrypted;
        self.skipped.wifi_retries += more.wifi_retries;
        self.skipped.stray_fragments += more.stray_fragments;
        self.skipped.unsupported_link += more.unsupported_link;
        self.skipped.unsupported_link_type =
            self.skipped.unsupported_link_type.or(more.unsupported_link_type);
        // Counts go on from file to file of a recording; one that starts anew is another's.
        if let Some(dropped) = capture.dropped_by_capture() {
            let so_far = self.dropped.unwrap_or(0);
            if dropped < so_far - self.dropped_before {
                self.dropped_before = so_far;
            }
            self.dropped = Some(self.dropped_before + dropped);
        }
    }
}

/// One element of `captures`.
pub(super) fn capture(
    path: &str,
    read: &Read,
    analyzer: &Analyzer,
    tables: &Tables,
    errors: &[CaptureError],
) -> Value {
    let (clock, skipped) = (analyzer.clock(), read.skipped);
    json!({
        "file": path,
        "complete": errors.is_empty(),
        "error": errors.first().map(explained),
        "further_errors": errors.iter().skip(1).map(explained).collect::<Vec<_>>(),
        "packets": read.packets,
        "skipped": {
            "not_ip": skipped.not_ip,
            "other_protocol": skipped.other_protocol,
            "cut_header": skipped.cut_header,
            "encrypted": skipped.encrypted,
            "wifi_retries": skipped.wifi_retries,
            "stray_fragments": skipped.stray_fragments,
            "unsupported_link": skipped.unsupported_link,
            "unsupported_link_type": skipped.unsupported_link_type,
            "untimed": read.untimed,
        },
        "dropped_by_capture": read.dropped,
        "start_unix_ns": clock.start_ns,
        "duration_s": seconds(clock.lasted_ns),
        "time_went_back": {
            "packets": clock.went_back.count, "furthest_ms": ms(clock.went_back.furthest_ns),
        },
        "clock_steps": { "count": clock.steps.count, "furthest_ms": ms(clock.steps.furthest_ns) },
        "stamps_ahead": { "packets": clock.ahead.count, "furthest_ms": ms(clock.ahead.furthest_ns) },
        "set_aside": analyzer.set_aside(),
        "flows_total": analyzer.flows(),
        "flows_left_out": {
            "flows": tables.left_out.flows, "games": tables.left_out.games,
            "packets": tables.left_out.packets, "bytes": tables.left_out.bytes,
        },
        "games": games::sums(&tables.games),
        "flows": tables.reports().into_iter().map(flow).collect::<Vec<_>>(),
    })
}

fn explained(error: &CaptureError) -> Value {
    let text = error.to_string();
    let (message, hint) = text.split_once("\nhint: ").unwrap_or((&text, ""));
    let (kind, offset, packets_read) = match error {
        CaptureError::NotACapture { .. } => ("not-a-capture", Some(0), 0),
        CaptureError::Truncated { packets_read, offset, .. } => ("truncated", Some(*offset), *packets_read),
        CaptureError::Malformed { packets_read, offset, .. } => ("damaged", Some(*offset), *packets_read),
        CaptureError::MixedLinkTypes { packets_read, offset, .. } => {
            ("unsupported-link-type", Some(*offset), *packets_read)
        }
        CaptureError::UnsupportedLinkType { .. } => ("unsupported-link-type", None, 0),
        CaptureError::Encrypted { packets_read, .. } => ("encrypted", None, *packets_read),
        _ => ("unreadable", None, 0),
    };
    json!({ "kind": kind, "message": message, "hint": hint, "offset": offset, "packets_read": packets_read })
}

fn flow(report: &FlowReport) -> Value {
    let lasted = report.last_ns - report.first_ns;
    let mut value = json!({
        "id": report.flow,
        "kind": games::name(report.kind()),
        "protocol": match report.transport { TransportReport::Tcp(_) => "tcp", TransportReport::Udp { .. } => "udp" },
        "client": report.key.source.to_string(),
        "server": report.key.destination.to_string(),
        "client_by": report.client_by.name(),
        "interface": report.interface,
        "start_s": seconds(report.first_ns),
        "end_s": seconds(report.last_ns),
        "up": direction(&report.directions[0], lasted),
        "down": direction(&report.directions[1], lasted),
    });
    let (name, more) = match &report.transport {
        TransportReport::Tcp(tcp) => ("tcp", connection(tcp)),
        TransportReport::Udp { behaviour, updates: both } => {
            let [up, down] = &**both;
            let behaviour = match behaviour {
                Behaviour::Game => "game",
                Behaviour::Voice => "voice",
                Behaviour::Other => "other",
            };
            (
                "udp",
                json!({ "behaviour": behaviour, "up": up.as_ref().map(updates), "down": down.as_ref().map(updates) }),
            )
        }
    };
    value[name] = more;
    value
}

fn direction(of: &Direction, lasted_ns: u64) -> Value {
    let dscp: Map<String, Value> = of
        .dscp
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(point, count)| (point.to_string(), json!(count)))
        .collect();
    let mean_bps = (lasted_ns > 0).then(|| of.bytes as f64 * 8e9 / lasted_ns as f64);
    json!({
        "packets": of.packets,
        "bytes": of.bytes,
        "payload_bytes": of.payload_bytes,
        "fragments": of.fragments,
        "duplicates": of.duplicates,
        "copies": of.copies.as_ref().map(|copies| json!({
            "packets": copies.packets, "after_ms": samples(&copies.after, 1e6),
        })),
        "payload_size_bytes": samples(&of.sizes, 1.0),
        "gap_ms": samples(&of.gaps, 1e6),
        "throughput_bps": { "mean": mean_bps, "peak_1s": of.peak_bytes_per_second * 8 },
        "ecn": { "not_ect": of.ecn[0], "ect1": of.ecn[1], "ect0": of.ecn[2], "ce": of.ecn[3] },
        "dscp": dscp,
    })
}

fn updates(of: &Updates) -> Value {
    json!({
        "tick_ms": of.tick_ns / 1e6,
        "regular": of.regular,
        "jitter_ms": of.jitter_ns / 1e6,
        "mean_jitter_ms": of.mean_jitter_ns / 1e6,
        "steady": of.is_steady,
        "late": of.late,
        "gaps": of.gaps,
        "longest_gap_ms": ms(of.longest_gap_ns),
        "missing_by_pace": of.missing_by_pace,
        "numbered": of.numbered.map(|numbered| json!({
            "arrived": numbered.arrived, "missing": numbered.missing, "duplicated": numbered.duplicated, "reordered": numbered.reordered,
        })),
    })
}

fn connection(of: &TcpReport) -> Value {
    let end = match of.end {
        End::Open => "open",
        End::HalfClosed(_) => "half-closed",
        End::Closed => "closed",
        End::Reset => "reset",
    };
    let half_rtt = |half: &HalfReport| {
        json!({
            "acknowledgements": samples(&half.counts.ack_rtt, 1e6),
            "timestamps": samples(&half.counts.stamp_rtt, 1e6),
        })
    };
    let [to_server, to_client] = of.handshake_rtt_ns.map(|rtt| rtt.map(ms));
    json!({
        "from_handshake": of.from_handshake,
        "end": end,
        "sack": of.sack,
        "handshake_rtt_ms": { "to_server": to_server, "to_client": to_client },
        "rtt_ms": samples(&of.both_rtt, 1e6),
        "rtt_to_server_ms": half_rtt(&of.halves[0]),
        "rtt_to_client_ms": half_rtt(&of.halves[1]),
        "up": half(&of.halves[0]),
        "down": half(&of.halves[1]),
    })
}

fn half(of: &HalfReport) -> Value {
    let counts = &of.counts;
    let (causes, spurious, lag) = (of.causes(), of.spurious(), of.lag_ns());
    let by_timeouts: Map<String, Value> = LENGTHS
        .into_iter()
        .zip(counts.stall_lengths.by_timeouts)
        .map(|(length, count)| (length.to_owned(), json!(count)))
        .collect();
    let by_cause: Map<String, Value> = Cause::ALL
        .iter()
        .map(|cause| {
            let n = cause.index();
            (
                cause.name().to_owned(),
                json!({ "count": causes[n], "spurious": spurious[n], "lag_ms": ms(lag[n]) }),
            )
        })
        .collect();
    let most = usize::from(of.totals.most).min(of.totals.nth.len());
    let nth: Vec<Value> = of.totals.nth[..most]
        .iter()
        .map(|nth| {
            let mean = (nth.successful > 0).then(|| nth.delay.as_millis_f64() / nth.successful as f64);
            json!({
                "total": nth.itself + nth.included, "self": nth.itself, "included": nth.included,
                "successful": nth.successful, "mean_delay_ms": mean,
            })
        })
        .collect();
    json!({
        "thin": of.is_thin(),
        "data_packets": counts.data_packets,
        "new_packets": of.totals.packets,
        "new_bytes": counts.new_bytes,
        "resent": counts.resent,
        "repeated_bytes": counts.repeated_bytes,
        "lost_before_capture": counts.lost_before,
        "reordered": counts.reordered,
        "loss_estimate": estimate(of),
        "retransmissions": by_cause,
        "nth": nth,
        "most_retransmissions": of.totals.most,
        "bundled": of.totals.bundled,
        "duplicate_acks": counts.duplicate_acks,
        "control_retransmissions": counts.control_retransmissions,
        "keep_alives": counts.keep_alives,
        "window_probes": counts.window_probes,
        "zero_windows": { "count": counts.zero_windows, "seconds": seconds(counts.zero_window_ns) },
        "packets_in_flight": samples(&counts.packets_in_flight, 1.0),
        "bytes_in_flight": samples(&counts.bytes_in_flight, 1.0),
        "packets_per_rtt": samples(&counts.packets_per_rtt, 1.0),
        "application_delay_ms": samples(&counts.application_delay, 1e6),
        "retransmitted_delay_ms": samples(&counts.retransmitted_delay, 1e6),
        "missing_delay_ms": samples(&counts.missing_delay, 1e6),
        "held_up": counts.held_up,
        "stalls": {
            "count": counts.stalls, "longest_ms": ms(counts.longest_stall_ns), "by_retransmissions": counts.stalls_by_tries,
            "timeouts": samples(&counts.stall_lengths.hundredths, 100.0), "by_timeouts": by_timeouts,
        },
        "released_by_ack": counts.released_by_ack,
        "delayed_acks": {
            "count": counts.delayed_acks,
            "mean_ms": (counts.delayed_acks > 0).then(|| ms(counts.delayed_ack_ns) / counts.delayed_acks as f64),
        },
        "unacknowledged": of.unacknowledged,
        "missing_bytes": of.missing_bytes,
        "acknowledged_unseen": counts.acknowledged_unseen,
    })
}

/// Share of data packets lost, as one capture can tell: those sent again, less those the receiver had.
fn estimate(of: &HalfReport) -> Option<f64> {
    let counts = &of.counts;
    let spurious: u64 = counts.spurious.iter().sum();
    let sent = counts.data_packets + counts.lost_before;
    (sent > 0).then(|| counts.resent.saturating_sub(spurious) as f64 / sent as f64)
}

/// A distribution; numbers of no samples are null.
pub(super) fn samples(of: &Samples, unit: f64) -> Value {
    let scaled = |value: Option<f64>| value.map(|value| value / unit);
    let whole = |value: Option<u64>| value.map(|value| value as f64 / unit);
    let quantiles = of.quantiles([0.05, 0.25, 0.5, 0.75, 0.95, 0.99]);
    let [p5, p25, p50, p75, p95, p99] = quantiles.map_or([None; 6], |values| values.map(|v| scaled(Some(v))));
    json!({
        "count": of.count(), "mean": scaled(of.mean()), "sd": scaled(of.standard_deviation()),
        "min": whole(of.min()), "p5": p5, "p25": p25, "p50": p50, "p75": p75, "p95": p95, "p99": p99,
        "max": whole(of.max()),
    })
}

pub(super) fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Stalls in timeouts.
const LENGTHS: [&str; 6] = ["below 1", "1", "2", "3", "4 to 6", "7 and more"];

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
