//! Silences of a sender over TCP that are far longer than its usual ones. A machine that stopped, or a game that paused?
//! If the other side's data was acknowledged meanwhile, the network delivered. If the data that was due came at once
//! afterwards, the sender had been held up: it was no pause of the game.

use super::evidence::{Evidence, Flow};
use super::place::Place;
use super::words::*;
use super::{Blame, Sure, Who};
use crate::analysis::{FlowReport, Silence};

/// The unusual silences of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Silent {
    /// Silences of this side alone.
    alone: u32,
    /// Those of them during which the other side's data was acknowledged.
    answered: u32,
    /// Those of them after which the data that was due came at once.
    caught_up: u32,
    /// Silences of both sides.
    shared: u32,
    /// Those of them that this side ended.
    ended: u32,
    longest_ns: u64,
}

impl Silent {
    /// Facts about the silences of a direction.
    pub(super) fn of(report: &FlowReport, direction: usize) -> Self {
        let mut found = Self::default();
        let of = &report.directions[direction];
        let Some(usual_ns) = of.gaps.quantile(0.95).filter(|_| of.gaps.count() >= MANY) else {
            return found;
        };
        let unusual = |silence: &&Silence| silence.ns as f64 >= usual_ns * UNUSUAL;
        let silences =
            |direction: usize| report.directions[direction].silences.iter().flat_map(|of| of.iter());
        let silent_ns: u64 = silences(direction).map(|silence| silence.ns).sum();
        let rate = of.payload_bytes as f64
            / (report.last_ns - report.first_ns).saturating_sub(silent_ns).max(1) as f64;
        for silence in silences(direction).filter(unusual) {
            let from_ns = silence.until_ns - silence.ns;
            let other = silences(1 - direction).find(|other| {
                let both = other
                    .until_ns
                    .min(silence.until_ns)
                    .saturating_sub(from_ns.max(other.until_ns - other.ns));
                both as f64 >= silence.ns as f64 * MOST_OF
            });
            if let Some(other) = other {
                found.shared += 1;
                found.ended += u32::from(silence.until_ns < other.until_ns);
            } else {
                found.alone += 1;
                found.answered += u32::from(silence.is_answered);
                // Half a second of its usual data comes anyway.
                let due = rate * (silence.ns as f64 / 2.0 + 5e8);
                found.caught_up += u32::from(silence.is_answered && silence.bytes_after as f64 >= due);
            }
            found.longest_ns = found.longest_ns.max(silence.ns);
        }
        found
    }
}

/// A sender over TCP did not send for long, although the network delivered.
pub(super) fn stopped(evidence: &Evidence, game: &Flow, place: Place) -> Option<Blame> {
    if evidence.is_beside_game(game) {
        return None;
    }
    for way in [1, 0] {
        let of = game.ways[way].silent;
        let is_server = (way == 1) != game.is_hosted;
        // A player need not do anything.
        if of.answered == 0 || !is_server && of.caught_up == 0 {
            continue;
        }
        // A level that loads, a fight after a quiet time and a proxy that acknowledges for the server look the same.
        let sure = Sure::Guess;
        let (sender, other) = if is_server { ("server", "player") } else { ("player", "server") };
        let mut blame = if is_server {
            Blame::new(
                Who::Server,
                sure,
                "The server is to blame: at times it answered nothing, although the network delivered.",
            )
        } else {
            let your = capital(your(place.is_players()));
            Blame::new(
                Who::Home,
                sure,
                format!(
                    "{your} machine is to blame: the game stopped at times, although the network delivered."
                ),
            )
        };
        blame = blame.because(format!(
            "The {sender} sent nothing {}, the longest {}, while what the {other} sent was acknowledged in time. Nothing was lost.",
            times(of.answered),
            ms(of.longest_ns)
        ));
        blame = blame.because(if of.caught_up > 0 {
            format!("What it should have sent came at once afterwards, {}.", times(of.caught_up))
        } else {
            PAUSE.to_owned()
        });
        return Some(blame.advise(if is_server { &[TELL_SERVER] } else { &[MACHINE] }));
    }
    let way = usize::from(game.ways[1].silent.shared > game.ways[0].silent.shared);
    let of = game.ways[way].silent;
    if of.shared == 0 {
        return unanswered(game, place);
    }
    let server = &game.ways[usize::from(!game.is_hosted)].silent;
    let was_server = server.ended * 2 > of.shared;
    let blame = if was_server {
        let text = "The server is to blame: at times the game stood still until the server sent again.";
        Blame::new(Who::Server, Sure::Guess, text).advise(&[TELL_SERVER, place.other_end()])
    } else {
        stood_still(place)
    };
    let first = if was_server { "server" } else { "player" };
    let said = format!(
        "Neither side sent anything {}, the longest {}. Afterwards the {first} sent first.",
        times(of.shared),
        ms(of.longest_ns)
    );
    Some(blame.because(said).because(PAUSE))
}

/// The server sent nothing for long, and the capture does not show whether the network delivered.
fn unanswered(game: &Flow, place: Place) -> Option<Blame> {
    let of = game.ways[usize::from(!game.is_hosted)].silent;
    let said = format!(
        "The server sent nothing {}, the longest {}, while the player did. Nothing was lost.",
        times(of.alone),
        ms(of.longest_ns)
    );
    let text = "At times nothing came from the server. The server, the network or a pause of the game; the capture cannot \
        tell which of them.";
    let blame = Blame::new(Who::Unknown, Sure::Guess, text).because(said).because(PAUSE);
    (of.alone > 0).then(|| blame.advise(&[place.other_end()]))
}

/// Neither side sent for a while.
pub(super) fn stood_still(place: Place) -> Blame {
    let text = "The game stood still at times: neither side sent anything, and nothing was lost. The player's machine, the \
        server or a pause of the game; the capture cannot tell which of them.";
    Blame::new(Who::Unknown, Sure::Guess, text).advise(&[MACHINE, place.other_end()])
}

fn times(number: u32) -> String {
    if number == 1 { "once".to_owned() } else { format!("{number} times") }
}

/// Messages from which the usual gaps are known.
const MANY: u64 = 100;
/// An unusual silence is this much longer than 95 % of the gaps.
const UNUSUAL: f64 = 8.0;
/// Part of a silence in which the other side was silent too.
const MOST_OF: f64 = 0.8;
