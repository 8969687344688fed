//! One game in words.

use super::words::{count, duration, grouped, none, percent};
use super::{CALLERS, PLAYERS};
use crate::analysis::Kind;
use crate::document::{FlowUpdates, Half};
use crate::facts::{Conversation, Way};
use crate::tcp::Cause;

pub(super) fn sentence(game: &Conversation<'_>) -> String {
    let what = if game.kind == Kind::ThinTcp { tcp(game) } else { udp(game) };
    let name = game.application_name().map_or_else(String::new, |name| format!(" ({name})"));
    format!("{} and {}{name}. {what}", game.client, game.server)
}

fn udp(game: &Conversation<'_>) -> String {
    let to = if game.kind == Kind::Voice { CALLERS } else { PLAYERS };
    let ways = game.ways.iter().filter_map(|way| Some((way, way.updates?)));
    let mut said: Vec<String> = ways.map(|(way, of)| updates(to[way.direction], way, of)).collect();
    if let Some(rtt_ms) = game.pair.and_then(|pair| pair.rtt_ms.p50) {
        said.push(format!("Median RTT {rtt_ms:.1} ms."));
    }
    said.join(" ")
}

fn updates(to: &str, way: &Way<'_>, of: &FlowUpdates) -> String {
    let pace = if way.steady().is_some() {
        format!("an update every {:.1} ms", of.tick_ms)
    } else {
        "updates without a steady pace".to_owned()
    };
    let mut said = vec![lost(way).unwrap_or_else(|| "lost updates cannot be counted".to_owned())];
    if way.steady().is_some() {
        said.push(format!("{} late", none(of.late)));
        if of.gaps > 0 {
            let missing = count(of.missing_by_pace, "update");
            let why = if way.pair.is_some() {
                String::new()
            } else if of.numbered.is_some() {
                format!(" with time for {missing} that the numbers do not show as lost")
            } else {
                format!(" with {missing} lost or not sent")
            };
            said.push(format!("{}{why}", count(of.gaps, "gap")));
        }
    }
    let [duplicated, reordered] = match way.pair {
        Some(pair) => [pair.duplicated.unwrap_or(0), pair.reordered.unwrap_or(0)],
        None => of.numbered.map_or([0; 2], |numbered| [numbered.duplicated, numbered.reordered]),
    };
    let more = [(duplicated, "duplicated"), (reordered, "out of order")];
    said.extend(more.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{} {word}", grouped(*n))));
    format!(
        "To the {to}: {pace} (jitter {:.2} ms); {}; longest silence {:.0} ms.",
        of.mean_jitter_ms,
        said.join(", "),
        of.longest_gap_ms
    )
}

fn tcp(game: &Conversation<'_>) -> String {
    game.ways.iter().filter_map(|way| Some(data(way, way.half?))).collect::<Vec<_>>().join(" ")
}

fn data(way: &Way<'_>, half: &Half) -> String {
    let loss = match way.loss_estimate() {
        Some(estimate) => Some(format!("an estimated {:.1} % lost", 100.0 * estimate)),
        None => lost(way),
    };
    let loss = loss.map_or_else(String::new, |loss| format!(", {loss}"));
    let (to, again, packets) = (PLAYERS[way.direction], none(half.resent), grouped(half.data_packets));
    let mut text = format!("To the {to}: {again} of {packets} data packets retransmitted{loss}.");
    let lag = way.lag_ms();
    let sum: f64 = lag.iter().sum();
    if sum > 0.0 {
        let delivered = way.pair.is_some_and(|pair| pair.delivery.is_some());
        let until = if delivered { "delivery" } else { "the acknowledgement" };
        text += &format!(" Lag until {until}: {} ({}).", duration(sum), shares(lag));
    }
    text + &stalls(half) + &closed(half)
}

/// The waits for timers, as multiples of the retransmission timeout.
fn stalls(half: &Half) -> String {
    let of = &half.stalls;
    if of.count == 0 {
        return String::new();
    }
    let which = if of.count == 1 { "" } else { "the longest " };
    let longest = format!("{which}{:.0} ms", of.longest_ms);
    let lengths: Vec<(u64, &str)> =
        of.by_timeouts.0.into_iter().zip(LENGTHS).filter(|(count, _)| *count > 0).collect();
    if let [(_, length)] = lengths[..] {
        return format!(" {} of {length}, {longest}.", count(of.count, "stall"));
    }
    let parts: Vec<String> =
        lengths.iter().map(|(n, length)| format!("{} of {length}", grouped(*n))).collect();
    format!(" {}: {}; {longest}.", count(of.count, "stall"), parts.join(", "))
}

/// How long the receiver's window was closed.
fn closed(half: &Half) -> String {
    let of = half.zero_windows;
    if of.count == 0 {
        return String::new();
    }
    let times = if of.count == 1 { "once".to_owned() } else { format!("{} times", grouped(of.count)) };
    format!(" The receiver's window was closed {times}, {:.1} s in total.", of.seconds)
}

/// The causes of lag, the largest first.
fn shares(lag_ms: [f64; 5]) -> String {
    let sum: f64 = lag_ms.iter().sum();
    let mut parts: Vec<(f64, Cause)> =
        lag_ms.into_iter().zip(Cause::ALL).filter(|(lag, _)| *lag > 0.0).collect();
    parts.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.name().cmp(a.1.name())));
    let part = |(lag, cause): &(f64, Cause)| format!("{} {}", words(*cause), percent(lag / sum));
    parts.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// The counted losses of one direction.
fn lost(way: &Way<'_>) -> Option<String> {
    let of = way.lost()?;
    let place = if of.before_capture { " on the way to the capture" } else { "" };
    let undecided = if of.before_capture { 0 } else { way.pair.and_then(|pair| pair.undecided).unwrap_or(0) };
    let more = if undecided > 0 {
        format!(" ({} more may still be under way)", grouped(undecided))
    } else {
        String::new()
    };
    Some(format!("{} of {} lost{place}{more}", none(of.lost), grouped(of.sent)))
}

const fn words(cause: Cause) -> &'static str {
    match cause {
        Cause::Timeout => "timeouts",
        Cause::Fast => "fast retransmission",
        Cause::TailLossProbe => "tail loss probes",
        Cause::TimeoutOrProbe => "timeouts or probes",
        Cause::Unexplained => "no visible reason",
    }
}

/// Length of a stall in retransmission timeouts: 1, 3, 7 with exponential back-off, below 1 after a tail loss probe.
const LENGTHS: [&str; 6] = [
    "less than a timeout",
    "about one timeout",
    "two timeouts",
    "three timeouts",
    "four to six timeouts",
    "seven or more timeouts",
];
