//! Trouble on one side of the capture point that neither a load nor a machine explains: Wi-Fi, line or path. Flows to other
//! servers at the same time tell some of these apart.

use super::evidence::{Evidence, Flow};
use super::findings::{Trouble, quiet};
use super::place::Place;
use super::words::*;
use super::{Blame, Sure, Who};
use crate::analysis::under_load::LONG_NS;
use crate::orientation::is_private;

/// Trouble between the player and the capture point, without a load that explains it.
pub(super) fn home_side(evidence: &Evidence, place: Place, at: String) -> Blame {
    let retries = evidence.wifi_retries * 20 > evidence.packets;
    match place {
        Place::Home | Place::SomewhereAtHome if retries => {
            Blame::new(Who::Wifi, Sure::Guess, "Your Wi-Fi is to blame: it loses packets or sends them late.")
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
pub(super) fn away_side(
    evidence: &Evidence,
    game: &Flow,
    place: Place,
    trouble: &Trouble,
    at: String,
) -> Blame {
    if place == Place::Server && trouble.lost_all() == 0 && !game.is_hosted {
        return Blame::new(
            Who::Server,
            Sure::Guess,
            "The server is to blame: its updates were late when they left.",
        )
        .because(at)
        .advise(&[TELL_SERVER]);
    }
    match elsewhere(evidence, game, 1) {
        Elsewhere::Fine { servers, packets } => {
            return Blame::new(
                Who::Path,
                Sure::Guess,
                format!(
                    "The path to the server is to blame, behind {} line. It may be the server's own connection too.",
                    your(place.is_players())
                ),
            )
            .because(at)
            .because(format!(
                "{} to and from {} had almost no loss.",
                count(packets, "packet"),
                count(servers, "other server")
            ))
            .advise(&[TELL_SERVER, ELSEWHERE, place.other_end()]);
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
            &[place.other_end()],
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
    // Machines in the home say nothing about the way out of it.
    let is_other = |flow: &&Flow| {
        flow.away != game.away && flow.home == game.home && is_private(flow.away) == is_private(game.away)
    };
    for flow in evidence.flows().filter(is_other) {
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
        (0, _) if game.is_hosted => "Between the hosted match and the capture point",
        (_, _) if game.is_hosted => "Between the capture point and the other player",
        (0, true) => "Between your game and the capture point",
        (0, false) => "Between the player and the capture point",
        (_, true) => "Between the capture point and the server",
        (_, false) => "On the server's side of the capture point",
    };
    let told = if parts.is_empty() { "no trouble".to_owned() } else { parts.join("; ") };
    format!("{part}, for the game with {}: {told}.", game.away)
}
