//! The facts about each listed flow, from which sentences and tables take their numbers. With two captures, losses and the lag until
//! delivery are those of the comparison. If it could not count the losses, they are those of the messages' own numbers, on the way to
//! the capture nearer to the receiver. Retransmissions and stalls are those of the capture nearer to the sender, late messages and gaps
//! those of the capture nearer to the receiver.

use std::collections::BTreeSet;

use crate::analysis::Kind;
use crate::document::{
    Captured, Flow, FlowUpdates, Half, PairDirection, PairFlow, Paired, Summary, Transport, Trouble,
};

/// One direction of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way<'a> {
    /// 0 to the server, 1 to the player.
    pub(crate) direction: usize,
    pub(crate) half: Option<&'a Half>,
    pub(crate) updates: Option<&'a FlowUpdates>,
    pub(crate) pair: Option<&'a PairDirection>,
}

/// A flow that one capture has, or both of two that are compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conversation<'a> {
    pub(crate) kind: Kind,
    pub(crate) client: &'a str,
    pub(crate) server: &'a str,
    /// Position of the first capture that has it, and the flow there.
    pub(crate) first: (usize, &'a Flow),
    /// The flow in the second of two captures.
    second: Option<&'a Flow>,
    /// To the player, then to the server.
    pub(crate) ways: [Way<'a>; 2],
    pub(crate) pair: Option<&'a PairFlow>,
}

/// Lost packets of those that were sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost {
    pub(crate) lost: u64,
    pub(crate) sent: u64,
    /// True: lost before the capture, as the messages' own numbers say. False: lost between two captures.
    pub(crate) before_capture: bool,
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
    pub(crate) fn lost(&self) -> Option<Lost> {
        if let Some((lost, sent)) = self.pair.and_then(|pair| pair.lost.zip(pair.sent)) {
            return Some(Lost { lost, sent, before_capture: false });
        }
        let numbered = self.updates?.numbered?;
        let sent = numbered.arrived + numbered.missing;
        Some(Lost { lost: numbered.missing, sent, before_capture: true })
    }

    /// Share of the data packets of TCP lost, as one capture can tell, if they were not counted.
    pub(crate) fn loss_estimate(&self) -> Option<f64> {
        if self.lost().is_some() { None } else { self.half?.loss_estimate }
    }

    /// Lag by cause in milliseconds: until delivery with two captures, else until the acknowledgement.
    pub(crate) fn lag_ms(&self) -> [f64; 5] {
        match (self.half, self.pair.and_then(|pair| pair.delivery.as_ref())) {
            (Some(_), Some(delivery)) => delivery.late.0.map(|late| late.lag_ms),
            (Some(half), None) => half.retransmissions.0.map(|of| of.lag_ms),
            (None, _) => [0.0; 5],
        }
    }

    /// Updates with a steady pace. Without one, late updates and gaps mean nothing.
    pub(crate) fn steady(&self) -> Option<&'a FlowUpdates> {
        self.updates.filter(|updates| updates.steady)
    }

    /// Time by which the game was behind.
    fn behind_ms(&self) -> f64 {
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

    /// Whether packets were lost, sent again or late. `packets` are those of this direction.
    fn suffered(&self, kind: Kind, packets: u64) -> bool {
        let again = |half: &Half| {
            half.resent > 0 || half.zero_windows.count > 0 || self.lag_ms().iter().any(|lag| *lag > 0.0)
        };
        if self.half.is_some_and(again) {
            return true;
        }
        if kind == Kind::Other {
            return self.pair.is_some_and(|pair| pair.lost.is_some_and(|lost| lost > 0));
        }
        let is_late = |of: &FlowUpdates| of.gaps > 0 || of.late as f64 > LATE * packets.max(1) as f64;
        self.lost().is_some_and(|of| of.lost > 0) || self.steady().is_some_and(is_late)
    }
}

impl<'a> Conversation<'a> {
    /// As one capture has it.
    pub(crate) fn one(capture: usize, flow: &'a Flow) -> Self {
        Self {
            kind: flow.kind,
            client: &flow.client,
            server: &flow.server,
            first: (capture, flow),
            second: None,
            ways: [1, 0].map(|direction| Way::new(direction, flow, flow, None)),
            pair: None,
        }
    }

