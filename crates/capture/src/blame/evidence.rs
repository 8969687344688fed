//! Facts about the flows of one capture, in a few numbers for each flow. Directions count from the home: the side with
//! private addresses, or the client if that does not tell. So a match that is hosted at home has its server at home.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use super::silence::Silent;
use crate::analysis::under_load::{Load, UnderLoad, WayUnderLoad};
use crate::analysis::{FlowReport, HalfReport, Kind, TcpReport, TransportReport, Updates};
use crate::orientation::is_private;
use crate::retries::OnAir;

/// Facts about the flows of one capture.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// The games and calls, at most [`MOST_GAMES`].
    pub(super) games: Vec<Flow>,
    /// Other flows with round trips, at most [`MOST_OTHERS`].
    pub(super) others: Vec<Flow>,
    /// IP bytes of all flows, from the home and to it.
    pub(super) bytes: [u64; 2],
    /// Addresses at home with the smallest round trip to each, at most [`MOST_ADDRESSES`].
    pub(super) home: BTreeMap<IpAddr, Option<u64>>,
    /// Round trips of handshakes by the server's address, at most [`MOST_ADDRESSES`] servers.
    pub(super) handshakes: BTreeMap<IpAddr, Vec<Handshake>>,
    /// Wi-Fi frames of each file.
    pub(super) on_air: Vec<OnAir>,
    /// Last time of any flow.
    pub(super) lasted_ns: u64,
}

/// Round trips of one handshake. Its packets are so few that they make no load, and a fair queue lets them pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handshake {
    pub(super) load: Load,
    /// To the home, and to the other side.
    pub(super) rtt_ns: [Option<u64>; 2],
}

/// One flow. Arrays of two are: data from the home, data to the home.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) number: u32,
    pub(super) interface: u32,
    pub(super) is_tcp: bool,
    /// The server is at home.
    pub(super) is_hosted: bool,
    pub(super) client: SocketAddr,
    pub(super) home: IpAddr,
    pub(super) away: IpAddr,
    pub(super) lasted_ns: u64,
    /// Times of its first and last packet.
    pub(super) span_ns: [u64; 2],
    pub(super) ways: [Way; 2],
    pub(super) bytes: [u64; 2],
    /// Routers that packets had passed before the capture point.
    pub(super) hops: [u8; 2],
    /// Steps of the capture by load, while the flow was open.
    pub(super) steps: [u32; 4],
    /// Moments at which both directions were late.
    pub(super) both_waited: u32,
}

/// Data of one direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Way {
    /// Packets with data that were sent, as far as is known.
    pub(super) sent: u64,
    /// Losses before and after the capture point; `None` if they cannot be seen. Of messages without numbers these are
    /// gaps: lost, or not sent.
    pub(super) lost: Option<[u64; 2]>,
    /// The losses were counted.
    pub(super) is_counted: bool,
    /// Messages that the sender did not send in time: the numbers do not show them as lost, and later messages do not make up for the
    /// gap.
    pub(super) unsent: u64,
    /// Unusual silences of the sender, if nothing was lost. Only TCP.
    pub(super) silent: Silent,
    /// Time for which the receiver's window was closed.
    pub(super) closed_ns: u64,
    /// Longest time between two packets with data.
    pub(super) longest_gap_ns: u64,
    /// The receiver delays many ACKs, so round trips to it say little.
    pub(super) delays_acks: bool,
    /// 95th percentile of the time inside the router, if the capture has both sides of it.
    pub(super) in_router_ns: Option<u64>,
    pub(super) load: WayUnderLoad,
}

impl Evidence {
    /// Adds a flow. A sink calls it for each report of the capture.
    pub fn add(&mut self, report: &FlowReport) {
        let is_home = [report.key.source, report.key.destination].map(|end| is_private(end.ip()));
        let is_hosted = is_home == [false, true];
        let up = usize::from(is_hosted);
        for n in 0..2 {
            self.bytes[n] += report.directions[up ^ n].bytes;
        }
        self.lasted_ns = self.lasted_ns.max(report.last_ns);
        let ends = [report.key.source.ip(), report.key.destination.ip()];
        let home = ends[up];
        if let TransportReport::Tcp(tcp) = &report.transport {
            self.add_round_trips(tcp, home, ends[1 - up], up, report.load_at_start);
        }
        let is_game = report.kind() != Kind::Other;
        let is_full = if is_game {
            self.games.len() >= MOST_GAMES
        } else {
            report.under_load.is_none() || self.others.len() >= MOST_OTHERS
        };
        if is_full {
            return;
        }
        let under_load = report.under_load.as_deref().cloned().unwrap_or_default();
        let flow = Flow::new(report, is_hosted, under_load);
        if is_game { self.games.push(flow) } else { self.others.push(flow) }
    }

