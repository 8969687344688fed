//! Judgement of one capture. It divides the way from the player to the server at the capture point. Trouble arose on the
//! home's side of it (0) or on the other side (1). The game that suffered most decides.

use super::evidence::{Evidence, Flow};
use super::findings::{Trouble, is_much};
use super::hosts::{closed, closed_beside, closed_ns, silent, standstill};
use super::place::Place;
use super::queues::{self, Proof, Queue};
use super::sides::{away_side, home_side, of_one_player, where_};
use super::words::*;
use super::{Blame, Sure, Who};
use crate::analysis::under_load::LONG_NS;

/// Judges one capture.
pub fn of_one(evidence: &Evidence) -> Blame {
    judged(evidence).hedged()
}

fn judged(evidence: &Evidence) -> Blame {
    let place = Place::of(evidence);
    if evidence.games.is_empty() {
        return without_game(evidence, place);
    }
    let worst = worst(evidence);
    let trouble = [0, 1].map(|side| Trouble::of(worst, side));
    if let Some(blame) = by_router(evidence, place) {
        return blame;
    }
    if trouble.iter().all(|trouble| trouble.is_none(worst)) && closed_ns(evidence, worst) < LONG_NS {
        let games = std::iter::once(worst).chain(evidence.games.iter().filter(|game| game.is_tcp));
        return games
            .filter_map(|game| silent(evidence, game, place))
            .next()
            .unwrap_or_else(|| no_trouble(evidence, place));
    }
    if let Some(blame) = standstill(worst, place, &trouble) {
        return blame;
    }
    let [home, away] = trouble.map(|trouble| if trouble.is_none(worst) { 0.0 } else { trouble.size() });
    let side = usize::from(away >= home);
    let mut blame = on_side(evidence, worst, place, side, &trouble[side]);
    if worst.is_hosted && !matches!(blame.who, Who::Upload | Who::Download) {
        let at = where_(side, place, &trouble[side], worst);
        let of_one_player = of_one_player(evidence, worst, 1).filter(|_| side == 1);
        blame = match of_one_player {
            Some(blame) => blame.because(at).advise(&[AT_PLAYER]),
            None => hosted(place, at),
        };
    }
    let [least, most] = if side == 1 { [home, away] } else { [away, home] };
    if least > most / 3.0 {
        blame.sure = Sure::Guess;
        blame.because.push(format!(
            "There was trouble on both sides of the capture point. {}",
            where_(1 - side, place, &trouble[1 - side], worst)
        ));
    }
    blame
}

/// Trouble of a match that is hosted on the home's side, without a queue that explains it.
pub(super) fn hosted(place: Place, at: String) -> Blame {
    let text = format!(
        "Trouble arose between the host of the match and another player. The host is on {} side; the capture cannot tell \
         more.",
        if place.is_players() { "your" } else { "this" }
    );
    Blame::new(Who::Unknown, Sure::Guess, text).because(at).advise(&[AT_PLAYER])
}

/// The game that suffered most.
pub(super) fn worst(evidence: &Evidence) -> &Flow {
    let size = |game: &Flow| -> f64 {
        let both: f64 = [0, 1].iter().map(|&side| Trouble::of(game, side).size()).sum();
        both + closed_ns(evidence, game) as f64 / 1e9
    };
    let mut games = evidence.games.iter();
    let first = games.next().expect("the caller looked for games");
    games.fold(first, |worst, game| if size(game) > size(worst) { game } else { worst })
}

fn without_game(evidence: &Evidence, place: Place) -> Blame {
    let queue = [1, 0].into_iter().find_map(|side| queues::find(evidence, None, side));
    let Some(queue) = queue.filter(|queue| queue.proof >= Proof::NoQuietTime) else {
        return Blame::new(
            Who::Unknown,
            Sure::Guess,
            "The capture has no game, so it does not show who is to blame for lag.",
        )
        .advise(&["Record while you play, and keep the game's packets: `gamelane capture`."]);
    };
    let your = your(place.is_players());
    let text = format!(
        "The capture has no game. A game would probably have lagged because of {your} {}: a queue builds up.",
        name(queue.load)
    );
    because_of_queue(Blame::new(queue_of(queue.load), Sure::Guess, text), &queue, evidence)
}

