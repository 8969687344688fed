//! Hands a replayed recording to the recorder of all engines (`gamelane-record`). A packet is sent when it comes to the gateway and
//! has arrived when it leaves. Each conversation is a flow; those beyond [`NAMED`] are one flow together.
//!
//! From one point, four things are unknown: the time from host to host, network round trips, the state of the hosts' TCP, and losses
//! elsewhere. They stay null. Frames without IP appear only in the numbers of the queues.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use gamelane_capture::FrameHeaders;
use gamelane_core::headers::UDP_HEADER;
use gamelane_core::{Direction, DropReason, Duration, Ecn, FlowId, FlowKey, Instant, IpLen, Protocol};
use gamelane_device::{Headers, at_home};
use gamelane_qdisc::Backlog;
use gamelane_qdisc::classify::Behaviour;
use gamelane_record::totals::{FollowerTotals, QueueTotals};
use gamelane_record::{BacklogMeter, Event, Flow, Recorder as _, Records, RunSummary, Seen, Totals, View};
use gamelane_stage::following::Follower;
use gamelane_stage::voap::VoapCounters;
use gamelane_traffic::config::Schedule;

use super::{Replay, ReplayError, Report, seen};
use crate::gateway::{Account, Gateway};
use crate::status::{behaviour_name, protocol_name};
use crate::tap::{About, EngineKind};
use crate::truth::Truth;
use crate::watched::Ledger;

/// Records of a recorded run.
#[derive(Debug)]
pub struct Recorded {
    /// Its samples, windows and drops.
    pub records: Records,
    /// Its numbers.
    pub summary: RunSummary,
    /// How far the recording reaches, and what it holds.
    pub report: Report,
}

/// Most conversations that are flows of their own: games and calls first, then those with the most bytes.
pub const NAMED: usize = 50;

/// Name of the flow of all other conversations.
pub const REST: &str = "the rest";

const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// Samples end after this time without a call. Nothing changes without one, and a damaged log may jump by a month.
const QUIET: Duration = Duration::from_secs(60);

/// Replays the recording in `folder` and records it.
///
/// # Errors
/// If it cannot be replayed, or this version of the program decides otherwise than the recorded one.
pub fn recorded(folder: &Path) -> Result<Recorded, ReplayError> {
    let about = About::read(folder).map_err(ReplayError::Missing)?;
    if about.engine == EngineKind::Kernel {
        return seen::recorded(folder, &about);
    }
    let mut replay = Replay::run(folder, None, Some(Feed::default()))?;
    let (feed, end) = (replay.feed.take().unwrap_or_default(), replay.now);
    let (gateway, report) = replay.finish();
    match report.first {
        Some(first) => Err(ReplayError::Differs { first, version: about.version }),
        None => Ok(feed.finish(&gateway, about.seed, end, report)),
    }
}

/// What a feed needs to know of a gateway besides its packets.
pub(super) trait Known {
    fn truth(&self) -> &Truth;
    fn backlog(&self, direction: Direction) -> Backlog;
    fn follower(&self, direction: Direction) -> Option<&Follower>;
    fn account(&self, direction: Direction) -> &Account;
    fn voap(&self) -> Option<VoapCounters>;
}

impl Known for Gateway {
    fn truth(&self) -> &Truth {
        self.truth()
    }

    fn backlog(&self, direction: Direction) -> Backlog {
        self.backlog(direction)
    }

    fn follower(&self, direction: Direction) -> Option<&Follower> {
        self.follower(direction)
    }

    fn account(&self, direction: Direction) -> &Account {
        self.account(direction)
    }

    fn voap(&self) -> Option<VoapCounters> {
        self.voap().copied()
    }
}

impl Known for Ledger {
    fn truth(&self) -> &Truth {
        self.truth()
    }

    fn backlog(&self, direction: Direction) -> Backlog {
        self.backlog(direction)
    }

    fn follower(&self, direction: Direction) -> Option<&Follower> {
        self.follower(direction)
    }

