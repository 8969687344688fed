//! Trouble on one side of the capture point that neither a load nor a machine explains: Wi-Fi, line or path. Flows to other
//! servers at the same time tell some of these apart.

use super::elsewhere::{Elsewhere, elsewhere};
use super::evidence::{Evidence, Flow};
use super::findings::Trouble;
use super::place::Place;
use super::wifi::{OnAir, on_air};
use super::words::*;
use super::{Blame, Sure, Who};
use crate::analysis::under_load::LONG_NS;

/// Trouble between the player and the capture point, without a load that explains it.
pub(super) fn home_side(evidence: &Evidence, game: &Flow, place: Place, at: String) -> Blame {
    let frames = on_air(evidence, game);
    match place {
        Place::Home | Place::SomewhereAtHome if let OnAir::Worse(said) = frames => {
            Blame::new(Who::Wifi, Sure::Guess, "Your Wi-Fi is to blame: it loses packets or sends them late.")
                .because(said)
                .because(at)
                .advise(&[CABLE])
        }
        Place::Home if let OnAir::Usual(said) = frames => Blame::new(
            Who::Home,
            Sure::Guess,
            "Your machine is to blame: what it sends is late already, and your Wi-Fi was no worse than usual.",
        )
        .because(said)
        .because(at)
        .advise(&[MACHINE, CABLE]),
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
        Place::Between | Place::Server | Place::Unknown
            if let Some(blame) = of_one_player(evidence, game, 0) =>
        {
            blame.because(at).advise(&[AT_PLAYER])
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

/// Judges losses of one player on a server's side by those of the other players at the same times.
pub(super) fn of_one_player(evidence: &Evidence, game: &Flow, side: usize) -> Option<Blame> {
    match elsewhere(evidence, game, side) {
        Elsewhere::Fine { servers, moments } => {
            let text = "The connection of one player is to blame: the Wi-Fi, upload or line there, or the path from it.";
            let said = format!(
                "At the same times almost nothing of {} was lost: it should have happened {} at that rate.",
                count(servers, "other player"),
                count(moments, "time"),
            );
            Some(Blame::new(Who::Path, Sure::Guess, text).because(said))
        }
        Elsewhere::Same { servers } => {
            let text =
                "The path in front of this server or its own connection is to blame, not one player's.";
            let said = format!("At the same times packets of {} were lost.", count(servers, "other player"));
            Some(Blame::new(Who::Path, Sure::Guess, text).because(said))
        }
        Elsewhere::Prompt { .. } | Elsewhere::Untold => None,
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
        Elsewhere::Fine { servers, moments } => {
            let your = your(place.is_players());
            // Numbers that skip, a filter for UDP and a limit per flow look the same.
            let text = format!(
                "Perhaps the path to the server is to blame, behind {your} line, or the server's own connection."
            );
            let said = format!(
                "At the same times almost nothing was lost on the way to and from {}: it should have happened {} at that \
                 rate.",
                count(servers, "other server"),
                count(moments, "time"),
            );
            return Blame::new(Who::Path, Sure::Guess, text).because(at).because(said).advise(&[
                TELL_SERVER,
                ELSEWHERE,
                place.other_end(),
            ]);
        }
        Elsewhere::Prompt { servers, steps } => {
            let text = format!(
                "The path to the server or the server itself is to blame, not {} network.",
                your(place.is_players())
            );
            let said = format!(
                "While the game waited, {} answered without delay, in {}.",
                count(servers, "other server"),
                count(steps, "quarter second"),
            );
            return Blame::new(Who::Path, Sure::Guess, text).because(at).because(said).advise(&[
                TELL_SERVER,
                ELSEWHERE,
                place.other_end(),
            ]);
        }
        Elsewhere::Same { servers } => {
            let said = format!(
                "At the same times packets to and from {} were lost.",
                count(servers, "other server")
            );
            if place == Place::Home {
                let text = "Perhaps your line is to blame: packets to and from several servers are lost, without much load.";
                return Blame::new(Who::Line, Sure::Guess, text)
                    .because(at)
                    .because(said)
                    .advise(&[ASK_PROVIDER, AT_ROUTER]);
            }
            if place.is_players() {
                let text = "Your Wi-Fi, another machine in the home or your line is to blame, not the game's server. The \
                    capture cannot tell which of them.";
                return Blame::new(Who::Unknown, Sure::Guess, text).because(at).because(said).advise(&[
                    AT_ROUTER,
                    CABLE,
                    OTHERS_TRAFFIC,
                ]);
            }
        }
        Elsewhere::Untold => {}
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

/// Says what the trouble is, and on which side it arose.
pub(super) fn where_(side: usize, place: Place, trouble: &Trouble, game: &Flow) -> String {
    let mut parts = Vec::new();
    let sent = trouble.sent[0] + trouble.sent[1];
    if trouble.lost_all() > 0 {
        let lost = if game.ways.iter().all(|way| way.is_counted) { "lost" } else { "lost or not sent" };
        let share = percent(trouble.lost_all(), sent);
        let what = if game.is_tcp { "data packet" } else { "update" };
        parts.push(format!("{} ({share}) {lost}", count(trouble.lost_all(), what)));
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
    format!("{part}, for the game of {}: {told}.", game.client)
}