/// A capture of both sides of a router shows its queue.
fn by_router(evidence: &Evidence, place: Place) -> Option<Blame> {
    let game = evidence.games.iter().max_by_key(|game| in_router(game))?;
    let (delay, load) = in_router(game);
    if delay <= LONG_NS {
        return None;
    }
    let at = format!(
        "One in twenty of the game's packets spent more than {} inside the router. The capture shows both sides of it.",
        ms(delay)
    );
    let your = your(place.is_players());
    let [idle, up, down, both] = game.steps;
    let loaded = both + if load == 0 { up } else { down };
    if loaded * 5 < idle + up + down + both {
        let text = format!(
            "{} router is to blame: the game's packets wait in it, although there is little load.",
            capital(your)
        );
        return Some(Blame::new(Who::Home, Sure::Guess, text).because(at).advise(&[CABLE, AQM]));
    }
    let text = format!(
        "{} {} is to blame: the game's packets wait in the router's queue.",
        capital(your),
        name(load)
    );
    Some(advise_queue(Blame::new(queue_of(load), Sure::Likely, text).because(at), load))
}

fn in_router(game: &Flow) -> (u64, usize) {
    let of = |way: usize| (game.ways[way].in_router_ns.unwrap_or(0), way);
    of(0).max(of(1))
}

/// No game had trouble that this capture shows.
fn no_trouble(evidence: &Evidence, place: Place) -> Blame {
    // A queue that delays what the game sends does not show in the updates that it gets.
    if let Some(blame) = [1, 0].into_iter().find_map(|side| hidden_queue(evidence, place, side)) {
        return blame.because("The updates that passed the capture point came in time.");
    }
    // What the game gets at home, or what it sends at the server: without a pace nothing tells when it should have come.
    let visible: &[usize] = match place {
        Place::Server => &[0],
        Place::Between | Place::Unknown => &[0, 1],
        Place::Player | Place::Home | Place::SomewhereAtHome => &[1],
    };
    let is_hosted = evidence.games.iter().all(|game| game.is_hosted);
    let other_end = if is_hosted { AT_OTHER_END } else { place.other_end() };
    if evidence.games.iter().any(|game| visible.iter().any(|&way| game.ways[way].lost.is_none())) {
        return Blame::new(
            Who::Unknown,
            Sure::Guess,
            "The capture shows nothing wrong, but the game's updates have neither numbers nor a steady pace. So it does not \
             show whether any were late or lost.",
        )
        .advise(&[other_end, WITH_TCP]);
    }
    // A receiver does not see that a packet was lost and sent again; then it waits.
    let seen_both = evidence.games.iter().all(|game| {
        let of_server = &game.ways[usize::from(!game.is_hosted)];
        game.is_tcp
            && game.ways.iter().all(|way| way.load.least_rtt_ns.is_some() && !way.delays_acks)
            && of_server.longest_gap_ns < PROMPT_NS
    });
    let text = "Nobody is to blame: the network was fine.".to_owned();
    let sure = if seen_both { Sure::Likely } else { Sure::Guess };
    let text = if sure == Sure::Guess {
        "The capture shows no trouble in the network, so it blames nobody.".to_owned()
    } else if place.is_players() {
        "Nobody is to blame: your network was fine.".to_owned()
    } else {
        text
    };
    let least = |game: &Flow| game.ways.iter().filter_map(|way| way.load.least_rtt_ns).sum::<u64>();
    let far_ns = evidence.games.iter().map(least).max().unwrap_or(0);
    if far_ns > FAR_NS {
        let text = format!(
            "Nothing was lost or late, but a round trip takes {} at least: the server is far away, or the line is slow.",
            ms(far_ns)
        );
        return Blame::new(Who::Unknown, Sure::Guess, text).advise(&[ELSEWHERE]);
    }
    let longest = evidence.games.iter().flat_map(|game| &game.ways).map(|way| way.load.longest_wait_ns).max();
    let mut blame = Blame::new(Who::Nobody, sure, text).because(format!(
        "No game waited longer than {}, and none lost more than 1 % of its packets that the capture can count.",
        ms(longest.unwrap_or(0).max(LONG_NS))
    ));
    if let Some(beside) = closed_beside(evidence) {
        blame = blame.because(beside);
    }
    if sure == Sure::Guess {
        blame = match evidence.games.iter().all(|game| game.is_tcp) {
            true => blame
                .because("One capture does not show data that was lost before it and sent again.")
                .advise(&[other_end]),
            false => blame
                .because("One capture of UDP does not show delay and losses after it, nor the round trip.")
                .advise(&[other_end, WITH_TCP]),
        };
    }
    blame.advise(&["If the game lagged all the same, look at the machine that plays and at the server."])
}

