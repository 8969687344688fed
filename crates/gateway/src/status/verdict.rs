//! Whether games suffer, and why. Judges every conversation that behaves like a game or a call and was active in the last seconds.
//! The bounds are our construction: a wait up to one frame at 60 Hz is not felt, and every lost packet is a lost update.

use gamelane_core::{Direction, Duration, Instant};
use gamelane_device::at_home;
use gamelane_policy::LanePolicy;
use gamelane_qdisc::Isolates;
use gamelane_qdisc::classify::Behaviour;
use serde::{Deserialize, Serialize};

use crate::truth::{Conversation, Truth, Way};

/// Whether games suffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// `fine`, `suffering`, `no-game` or `unknown`.
    pub state: State,
    /// What is wrong and what would help, worst first.
    pub why: Vec<String>,
}

/// State of the games.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nothing behaves like a game or a call.
    NoGame,
    /// No game suffers.
    Fine,
    /// At least one game suffers.
    Suffering,
    /// The flows are not seen.
    Unknown,
}

/// What a verdict is about.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// What is known of flows.
    pub truth: &'a Truth,
    /// Queues, indexed by [`Direction::index`].
    pub queues: [QueueScene; 2],
}

/// A queue, as far as a verdict needs it.
#[derive(Clone, Copy, Debug)]
pub struct QueueScene {
    /// Packets that wait.
    pub packets: u32,
    /// What the queue keeps apart; `None` if that is not known.
    pub isolates: Option<Isolates>,
    /// Whether it has a rate of its own.
    pub is_shaped: bool,
}

impl QueueScene {
    /// The queue of a policy.
    pub fn of(policy: &LanePolicy, packets: u32) -> Self {
        Self {
            packets,
            isolates: Some(policy.discipline().facts.isolates),
            is_shaped: policy.shaper().is_some(),
        }
    }
}

/// One frame at 60 Hz.
const FELT: Duration = Duration::from_micros(16_667);
/// A flow that holds at least this share of the queue is named.
const MOST: f64 = 0.3;
/// A conversation silent for longer is over.
const OVER: Duration = Duration::from_secs(5);

/// What is wrong with a game, and its weight for the order.
type Complaint = (Duration, String);

/// Judges the last seconds.
pub fn judge(scene: &Scene<'_>, now: Instant) -> Verdict {
    let games: Vec<&Conversation> = scene
        .truth
        .conversations()
        .filter(|flow| flow.behaviour == Behaviour::RealTime && now.saturating_since(flow.seen) <= OVER)
        .collect();
    let ways = games.iter().flat_map(|game| Direction::BOTH.map(|direction| (*game, direction)));
    let mut complaints: Vec<Complaint> = ways
        .flat_map(|(game, direction)| {
            let way = &game.ways[direction.index()];
            let server = game.key.destination.to_string();
            [
                waits(scene, game, direction, now),
                loses(way, direction, &server, now),
                is_uneven(way, direction, &server, now),
            ]
        })
        .flatten()
        .collect();
    complaints.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
    let state = match (games.is_empty(), complaints.is_empty()) {
        (true, _) => State::NoGame,
        (false, true) => State::Fine,
        (false, false) => State::Suffering,
    };
    Verdict { state, why: complaints.into_iter().map(|(_, text)| text).collect() }
}

fn waits(scene: &Scene<'_>, game: &Conversation, direction: Direction, now: Instant) -> Option<Complaint> {
    let waits =
        game.ways[direction.index()].recent.histogram(now).quantile(0.95).filter(|waits| *waits > FELT)?;
    let queue = &scene.queues[direction.index()];
    let remedy = match (queue.isolates, queue.is_shaped) {
        (Some(Isolates::Nothing), _) => {
            ": it shares its queue with other flows: fq_codel, cake or priority would let it pass"
        }
        (Some(_), true) => ": the shaper may be set below what the game itself sends",
        (Some(_), false) => ": the interface is the bottleneck",
        (None, _) => "",
    };
    let most = scene.truth.holder(&game.key, direction, now).filter(|(_, share)| *share >= MOST);
    let whose = most.map_or(String::new(), |(flow, share)| {
        let (from, to) = (at_home(flow.key, direction).source, at_home(flow.key, direction).destination);
        format!("; {:.0} % of what waits goes from {from} to {to}", share * 100.0)
    });
    let behind = match queue.packets {
        0 => String::new(),
        packets => format!(" behind {packets} packets"),
    };
    let (server, name, ms) = (game.key.destination, direction.name(), waits.as_millis_f64());
    Some((waits, format!("{server} waits {ms:.0} ms on its way {name}{behind}{whose}{remedy}")))
}

fn loses(way: &Way, direction: Direction, server: &str, now: Instant) -> Option<Complaint> {
    let lost = way.recent.drops(now);
    let name = direction.name();
    (lost > 0).then(|| (Duration::MAX, format!("{server} lost {lost} packets here on its way {name}")))
}

fn is_uneven(way: &Way, direction: Direction, server: &str, now: Instant) -> Option<Complaint> {
    let (jitter, interval) = (way.arriving.jitter(), way.arriving.interval());
    let from = if direction == Direction::Up { "home (Wi-Fi?)" } else { "the internet" };
    (way.recent.count(now) > 0 && jitter > interval.max(FELT)).then(|| {
        (jitter, format!("{server} arrives unevenly from {from}: the cause is there, not in this queue"))
    })
}