    /// As two captures have it; `None` if one of them does not list it.
    pub(crate) fn both(captures: &'a [Captured], pair: &'a PairFlow) -> Option<Self> {
        let [first, second] = captures else { return None };
        let seen = [first.flow(pair.ids[0])?, second.flow(pair.ids[1])?];
        let near_client = usize::from(pair.near_client == Some(1));
        let ways = [1, 0].map(|direction| {
            let near_sender = if direction == 0 { near_client } else { 1 - near_client };
            Way::new(direction, seen[near_sender], seen[1 - near_sender], Some(pair))
        });
        Some(Self {
            kind: pair.kind,
            client: &pair.client,
            server: &pair.server,
            first: (0, seen[0]),
            second: Some(seen[1]),
            ways,
            pair: Some(pair),
        })
    }

    /// The direction to the server.
    pub(crate) const fn up(&self) -> &Way<'a> {
        &self.ways[1]
    }

    /// The direction to the player.
    pub(crate) const fn down(&self) -> &Way<'a> {
        &self.ways[0]
    }

    /// Position of the first capture that has it, and number of the flow there.
    pub(crate) const fn place(&self) -> (usize, u32) {
        (self.first.0, self.first.1.id)
    }

    /// The flow in each capture that has it.
    pub(crate) fn seen(&self) -> impl Iterator<Item = &'a Flow> + use<'a> {
        [Some(self.first.1), self.second].into_iter().flatten()
    }

    /// Whether it is a game or a call.
    pub(crate) fn is_game(&self) -> bool {
        self.kind != Kind::Other
    }

    /// Name of the application, if it is likely or sure.
    pub(crate) fn application_name(&self) -> Option<&'a str> {
        self.seen().find_map(|seen| seen.application.told())
    }

    /// Packets of a direction in the first capture that has it.
    pub(crate) fn packets(&self, direction: usize) -> u64 {
        self.first.1.way(direction).packets
    }

    /// RTT between two captures, else of one (`shown_rtt_ms`).
    pub(crate) fn round_trips(&self) -> Option<&'a Summary> {
        match (self.pair, &self.first.1.transport) {
            (Some(pair), _) => Some(&pair.rtt_ms).filter(|trips| trips.count > 0),
            (None, Transport::Tcp(tcp)) => tcp.shown_rtt_ms.as_ref(),
            (None, Transport::Udp(_)) => None,
        }
    }

    /// Whether it suffered, and how much (docs/models/captures.md).
    pub(crate) fn compute_trouble(&self) -> Trouble {
        let suffered = |way: &Way<'_>| way.suffered(self.kind, self.packets(way.direction));
        let [down_behind_ms, up_behind_ms] = self.ways.each_ref().map(Way::behind_ms);
        Trouble {
            suffered: self.ways.iter().any(suffered) || self.is_delayed(),
            up_behind_ms,
            down_behind_ms,
        }
    }

    /// The same, as the document has it.
    pub(crate) fn trouble(&self) -> &'a Trouble {
        self.pair.and_then(|pair| pair.trouble.as_ref()).unwrap_or(&self.first.1.trouble)
    }

    /// Whether a game's slowest packets, or half of another flow's, took long. For the latter, a queue stood.
    fn is_delayed(&self) -> bool {
        let share = |of: &Summary| if self.is_game() { of.p99 } else { of.p50 };
        let trips = self.round_trips().and_then(|of| Some(share(of)? - of.min?));
        let ways = self.ways.iter().filter_map(|way| share(&way.pair?.delay_above_least_ms));
        trips.into_iter().chain(ways).any(|above| above >= DELAY_MS)
    }
}

