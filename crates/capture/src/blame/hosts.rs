//! Blame of a machine, not of the network: one that does not send in time, does not read, or stands still.

use super::evidence::{Evidence, Flow, Way};
use super::findings::{ONE_WAIT_NS, Trouble, is_much};
use super::place::Place;
use super::silence::{stood_still, stopped};
use super::words::*;
use super::{Blame, Sure, Who};

/// The sender did not send, although the network delivered.
pub(super) fn silent(evidence: &Evidence, game: &Flow, place: Place) -> Option<Blame> {
    if game.ways.iter().all(has_gaps) && game.both_waited > 0 {
        let longest_ns = game.ways.iter().map(|way| way.load.longest_wait_ns).max().unwrap_or(0);
        return Some(stood_still(place).because(format!(
            "Neither side sent anything for up to {}. The numbers of the messages show no loss there.",
            ms(longest_ns)
        )));
    }
    for way in [1, 0] {
        let of = &game.ways[way];
        if !has_gaps(of) {
            continue;
        }
        let is_server = (way == 1) != game.is_hosted;
        // On the way to the capture point nothing was lost, so the sender is on that side.
        let who = if is_server { Who::Server } else { Who::Home };
        let sender = if is_server { "server" } else { "player" };
        let text = if is_server {
            "The server is to blame: it did not send its updates in time.".to_owned()
        } else {
            format!(
                "{} machine is to blame: the game did not send in time.",
                capital(your(place.is_players()))
            )
        };
        let said = format!(
            "The {sender}'s messages are numbered. The time of {} passed without any, the longest wait {}. The numbers show no \
             loss there, and nothing made up for it later.",
            count(of.unsent, "message"),
            ms(of.load.longest_wait_ns)
        );
        let advice = if is_server { TELL_SERVER } else { MACHINE };
        return Some(Blame::new(who, Sure::Guess, text).because(said).because(PAUSE).advise(&[advice]));
    }
    stopped(evidence, game, place)
}

/// The numbers show a time in which the sender did not send.
fn has_gaps(of: &Way) -> bool {
    of.unsent >= UNSENT && of.load.longest_wait_ns > ONE_WAIT_NS
}

/// On the player's machine everything was late at the same times, in both directions.
pub(super) fn standstill(game: &Flow, place: Place, trouble: &[Trouble; 2]) -> Option<Blame> {
    let waits = trouble[0].waits_all().max(trouble[1].waits_all());
    let lost = trouble.iter().any(|of| (0..2).any(|way| is_much(of.lost[way], of.sent[way])));
    // What a machine does not read waits in the network or the kernel, and comes later. What is never sent does not.
    let all_came = game.ways[1].unsent < UNSENT;
    let is_it = all_came
        && place == Place::Player
        && game.both_waited > 2
        && game.both_waited * 5 >= waits * 4
        && !lost;
    is_it.then(|| {
        Blame::new(Who::Home, Sure::Guess, "Your machine is to blame: it stood still at times.")
            .because(format!(
                "What the game sent and what it got came late at the same times: {} of {waits}, the longest wait {}.",
                game.both_waited,
                ms(trouble[0].longest_ns.max(trouble[1].longest_ns))
            ))
            .advise(&[MACHINE])
    })
}

/// Time for which the window of a game was closed: the longer one of its directions.
pub(super) fn closed_ns(evidence: &Evidence, game: &Flow) -> u64 {
    if evidence.is_beside_game(game) {
        return 0;
    }
    game.ways.iter().map(|way| way.closed_ns).max().unwrap_or(0)
}

/// A program did not read what arrived.
pub(super) fn closed(evidence: &Evidence, game: &Flow, place: Place) -> Option<Blame> {
    let way = usize::from(game.ways[1].closed_ns > game.ways[0].closed_ns);
    let closed_ns = closed_ns(evidence, game);
    (closed_ns > CLOSED_NS).then(|| {
        // The receiver of data to the home is at home.
        let is_server = (way == 0) != game.is_hosted;
        let (who, text) = if is_server {
            (Who::Server, "The server is to blame: its program did not read what arrived.".to_owned())
        } else {
            let your = capital(your(place.is_players()));
            (Who::Home, format!("{your} machine is to blame: its program did not read what arrived."))
        };
        // Of two connections with different servers, one may be another program's.
        let is_alone = evidence.games.iter().all(|other| other.away == game.away);
        let is_long = closed_ns.saturating_mul(LONG_PART) >= game.lasted_ns;
        Blame::new(who, if is_alone && is_long { Sure::Likely } else { Sure::Guess }, text)
            .because(format!(
                "The window of the TCP connection with {} was closed for {}; the network waited for it.",
                game.away,
                ms(closed_ns)
            ))
            .advise(if is_server { &[TELL_SERVER] } else { &[MACHINE] })
    })
}

/// Says that a program beside the game did not read what arrived.
pub(super) fn closed_beside(evidence: &Evidence) -> Option<String> {
    let beside = evidence.games.iter().filter(|flow| evidence.is_beside_game(flow));
    let longest = |flow: &&Flow| flow.ways.iter().map(|way| way.closed_ns).max().unwrap_or(0);
    let flow = beside.max_by_key(longest).filter(|flow| longest(flow) > CLOSED_NS)?;
    Some(format!(
        "A TCP connection with {} had a closed window for {}. It is probably another program's, so nobody is blamed for it.",
        flow.away,
        ms(longest(&flow))
    ))
}

/// A closed window counts for long if it is at least a hundredth of the time: a level that loads closes it once.
const LONG_PART: u64 = 100;
/// Messages that must be missing before the sender is blamed: a quarter of a second at 20 per second.
const UNSENT: u64 = 5;
/// Time with a closed window that a player notices.
const CLOSED_NS: u64 = 250_000_000;
