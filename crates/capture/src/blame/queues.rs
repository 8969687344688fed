//! Whether a queue builds up with the upload or the download of the capture. The delay, the losses or the late messages of
//! a flow must come with that load, and stay away without it. A flow that makes the load itself proves little: behind a fair
//! queue only it would wait. So the delay of other flows counts more, and if they do not wait, the queue is not shared.

use super::evidence::{Evidence, Flow};
use crate::analysis::under_load::{Load, Typical, UnderLoad, WayUnderLoad};

/// What tells that a queue builds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Proof {
    /// Packets wait, and uploads and downloads are there all the time.
    Always,
    /// Only the flow that makes the load waits, as far as is known.
    OwnLoad,
    /// Others wait too, but there was no quiet time to compare with.
    NoQuietTime,
    /// Other flows wait with the load and not without it.
    Others,
    /// The game itself is late or loses packets with the load, and not without it.
    Game,
}

/// A queue that builds up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    /// 0 from the home (upload), 1 to the home (download).
    pub(super) load: usize,
    pub(super) proof: Proof,
    /// Median delay with the load and without it; 0 if only losses and late messages tell.
    pub(super) delay_ns: u64,
    pub(super) quiet_ns: Option<u64>,
    /// Late or lost messages of the game with the load, and all of them.
    pub(super) troubles: [u32; 2],
}

/// Load by direction.
const LOADS: [Load; 2] = [Load::Up, Load::Down];

/// Finds the queue with the best proof on one side of the capture point: 0 the home, 1 away. `game` is judged too.
pub(super) fn find(evidence: &Evidence, game: Option<&Flow>, side: usize) -> Option<Queue> {
    let mut best: Option<Queue> = None;
    for load in 0..2 {
        let shared = shared(evidence, side, load);
        let waits = shared.is_some_and(|shared| shared.proof > Proof::OwnLoad);
        // A game that makes the load itself would always be late with it.
        let by_game = game.filter(|game| !is_own(evidence, game, load));
        let by_game = by_game.and_then(|game| by_troubles(game, side, load, waits));
        // A round trip does not tell its direction, so both loads at the same time tell nothing.
        let found = match (by_game, shared) {
            (Some(by_game), shared) => {
                let delay = shared.filter(|shared| shared.proof > Proof::OwnLoad);
                Some(Queue {
                    delay_ns: delay.map_or(0, |delay| delay.delay_ns),
                    quiet_ns: delay.and_then(|delay| delay.quiet_ns),
                    ..by_game
                })
            }
            (None, shared) => shared,
        };
        let rank = |queue: &Queue| (queue.proof, queue.troubles[0], queue.delay_ns);
        if let Some(found) = found
            && best.is_none_or(|best| rank(&best) < rank(&found))
        {
            best = Some(found);
        }
    }
    best.or_else(|| always(evidence, side))
}

/// Finds a delay that flows share while this load is there.
fn shared(evidence: &Evidence, side: usize, load: usize) -> Option<Queue> {
    // Flows that do not wait tell that there is no common queue.
    if is_passed(evidence, side, load) {
        return None;
    }
    let mut found: Option<Queue> = None;
    if let Some((delay_ns, quiet_ns)) = delayed(&handshakes(evidence, side), load) {
        // Several connections of one page may meet a bad moment by chance.
        let is_many = handshakes(evidence, side).delay[LOADS[load] as usize].moments >= LONG_LOAD;
        let proof = if quiet_ns.is_some() && is_many { Proof::Others } else { Proof::NoQuietTime };
        found = Some(Queue { load, proof, delay_ns, quiet_ns, troubles: [0, 0] });
    }
    for flow in evidence.flows() {
        // Data from the home is acknowledged by the other side.
        let way = &flow.ways[1 - side];
        if way.delays_acks {
            continue;
        }
        let Some((delay_ns, quiet_ns)) = delayed(&way.load, load) else { continue };
        let proof = match (is_own(evidence, flow, load), quiet_ns) {
            (true, _) => Proof::OwnLoad,
            // A short load may come at a bad moment by chance.
            (false, Some(_)) if way.load.delay[LOADS[load] as usize].moments >= LONG_LOAD => Proof::Others,
            (false, _) => Proof::NoQuietTime,
        };
        if found.is_none_or(|found| (found.proof, found.delay_ns) < (proof, delay_ns)) {
            found = Some(Queue { load, proof, delay_ns, quiet_ns, troubles: [0, 0] });
        }
    }
    found
}