    fn account(&self, direction: Direction) -> &Account {
        self.account(direction)
    }

    fn voap(&self) -> Option<VoapCounters> {
        None
    }
}

/// Events of a replay. The lane of a packet is the position of its conversation.
#[derive(Debug, Default)]
pub(super) struct Feed {
    events: Vec<(Instant, Event<'static>)>,
    conversations: Vec<Conversation>,
    known: BTreeMap<FlowKey, FlowId>,
    /// Packets inside that have a conversation, by slot of the pool or by number.
    inside: BTreeMap<u64, Inside>,
    backlogs: [BacklogMeter; 2],
    sampled: Instant,
}

#[derive(Debug)]
struct Conversation {
    key: FlowKey,
    behaviour: Behaviour,
    first: Instant,
    last: Instant,
    bytes: u64,
    /// Last acknowledgement of TCP, by the direction of the packet that had it.
    acknowledged: [Option<u32>; 2],
}

#[derive(Clone, Copy, Debug)]
struct Inside {
    /// One packet on the wire.
    packet: Seen,
    ecn: Ecn,
    /// Bytes of UDP's payload.
    payload: Option<u64>,
    /// How many packets on the wire have not left.
    left: u32,
}

impl Feed {
    /// Samples the gateway up to `now`, before it is called then.
    pub(super) fn sample(&mut self, gateway: &impl Known, now: Instant) {
        if self.sampled + SAMPLE_EVERY <= now {
            self.judge(gateway);
        }
        let quiet = self.sampled + QUIET;
        while self.sampled + SAMPLE_EVERY <= now.min(quiet) {
            self.sampled += SAMPLE_EVERY;
            for direction in Direction::BOTH {
                let backlog = gateway.backlog(direction);
                self.events.push((self.sampled, Event::Queue { direction, backlog }));
                if let Some(follower) = gateway.follower(direction) {
                    let shaped = follower.autorate().rate();
                    self.events.push((self.sampled, Event::Rate { direction, shaped, link: None }));
                }
            }
        }
        let left_out = now.saturating_since(self.sampled).as_nanos() / SAMPLE_EVERY.as_nanos();
        self.sampled += SAMPLE_EVERY * left_out;
    }

    /// Notes the state of the gateway after a call.
    pub(super) fn called(&mut self, gateway: &impl Known, now: Instant) {
        for direction in Direction::BOTH {
            self.backlogs[direction.index()].observe(gateway.backlog(direction), now);
        }
    }

    /// Takes a frame that comes to the gateway, with this many packets on the wire.
    pub(super) fn came(
        &mut self,
        direction: Direction,
        place: u64,
        packets: u32,
        headers: &Headers,
        now: Instant,
    ) {
        self.inside.remove(&place);
        let Some(headers) = headers.ip else { return };
        let lane = self.lane(at_home(headers.key, direction), now);
        let len = IpLen((headers.len.bytes() / u64::from(packets.max(1))) as u32);
        let packet = Seen { lane, len, sent_at: now, waited: Duration::ZERO };
        for _ in 0..packets {
            self.events.push((now, Event::Sent { direction, packet }));
        }
        let own = &mut self.conversations[lane.index()];
        own.last = now;
        own.bytes += headers.len.bytes();
        if headers.tcp.is_some_and(|tcp| tcp.flags.syn) {
            // A new connection on these ports: both ends begin to count anew.
            own.acknowledged = [None; 2];
        }
        if let Some(bytes) = acknowledges(&headers, &mut own.acknowledged[direction.index()]) {
            self.events.push((now, Event::Goodput { lane, bytes }));
        }
        let payload = payload(&headers).map(|bytes| bytes / u64::from(packets.max(1)));
        self.inside.insert(place, Inside { packet, ecn: headers.ecn, payload, left: packets });
    }

