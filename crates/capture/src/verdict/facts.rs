//! The facts about each listed game. With two captures, losses and the lag until delivery are those of the comparison. If
//! it could not count the losses, they are those of the messages' own numbers, on the way to the capture nearer to the
//! receiver. Retransmissions and stalls are those of the capture nearer to the sender, late messages and gaps those of
//! the capture nearer to the receiver.

use std::collections::BTreeSet;

use crate::analysis::Kind;
use crate::document::{Captured, Flow, FlowUpdates, Half, PairDirection, PairFlow, Paired, Transport};

/// One direction of a game.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way<'a> {
    /// 0 to the server, 1 to the player.
    pub(super) direction: usize,
    pub(super) half: Option<&'a Half>,
    pub(super) updates: Option<&'a FlowUpdates>,
    pub(super) pair: Option<&'a PairDirection>,
}

/// A game or a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Game<'a> {
    pub(super) kind: Kind,
    /// Position of the first capture that has it, and number of the flow there.
    pub(super) place: (usize, u32),
    pub(super) client: &'a str,
    pub(super) server: &'a str,
    /// Name of the application, if it is likely or sure.
    pub(super) name: Option<&'a str>,
    /// Median round trip.
    pub(super) rtt_ms: Option<f64>,
    /// To the player, then to the server.
    pub(super) ways: [Way<'a>; 2],
    pub(super) is_paired: bool,
}

/// Lost packets of those that were sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    pub(super) lost: u64,
    pub(super) sent: u64,
    /// Lost on the way to one capture, by the messages' own numbers; otherwise between two captures.
    pub(super) before_capture: bool,
}

impl<'a> Way<'a> {
    fn new(
        direction: usize,
        near_sender: &'a Flow,
        near_receiver: &'a Flow,
        pair: Option<&'a PairFlow>,
    ) -> Self {
        let half = match &near_sender.transport {
            Transport::Tcp(tcp) => Some(tcp.half(direction)),
            Transport::Udp(_) => None,
        };
        let updates = match &near_receiver.transport {
            Transport::Udp(udp) => udp.updates(direction),
            Transport::Tcp(_) => None,
        };
        Self { direction, half, updates, pair: pair.map(|pair| pair.way(direction)) }
    }

    /// The losses, if they were counted.
    pub(super) fn lost(&self) -> Option<Lost> {
        if let Some((lost, sent)) = self.pair.and_then(|pair| pair.lost.zip(pair.sent)) {
            return Some(Lost { lost, sent, before_capture: false });
        }
        let numbered = self.updates?.numbered?;
        let sent = numbered.arrived + numbered.missing;
        Some(Lost { lost: numbered.missing, sent, before_capture: true })
    }

    /// Share of the data packets of TCP lost, as one capture can tell, if they were not counted.
    pub(super) fn loss_estimate(&self) -> Option<f64> {
        if self.lost().is_some() { None } else { self.half?.loss_estimate }
    }

    /// Lag by cause in milliseconds: until delivery with two captures, else until the acknowledgement.
    pub(super) fn lag_ms(&self) -> [f64; 5] {
        match (self.half, self.pair.and_then(|pair| pair.delivery.as_ref())) {
            (Some(_), Some(delivery)) => delivery.late.0.map(|late| late.lag_ms),
            (Some(half), None) => half.retransmissions.0.map(|of| of.lag_ms),
            (None, _) => [0.0; 5],
        }
    }

    pub(super) fn is_steady(&self) -> bool {
        self.updates.is_some_and(|updates| updates.steady)
    }

    /// Time by which the game was behind, to find the games that suffered most.
    fn trouble_ms(&self) -> f64 {
        let mut behind = self.lag_ms().iter().sum::<f64>();
        behind += self.half.map_or(0.0, |half| half.stalls.longest_ms);
        if let Some(updates) = self.updates {
            let mut ticks = self.lost().map_or(0, |of| of.lost);
            if updates.steady {
                ticks += updates.late + updates.missing_by_pace;
            }
            behind += ticks as f64 * updates.tick_ms;
        }
        behind
    }
}

impl Game<'_> {
    /// Time by which the game was behind.
    pub(super) fn trouble_ms(&self) -> f64 {
        self.ways.iter().map(Way::trouble_ms).sum()
    }
}

/// The listed games in the order of the captures. A game of two captures that are compared comes once.
pub(super) fn games<'a>(captures: &'a [Captured], pair: Option<&'a Paired>) -> Vec<Game<'a>> {
    let mut games = Vec::new();
    let mut paired = BTreeSet::new();
    for flow in pair.into_iter().flat_map(|pair| &pair.flows) {
        paired.extend((0..).zip(flow.ids));
        let [first, second] = captures else { continue };
        if let (Some(first), Some(second)) = (first.flow(flow.ids[0]), second.flow(flow.ids[1]))
            && flow.kind != Kind::Other
        {
            games.push(both(flow, [first, second]));
        }
    }
    for (number, capture) in captures.iter().enumerate() {
        let alone = |flow: &&Flow| flow.kind != Kind::Other && !paired.contains(&(number, flow.id));
        games.extend(capture.flows.iter().filter(alone).map(|flow| one(number, flow)));
    }
    games
}

fn both<'a>(flow: &'a PairFlow, seen: [&'a Flow; 2]) -> Game<'a> {
    let near_client = usize::from(flow.near_client == Some(1));
    let ways = [1, 0].map(|direction| {
        let near_sender = if direction == 0 { near_client } else { 1 - near_client };
        Way::new(direction, seen[near_sender], seen[1 - near_sender], Some(flow))
    });
    Game {
        kind: flow.kind,
        place: (0, flow.ids[0]),
        client: &flow.client,
        server: &flow.server,
        name: seen.iter().find_map(|seen| seen.application.told()),
        rtt_ms: flow.rtt_ms.p50,
        ways,
        is_paired: true,
    }
}

fn one(capture: usize, flow: &Flow) -> Game<'_> {
    let rtt_ms = match &flow.transport {
        Transport::Tcp(tcp) => tcp.rtt_ms.p50,
        Transport::Udp(_) => None,
    };
    Game {
        kind: flow.kind,
        place: (capture, flow.id),
        client: &flow.client,
        server: &flow.server,
        name: flow.application.told(),
        rtt_ms,
        ways: [1, 0].map(|direction| Way::new(direction, flow, flow, None)),
        is_paired: false,
    }
}