/// True if some flow that does not make this load itself passes without waiting.
fn is_passed(evidence: &Evidence, side: usize, load: usize) -> bool {
    let others = evidence.flows().filter(|flow| !is_own(evidence, flow, load));
    let mut ways = others.map(|flow| &flow.ways[1 - side]).filter(|way| !way.delays_acks);
    ways.any(|way| is_prompt(&way.load, load)) || is_prompt(&handshakes(evidence, side), load)
}

pub(super) fn is_own(evidence: &Evidence, flow: &Flow, load: usize) -> bool {
    flow.bytes[load] * OWN_SHARE > evidence.bytes[load]
}

/// Finds a delay in a capture that is busy nearly all the time. It cannot tell which load makes it; the load that is there
/// more often is named.
fn always(evidence: &Evidence, side: usize) -> Option<Queue> {
    if [0, 1].into_iter().any(|load| is_passed(evidence, side, load)) {
        return None;
    }
    let mut found: Option<Queue> = None;
    for flow in evidence.flows() {
        let [idle, up, down, both] = flow.steps;
        let way = &flow.ways[1 - side];
        if idle * 5 > up + down + both || way.delays_acks {
            continue;
        }
        let medians = way.load.delay.iter().filter(|delay| delay.moments >= ENOUGH);
        let delay_ns = medians.map(|delay| delay.median_ns).min().unwrap_or(0);
        let load = usize::from(down > up);
        if delay_ns >= 2 * MUCH_NS && found.is_none_or(|found| found.delay_ns < delay_ns) {
            found = Some(Queue { load, proof: Proof::Always, delay_ns, quiet_ns: None, troubles: [0, 0] });
        }
    }
    found
}

/// Delays of handshakes above the least one with the same server.
fn handshakes(evidence: &Evidence, side: usize) -> WayUnderLoad {
    let mut above: [Vec<u64>; 4] = Default::default();
    for of in evidence.handshakes.values() {
        let trips = of.iter().filter_map(|one| one.rtt_ns[side].map(|rtt_ns| (one.load, rtt_ns)));
        let Some(least) = trips.clone().map(|(_, rtt_ns)| rtt_ns).min() else { continue };
        trips.for_each(|(load, rtt_ns)| above[load as usize].push(rtt_ns - least));
    }
    WayUnderLoad { delay: above.map(Typical::of), ..WayUnderLoad::default() }
}

/// Delay of a flow with the load and without it, if it is far longer with it.
fn delayed(way: &WayUnderLoad, load: usize) -> Option<(u64, Option<u64>)> {
    let loaded = &way.delay[LOADS[load] as usize];
    if loaded.moments < ENOUGH || loaded.median_ns < MUCH_NS {
        return None;
    }
    let Some(quiet_ns) = quiet(way, load) else {
        return (loaded.median_ns >= 2 * MUCH_NS).then_some((loaded.median_ns, None));
    };
    let is_more = loaded.median_ns >= 2 * quiet_ns && loaded.median_ns >= quiet_ns + MUCH_NS;
    is_more.then_some((loaded.median_ns, Some(quiet_ns)))
}

/// Median delay without this load. It is the larger one of the times without any load and with the other one only, so the
/// other load cannot be the reason. `None` if there was no such time.
fn quiet(way: &WayUnderLoad, load: usize) -> Option<u64> {
    let without = [Load::Idle, LOADS[1 - load]].map(|load| way.delay[load as usize]);
    without.iter().filter(|delay| delay.moments >= FEW).map(|delay| delay.median_ns).max()
}

fn is_prompt(way: &WayUnderLoad, load: usize) -> bool {
    let Typical { moments, median_ns, .. } = way.delay[LOADS[load] as usize];
    // A flow that began under load does not know the delay without it.
    moments >= ENOUGH && quiet(way, load).is_some() && median_ns < MUCH_NS / 2
}