    /// Notes what conversations behave like. One that was evicted keeps what was last noted.
    fn judge(&mut self, gateway: &impl Known) {
        for known in gateway.truth().conversations() {
            if let Some(lane) = self.known.get(&known.key) {
                self.conversations[lane.index()].behaviour = known.behaviour;
            }
        }
    }

    /// Takes packets that left, or of a large one this many. `says_ce` if they say "congestion experienced".
    pub(super) fn left(
        &mut self,
        direction: Direction,
        place: u64,
        packets: u32,
        says_ce: bool,
        now: Instant,
    ) {
        let Some(Inside { packet, ecn, payload, .. }) = self.take(place, packets) else { return };
        let packet = Seen { waited: now.saturating_since(packet.sent_at), ..packet };
        for _ in 0..packets {
            self.events.push((now, Event::Received { direction, packet }));
            if ecn != Ecn::Ce && says_ce {
                self.events.push((now, Event::Marked { direction, packet }));
            }
            if let Some(bytes) = payload {
                self.events.push((now, Event::Goodput { lane: packet.lane, bytes }));
            }
        }
    }

    /// Takes packets that were dropped, or of a large one this many.
    pub(super) fn dropped(
        &mut self,
        direction: Direction,
        place: u64,
        packets: u32,
        reason: DropReason,
        now: Instant,
    ) {
        if let Some(Inside { packet, .. }) = self.take(place, packets) {
            let dropped =
                std::iter::repeat_n((now, Event::Dropped { direction, packet, reason }), packets as usize);
            self.events.extend(dropped);
        }
    }

    fn take(&mut self, place: u64, packets: u32) -> Option<Inside> {
        let inside = self.inside.get_mut(&place)?;
        inside.left = inside.left.saturating_sub(packets);
        if inside.left == 0 { self.inside.remove(&place) } else { Some(*inside) }
    }

    fn lane(&mut self, key: FlowKey, now: Instant) -> FlowId {
        *self.known.entry(key).or_insert_with(|| {
            let (behaviour, acknowledged) = (Behaviour::Unknown, [None; 2]);
            let own = Conversation { key, behaviour, first: now, last: now, bytes: 0, acknowledged };
            self.conversations.push(own);
            FlowId(self.conversations.len() as u32 - 1)
        })
    }

    /// Makes the records.
    pub(super) fn finish(self, gateway: &impl Known, seed: u64, end: Instant, report: Report) -> Recorded {
        let totals = self.totals(gateway, end);
        let records = self.into_records(end);
        Recorded { summary: RunSummary::new(seed, &records, &totals), records, report }
    }

    fn totals(&self, gateway: &impl Known, end: Instant) -> Totals {
        let span = end.saturating_since(Instant::ZERO);
        let queue = |direction: Direction| {
            let (account, mut meter) = (gateway.account(direction), self.backlogs[direction.index()]);
            meter.observe(gateway.backlog(direction), end);
            let own = QueueTotals {
                counters: account.counters,
                mean_backlog: Some(meter.mean(span)),
                peak_backlog: account.most,
            };
            (direction.name().to_string(), own)
        };
        let follower = |direction| {
            let autorate = gateway.follower(direction)?.autorate();
            Some(FollowerTotals {
                mean_rate_bps: None,
                last_rate_bps: autorate.rate().bps(),
                counters: *autorate.counters(),
            })
        };
        Totals {
            queues: Direction::BOTH.map(queue).into(),
            voap: gateway.voap(),
            autorate: Direction::BOTH.map(follower),
            ..Totals::default()
        }
    }

