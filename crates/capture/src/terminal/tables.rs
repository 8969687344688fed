//! The tables: flows with trouble, and groups that may share a path.

use super::columns::{Column, GAP, Hosts, width};
use super::digits;
use super::flows::{called, what};
use crate::document::SharedPaths;
use crate::facts::{Conversation, Way};

/// Maximum number of rows in a table.
pub(super) const SHOWN: usize = 20;
/// Width of one of several endpoints with numbers for hosts.
const NUMBERED: usize = "999:65535, ".len();

/// A row for each flow. Of the columns, those that have text.
pub(super) fn flow_columns(flows: &[Conversation<'_>], hosts: &mut Hosts) -> Vec<Column> {
    type Cell<'a> = &'a mut dyn FnMut(&Conversation<'_>) -> String;
    let mut columns = Vec::new();
    let mut column = |heading: &'static str, rank: u8, is_number: bool, cell: Cell<'_>| {
        let cells = flows.iter().map(&mut *cell).collect();
        columns.push(Column { heading: heading.into(), cells, rank, is_number });
    };
    column("flow", 3, true, &mut |flow| {
        flow.seen().map(|seen| seen.id.to_string()).collect::<Vec<_>>().join("/")
    });
    column("client", 0, false, &mut |flow| hosts.name(flow.client));
    column("server", 0, false, &mut |flow| hosts.name(flow.server));
    column("type", 3, false, &mut |flow| what(flow.first.1));
    column("name", 5, false, &mut |flow| called(flow));
    column("lag\ns", 1, true, &mut lag);
    column("lost\nup", 2, true, &mut |flow| lost(flow.up()));
    column("lost\ndown", 2, true, &mut |flow| lost(flow.down()));
    column("late\nup/down", 4, true, &mut |flow| both(flow, |way| Some(way.steady()?.late.to_string())));
    column("gaps\nup/down", 4, true, &mut |flow| both(flow, |way| Some(way.steady()?.gaps.to_string())));
    column("resent\nup/down", 6, true, &mut |flow| both(flow, |way| Some(way.half?.resent.to_string())));
    column("RTT ms\np50/p99", 7, true, &mut |flow| {
        let trips = flow.round_trips().and_then(|of| Some([of.p50?, of.p99?].map(digits)));
        trips.map_or_else(String::new, |trips| trips.join("/"))
    });
    column("delay ms\nup/down", 5, true, &mut |flow| {
        both(flow, |way| Some(digits(way.pair?.delay_above_least_ms.p99?)))
    });
    column("packets\nup/down", 8, true, &mut |flow| format!("{}/{}", flow.packets(0), flow.packets(1)));
    columns.retain(Column::is_filled);
    columns
}

/// A value of both directions. One without a value is `-`; two without are empty.
fn both(flow: &Conversation<'_>, value: impl Fn(&Way<'_>) -> Option<String>) -> String {
    match (value(flow.up()), value(flow.down())) {
        (None, None) => String::new(),
        (up, down) => [up, down].map(|of| of.unwrap_or_else(|| "-".to_owned())).join("/"),
    }
}

fn lag(flow: &Conversation<'_>) -> String {
    let has_lag = flow.is_game() && flow.ways.iter().any(|way| way.half.is_some());
    let lag_ms: f64 = flow.ways.iter().flat_map(Way::lag_ms).sum();
    if has_lag { digits(lag_ms / 1000.0) } else { String::new() }
}

fn lost(way: &Way<'_>) -> String {
    match way.lost() {
        Some(of) => format!("{}/{}", of.lost, of.sent),
        None if way.pair.is_some() => "unknown".to_owned(),
        None => String::new(),
    }
}

/// A row for each group, with as many members as there is `room` for.
pub(super) fn group_columns(shared: &SharedPaths, hosts: &mut Hosts, room: Option<usize>) -> Vec<Column> {
    let groups: Vec<_> = shared.groups(SHOWN).collect();
    let column = |heading: &'static str, is_number: bool, cells: Vec<String>| Column {
        heading: heading.into(),
        cells,
        rank: 0,
        is_number,
    };
    let range = |medians: &[f64]| {
        let least = medians.iter().copied().fold(f64::INFINITY, f64::min);
        let most = medians.iter().copied().fold(0.0, f64::max);
        format!("{} to {}", digits(least), digits(most))
    };
    let mut columns = vec![
        column("may share\na path", false, groups.iter().map(|(name, _)| (*name).to_owned()).collect()),
        column("connections", true, groups.iter().map(|(_, of)| of.len().to_string()).collect()),
        column("median\nRTT ms", false, {
            let medians =
                groups.iter().map(|(_, of)| of.iter().filter_map(|each| each.median_ms()).collect());
            medians.map(|medians: Vec<f64>| range(&medians)).collect()
        }),
    ];
    let left = room.map(|room| room.saturating_sub(width(&columns) + GAP));
    let cells = groups.iter().map(|(_, of)| {
        let addresses: Vec<&str> = of.iter().map(|each| each.address.as_str()).collect();
        members(&addresses, hosts, left)
    });
    let cells = cells.collect();
    columns.push(Column { heading: shared.heading().into(), cells, rank: 0, is_number: false });
    columns
}

/// The members of a group. Where not all fit, their number is at the end.
fn members(of: &[&str], hosts: &mut Hosts, room: Option<usize>) -> String {
    let written: usize = of.iter().map(|address| address.len() + 2).sum();
    let mut named = |of: &[&str]| of.iter().map(|address| hosts.name(address)).collect::<Vec<_>>().join(", ");
    match room {
        Some(room) if written.min(of.len() * NUMBERED) > room.saturating_add(2) => {
            let fit = (room.saturating_sub(" and 999 more".len()) / NUMBERED).max(1);
            let fit = fit.min(of.len());
            format!("{} and {} more", named(&of[..fit]), of.len() - fit)
        }
        _ => named(of),
    }
}
