//! Is the game fine, and if not, why? Said of everything that behaves like a game or a call and was heard of lately. The
//! bounds are ours: what waits no longer than a frame of a 60 Hz picture is not felt, and a lost packet is no update.

use gamelane_core::{Direction, Duration, Instant};
use gamelane_qdisc::classify::Behaviour;
use serde::{Deserialize, Serialize};

use crate::gateway::Gateway;
use crate::policy::Policy;

/// The state of the games.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// `fine`, `suffering`, or `no game`.
    pub state: State,
    /// What is wrong, worst first, and what would help.
    pub why: Vec<String>,
}

/// Of the games.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nothing here behaves like a game or a call.
    NoGame,
    /// They are.
    Fine,
    /// At least one is not.
    Suffering,
}

/// A frame at 60 Hz.
const FELT: Duration = Duration::from_micros(16_667);
/// A flow silent for longer is over.
const OVER: Duration = Duration::from_secs(5);

/// Judges the last seconds.
pub fn judge(gateway: &Gateway, policy: &Policy, now: Instant) -> Verdict {
    let games = gateway
        .truth()
        .conversations()
        .filter(|flow| flow.behaviour == Behaviour::RealTime && now.saturating_since(flow.seen) <= OVER);
    let mut complaints: Vec<(Duration, String)> = Vec::new();
    let mut any = false;
    for game in games {
        any = true;
        for direction in Direction::BOTH {
            let way = &game.ways[direction.index()];
            let recent = way.recent.histogram(now);
            let waits = recent.quantile(0.95);
            let name = direction.name();
            if waits > FELT {
                let backlog = gateway.backlog(direction);
                let shaped = policy.lanes[direction.index()].shape.is_some();
                let remedy = match (crate::status::kind(&policy.lanes[direction.index()].queue), shaped) {
                    ("fifo" | "codel" | "pie", _) => {
                        "one queue for all: fq_codel, cake or priority would let it pass"
                    }
                    (_, true) => "the shaper may be set too low for what the game itself sends",
                    (_, false) => "the interface is the bottleneck",
                };
                complaints.push((
                    waits,
                    format!(
                        "{} waits {:.0} ms on its way {name} behind {} packets: {remedy}",
                        game.key.destination,
                        waits.as_millis_f64(),
                        backlog.packets
                    ),
                ));
            }
            if way.recent.drops(now) > 0 {
                complaints.push((
                    Duration::MAX,
                    format!(
                        "{} lost {} packets here on its way {name}",
                        game.key.destination,
                        way.recent.drops(now)
                    ),
                ));
            }
            let interval = way.arriving.interval();
            if way.recent.count(now) > 0 && way.arriving.jitter() > interval.max(FELT) {
                complaints.push((
                    way.arriving.jitter(),
                    format!(
                        "{} arrives unevenly from {}: the cause lies there, not in this queue",
                        game.key.destination,
                        if direction == Direction::Up { "home (Wi-Fi?)" } else { "the internet" }
                    ),
                ));
            }
        }
    }
    complaints.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
    let state = match (any, complaints.is_empty()) {
        (false, _) => State::NoGame,
        (true, true) => State::Fine,
        (true, false) => State::Suffering,
    };
    Verdict { state, why: complaints.into_iter().map(|(_, text)| text).collect() }
}