    fn into_records(self, end: Instant) -> Records {
        let mut order: Vec<(usize, &Conversation)> = self.conversations.iter().enumerate().collect();
        order.sort_by_key(|(_, own)| (own.behaviour != Behaviour::RealTime, Reverse(own.bytes)));
        let mut lanes = vec![FlowId(0); order.len()];
        for (lane, (position, _)) in (0..).zip(&order) {
            lanes[*position] = FlowId(lane);
        }
        let (named, rest) = order.split_at(order.len().min(NAMED));
        let flows = named.iter().map(|(_, own)| own.flow()).chain(rest_of(rest));
        let mut records = Records::of(flows, Duration::ZERO, end.saturating_since(Instant::ZERO));
        records.view = View::Gateway;
        for (at, mut event) in self.events {
            if let Some(lane) = lane_of(&mut event) {
                *lane = lanes[lane.index()];
            }
            records.record(at, &event);
        }
        records
    }
}

impl Conversation {
    fn flow(&self) -> Flow {
        let FlowKey { source, destination, protocol } = self.key;
        let since = |at: Instant| at.saturating_since(Instant::ZERO);
        Flow {
            name: format!("{} {source} {destination}", protocol_name(protocol)),
            app: behaviour_name(self.behaviour),
            protocol,
            schedule: Schedule { start: since(self.first), stop: Some(since(self.last)) },
            players: 1,
            connections: 1,
        }
    }
}

/// One flow of several conversations; `None` of none.
fn rest_of(conversations: &[(usize, &Conversation)]) -> Option<Flow> {
    let flows = conversations.iter().map(|(_, own)| own.flow());
    let all = flows.reduce(|all, own| Flow {
        schedule: Schedule {
            start: all.schedule.start.min(own.schedule.start),
            stop: all.schedule.stop.max(own.schedule.stop),
        },
        connections: all.connections + 1,
        ..all
    })?;
    Some(Flow { name: REST.into(), app: behaviour_name(Behaviour::Other), ..all })
}

fn lane_of<'a>(event: &'a mut Event<'_>) -> Option<&'a mut FlowId> {
    match event {
        Event::Sent { packet, .. }
        | Event::Received { packet, .. }
        | Event::Dropped { packet, .. }
        | Event::Marked { packet, .. } => Some(&mut packet.lane),
        Event::Goodput { lane, .. } => Some(lane),
        _ => None,
    }
}

/// Bytes that a TCP segment acknowledges beyond those acknowledged before in its direction.
fn acknowledges(headers: &FrameHeaders, before: &mut Option<u32>) -> Option<u64> {
    let tcp = headers.tcp.filter(|tcp| tcp.flags.ack && !tcp.flags.rst)?;
    let step = before.map_or(0, |before| tcp.acknowledgment.wrapping_sub(before));
    // An older acknowledgement came late.
    if step >= 1 << 31 {
        return None;
    }
    *before = Some(tcp.acknowledgment);
    Some(u64::from(step))
}

/// Bytes of UDP's payload.
fn payload(headers: &FrameHeaders) -> Option<u64> {
    let is_whole = headers.key.protocol == Protocol::Udp && !headers.is_fragment;
    let datagram = headers.end - headers.transport_at;
    is_whole.then_some((datagram as u64).saturating_sub(u64::from(UDP_HEADER)))
}

#[cfg(test)]
mod tests {
    use gamelane_core::Seed;

    use super::*;
    use gamelane_policy::Policy;

    #[test]
    fn a_quiet_night_has_few_samples_and_the_next_ones_keep_their_times() {
        let text = "name = \"test\"\n[link]\ndown = \"1mbit\"\nup = \"1mbit\"\n\
                    [[flow]]\nname = \"call\"\napp = \"voip\"\n";
        let policy = Policy::parse(text, "test.toml", &[]);
        let gateway = Gateway::new(&policy.unwrap(), Seed(1));
        let mut feed = Feed::default();
        let morning = Duration::from_secs(10 * 3600) + Duration::from_millis(250);
        feed.sample(&gateway, Instant::ZERO + morning);
        assert_eq!(feed.events.len(), 2 * 600);
        feed.events.clear();
        feed.sample(&gateway, Instant::ZERO + morning + Duration::from_secs(1));
        let times: Vec<u64> = feed.events.iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect();
        assert_eq!((times.len(), times[0], times[19]), (20, 36_000_300, 36_001_200));
    }
}
