//! Judgement of one capture. It divides the way from the player to the server at the capture point. Trouble arose on the
//! home's side of it (0) or on the other side (1). The game that suffered most decides.

use super::evidence::{Evidence, Flow};
use super::findings::{ONE_WAIT_NS, Trouble, is_much, quiet};
use super::place::Place;
use super::queues::{self, Proof, Queue};
use super::words::*;
use super::{Blame, Sure, Who};
use crate::analysis::under_load::LONG_NS;

/// Judges one capture.
pub fn of_one(evidence: &Evidence) -> Blame {
    let place = Place::of(evidence);
    if evidence.games.is_empty() {
        return without_game(evidence, place);
    }
    let worst = worst(evidence);
    let trouble = [0, 1].map(|side| Trouble::of(worst, side));
    if let Some(blame) = by_router(evidence, place) {
        return blame;
    }
    if trouble.iter().all(|trouble| trouble.is_none(worst))
        && worst.ways.iter().all(|way| way.closed_ns < LONG_NS)
    {
        return silent(worst, place).unwrap_or_else(|| no_trouble(evidence, place));
    }
    if let Some(blame) = standstill(worst, place, &trouble) {
        return blame;
    }
    let [home, away] = trouble.map(|trouble| if trouble.is_none(worst) { 0.0 } else { trouble.size() });
    let side = usize::from(away >= home);
    let mut blame = on_side(evidence, worst, place, side, &trouble[side]);
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

/// The game that suffered most.
pub(super) fn worst(evidence: &Evidence) -> &Flow {
    let size = |game: &Flow| -> f64 {
        let closed: u64 = game.ways.iter().map(|way| way.closed_ns).sum();
        let both: f64 = [0, 1].iter().map(|&side| Trouble::of(game, side).size()).sum();
        both + closed as f64 / 1e9
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
    let [_, up, down, both] = game.steps;
    if both + if load == 0 { up } else { down } == 0 {
        let text = format!(
            "{} router is to blame: the game's packets wait in it, although there is little load.",
            capital(your)
        );
        return Some(Blame::new(Who::Home, Sure::Likely, text).because(at).advise(&[CABLE, AQM]));
    }
    let text = format!(
        "{} {} is to blame: the game's packets wait in the router's queue.",
        capital(your),
        name(load)
    );
    Some(advise_queue(Blame::new(queue_of(load), Sure::Certain, text).because(at), load))
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
    if evidence.games.iter().any(|game| visible.iter().any(|&way| game.ways[way].lost.is_none())) {
        return Blame::new(
            Who::Unknown,
            Sure::Guess,
            "The capture shows nothing wrong, but the game's updates have neither numbers nor a steady pace. So it does not \
             show whether any were late or lost.",
        )
        .advise(&[if place == Place::Server { AT_PLAYER } else { AT_SERVER }, WITH_TCP]);
    }
    let seen_both = evidence.games.iter().all(|game| {
        game.is_tcp && game.ways.iter().all(|way| way.load.least_rtt_ns.is_some() && !way.delays_acks)
    });
    let by_others = [0, 1].into_iter().all(|side| is_flat(evidence, side));
    let lost = evidence.games.iter().all(|game| game.ways[1].is_counted);
    let text = "Nobody is to blame: the network was fine.".to_owned();
    let sure = if seen_both || by_others && lost { Sure::Likely } else { Sure::Guess };
    let text = if sure == Sure::Guess {
        "Nobody, as far as the capture shows: what it shows of the network was fine.".to_owned()
    } else if place.is_players() {
        "Nobody is to blame: your network was fine.".to_owned()
    } else {
        text
    };
    let longest = evidence.games.iter().flat_map(|game| &game.ways).map(|way| way.load.longest_wait_ns).max();
    let mut blame = Blame::new(Who::Nobody, sure, text).because(format!(
        "No game waited longer than {}, and none lost more than 1 % of its packets that the capture can count.",
        ms(longest.unwrap_or(0).max(LONG_NS))
    ));
    if sure == Sure::Guess {
        blame = blame
            .because("One capture of UDP does not show delay and losses after it, nor the round trip.")
            .advise(&[if place == Place::Server { AT_PLAYER } else { AT_SERVER }, WITH_TCP]);
    }
    blame.advise(&["If the game lagged all the same, look at the machine that plays and at the server."])
}

/// A queue on one side that the game's own packets do not show.
pub(super) fn hidden_queue(evidence: &Evidence, place: Place, side: usize) -> Option<Blame> {
    let your = your(place.is_players());
    let queue = queues::find(evidence, None, side).filter(|queue| queue.delay_ns > LONG_NS)?;
    let is_shared = queue.proof == Proof::Others && place != Place::Server && place != Place::Unknown;
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

/// The sender did not send, although the network delivered.
fn silent(game: &Flow, place: Place) -> Option<Blame> {
    let sender = |way: usize| if way == 0 { "player" } else { "server" };
    for way in [1, 0] {
        let of = &game.ways[way];
        let stalled = of.silence_ns > SILENCE_NS;
        let has_gap = of.unsent >= UNSENT && of.load.longest_wait_ns > ONE_WAIT_NS;
        if !has_gap && !stalled {
            continue;
        }
        let is_server = (way == 1) != game.is_hosted;
        // On the way to the capture point nothing was lost, so the sender is on that side.
        let who = if is_server { Who::Server } else { Who::Home };
        // TCP hides a network that was down for a moment: nothing needs to be sent again from the capture point's view.
        let sure = if stalled { Sure::Guess } else { Sure::Likely };
        let text = if is_server {
            "The server is to blame: it did not send its updates in time.".to_owned()
        } else {
            format!(
                "{} machine is to blame: the game did not send in time.",
                capital(your(place.is_players()))
            )
        };
        let mut blame = Blame::new(who, sure, text);
        if has_gap {
            blame = blame.because(format!(
                "The {}'s messages are numbered. The time of {} passed without any, the longest wait {}. The numbers show no loss there, \
                 and nothing made up for it later.",
                sender(way),
                count(of.unsent, "message"),
                ms(of.load.longest_wait_ns)
            ));
        }
        if stalled {
            blame = blame.because(format!(
                "The {} has a steady pace, and then sent nothing for {}. No data had to be sent again.",
                sender(way),
                ms(of.silence_ns)
            ));
        }
        return Some(blame.because("A pause for a new map looks the same.").advise(if is_server {
            &[TELL_SERVER]
        } else {
            &[MACHINE]
        }));
    }
    None
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
    if let Some(blame) = closed(game, place) {
        return blame;
    }
    let lost_much = (0..2).any(|way| is_much(trouble.lost[way], trouble.sent[way]));
    if let Some(blame) = silent(game, place).filter(|_| !lost_much) {
        return blame.because(at);
    }
    if let Some(queue) = queues::find(evidence, Some(game), side) {
        return by_queue(evidence, place, &queue).because(at);
    }
    if side == 0 { home_side(evidence, place, at) } else { away_side(evidence, game, place, trouble, at) }
}

/// On the player's machine everything was late at the same times, in both directions.
fn standstill(game: &Flow, place: Place, trouble: &[Trouble; 2]) -> Option<Blame> {
    let waits = trouble[0].waits_all().max(trouble[1].waits_all());
    let lost = trouble.iter().any(|of| (0..2).any(|way| is_much(of.lost[way], of.sent[way])));
    let is_it = place == Place::Player && game.both_waited > 2 && game.both_waited * 5 >= waits * 4 && !lost;
    is_it.then(|| {
        Blame::new(Who::Home, Sure::Likely, "Your machine is to blame: it stood still at times.")
            .because(format!(
                "What the game sent and what it got came late at the same times: {} of {waits}, the longest wait {}.",
                game.both_waited,
                ms(trouble[0].longest_ns.max(trouble[1].longest_ns))
            ))
            .advise(&[MACHINE])
    })
}

fn closed(game: &Flow, place: Place) -> Option<Blame> {
    let (way, of) = game.ways.iter().enumerate().max_by_key(|(_, way)| way.closed_ns)?;
    (of.closed_ns > CLOSED_NS).then(|| {
        // The receiver of data to the home is at home.
        let is_server = (way == 0) != game.is_hosted;
        let (who, text) = if is_server {
            (Who::Server, "The server is to blame: its program did not read what arrived.".to_owned())
        } else {
            let your = capital(your(place.is_players()));
            (Who::Home, format!("{your} machine is to blame: its program did not read what arrived."))
        };
        Blame::new(who, Sure::Likely, text)
            .because(format!("It closed its TCP window for {}; the network waited for it.", ms(of.closed_ns)))
            .advise(if is_server { &[TELL_SERVER] } else { &[MACHINE] })
    })
}

fn by_queue(evidence: &Evidence, place: Place, queue: &Queue) -> Blame {
    let your = your(place.is_players());
    // At a server the load is that of all players, and a line of the server's may be full.
    let is_strong = queue.proof >= Proof::Others && place != Place::Server && place != Place::Unknown;
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

fn because_of_queue(mut blame: Blame, queue: &Queue, evidence: &Evidence) -> Blame {
    blame.because.extend(self::evidence(queue));
    let load = name(queue.load);
    let mean = rate(evidence.bytes[queue.load], evidence.lasted_ns);
    advise_queue(blame.because(format!("The {load} of the capture is {mean} on average.")), queue.load)
}

pub(super) fn advise_queue(blame: Blame, load: usize) -> Blame {
    blame.advise(&[if load == 0 { LIMIT_UPLOAD } else { LIMIT_DOWNLOAD }, AQM])
}

/// Trouble between the player and the capture point, without a load that explains it.
fn home_side(evidence: &Evidence, place: Place, at: String) -> Blame {
    let retries = evidence.wifi_retries * 20 > evidence.packets;
    match place {
        Place::Home | Place::SomewhereAtHome if retries => {
            Blame::new(Who::Wifi, Sure::Likely, "Your Wi-Fi is to blame: it loses packets or sends them late.")
                .because(format!("{} had to be repeated on the air.", count(evidence.wifi_retries, "frame")))
                .because(at)
                .advise(&[CABLE])
        }
        Place::Home => Blame::new(
            Who::Wifi,
            Sure::Guess,
            "Perhaps your Wi-Fi is to blame: trouble arose between the machine that plays and the capture point, in the \
             home network.",
        )
        .because(at)
        .advise(&[CABLE, MACHINE]),
        Place::Player => {
            Blame::new(Who::Home, Sure::Guess, "Perhaps your machine is to blame: what it sends is late already.")
                .because(at)
                .advise(&[MACHINE])
        }
        Place::SomewhereAtHome | Place::Between | Place::Server | Place::Unknown => Blame::new(
            Who::Unknown,
            Sure::Guess,
            "Trouble arose between the player and the capture point: the player's machine, home network or line, or the \
             network up to this point. The capture cannot tell which of them.",
        )
        .because(at)
        .advise(&[AT_PLAYER]),
    }
}

/// Trouble between the capture point and the server, without a load that explains it.
fn away_side(evidence: &Evidence, game: &Flow, place: Place, trouble: &Trouble, at: String) -> Blame {
    if place == Place::Server && trouble.lost_all() == 0 && !game.is_hosted {
        return Blame::new(
            Who::Server,
            Sure::Likely,
            "The server is to blame: its updates were late when they left.",
        )
        .because(at)
        .advise(&[TELL_SERVER]);
    }
    match elsewhere(evidence, game, 1) {
        Elsewhere::Fine { servers, packets } => {
            return Blame::new(
                Who::Path,
                Sure::Likely,
                format!(
                    "The path to the server is to blame, behind {} line. It may be the server's own connection too.",
                    your(place.is_players())
                ),
            )
            .because(at)
            .because(format!(
                "{} to and from {} at the same time had almost no loss.",
                count(packets, "packet"),
                count(servers, "other server")
            ))
            .advise(&[TELL_SERVER, ELSEWHERE, AT_SERVER]);
        }
        Elsewhere::Same { servers } if place == Place::Home => {
            return Blame::new(
                Who::Line,
                Sure::Guess,
                "Perhaps your line is to blame: packets to and from several servers are lost, without much load.",
            )
            .because(at)
            .because(format!("The same happens with {}.", count(servers, "other server")))
            .advise(&[ASK_PROVIDER, AT_ROUTER]);
        }
        Elsewhere::Same { .. } | Elsewhere::Untold => {}
    }
    let (text, advice): (_, &[&str]) = match place {
        Place::Player | Place::SomewhereAtHome => (
            "Trouble arose somewhere between your machine and the server: Wi-Fi, other machines in the home, the line, the path or the \
             server. The capture cannot tell which of them.",
            &[AT_ROUTER, CABLE, OTHERS_TRAFFIC, AT_SERVER],
        ),
        Place::Home => (
            "Trouble arose between your home and the server: the line, the path or the server. The capture cannot tell \
             which of them. If it was taken at the router, your Wi-Fi is not to blame.",
            &[AT_SERVER, OTHERS_TRAFFIC, ELSEWHERE],
        ),
        Place::Between | Place::Server | Place::Unknown => (
            "Trouble arose between the capture point and the server, or in the server. The capture cannot tell which of \
             them.",
            &[AT_SERVER],
        ),
    };
    let blame = Blame::new(Who::Unknown, Sure::Guess, text).because(at).advise(advice);
    if game.is_tcp { blame.advise(&[REMEDIES]) } else { blame }
}

/// What happened to flows to other servers at the same time.
enum Elsewhere {
    /// They lost far less.
    Fine { servers: u64, packets: u64 },
    /// They lost about as much.
    Same { servers: u64 },
    /// They say nothing.
    Untold,
}

/// Compares the losses of a game with those of flows to other servers, only without load: a queue loses packets too.
fn elsewhere(evidence: &Evidence, game: &Flow, side: usize) -> Elsewhere {
    let lost = |flow: &Flow| -> u64 {
        let [up, down] = &flow.ways;
        let [up, down] = if side == 1 {
            [&up.load.lost_after, &down.load.lost_before]
        } else {
            [&up.load.lost_before, &down.load.lost_after]
        };
        u64::from(quiet(up) + quiet(down))
    };
    // Only steps without load count.
    let sent = |flow: &Flow| -> u64 {
        let all: u32 = flow.steps.iter().sum();
        let sent = flow.ways.iter().filter(|way| way.lost.is_some()).map(|way| way.sent).sum::<u64>();
        sent * u64::from(flow.steps[0]) / u64::from(all.max(1))
    };
    let (own_lost, own_sent) = (lost(game), sent(game));
    if own_lost < 5 {
        return Elsewhere::Untold;
    }
    let mut servers: std::collections::BTreeMap<_, (u64, u64)> = std::collections::BTreeMap::new();
    for flow in evidence.flows().filter(|flow| flow.away != game.away && flow.home == game.home) {
        let sums = servers.entry(flow.away).or_default();
        (sums.0, sums.1) = (sums.0 + lost(flow), sums.1 + sent(flow));
    }
    let (all_lost, all_sent) = servers.values().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    let expected = own_lost as f64 / own_sent.max(1) as f64 * all_sent as f64;
    let lossy = servers.values().filter(|of| of.0 >= 3).count() as u64;
    if expected >= 10.0 && (all_lost as f64) < expected * 0.1 {
        return Elsewhere::Fine { servers: servers.len() as u64, packets: all_sent };
    }
    if lossy >= 2 && all_lost as f64 > expected * 0.3 {
        return Elsewhere::Same { servers: lossy };
    }
    Elsewhere::Untold
}

/// Says what the trouble is, and on which side it arose.
pub(super) fn where_(side: usize, place: Place, trouble: &Trouble, game: &Flow) -> String {
    let mut parts = Vec::new();
    let sent = trouble.sent[0] + trouble.sent[1];
    if trouble.lost_all() > 0 {
        let lost = if game.ways.iter().all(|way| way.is_counted) { "lost" } else { "lost or not sent" };
        let share = percent(trouble.lost_all(), sent);
        parts.push(format!("{} ({share}) {lost}", count(trouble.lost_all(), "packet")));
    }
    if trouble.waits_all() > 0 {
        let longest = ms(trouble.longest_ns);
        parts.push(format!(
            "{} over 100 ms, the longest {longest}",
            count(trouble.waits_all().into(), "wait")
        ));
    }
    if trouble.delay_ns > LONG_NS {
        parts.push(format!("round trips over {} longer than the fastest", ms(trouble.delay_ns)));
    }
    let part = match (side, place.is_players()) {
        (0, true) => "Between your game and the capture point",
        (0, false) => "Between the player and the capture point",
        (_, true) => "Between the capture point and the server",
        (_, false) => "On the server's side of the capture point",
    };
    let told = if parts.is_empty() { "no trouble".to_owned() } else { parts.join("; ") };
    format!("{part}, for the game with {}: {told}.", game.away)
}

pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Messages that must be missing before the sender is blamed: a quarter of a second at 20 per second.
const UNSENT: u64 = 5;
/// Silence of a sender with a steady pace.
const SILENCE_NS: u64 = 1_000_000_000;
/// Time with a closed window that a player notices.
const CLOSED_NS: u64 = 250_000_000;