/// Finds out whether a game is late or loses packets with this load, and not without it.
fn by_troubles(game: &Flow, side: usize, load: usize, waits: bool) -> Option<Queue> {
    // What the upload delays goes from the home, and passes the home's side before the capture point.
    let is_before = side == load;
    if !is_before && !game.is_tcp {
        return None;
    }
    by_counts(&game.ways[load].load.troubled[usize::from(!is_before)], &game.steps, load, waits)
}

/// The same from the moments with trouble, by load. If packets wait with the load too, that is enough. Otherwise a third of
/// the steps with the load must have trouble: a few bursts of losses may coincide with the load.
fn by_counts(troubles: &[u32; 4], steps: &[u32; 4], load: usize, waits: bool) -> Option<Queue> {
    let at = |load: Load| (f64::from(troubles[load as usize]), f64::from(steps[load as usize]));
    let (quiet, quiet_steps) = at(Load::Idle);
    let [(alone, alone_steps), (both, both_steps)] = [at(LOADS[load]), at(Load::Both)];
    let (loaded, loaded_steps) = (alone + both, alone_steps + both_steps);
    let all: u32 = troubles.iter().sum();
    if loaded < TROUBLES || quiet_steps < f64::from(ENOUGH) || loaded < f64::from(all) * MOST {
        return None;
    }
    let is_often = waits || loaded * 3.0 >= loaded_steps;
    let is_more = is_often && loaded / loaded_steps.max(1.0) >= 5.0 * (quiet + 1.0) / quiet_steps;
    let troubles = [loaded as u32, all];
    is_more.then_some(Queue { load, proof: Proof::Game, delay_ns: 0, quiet_ns: None, troubles })
}

/// Finds out whether packets between two points wait or are lost with the load in their own direction. Delays of one
/// direction cannot come from a queue in the other.
pub(super) fn in_one_direction(of: &UnderLoad, load: usize) -> Option<Queue> {
    let way = &of.ways[load];
    let troubles = &way.troubled[1];
    let [quiet, loaded] = [Load::Idle, LOADS[load]].map(|load| way.delay[load as usize]);
    let loaded = if loaded.moments >= ENOUGH { loaded } else { way.delay[Load::Both as usize] };
    let waits = loaded.moments >= ENOUGH && loaded.median_ns >= MUCH_NS;
    let by_counts = by_counts(troubles, &of.steps, load, waits);
    let all: u32 = troubles.iter().sum();
    let troubles = [all - troubles[Load::Idle as usize] - troubles[LOADS[1 - load] as usize], all];
    if quiet.moments >= FEW {
        let is_more = waits && loaded.median_ns >= 2 * quiet.median_ns + MUCH_NS / 2;
        return match by_counts {
            Some(found) => {
                Some(Queue { delay_ns: loaded.median_ns, quiet_ns: Some(quiet.median_ns), ..found })
            }
            None if is_more => Some(Queue {
                load,
                proof: Proof::Game,
                delay_ns: loaded.median_ns,
                quiet_ns: Some(quiet.median_ns),
                troubles,
            }),
            None => None,
        };
    }
    (waits && loaded.median_ns >= 2 * MUCH_NS).then_some(Queue {
        load,
        proof: Proof::NoQuietTime,
        delay_ns: loaded.median_ns,
        quiet_ns: None,
        troubles,
    })
}

/// Bytes of a flow that makes the load itself: a fifth of all.
const OWN_SHARE: u64 = 5;
/// Delay that a queue must add.
const MUCH_NS: u64 = 50_000_000;
/// Minimum number of moments for a median.
const ENOUGH: u32 = 6;
/// Minimum number of loaded moments that prove something: 6 s.
const LONG_LOAD: u32 = 24;
/// Minimum number of moments for a comparison.
const FEW: u32 = 4;
/// Minimum number of troubles with the load.
const TROUBLES: f64 = 5.0;
/// Share of all troubles that must come with the load.
pub(super) const MOST: f64 = 0.7;
