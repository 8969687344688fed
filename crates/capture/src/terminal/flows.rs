//! The order in which flows are shown, and the words for a flow.

use std::cmp::Reverse;

use crate::analysis::Kind;
use crate::document::{Document, Flow, Transport};
use crate::facts::{Conversation, conversations};
use crate::names::{Application, Confidence};
use crate::numbers::grouped;

/// Every listed flow: games first, each kind with the worst first, then those with the most packets.
pub(super) fn ranked(found: &Document) -> Vec<Conversation<'_>> {
    let mut flows = conversations(&found.captures, found.pair.as_ref());
    flows.sort_by(|a, b| {
        let rank = |of: &Conversation<'_>| (!of.is_game(), !of.trouble().suffered);
        let behind = |of: &Conversation<'_>| if of.is_game() { of.trouble().behind_ms() } else { 0.0 };
        let packets = |of: &Conversation<'_>| Reverse(of.packets(0) + of.packets(1));
        rank(a)
            .cmp(&rank(b))
            .then_with(|| behind(b).total_cmp(&behind(a)))
            .then_with(|| packets(a).cmp(&packets(b)))
    });
    flows
}

/// How many flows there are of each kind, for example `3 thin TCP, 34 other`.
pub(super) fn counted(flows: &[Conversation<'_>]) -> String {
    let kinds = [
        (Kind::Game, ["game over UDP", "games over UDP"]),
        (Kind::Voice, ["call", "calls"]),
        (Kind::ThinTcp, ["thin TCP"; 2]),
        (Kind::Other, ["other"; 2]),
    ];
    let said = kinds.iter().filter_map(|(kind, names)| {
        let count = flows.iter().filter(|flow| flow.kind == *kind).count() as u64;
        (count > 0).then(|| format!("{} {}", grouped(count), names[usize::from(count > 1)]))
    });
    said.collect::<Vec<_>>().join(", ")
}

/// Protocol and behaviour.
pub(super) fn what(flow: &Flow) -> String {
    match &flow.transport {
        Transport::Udp(udp) if udp.behaviour == "other" => "UDP".to_owned(),
        Transport::Udp(udp) => format!("UDP {}", udp.behaviour),
        Transport::Tcp(tcp) => match [0, 1].map(|way| tcp.half(way).thin == Some(true)) {
            [true, true] => "TCP thin".to_owned(),
            [true, false] => "TCP thin up".to_owned(),
            [false, true] => "TCP thin down".to_owned(),
            [false, false] => "TCP".to_owned(),
        },
    }
}

/// The surest name that one of the captures gives. One that is only possible has a question mark.
pub(super) fn called(flow: &Conversation<'_>) -> String {
    let names = flow.seen().map(|seen| &seen.application);
    let surest = names.min_by_key(|name| Reverse(name.confidence));
    surest.map_or_else(String::new, |Application { name, confidence, .. }| {
        let name = name.as_deref().unwrap_or_default();
        if *confidence == Confidence::Possible { format!("{name}?") } else { name.to_owned() }
    })
}

/// IP bytes of both directions in the first capture that has it.
pub(super) fn bytes(flow: &Conversation<'_>) -> u64 {
    let (_, seen) = flow.first;
    seen.way(0).bytes + seen.way(1).bytes
}