    /// Smallest round trip to an address of the other side, or to any of them.
    pub(super) fn away_rtt_ns(&self, away: Option<IpAddr>) -> Option<u64> {
        let is_it = |address: IpAddr| away.is_none_or(|away| away == address);
        let handshakes = self.handshakes.iter().filter(|(address, _)| is_it(**address));
        let handshakes = handshakes.flat_map(|(_, of)| of).filter_map(|one| one.rtt_ns[1]);
        let flows = self.flows().filter(|flow| is_it(flow.away));
        handshakes.chain(flows.filter_map(|flow| flow.ways[0].load.least_rtt_ns)).min()
    }

    /// Adds the round trips of a connection whose data from the home has the direction `up`.
    fn add_round_trips(&mut self, tcp: &TcpReport, home: IpAddr, away: IpAddr, up: usize, load: Load) {
        let least = |known: Option<u64>, more: Option<u64>| known.into_iter().chain(more).min();
        if self.home.len() < MOST_ADDRESSES || self.home.contains_key(&home) {
            let known = self.home.entry(home).or_default();
            // The receiver of data to the home is at home.
            *known = least(*known, least_rtt(tcp, 1 - up));
        }
        if self.handshakes.len() < MOST_ADDRESSES || self.handshakes.contains_key(&away) {
            let of = self.handshakes.entry(away).or_default();
            if of.len() < MOST_HANDSHAKES {
                of.push(Handshake { load, rtt_ns: [1 - up, up].map(|way| tcp.handshake_rtt_ns[way]) });
            }
        }
    }

    /// True for a thin TCP connection beside a game over UDP. It may be a chat or a remote shell: if its program does not read
    /// or send, the game need not lag.
    pub(super) fn is_beside_game(&self, flow: &Flow) -> bool {
        flow.is_tcp && self.games.iter().any(|game| !game.is_tcp)
    }

    /// Adds the Wi-Fi frames of a file.
    pub fn wifi(&mut self, on_air: &OnAir) {
        self.on_air.push(on_air.clone());
    }

    /// All flows with details.
    pub(super) fn flows(&self) -> impl Iterator<Item = &Flow> {
        self.games.iter().chain(&self.others)
    }
}

impl Flow {
    fn new(report: &FlowReport, is_hosted: bool, under_load: UnderLoad) -> Self {
        let up = usize::from(is_hosted);
        let ends = [report.key.source.ip(), report.key.destination.ip()];
        let mut loads = under_load.ways;
        let ways = [up, 1 - up].map(|direction| {
            let mut way = match &report.transport {
                TransportReport::Udp { updates, .. } => {
                    Way::of_updates(updates[direction].as_ref(), report.directions[direction].sizes.count())
                }
                TransportReport::Tcp(tcp) => Way::of_data(&tcp.halves[direction]),
            };
            let of = &report.directions[direction];
            way.longest_gap_ns = of.gaps.max().unwrap_or(0);
            if report.kind() == Kind::ThinTcp && way.lost.is_none_or(|lost| lost == [0, 0]) {
                way.silent = Silent::of(report, direction);
            }
            let copies = of.copies.as_ref().filter(|copies| copies.after.count() >= ENOUGH_COPIES);
            way.in_router_ns = copies.and_then(|copies| copies.after.quantile(0.95)).map(|ns| ns as u64);
            way.load = std::mem::take(&mut loads[direction]);
            if has_pauses(report, direction) {
                way.forget_pauses();
            }
            way
        });
        let pauses = [0, 1].iter().any(|&direction| has_pauses(report, direction));
        Self {
            number: report.flow,
            interface: report.interface,
            is_tcp: matches!(report.transport, TransportReport::Tcp(_)),
            is_hosted,
            client: report.key.source,
            home: ends[up],
            away: ends[1 - up],
            lasted_ns: report.last_ns - report.first_ns,
            span_ns: [report.first_ns, report.last_ns],
            ways,
            bytes: [up, 1 - up].map(|direction| report.directions[direction].bytes),
            hops: [up, 1 - up].map(|direction| hops(report.directions[direction].hop_limit)),
            steps: under_load.steps,
            both_waited: if pauses { 0 } else { under_load.both_waited },
        }
    }
}

