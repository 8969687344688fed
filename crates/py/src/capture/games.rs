//! The games of one capture, or of two that were compared, as the JSON of docs/json-schema.md.

use std::collections::{BTreeMap, BTreeSet};

use gamelane_capture::analysis::games::{Counted, TcpWay, UdpWay};
use gamelane_capture::analysis::{Game, Games, Kind};
use gamelane_capture::pair::{PairedFlow, games::joined};
use gamelane_capture::tcp::Cause;
use serde_json::{Map, Value, json};

use super::document::ms;

/// The value of `kind`.
pub(super) const fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Game => "game",
        Kind::Voice => "voice",
        Kind::ThinTcp => "thin-tcp",
        Kind::Other => "other",
    }
}

/// The value of `games`.
pub(super) fn sums(of: &Games) -> Value {
    json!({
        "udp": {
            "games": of.games, "voice_calls": of.voice_calls,
            "up": udp(&of.udp[0]), "down": udp(&of.udp[1]),
        },
        "tcp": { "connections": of.thin_tcp, "up": tcp(&of.tcp[0]), "down": tcp(&of.tcp[1]) },
    })
}

/// Adds `games` to the value of `pair`, and `kind` to each of its flows. `alone` has the flows of each capture by number.
pub(super) fn describe(pair: &mut Value, flows: &[PairedFlow], alone: &[BTreeMap<u32, Game>; 2]) {
    let mut all = Games::default();
    let mut paired = [(); 2].map(|()| BTreeSet::new());
    for (place, flow) in flows.iter().enumerate() {
        let seen = [0, 1].map(|n| alone[n].get(&flow.flows[n]).copied().unwrap_or_default());
        paired.iter_mut().zip(flow.flows).for_each(|(ids, id)| _ = ids.insert(id));
        let game = joined(flow, [&seen[0], &seen[1]]);
        all.add(&game);
        pair["flows"][place]["kind"] = name(game.kind).into();
    }
    pair["games"] = sums(&all);
    let only_in = [0, 1].map(|n| {
        alone[n].iter().filter(|(id, game)| game.kind != Kind::Other && !paired[n].contains(id)).count()
    });
    pair["games"]["only_in"] = json!(only_in);
}

fn counted(of: &Counted) -> Value {
    json!({
        "flows": of.flows, "sent": of.sent, "lost": of.lost,
        "duplicated": of.duplicated, "reordered": of.reordered,
    })
}

fn udp(of: &UdpWay) -> Value {
    json!({
        "counted": counted(&of.counted),
        "steady": of.steady,
        "late": of.late,
        "gaps": of.gaps,
        "missing_by_pace": of.missing_by_pace,
        "longest_gap_ms": ms(of.longest_gap_ns),
    })
}

fn tcp(of: &TcpWay) -> Value {
    let lag: Map<String, Value> = Cause::ALL
        .iter()
        .map(|cause| (cause.name().to_owned(), ms(of.lag_ns[cause.index()]).into()))
        .collect();
    json!({
        "counted": counted(&of.counted),
        "data_packets": of.data_packets,
        "resent": of.resent,
        "spurious": of.spurious,
        "lag_ms": lag,
        "stalls": of.stalls,
        "longest_stall_ms": ms(of.longest_stall_ns),
    })
}
