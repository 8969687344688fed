//! Judgement of two captures of the same traffic. They divide the way from the player to the server into three parts. What
//! happened between the two points was measured, in each direction. The parts before and after them are judged as for
//! one capture.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::evidence::{Evidence, Flow};
use super::findings::{Trouble, quiet};
use super::one::{advise_queue, hidden_queue, hosted, is_flat, of_one, on_side};
use super::place::Place;
use super::queues::{self, MOST, Proof, Queue, in_one_direction};
use super::sides::where_;
use super::words::*;
use super::{Blame, Sure, Who};
use crate::analysis::under_load::{LONG_NS, UnderLoad, WayUnderLoad};
use crate::orientation::is_private;
use crate::pair::{Comparison, PairedFlow};

/// A game at both points.
struct Game<'a> {
    /// The game in the capture nearer to the home, and in the other one.
    seen: [&'a Flow; 2],
    between: Trouble,
    load: UnderLoad,
    /// Losses between the points are known in both directions.
    is_known: bool,
}

/// Judges two captures. `evidence` has the facts of the first and of the second one.
pub fn of_two(evidence: [&Evidence; 2], compared: &Comparison) -> Blame {
    judged(evidence, compared).hedged()
}

fn judged(evidence: [&Evidence; 2], compared: &Comparison) -> Blame {
    let votes = compared.flows.iter().filter_map(|flow| {
        let is_hosted = seen(evidence[0], flow.flows[0]).is_some_and(|game| game.is_hosted);
        flow.first_is_near_client.map(|first| first != is_hosted)
    });
    let (first, all) = votes.fold((0, 0), |(first, all), vote| (first + u32::from(vote), all + 1));
    let near = usize::from(first * 2 < all);
    let games: Vec<Game<'_>> = compared.flows.iter().filter_map(|flow| game(evidence, flow, near)).collect();
    let places = [near, 1 - near].map(|n| Place::of(evidence[n]));
    let Some(worst) = games.iter().max_by(|a, b| size(a).total_cmp(&size(b))) else {
        return apart(evidence);
    };
    let parts = parts(worst);
    if parts.iter().zip([worst.seen[0], worst.seen[0], worst.seen[1]]).all(|(part, game)| part.is_none(game))
    {
        return no_trouble([evidence[near], evidence[1 - near]], &games, places);
    }
    let sizes = parts.map(|part| if part.is_none(worst.seen[0]) { 0.0 } else { part.size() });
    let most = (0..3).max_by(|&a, &b| sizes[a].total_cmp(&sizes[b])).unwrap_or(1);
    let mut blame = match most {
        0 => on_side(evidence[near], worst.seen[0], places[0], 0, &parts[0]),
        1 => between(worst, compared, places, [evidence[near], evidence[1 - near]]),
        _ => on_side(evidence[1 - near], worst.seen[1], places[1], 1, &parts[2]),
    };
    if worst.seen[0].is_hosted && !matches!(blame.who, Who::Upload | Who::Download) {
        blame = hosted(places[0], part_of(most, &parts[most], worst, places));
    }
    for (n, part) in parts.iter().enumerate().filter(|&(n, _)| n != most && sizes[n] > sizes[most] / 3.0) {
        blame.sure = blame.sure.min(Sure::Likely);
        blame.because.push(format!("There was trouble elsewhere too. {}", part_of(n, part, worst, places)));
    }
    blame
}

fn seen(evidence: &Evidence, number: u32) -> Option<&Flow> {
    evidence.games.iter().find(|game| game.number == number)
}

fn game<'a>(evidence: [&'a Evidence; 2], flow: &PairedFlow, near: usize) -> Option<Game<'a>> {
    let [first, second] = [0, 1].map(|n| seen(evidence[n], flow.flows[n]));
    let seen = [first.or(second)?, second.or(first)?];
    let seen = if near == 0 { seen } else { [seen[1], seen[0]] };
    let mut load = flow.under_load.clone();
    let mut directions = [&flow.directions[0], &flow.directions[1]];
    if seen[0].is_hosted {
        load.ways.swap(0, 1);
        directions.swap(0, 1);
    }
    let mut between = Trouble::default();
    for (n, way) in load.ways.iter().enumerate() {
        if let Ok(losses) = &directions[n].losses {
            (between.lost[n], between.sent[n]) = (losses.lost, losses.sent);
        }
        between.waits[n] = way.long_waits.iter().sum();
        between.longest_ns = between.longest_ns.max(way.longest_wait_ns);
        // Data of TCP waits for retransmissions too.
        if let Some(delivery) = &directions[n].delivery {
            let share = delivery.lag.share_within(LONG_NS as f64, f64::INFINITY);
            let late = (share * delivery.lag.count() as f64) as u32;
            between.waits[n] = between.waits[n].max(late);
            between.longest_ns = between.longest_ns.max(delivery.lag.max().unwrap_or(0));
        }
    }
    let is_known = directions.iter().all(|direction| direction.losses.is_ok());
    Some(Game { seen, between, load, is_known })
}