impl Way {
    fn of_updates(updates: Option<&Updates>, messages: u64) -> Self {
        let Some(updates) = updates else { return Self { sent: messages, ..Self::default() } };
        let numbered = updates.numbered;
        let gaps = if updates.is_steady { updates.missing_by_pace } else { 0 };
        match numbered {
            Some(numbered) => Self {
                sent: numbered.arrived + numbered.missing,
                lost: Some([numbered.missing, 0]),
                is_counted: true,
                unsent: gaps,
                ..Self::default()
            },
            None => Self {
                sent: messages + gaps,
                lost: updates.is_steady.then_some([gaps, 0]),
                ..Self::default()
            },
        }
    }

    fn of_data(half: &HalfReport) -> Self {
        let counts = &half.counts;
        let spurious: u64 = counts.spurious.iter().sum();
        let before = counts.lost_before.min(counts.resent);
        let acks = counts.ack_rtt.count();
        Self {
            sent: counts.data_packets,
            lost: Some([before, (counts.resent - before).saturating_sub(spurious)]),
            is_counted: true,
            closed_ns: counts.zero_window_ns,
            delays_acks: counts.delayed_acks * 20 > acks,
            ..Self::default()
        }
    }

    /// Removes the waits of a sender that need not send. Numbers still tell losses.
    fn forget_pauses(&mut self) {
        self.unsent = 0;
        if !self.is_counted {
            self.lost = None;
        }
        (self.load.long_waits, self.load.longest_wait_ns) = ([0; 4], 0);
    }

    /// Packets lost before the capture point if `side` is 0, after it if `side` is 1.
    pub(super) fn lost_on(&self, side: usize) -> u64 {
        self.lost.map_or(0, |lost| lost[side])
    }

    pub(super) fn long_waits(&self) -> u32 {
        self.load.long_waits.iter().sum()
    }
}

/// True for a call whose sender is silent while nobody speaks (RTP: discontinuous transmission, RFC 3551 section 4.1). A call
/// sends small messages every 10, 20, 30, 40 or 60 ms. If it is no voice by its sizes, a tenth of the time must be pauses.
fn has_pauses(report: &FlowReport, direction: usize) -> bool {
    let TransportReport::Udp { updates, .. } = &report.transport else { return false };
    let Some(updates) = &updates[direction] else { return false };
    if report.kind() == Kind::Voice {
        return updates.gaps > 0;
    }
    let is_voice_tick = VOICE_TICKS_MS.iter().any(|ms| (updates.tick_ns / 1e6 - ms).abs() <= ms * 0.05);
    let is_small = report.directions[direction].sizes.mean().is_some_and(|mean| mean <= VOICE_SIZE);
    let paused_ns = updates.missing_by_pace as f64 * updates.tick_ns;
    let lasted_ns = (report.last_ns - report.first_ns) as f64;
    is_voice_tick && is_small && updates.gaps >= 2 && paused_ns * 10.0 >= lasted_ns
}

/// Smallest round trip from the capture point to the receiver of a direction.
fn least_rtt(tcp: &TcpReport, direction: usize) -> Option<u64> {
    let counts = &tcp.halves[direction].counts;
    [tcp.handshake_rtt_ns[direction], counts.ack_rtt.min(), counts.stamp_rtt.min()]
        .into_iter()
        .flatten()
        .min()
}

/// Number of routers that a packet has passed. Systems send it with a limit of 64, 128 or 255.
const fn hops(limit: u8) -> u8 {
    match limit {
        0 => 0,
        1..=64 => 64 - limit,
        65..=128 => 128 - limit,
        129.. => 255 - limit,
    }
}

/// Lengths of the frames of voice codecs.
const VOICE_TICKS_MS: [f64; 5] = [10.0, 20.0, 30.0, 40.0, 60.0];
/// Largest mean payload of a call in bytes.
const VOICE_SIZE: f64 = 250.0;
const MOST_GAMES: usize = 4096;
const MOST_OTHERS: usize = 256;
const MOST_ADDRESSES: usize = 64;
const MOST_HANDSHAKES: usize = 64;
const ENOUGH_COPIES: u64 = 50;
