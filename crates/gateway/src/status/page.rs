//! The status as a page of text: whether games suffer and why, queues, losses, flows.

use std::fmt::Write as _;

use super::{
    AutorateStatus, BothWays, FlowStatus, QueueStatus, ShaperStatus, Spread, State, Status, WatchStatus,
};
use crate::tap::TapStatus;

/// Most flows shown.
const SHOWN: usize = 15;

/// Returns a page of plain text. `colour` marks the verdict with terminal colours.
pub fn page(status: &Status, colour: bool) -> String {
    let mut out = String::new();
    verdict(&mut out, status, colour);
    header(&mut out, status);
    queues(&mut out, status);
    losses(&mut out, status);
    if let Some(tap) = &status.tap {
        tap_line(&mut out, tap);
    }
    if let Some(voap) = &status.voap {
        let _ = writeln!(
            out,
            "voap  {} of {} windows lowered, {} connections, {} segments of unknown ones",
            voap.lowered, voap.segments, voap.opened, voap.unknown
        );
    }
    if status.verdict.state != State::Unknown {
        flows(&mut out, status);
    }
    out
}

/// The page for a terminal that shows the one before it.
pub fn refreshed(status: &Status, colour: bool) -> String {
    // Cursor to the top left, then the page; the rest of each line and of the screen is cleared.
    format!("\x1b[H{}\x1b[J", page(status, colour).replace('\n', "\x1b[K\n"))
}

fn verdict(out: &mut String, status: &Status, colour: bool) {
    let (word, code) = match status.verdict.state {
        State::Fine => ("the game is fine", "32"),
        State::Suffering => ("the game suffers", "31"),
        State::NoGame => ("no game is being played", "33"),
        State::Unknown => ("whether a game is fine is not known", "33"),
    };
    let _ = match colour {
        true => writeln!(out, "\x1b[1;{code}m{word}\x1b[0m"),
        false => writeln!(out, "{word}"),
    };
    if let Some(WatchStatus { error: Some(error), .. }) = &status.watch {
        let _ = writeln!(out, "  - single packets are not seen: {error}");
    }
    if let Some(WatchStatus { lost: lost @ 1.., .. }) = &status.watch {
        let _ = writeln!(out, "  - {lost} events came too fast: flows and delays leave their packets out");
    }
    for why in &status.verdict.why {
        let _ = writeln!(out, "  - {why}");
    }
}

fn header(out: &mut String, status: &Status) {
    let interface = |side: &str| status.interfaces.get(side).map_or("?", String::as_str).to_string();
    let sides: Vec<String> = status.interfaces.values().cloned().collect();
    let policy = match (&status.policy, &status.policy_hash) {
        (Some(name), Some(hash)) => format!("policy {name} ({hash})"),
        _ => "queues of others".into(),
    };
    let _ = writeln!(
        out,
        "\n{} by {}   {policy}   up {:.0} s, {} reloads",
        sides.join(" - "),
        status.io.kind,
        status.uptime_s,
        status.reloads
    );
    for (side, link) in status.links.iter().filter(|(_, link)| !link.link) {
        let state = if link.up { "has no link" } else { "is switched off" };
        let _ = writeln!(out, "{} {state}: nothing passes", interface(side));
    }
    if let Some(refused) = &status.policy_refused {
        let _ =
            writeln!(out, "the changed policy was refused, the one before it is still in force:\n{refused}");
    }
}

fn queues(out: &mut String, status: &Status) {
    let _ = writeln!(
        out,
        "\n{:<6}{:<13}{:>8}{:>14}{:>15}{:>10}{:>8}{:>8}{:>9}{:>9}",
        "", "queue", "waiting", "shaped to", "measured", "packets", "drops", "marks", "p50 ms", "p99 ms"
    );
    for direction in ["up", "down"] {
        let (Some(queue), Some(shaper)) = (status.queues.get(direction), status.shaper.get(direction)) else {
            continue;
        };
        row(out, direction, queue, shaper);
        let autorate = status.autorate.get(direction);
        remarks(out, queue, shaper, autorate);
    }
    let _ = writeln!(out, "      * packets waited all the time: then measured and shaped should agree");
}

fn row(out: &mut String, direction: &str, queue: &QueueStatus, shaper: &ShaperStatus) {
    let rate = shaper.rate_bps.map_or("no".into(), megabits);
    let measured = format!("{}{}", megabits(shaper.measured_bps), if shaper.busy { "*" } else { " " });
    let ms = |of: fn(&Spread) -> f64| {
        queue.sojourn_ms.as_ref().map_or("-".into(), |spread| format!("{:.2}", of(spread)))
    };
    let _ = writeln!(
        out,
        "{direction:<6}{:<13}{:>8}{rate:>14}{measured:>15}{:>10}{:>8}{:>8}{:>9}{:>9}",
        queue.kind,
        queue.qlen,
        queue.packets,
        queue.drops,
        queue.ecn_mark,
        ms(|spread| spread.p50),
        ms(|spread| spread.p99)
    );
}