/// A queue on one side that the game's own packets do not show.
pub(super) fn hidden_queue(evidence: &Evidence, place: Place, side: usize) -> Option<Blame> {
    let your = your(place.is_players());
    let queue = queues::find(evidence, None, side).filter(|queue| queue.delay_ns > LONG_NS)?;
    let is_shared = queue.proof == Proof::Others && holds_line(place, side);
    let load = name(queue.load);
    let (sure, text) = if is_shared {
        (
            Sure::Likely,
            format!("If you lagged, {your} {load} is to blame: a queue builds up in front of the line."),
        )
    } else {
        let text = format!(
            "Perhaps {your} {load} is to blame: a queue builds up. The capture does not show whether the game's packets wait \
             in it."
        );
        (Sure::Guess, text)
    };
    Some(because_of_queue(Blame::new(queue_of(queue.load), sure, text), &queue, evidence))
}

/// True if round trips of some flow were measured on this side and stayed short.
pub(super) fn is_flat(evidence: &Evidence, side: usize) -> bool {
    let mut flat = 0;
    for flow in evidence.flows() {
        let way = &flow.ways[1 - side];
        for delay in way.load.delay.iter().filter(|delay| delay.moments >= 8 && !way.delays_acks) {
            if delay.median_ns > LONG_NS / 2 {
                return false;
            }
            flat += delay.moments;
        }
    }
    flat >= 20
}

/// Trouble arose on one side of the capture point.
pub(super) fn on_side(
    evidence: &Evidence,
    game: &Flow,
    place: Place,
    side: usize,
    trouble: &Trouble,
) -> Blame {
    let at = where_(side, place, trouble, game);
    let lost_much = (0..2).any(|way| is_much(trouble.lost[way], trouble.sent[way]));
    let queue = queues::find(evidence, Some(game), side);
    if let Some(queue) = queue.as_ref().filter(|queue| queue.proof >= Proof::Others) {
        return by_queue(evidence, place, side, queue).because(at);
    }
    if let Some(blame) = closed(evidence, game, place).filter(|_| !lost_much) {
        return blame.because(at);
    }
    if let Some(blame) = silent(evidence, game, place).filter(|_| !lost_much) {
        return blame.because(at);
    }
    if let Some(queue) = queue {
        return by_queue(evidence, place, side, &queue).because(at);
    }
    if side == 0 {
        home_side(evidence, game, place, at)
    } else {
        away_side(evidence, game, place, trouble, at)
    }
}

fn by_queue(evidence: &Evidence, place: Place, side: usize, queue: &Queue) -> Blame {
    let your = your(place.is_players());
    // At a server the load is that of all players, and a line of the server's may be full.
    let is_strong = queue.proof >= Proof::Others && holds_line(place, side);
    let sure = if is_strong { Sure::Likely } else { Sure::Guess };
    let text = match (place, sure) {
        (Place::Server | Place::Unknown, _) => format!(
            "Perhaps the {} is to blame: lag comes with its load, as if a queue builds up on {your} line.",
            name(queue.load)
        ),
        (_, Sure::Guess) => format!("Perhaps {your} {} is to blame: a queue builds up.", name(queue.load)),
        _ => format!(
            "{} {} is to blame: a queue builds up in front of the line.",
            capital(your),
            name(queue.load)
        ),
    };
    because_of_queue(Blame::new(queue_of(queue.load), sure, text), queue, evidence)
}

/// True if the line is on this side of the capture point. On the home's side of a point in the home a queue is that of
/// Wi-Fi.
fn holds_line(place: Place, side: usize) -> bool {
    place != Place::Server && place != Place::Unknown && (side == 1) == place.is_players()
}

fn because_of_queue(mut blame: Blame, queue: &Queue, evidence: &Evidence) -> Blame {
    blame.because.extend(self::evidence(queue));
    let load = name(queue.load);
    let mean = rate(evidence.bytes[queue.load], evidence.lasted_ns);
    advise_queue(blame.because(format!("The {load} of the capture is {mean} on average.")), queue.load)
}

pub(super) fn advise_queue(blame: Blame, load: usize) -> Blame {
    blame.advise(&[if load == 0 { LIMIT_UPLOAD } else { LIMIT_DOWNLOAD }, AQM])
}

/// Longest time without data of a server that had no trouble.
const PROMPT_NS: u64 = 500_000_000;
/// Smallest round trip of a server that is far away: a player feels it.
const FAR_NS: u64 = 150_000_000;
