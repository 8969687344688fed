//! The games of a capture in a few numbers, for a verdict about all of them. A [`Game`] has the numbers of one flow, and
//! [`Games`] adds up any number of games in constant memory. Distributions are left to the [`FlowReport`].

use super::game::{Behaviour, Updates};
use super::report::{FlowReport, HalfReport, TransportReport, is_conversation};

/// Kind of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "document",
    derive(serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum Kind {
    /// A game over UDP.
    Game,
    /// A voice call over UDP.
    Voice,
    /// A TCP connection that behaves like a game: long, with data both ways, and thin in at least one direction.
    ThinTcp,
    /// Anything else.
    #[default]
    Other,
}

/// Numbers of one flow. Directions are from client to server, and from server to client.
#[derive(Clone, Copy, Debug, Default)]
pub struct Game {
    /// Kind of the flow.
    pub kind: Kind,
    /// Numbers of UDP; zero for TCP.
    pub udp: [UdpWay; 2],
    /// Numbers of TCP; zero for UDP.
    pub tcp: [TcpWay; 2],
}

/// Sums over games and calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct Games {
    /// Number of games over UDP.
    pub games: u64,
    /// Number of voice calls over UDP.
    pub voice_calls: u64,
    /// Number of TCP connections that behave like games.
    pub thin_tcp: u64,
    /// Sums of UDP.
    pub udp: [UdpWay; 2],
    /// Sums of TCP.
    pub tcp: [TcpWay; 2],
}

/// Losses that were counted, not estimated: by the messages' own numbers, or at two capture points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Number of flows whose losses were counted.
    pub flows: u64,
    /// Packets that they sent.
    pub sent: u64,
    /// Packets of these that were lost.
    pub lost: u64,
    /// Packets that came more than once.
    pub duplicated: u64,
    /// Packets that came after a later one.
    pub reordered: u64,
}

/// One direction of UDP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpWay {
    /// Losses.
    pub counted: Counted,
    /// Number of flows with a steady pace. The following numbers are theirs.
    pub steady: u64,
    /// Messages that came more than half a tick late.
    pub late: u64,
    /// Gaps for which no later messages made up.
    pub gaps: u64,
    /// Messages that those gaps would have held.
    pub missing_by_pace: u64,
    /// Longest time without a message.
    pub longest_gap_ns: u64,
}

/// One direction of TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpWay {
    /// Losses. One capture only has estimates, so nothing is counted there.
    pub counted: Counted,
    /// Packets with data.
    pub data_packets: u64,
    /// Packets with data that was sent before.
    pub resent: u64,
    /// Of these, packets that the receiver reported as duplicates.
    pub spurious: u64,
    /// Lag by cause.
    pub lag_ns: [u64; 5],
    /// Packets that a timed retransmission delivered.
    pub stalls: u64,
    /// Longest stall.
    pub longest_stall_ns: u64,
}

impl FlowReport {
    /// Kind of the flow.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Finds the kind by the flow's behaviour.
    pub(super) fn find_kind(&self) -> Kind {
        match &self.transport {
            TransportReport::Udp { behaviour, .. } => (*behaviour).into(),
            TransportReport::Tcp(tcp)
                if is_conversation([0, 1].map(|n| &*tcp.halves[n].counts), self.last_ns - self.first_ns) =>
            {
                Kind::ThinTcp
            }
            _ => Kind::Other,
        }
    }
}

impl From<Behaviour> for Kind {
    fn from(behaviour: Behaviour) -> Self {
        match behaviour {
            Behaviour::Game => Self::Game,
            Behaviour::Voice => Self::Voice,
            Behaviour::Other => Self::Other,
        }
    }
}

impl Game {
    /// Returns the numbers of a flow.
    pub fn of(report: &FlowReport) -> Self {
        let mut game = Self { kind: report.kind(), ..Self::default() };
        match &report.transport {
            TransportReport::Udp { updates, .. } => {
                game.udp = [0, 1].map(|n| updates[n].as_ref().map_or_else(UdpWay::default, UdpWay::of));
            }
            TransportReport::Tcp(tcp) => game.tcp = [0, 1].map(|n| TcpWay::of(&tcp.halves[n])),
        }
        game
    }
}

impl Games {
    /// Adds a game or a call. Flows of another kind are left out.
    pub fn add(&mut self, game: &Game) {
        if game.kind == Kind::Other {
            return;
        }
        self.games += u64::from(game.kind == Kind::Game);
        self.voice_calls += u64::from(game.kind == Kind::Voice);
        self.thin_tcp += u64::from(game.kind == Kind::ThinTcp);
        for n in 0..2 {
            self.udp[n].add(&game.udp[n]);
            self.tcp[n].add(&game.tcp[n]);
        }
    }
}

impl UdpWay {
    fn of(updates: &Updates) -> Self {
        let counted = updates.numbered.map_or_else(Counted::default, |numbered| Counted {
            flows: 1,
            sent: numbered.arrived + numbered.missing,
            lost: numbered.missing,
            duplicated: numbered.duplicated,
            reordered: numbered.reordered,
        });
        if !updates.is_steady {
            return Self { counted, ..Self::default() };
        }
        let &Updates { late, gaps, missing_by_pace, longest_gap_ns, .. } = updates;
        Self { counted, steady: 1, late, gaps, missing_by_pace, longest_gap_ns }
    }

    fn add(&mut self, other: &Self) {
        self.counted.add(&other.counted);
        self.steady += other.steady;
        self.late += other.late;
        self.gaps += other.gaps;
        self.missing_by_pace += other.missing_by_pace;
        self.longest_gap_ns = self.longest_gap_ns.max(other.longest_gap_ns);
    }
}

impl TcpWay {
    fn of(half: &HalfReport) -> Self {
        Self {
            counted: Counted::default(),
            data_packets: half.counts.data_packets,
            resent: half.counts.resent,
            spurious: half.counts.spurious.iter().sum(),
            lag_ns: half.lag_ns(),
            stalls: half.counts.stalls,
            longest_stall_ns: half.counts.longest_stall_ns,
        }
    }

    fn add(&mut self, other: &Self) {
        self.counted.add(&other.counted);
        self.data_packets += other.data_packets;
        self.resent += other.resent;
        self.spurious += other.spurious;
        for (sum, more) in self.lag_ns.iter_mut().zip(other.lag_ns) {
            *sum += more;
        }
        self.stalls += other.stalls;
        self.longest_stall_ns = self.longest_stall_ns.max(other.longest_stall_ns);
    }
}

impl Counted {
    fn add(&mut self, other: &Self) {
        self.flows += other.flows;
        self.sent += other.sent;
        self.lost += other.lost;
        self.duplicated += other.duplicated;
        self.reordered += other.reordered;
    }
}
