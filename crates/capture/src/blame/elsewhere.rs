//! What happened to flows to other servers at the times of a game's trouble. Flows from before or after say nothing about
//! it. Steps with load are left out: a queue loses packets of all.

use std::collections::BTreeMap;

use super::evidence::{Evidence, Flow, Way};
use crate::analysis::Marks;
use crate::orientation::is_private;

/// What happened to flows to other servers at the same times.
pub(super) enum Elsewhere {
    /// They lost far less than expected: this many moments with losses.
    Fine { servers: u64, moments: u64 },
    /// They lost about as much.
    Same { servers: u64 },
    /// The game waited; they were answered in time during so many steps.
    Prompt { servers: u64, steps: u64 },
    /// They say nothing.
    Untold,
}

/// Losses of one server's flows.
#[derive(Clone, Copy, Default)]
struct Server {
    lost: f64,
    expected: f64,
}

/// Compares a game's losses and waits on one side of the capture point with those of flows that leave it on the same side:
/// flows to other servers (1), or to other players (0).
pub(super) fn elsewhere(evidence: &Evidence, game: &Flow, side: usize) -> Elsewhere {
    // Machines in the home say nothing about the way out of it.
    let end = |flow: &Flow| if side == 1 { flow.away } else { flow.home };
    let is_other = |flow: &&Flow| {
        end(flow) != end(game)
            && is_private(end(flow)) == is_private(end(game))
            && flow.interface == game.interface
    };
    let others: Vec<&Flow> = evidence.flows().filter(is_other).collect();
    let mut servers: BTreeMap<_, Server> = BTreeMap::new();
    let mut all_lost = 0;
    let step_ns = step_ns(others.iter().copied().chain([game]));
    // Trouble in one direction of a thin game may be trouble in both.
    let times = lost_at(game, 0, side, step_ns).or(&lost_at(game, 1, side, step_ns));
    let times = times.around(AROUND_NS.div_ceil(step_ns));
    for way in 0..2 {
        let own = lost_at(game, way, side, step_ns);
        all_lost += own.count();
        let active = active_at(game, way, side, step_ns).and(&times).count().max(1);
        let rate = f64::from(own.count()) / f64::from(active);
        for flow in &others {
            let active = active_at(flow, way, side, step_ns);
            let share = (per_step(flow, way, &active)
                / per_step(game, way, &active_at(game, way, side, step_ns)))
            .min(1.0);
            let server = servers.entry(end(flow)).or_default();
            server.lost += f64::from(lost_at(flow, way, side, step_ns).and(&times).count());
            if shows_losses(flow, way, side, &active) {
                server.expected += f64::from(active.and(&times).count()) * rate * share;
            }
        }
    }
    if all_lost >= ENOUGH {
        let lost: f64 = servers.values().map(|of| of.lost).sum();
        let expected: f64 = servers.values().map(|of| of.expected).sum();
        let seen = servers.values().filter(|of| of.expected >= SEEN).count() as u64;
        if expected >= EXPECTED && lost < expected * FAR_LESS {
            return Elsewhere::Fine { servers: seen.max(1), moments: expected as u64 };
        }
        let lossy = servers.values().filter(|of| of.lost >= SEEN).count() as u64;
        return if lossy >= 2 && lost > expected * ABOUT {
            Elsewhere::Same { servers: lossy }
        } else {
            Elsewhere::Untold
        };
    }
    if side == 1 { waits(game, &others) } else { Elsewhere::Untold }
}

/// Compares the long waits of a game with the round trips of flows to other servers at the same times.
fn waits(game: &Flow, others: &[&Flow]) -> Elsewhere {
    // What the home gets comes from the other side.
    let waited = &game.ways[1].load.waited_at;
    let mut prompt_at: BTreeMap<_, Marks> = BTreeMap::new();
    for flow in others {
        let prompt = &flow.ways[0].load.prompt_at;
        let step_ns = waited.step_ns().max(prompt.step_ns()).max(1);
        let both = waited.with_step(step_ns).and(&prompt.with_step(step_ns));
        if step_ns == waited.step_ns() && both.count() > 0 {
            prompt_at.entry(flow.away).and_modify(|of| *of = of.or(&both)).or_insert(both);
        }
    }
    let steps = prompt_at.values().fold(Marks::default(), |sum, of| sum.or(of)).count();
    if steps >= ENOUGH && steps * 2 >= waited.count() {
        return Elsewhere::Prompt { servers: prompt_at.len() as u64, steps: steps.into() };
    }
    Elsewhere::Untold
}

/// Longest step of any flow.
fn step_ns<'a>(flows: impl Iterator<Item = &'a Flow>) -> u64 {
    flows.flat_map(|flow| &flow.ways).map(|way| way.load.prompt_at.step_ns()).max().unwrap_or(0).max(1)
}

/// Steps with losses on a side of the capture point.
fn lost_at(flow: &Flow, way: usize, side: usize, step_ns: u64) -> Marks {
    // On the sender's side data is lost before the capture point.
    flow.ways[way].load.lost_at[usize::from(way != side)].with_step(step_ns)
}

/// Steps in which a loss would have been seen.
fn active_at(flow: &Flow, way: usize, side: usize, step_ns: u64) -> Marks {
    let of: &Way = &flow.ways[way];
    if !flow.is_tcp && of.lost.is_some() && way == side {
        return Marks::between(step_ns, flow.span_ns);
    }
    of.load.prompt_at.with_step(step_ns).or(&lost_at(flow, way, side, step_ns))
}

/// True if the capture would show losses. A loss before the capture point shows only if later data arrives before the
/// retransmission.
fn shows_losses(flow: &Flow, way: usize, side: usize, active: &Marks) -> bool {
    way != side || !flow.is_tcp || per_step(flow, way, active) >= DENSE
}

fn per_step(flow: &Flow, way: usize, active: &Marks) -> f64 {
    flow.ways[way].sent as f64 / f64::from(active.count().max(1))
}

/// Losses or steps from which they are compared.
const ENOUGH: u32 = 5;
/// Time around a loss that belongs to the same trouble.
const AROUND_NS: u64 = 2_000_000_000;
/// Moments with losses that others should have had.
const EXPECTED: f64 = 10.0;
/// Moments with losses, or expected ones, from which a server counts.
const SEEN: f64 = 3.0;
/// Packets in a step of TCP that sends several at a time.
const DENSE: f64 = 10.0;
/// Others lost far less than expected.
const FAR_LESS: f64 = 0.1;
/// Others lost about as much as expected.
const ABOUT: f64 = 0.3;