/// The listed flows in the order of the captures. A flow of two captures that are compared comes once, and first.
pub(crate) fn conversations<'a>(captures: &'a [Captured], pair: Option<&'a Paired>) -> Vec<Conversation<'a>> {
    let mut all = Vec::new();
    let mut paired = BTreeSet::new();
    for flow in pair.into_iter().flat_map(|pair| &pair.flows) {
        if let Some(both) = Conversation::both(captures, flow) {
            paired.extend((0..).zip(flow.ids));
            all.push(both);
        }
    }
    for (number, capture) in captures.iter().enumerate() {
        let alone = |flow: &&Flow| !paired.contains(&(number, flow.id));
        all.extend(capture.flows.iter().filter(alone).map(|flow| Conversation::one(number, flow)));
    }
    all
}

/// Share of late messages that counts as trouble. A computer that plays is itself a little late now and then.
const LATE: f64 = 0.01;
/// Delay above the least that counts as trouble. As [`LATE`], this limit is ours.
const DELAY_MS: f64 = 100.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Choice, read, read_two};

    fn captured(name: &str) -> Captured {
        let path = format!("{}/../../tests/captures/{name}", env!("CARGO_MANIFEST_DIR"));
        read(name, &[path], &Choice::default(), &mut ()).unwrap()
    }

    fn suffered(flow: &Flow) -> bool {
        Conversation::one(0, flow).compute_trouble().suffered
    }

    /// A flow of the capture, without retransmissions and lag.
    fn quiet_tcp() -> Flow {
        let mut flow = captured("thin-tcp-wan-srv.pcapng.gz").flows.swap_remove(0);
        let Transport::Tcp(tcp) = &mut flow.transport else { panic!("a connection") };
        for half in [&mut tcp.up, &mut tcp.down] {
            half.resent = 0;
            half.retransmissions.0.iter_mut().for_each(|of| of.lag_ms = 0.0);
        }
        flow
    }

    #[test]
    fn a_pair_of_which_one_half_is_not_listed_counts_as_seen_once() {
        let [server, client] = ["srv", "cli"].map(|end| {
            format!("{}/../../tests/captures/thin-tcp-wan-{end}.pcapng.gz", env!("CARGO_MANIFEST_DIR"))
        });
        let (mut captures, pair) = read_two([&server, &client], &Choice::default(), [&mut (), &mut ()]);
        assert!(conversations(&captures, pair.as_ref()).iter().all(|of| of.pair.is_some()));
        captures[1].flows.remove(0);
        let all = conversations(&captures, pair.as_ref());
        let alone: Vec<_> = all.iter().filter(|of| of.pair.is_none()).map(Conversation::place).collect();
        assert_eq!((all.len(), alone), (4, vec![(0, 0)]));
    }

    #[test]
    fn a_transfer_behind_a_queue_suffers() {
        let mut flow = quiet_tcp();
        flow.kind = Kind::Other;
        assert!(!suffered(&flow));
        let Transport::Tcp(tcp) = &mut flow.transport else { panic!("a connection") };
        let shown = tcp.shown_rtt_ms.as_mut().unwrap();
        (shown.min, shown.p50) = (Some(30.0), Some(129.0));
        assert!(!suffered(&flow));
        let Transport::Tcp(tcp) = &mut flow.transport else { panic!("a connection") };
        tcp.shown_rtt_ms.as_mut().unwrap().p50 = Some(130.0);
        assert!(suffered(&flow));
    }

    #[test]
    fn updates_that_are_late_or_lost_are_trouble_of_a_game() {
        let mut captured = captured("openarena-4p-srv.pcapng.gz");
        let mut flow = captured.flows.swap_remove(0);
        let packets = Conversation::one(0, &flow).packets(1);
        let mut with = |late, gaps, missing| {
            let Transport::Udp(udp) = &mut flow.transport else { panic!("datagrams") };
            udp.up = None;
            let down = udp.down.as_mut().unwrap();
            (down.steady, down.late, down.gaps) = (true, late, gaps);
            down.numbered.as_mut().unwrap().missing = missing;
            suffered(&flow)
        };
        assert!(!with(packets / 100, 0, 0), "1 % late");
        assert!(with(packets / 100 + 1, 0, 0), "more than 1 % late");
        assert!(with(0, 1, 0), "a gap");
        assert!(with(0, 0, 1), "a lost update");
    }
}