/// What is unusual about a queue and its shaper.
fn remarks(out: &mut String, queue: &QueueStatus, shaper: &ShaperStatus, autorate: Option<&AutorateStatus>) {
    let drops: Vec<String> =
        queue.drop_reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    if !drops.is_empty() {
        let _ = writeln!(out, "      dropped: {}", drops.join(", "));
    }
    if shaper.bypass_bps > BYPASS_WORTH_SAYING {
        let _ = writeln!(
            out,
            "      {} leave past the shaper, sent by this machine itself",
            megabits(shaper.bypass_bps)
        );
    }
    if let Some(autorate) = autorate {
        following(out, autorate);
    }
    // A rate that moved within the second may differ from what was measured over it.
    if let (Some(rate), None) = (shaper.rate_bps, autorate)
        && shaper.busy
        && shaper.measured_bps * 100 < rate * 97
    {
        let _ =
            writeln!(out, "      it does not reach its rate: this machine, or the interface, is too slow");
    }
    if queue.no_room + queue.not_sent > 0 {
        let _ = writeln!(
            out,
            "      lost outside the queue: {} for lack of memory, {} refused by the interface",
            queue.no_room, queue.not_sent
        );
    }
}

fn following(out: &mut String, autorate: &AutorateStatus) {
    let moved = match &autorate.moved {
        None => "has not moved".into(),
        Some(moved) => {
            let why = match (moved.cause.as_str(), moved.signal.as_deref().unwrap_or("nothing")) {
                ("delay", signal) => format!("{signal} was late"),
                ("load", signal) => format!("load, and {signal} was not late"),
                _ => "little load".into(),
            };
            format!("came from {} {:.1} s ago: {why}", megabits(moved.from_bps), moved.ago_s)
        }
    };
    let _ = writeln!(
        out,
        "      follows the link from {} to {}; now {}, {moved}",
        megabits(autorate.lowest_bps),
        megabits(autorate.highest_bps),
        megabits(autorate.rate_bps)
    );
    let share = autorate.windows_unheard as f64 / autorate.windows.max(1) as f64;
    if autorate.windows >= WINDOWS_WORTH_JUDGING && share > UNHEARD_WORTH_SAYING {
        let _ = writeln!(
            out,
            "      in {:.0} % of the time with traffic it received no signal: no TCP with timestamps, no numbered game or call",
            share * 100.0
        );
    }
}

/// Frames that were lost before the gateway saw them.
fn losses(out: &mut String, status: &Status) {
    let Some(engine) = &status.engine else { return };
    let BothWays { up, down } = engine.ring_full;
    if up + down > 0 {
        let _ = writeln!(out, "      lost before the gateway saw them: {up} up, {down} down");
    }
    let BothWays { up, down } = engine.too_long;
    if up + down > 0 {
        let _ = writeln!(
            out,
            "      {up} frames up and {down} down were too long, or could not be split: the log says what helps"
        );
    }
}

fn tap_line(out: &mut String, tap: &TapStatus) {
    let (frames, mb, folder) = (tap.frames, tap.bytes as f64 / 1e6, &tap.folder);
    let _ = write!(out, "tap   {frames} frames, {mb:.1} MB in {folder}");
    if tap.lost > 0 {
        let _ = write!(out, "; {} events lost, the disk is too slow", tap.lost);
    }
    if tap.full {
        let _ = write!(out, "; full, it has stopped");
    }
    if let Some(error) = &tap.error {
        let _ = write!(out, "; it has stopped: {error}");
    }
    out.push('\n');
}

fn flows(out: &mut String, status: &Status) {
    let _ = writeln!(
        out,
        "\n{:<10}{:<24}{:<24}{:>6}{:>18}{:>18}{:>9}{:>8}{:>8}",
        "behaves", "home", "server", "class", "up p95/drops", "down p95/drops", "jitter", "gaps", "rtt ms"
    );
    for flow in status.flows.iter().take(SHOWN) {
        flow_row(out, flow);
    }
}

fn flow_row(out: &mut String, flow: &FlowStatus) {
    let way = |spread: &Spread, drops: u64| format!("{:.1} ms/{drops}", spread.p95);
    let rtt = match (flow.rtt_internet_ms, flow.rtt_home_ms) {
        (Some(internet), Some(home)) => format!("{:.1}", internet + home),
        _ => "-".into(),
    };
    let _ = writeln!(
        out,
        "{:<10}{:<24}{:<24}{:>6}{:>18}{:>18}{:>9.2}{:>8}{rtt:>8}",
        flow.behaviour,
        flow.home,
        flow.server,
        flow.class,
        way(&flow.up.recent_sojourn_ms, flow.up.drops.values().sum()),
        way(&flow.down.recent_sojourn_ms, flow.down.drops.values().sum()),
        flow.down.jitter_ms.leaving,
        flow.down.gaps.leaving
    );
}

fn megabits(bps: u64) -> String {
    format!("{:.2} Mbit/s", bps as f64 / 1e6)
}

/// Below this, bypassing traffic is not shown: neighbour discovery and the like.
const BYPASS_WORTH_SAYING: u64 = 100_000;
/// Fewest windows for a judgement: ten seconds of traffic with the usual window.
const WINDOWS_WORTH_JUDGING: u64 = 50;
/// Share of windows without a signal from which that is shown.
const UNHEARD_WORTH_SAYING: f64 = 0.2;