/// Trouble at home, between the points, and beyond them.
fn parts(game: &Game<'_>) -> [Trouble; 3] {
    let [near, far] = game.seen;
    let mut home = Trouble::of(near, 0);
    let mut away = Trouble::of(far, 1);
    // A capture alone sees round trips through the other point. What was measured between the points explains them.
    for part in [&mut home, &mut away] {
        if game.between.longest_ns * 2 > part.delay_ns {
            part.delay_ns = 0;
        }
    }
    [home, game.between, away]
}

fn size(game: &Game<'_>) -> f64 {
    parts(game).iter().map(Trouble::size).sum()
}

/// The captures have no game in common.
fn apart(evidence: [&Evidence; 2]) -> Blame {
    let [first, second] = evidence.map(of_one);
    let better = if first.who == Who::Unknown || second.who != Who::Unknown && second.sure > first.sure {
        second
    } else {
        first
    };
    better.because("The two captures have no game in common, so each was judged alone.")
}

fn no_trouble(evidence: [&Evidence; 2], games: &[Game<'_>], [near, far]: [Place; 2]) -> Blame {
    // The parts beyond the two points were not measured, and a queue may be there.
    for n in [0, 1] {
        if let Some(blame) = hidden_queue(evidence[n], [near, far][n], n) {
            return blame.because("Between the two capture points nothing was wrong.");
        }
    }
    let home = near == Place::Player || is_flat(evidence[0], 0);
    let away = far == Place::Server || is_flat(evidence[1], 1);
    let is_known = games.iter().all(|game| game.is_known);
    // Without numbers or a pace, a sender that stopped looks like one that had nothing to send.
    let has_pace = games.iter().all(|game| game.seen[0].ways.iter().all(|way| way.lost.is_some()));
    let your = if near.is_players() { "your network" } else { "the network" };
    let longest = games.iter().map(|game| game.between.longest_ns).max().unwrap_or(0).max(LONG_NS);
    let (lost, sent) = games.iter().fold((0, 0), |(lost, sent), game| {
        (lost + game.between.lost_all(), sent + game.between.sent[0] + game.between.sent[1])
    });
    let sure = match (near, far) {
        (Place::Player, Place::Server) if is_known && has_pace => Sure::Certain,
        _ if home && away && is_known && games.iter().all(|game| game.seen[0].is_tcp) => Sure::Likely,
        _ => Sure::Guess,
    };
    let text = if sure == Sure::Guess {
        "The captures show no trouble between them, so they blame nobody.".to_owned()
    } else {
        format!("Nobody is to blame: {your} was fine.")
    };
    Blame::new(Who::Nobody, sure, text)
        .because(format!(
            "Between the two capture points no packet of a game waited longer than {}, and {} of {} were lost.",
            ms(longest),
            lost,
            count(sent, "packet")
        ))
        .advise(&["If the game lagged all the same, look at the machine that plays and at the server."])
}

fn between(worst: &Game<'_>, compared: &Comparison, places: [Place; 2], evidence: [&Evidence; 2]) -> Blame {
    let your = your(places[0].is_players());
    let at = part_of(1, &worst.between, worst, places);
    // A game that makes the load itself would always be late with it.
    let is_load = |load: usize| !queues::is_own(evidence[0], worst.seen[0], load);
    let queues = [0, 1].map(|load| in_one_direction(&worst.load, load).filter(|_| is_load(load)));
    let weight = |queue: &Queue| (queue.quiet_ns.is_some(), queue.troubles[0]);
    if let Some(queue) = queues.into_iter().flatten().max_by_key(weight) {
        // Round trips of one capture need no common clock, so a clock that was set is no queue.
        let agrees = [(0, 1), (1, 0)].into_iter().any(|(n, side)| {
            queues::find(evidence[n], None, side)
                .is_some_and(|found| found.load == queue.load && found.proof >= Proof::NoQuietTime)
        });
        let mut blame = queue_between(&queue, your, at, agrees);
        if places[1] == Place::Home {
            blame.sure = Sure::Guess;
            blame.who = Who::Wifi;
            "Your Wi-Fi or home network is to blame: a queue builds up between the two capture points."
                .clone_into(&mut blame.text);
            blame.advice.insert(0, CABLE.to_owned());
        }
        if let Some(other) = queues[1 - queue.load] {
            let (load, waited) = (name(other.load), ms(other.delay_ns));
            blame.because.push(format!("In the other direction packets waited {waited} with the {load}."));
            blame = advise_queue(blame, other.load);
        }
        return blame;
    }
    match elsewhere(worst, compared) {
        Some(true) if places[1] != Place::Home => {
            return Blame::new(
                Who::Path,
                Sure::Guess,
                "The path to the server is to blame, between the two capture points. Other servers are reached well.",
            )
            .because(at)
            .advise(&[ELSEWHERE, TELL_SERVER]);
        }
        Some(false) if places[1] != Place::Server && places[0] == Place::Home => {
            return Blame::new(
                Who::Line,
                Sure::Likely,
                format!(
                    "{} line is to blame: packets to all servers are lost between the two points.",
                    capital(your)
                ),
            )
            .because(at)
            .advise(&[ASK_PROVIDER]);
        }
        _ => {}
    }
    Blame::new(
        Who::Unknown,
        Sure::Guess,
        "Trouble was measured between the two capture points, and load does not explain it. Whatever lies between them is to blame.",
    )
    .because(at)
    .advise(if places[1] == Place::Server { &[AT_ROUTER, CABLE, ELSEWHERE] } else { &[CABLE, ASK_PROVIDER] })
}

fn queue_between(queue: &Queue, your: &str, at: String, agrees: bool) -> Blame {
    let load = name(queue.load);
    let [with, all] = queue.troubles;
    let sure = match (agrees && f64::from(with) >= f64::from(all) * MOST, queue.quiet_ns) {
        (true, Some(_)) => Sure::Certain,
        (true, None) => Sure::Likely,
        (false, _) => Sure::Guess,
    };
    let text =
        format!("{} {load} is to blame: a queue builds up between the two capture points.", capital(your));
    let mut blame = Blame::new(queue_of(queue.load), sure, text);
    if with > 0 {
        blame = blame.because(troubles(with, all, load));
    }
    if queue.delay_ns > 0 {
        let quiet = queue.quiet_ns.map_or_else(
            || "It was busy all the time.".to_owned(),
            |quiet| format!("Without it they waited {}.", ms(quiet)),
        );
        let waited = ms(queue.delay_ns);
        blame = blame.because(format!(
            "While the {load} was busy, the game's packets waited {waited} longer than the fastest ones. {quiet}"
        ));
    }
    advise_queue(blame.because(at), queue.load)
}

/// Losses, long waits and packets of flows between the points, in the time without load.
#[derive(Clone, Copy, Default)]
struct Quiet {
    lost: u64,
    waits: u64,
    sent: u64,
    moments: u64,
}

impl Quiet {
    fn of(load: &UnderLoad, sent: u64) -> Self {
        let all: u32 = load.steps.iter().sum();
        let sum = |of: fn(&WayUnderLoad) -> u32| load.ways.iter().map(|way| u64::from(of(way))).sum();
        Self {
            lost: sum(|way| quiet(&way.lost_after)),
            waits: sum(|way| quiet(&way.long_waits)),
            sent: sent * u64::from(load.steps[0]) / u64::from(all.max(1)),
            moments: sum(|way| way.delay[0].moments),
        }
    }

    const fn plus(self, more: Self) -> Self {
        Self {
            lost: self.lost + more.lost,
            waits: self.waits + more.waits,
            sent: self.sent + more.sent,
            moments: self.moments + more.moments,
        }
    }
}

/// Compares the trouble between the points, without load, with that of flows to other servers. True if those had almost
/// none, false if at least two other servers had about as many losses.
fn elsewhere(worst: &Game<'_>, compared: &Comparison) -> Option<bool> {
    let own = Quiet::of(&worst.load, worst.between.sent[0] + worst.between.sent[1]);
    let mut servers: BTreeMap<IpAddr, Quiet> = BTreeMap::new();
    for flow in &compared.flows {
        let is_hosted = is_private(flow.key.destination.ip()) && !is_private(flow.key.source.ip());
        let away = if is_hosted { flow.key.source } else { flow.key.destination }.ip();
        if away != worst.seen[0].away && is_private(away) == is_private(worst.seen[0].away) {
            let sent =
                flow.directions.iter().filter_map(|of| of.losses.as_ref().ok()).map(|of| of.sent).sum();
            let sums = servers.entry(away).or_default();
            *sums = sums.plus(Quiet::of(&flow.under_load, sent));
        }
    }
    let all = servers.values().fold(Quiet::default(), |sum, of| sum.plus(*of));
    let expected = |own_count: u64, own: u64, all: u64| own_count as f64 / own.max(1) as f64 * all as f64;
    let losses = expected(own.lost, own.sent, all.sent);
    if own.lost >= TROUBLES {
        let lossy = servers.values().filter(|of| of.lost >= 3).count();
        if losses >= EXPECTED && (all.lost as f64) < losses * 0.1 {
            return Some(true);
        }
        return (lossy >= 2 && all.lost as f64 > losses * 0.3).then_some(false);
    }
    let waits = expected(own.waits, own.moments, all.moments);
    (own.waits >= TROUBLES && waits >= EXPECTED && (all.waits as f64) < waits * 0.1).then_some(true)
}

/// Minimum number of lost packets or long waits for a comparison.
const TROUBLES: u64 = 5;
/// Minimum number that the others should have had.
const EXPECTED: f64 = 10.0;

fn part_of(part: usize, trouble: &Trouble, game: &Game<'_>, places: [Place; 2]) -> String {
    match part {
        0 => where_(0, places[0], trouble, game.seen[0]),
        1 => {
            let sent = trouble.sent[0] + trouble.sent[1];
            let lost = trouble.lost_all();
            format!(
                "Between the two capture points, for the game of {}: {} of {} ({}) lost; the longest delay was {} above the \
                 least.",
                game.seen[0].client,
                lost,
                count(sent, "packet"),
                percent(lost, sent),
                ms(trouble.longest_ns)
            )
        }
        _ => where_(1, places[1], trouble, game.seen[1]),
    }
}
