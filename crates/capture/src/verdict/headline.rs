//! The headline: all games of the captures, from the sums of the document.

use std::collections::BTreeSet;

use super::words::{count, duration, grouped, joined, none, percent};
use super::{CALLERS, PLAYERS, total};
use crate::analysis::Kind;
use crate::document::{Captured, CountedSums, Paired, Sums};
use crate::facts::Conversation;
use crate::tcp::Cause;

/// `games` are the listed games.
pub(super) fn headline(captures: &[Captured], pair: Option<&Paired>, games: &[Conversation<'_>]) -> String {
    if captures.iter().all(|capture| capture.flows_total == 0) {
        let filtered: u64 = captures.iter().map(Captured::filtered).sum();
        if filtered > 0 {
            return format!("The filter left out all {} packets of TCP and UDP.", grouped(filtered));
        }
        return "The capture has no TCP or UDP conversation.".to_owned();
    }
    let compared = pair.filter(|pair| pair.games.sums.count() > 0);
    let (sums, place) = compared.map_or_else(
        || (captures.iter().map(|capture| &capture.games).collect::<Vec<_>>(), "on the way to the capture"),
        |pair| (vec![&pair.games.sums], "between the two captures"),
    );
    let mut parts = vec![all_tcp(&sums, place, games), all_udp(&sums, place, games)];
    if parts.iter().all(String::is_empty) && captures.iter().any(|capture| capture.cuts_flows) {
        parts.push(
            "No game found. The filter keeps parts of flows, and games are recognised by whole flows."
                .to_owned(),
        );
    } else if parts.iter().all(String::is_empty) {
        parts.push(
            "No game found: no UDP conversation has the regular packets of a game, and no TCP connection is long and \
             thin."
                .to_owned(),
        );
    }
    if let Some(pair) = compared {
        for (capture, more) in captures.iter().zip(pair.games.only_in).filter(|(_, more)| *more > 0) {
            let are = if more == 1 { "is" } else { "are" };
            parts.push(format!("{} {are} only in {}.", count(more, "more game"), capture.file));
        }
    } else if pair.is_some_and(|pair| pair.flows.is_empty())
        && captures.iter().all(|capture| capture.flows_total > 0)
    {
        parts.push("The two captures have no packet in common, so each is analyzed alone.".to_owned());
    }
    joined(parts, " ")
}

fn all_tcp(sums: &[&Sums], place: &str, games: &[Conversation<'_>]) -> String {
    let connections = total(sums, |each| each.tcp.connections);
    if connections == 0 {
        return String::new();
    }
    let ways = || sums.iter().flat_map(|each| [1, 0].map(|direction| each.tcp.way(direction)));
    let resent: u64 = ways().map(|way| way.resent).sum();
    let stalls: u64 = ways().map(|way| way.stalls).sum();
    let longest = ways().map(|way| way.longest_stall_ms).fold(0.0, f64::max);
    let lag: f64 = ways().flat_map(|way| way.lag_ms.0).sum();
    let timed: f64 = Cause::ALL
        .into_iter()
        .filter(|cause| cause.is_timed())
        .map(|cause| ways().map(|way| way.lag_ms.0[cause.index()]).sum::<f64>())
        .sum();
    let counted = |direction: usize| {
        sums.iter().map(move |each| each.tcp.way(direction).counted).collect::<Vec<CountedSums>>()
    };
    let behave = if connections == 1 { "behaves like a game" } else { "behave like games" };
    let again = if resent == 0 { "no retransmission".to_owned() } else { count(resent, "retransmission") };
    let lost = all_lost(counted, connections, "packets", place, PLAYERS);
    let called = called(games, &[Kind::ThinTcp]);
    let mut said = format!(
        "{}{called} {behave} (thin): {}",
        count(connections, "TCP connection"),
        joined([lost, again], "; ")
    );
    if lag > 0.0 {
        said += &format!(
            " caused {} of lag, summed over all delayed packets, {} of it waiting for retransmission timers",
            duration(lag),
            percent(timed / lag)
        );
    }
    if stalls > 0 {
        let which = if stalls == 1 { "" } else { "the longest " };
        said += &format!("; {}, {which}{longest:.0} ms", count(stalls, "stall"));
    }
    said + "."
}

fn all_udp(sums: &[&Sums], place: &str, games: &[Conversation<'_>]) -> String {
    let kinds = [
        (total(sums, |each| each.udp.games), "game"),
        (total(sums, |each| each.udp.voice_calls), "voice call"),
    ];
    let conversations = kinds[0].0 + kinds[1].0;
    if conversations == 0 {
        return String::new();
    }
    let ways = || sums.iter().flat_map(|each| [1, 0].map(|direction| each.udp.way(direction)));
    let counted = |direction: usize| {
        sums.iter().map(move |each| each.udp.way(direction).counted).collect::<Vec<CountedSums>>()
    };
    let known = [0, 1].map(|direction| counted(direction).iter().map(|each| each.flows).sum::<u64>());
    let known = known.into_iter().fold(0, u64::max);
    let mut said = Vec::new();
    if known > 0 {
        let to = if kinds[1].0 > 0 { CALLERS } else { PLAYERS };
        said.push(all_lost(counted, conversations, "updates", place, to));
    }
    if known < conversations {
        let of =
            if known > 0 { format!(" of {} of them", grouped(conversations - known)) } else { String::new() };
        said.push(format!("lost updates{of} cannot be counted"));
    }
    let steady: u64 = ways().map(|way| way.steady).sum();
    if steady > 0 {
        let (late, gaps): (u64, u64) = (ways().map(|way| way.late).sum(), ways().map(|way| way.gaps).sum());
        let longest = ways().map(|way| way.longest_gap_ms).fold(0.0, f64::max);
        said.push(format!("{} late by more than half a tick", none(late)));
        let gaps = if gaps == 0 { "no gap".to_owned() } else { count(gaps, "gap") };
        said.push(format!("{gaps}, longest silence {longest:.0} ms"));
    }
    let directions = 2 * conversations;
    if steady < directions {
        let (without, all) = (grouped(directions - steady), grouped(directions));
        said.push(format!("{without} of {all} directions without a steady pace"));
    }
    let names = kinds.into_iter().filter(|(number, _)| *number > 0).map(|(number, kind)| count(number, kind));
    let called = called(games, &[Kind::Game, Kind::Voice]);
    format!("{} over UDP{called}: {}.", joined(names, " and "), joined(said, "; "))
}

/// The names of the games of these kinds, in parentheses; an empty string if none has a name.
fn called(games: &[Conversation<'_>], kinds: &[Kind]) -> String {
    let of_kinds = games.iter().filter(|game| kinds.contains(&game.kind));
    let names: BTreeSet<&str> = of_kinds.filter_map(|game| game.application_name()).collect();
    let shown = names.iter().take(NAMED).map(|name| (*name).to_owned());
    let more = (names.len() > NAMED).then(|| "…".to_owned());
    let names = joined(shown.chain(more), ", ");
    if names.is_empty() { names } else { format!(" ({names})") }
}

/// The counted losses of all games; an empty string if none could be counted. `to` names the receiver of each
/// direction.
fn all_lost(
    counted: impl Fn(usize) -> Vec<CountedSums>,
    games: u64,
    what: &str,
    place: &str,
    to: [&str; 2],
) -> String {
    let parts = [1, 0].map(|direction| {
        let each = counted(direction);
        if each.iter().all(|of| of.flows == 0) {
            return String::new();
        }
        let (sent, lost): (u64, u64) =
            (each.iter().map(|of| of.sent).sum(), each.iter().map(|of| of.lost).sum());
        let (to, plural) = (to[direction], if games == 1 { "" } else { "s" });
        format!("{} of {} {what} to the {to}{plural}", none(lost), grouped(sent))
    });
    let parts = joined(parts, " and ");
    if parts.is_empty() { parts } else { format!("{parts} lost {place}") }
}

/// Maximum number of names of games.
const NAMED: usize = 4;
