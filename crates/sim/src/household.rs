//! The household: hosts, paths and the network between them, moved from event to event in virtual time.
//!
//! ```text
//! client --> network --> path up   --> server
//! client <-- network <-- path down <-- server
//! ```

mod accounts;

use alloc::string::String;
use alloc::vec::Vec;
use gamelane_core::{
    AckKind, ClassId, Direction, Duration, Ecn, FlowId, Instant, IpLen, Packet, PacketMeta, Seed,
};
use gamelane_link::Path;
use gamelane_link::wifi::StationCounters;
use gamelane_record::totals::{FollowerTotals, QueueTotals};
use gamelane_record::{Event, Recorder, Side};
use gamelane_scenario::{Carriage, Model};
use gamelane_stage::voap::VoapCounters;
use gamelane_tcp::TcpCounters;
use gamelane_tcp::accounting::RetransmissionTotals;

use crate::bundle::Bundle;
use crate::classes::Classes;
use crate::flow::{Flow, Output};
use crate::following::Following;
use crate::frames::{FrameId, Frames};
use crate::network::{Network, PathLosses, Place};
use crate::payload::{Content, Echo, Passed, Payload, Tap};
use crate::timetable::Timetable;
use crate::window::Windows;

/// Time between samples of queues and TCP state.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);
/// Connections of a flow whose TCP state is sampled.
const SAMPLED_CONNECTIONS: u32 = 4;
/// UDP payload of a probe and of its answer: 64 B of IP.
const PROBE: u32 = 36;
/// Components of a flow, after the hops and the sampler: two hosts and two paths.
const PER_FLOW: usize = 4;

/// A running household.
pub struct Household<R> {
    now: Instant,
    end: Instant,
    ended: bool,
    timetable: Timetable,
    network: Network,
    flows: Vec<Flow>,
    bundles: Vec<Bundle>,
    classes: Option<Classes>,
    windows: Option<Windows>,
    following: Option<Following>,
    frames: Frames,
    recorder: R,
    /// Packets at each tap, if they are kept.
    passed: Option<Vec<Passed>>,
    next_sample: Instant,
    /// Connections whose TCP is sampled: lane, flow, and number within the flow.
    sampled: Vec<(u32, u32, u32)>,
    events: u64,
}

/// What is left when a run is over.
#[derive(Debug)]
pub struct Outcome<R> {
    /// The recorder, filled.
    pub recorder: R,
    /// Packets at each tap, in order of time; empty unless they were kept.
    pub packets: Vec<Passed>,
    /// Steps of the event loop.
    pub events: u64,
    /// What the gateway's queues did, indexed by direction.
    pub hops: [QueueTotals; 2],
    /// What the other queues on the way did, by name: `modem`, `isp`, `station/NAME`, `relay/N/up`.
    pub others: Vec<(String, QueueTotals)>,
    /// What each station cost the air, in the order of [`gamelane_scenario::WifiModel::stations`].
    pub stations: Vec<StationCounters>,
    /// Transport counters of each connection, as [`Model::lanes`] numbers them: client and server, where one was opened.
    pub tcp: Vec<[Option<TcpCounters>; 2]>,
    /// Retransmissions of the server of each connection of a game over TCP; nothing for others.
    pub retransmissions: Vec<Option<RetransmissionTotals>>,
    /// What VoAP did, if the gateway has it.
    pub voap: Option<VoapCounters>,
    /// What shapers that follow their link did, indexed by direction.
    pub autorate: [Option<FollowerTotals>; 2],
}

impl<R> Outcome<R> {
    /// Packets that passed the bottleneck, both directions.
    pub fn bottleneck_packets(&self) -> u64 {
        self.hops.iter().map(|hop| hop.counters.delivered).sum()
    }
}

impl<R: Recorder> Household<R> {
    /// A household at time zero. `seed` replaces the model's own, so that repeats share a model.
    pub fn new(model: &Model, seed: Seed, recorder: R) -> Self {
        Self::build(model, seed, recorder, None)
    }

    /// As [`Self::new`], and keeps every packet at every tap: about 200 bytes for each.
    pub fn with_packets(model: &Model, seed: Seed, recorder: R) -> Self {
        Self::build(model, seed, recorder, Some(Vec::new()))
    }

    fn build(model: &Model, seed: Seed, recorder: R, passed: Option<Vec<Passed>>) -> Self {
        let network = Network::new(model, seed);
        let lanes = (0u32..).zip(model.lanes());
        let flows: Vec<_> = lanes
            .map(|(id, (flow, number))| Flow::new(FlowId(id), &model.flows[flow], number, seed))
            .collect();
        let sampled = lanes_to_sample(model);
        let (flows, bundles) = bundled(model, flows, seed);
        let mut household = Self {
            now: Instant::ZERO,
            end: Instant::ZERO + model.duration,
            ended: false,
            timetable: Timetable::new(network.len() + 1 + PER_FLOW * flows.len() + 2 * bundles.len() + 2),
            network,
            flows,
            bundles,
            classes: Classes::of(model),
            windows: Windows::of(model, seed),
            following: Following::of(model),
            frames: Frames::default(),
            passed,
            recorder,
            next_sample: Instant::ZERO + SAMPLE_EVERY,
            sampled,
            events: 0,
        };
        household.timetable.set(household.sampler(), Some(household.next_sample));
        for flow in 0..household.flows.len() {
            for side in [Side::Client, Side::Server] {
                household.run_host(flow, side);
            }
        }
        for bundle in 0..household.bundles.len() {
            for side in [Side::Client, Side::Server] {
                household.bundle_changed(bundle, side);
            }
        }
        household
    }

    /// Time reached so far.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Runs until `until` or until nothing is left to happen; true while there is more. At the end of the scenario hosts
    /// fall silent and what is in the network drains, so every packet sent is received or lost.
    pub fn run_until(&mut self, until: Instant) -> bool {
        while let Some((component, at)) = self.timetable.first() {
            if at > self.end && !self.ended {
                self.silence_hosts();
                continue;
            }
            if at > until {
                return true;
            }
            self.now = self.now.max(at);
            self.events += 1;
            self.step(component);
        }
        false
    }

    /// Runs to the end.
    pub fn run(mut self) -> Outcome<R> {
        self.run_until(Instant::MAX);
        self.finish()
    }

    /// Ends the run where it stands.
    ///
    /// # Panics
    ///
    /// If a hop or path lost a packet without counting it, or invented one: that is our bug.
    pub fn finish(self) -> Outcome<R> {
        for path in self.flows.iter().flat_map(|flow| &flow.paths) {
            assert!(path.counters().balance(path.inside()), "a path does not conserve packets");
        }
        let inside = self.network.inside()
            + self.flows.iter().flat_map(|flow| &flow.paths).map(Path::inside).sum::<u64>();
        assert_eq!(self.frames.in_use() as u64, inside, "a frame is lost or held twice");
        let span = self.end.saturating_since(Instant::ZERO);
        Outcome {
            events: self.events,
            hops: self.network.gateway_outcomes(span),
            others: self.network.other_outcomes(span),
            stations: self.network.stations(),
            tcp: self
                .flows
                .iter()
                .map(|flow| [0, 1].map(|side: usize| flow.hosts[side].endpoint().map(|e| *e.counters())))
                .collect(),
            retransmissions: self
                .flows
                .iter()
                .map(|flow| flow.thin.as_ref().map(|thin| thin.totals))
                .collect(),
            voap: self.windows.as_ref().map(|windows| *windows.counters()),
            autorate: self.following.map_or([None; 2], |following| following.outcome(self.end)),
            recorder: self.recorder,
            packets: self.passed.unwrap_or_default(),
        }
    }

    fn step(&mut self, component: usize) {
        let sampler = self.sampler();
        if component < sampler {
            return self.run_hop(component);
        }
        if component == sampler {
            return self.sample();
        }
        if component >= self.first_follower() {
            return self.follow(Direction::BOTH[component - self.first_follower()]);
        }
        if component >= self.first_bundle() {
            let place = component - self.first_bundle();
            let side = if place.is_multiple_of(2) { Side::Client } else { Side::Server };
            self.bundles[place / 2].handle_timeout(side, self.now);
            return self.run_bundle(place / 2, side);
        }
        let component = component - sampler - 1;
        let flow = component / PER_FLOW;
        match component % PER_FLOW {
            0 => self.wake_host(flow, Side::Client),
            1 => self.wake_host(flow, Side::Server),
            2 => self.run_path(flow, Direction::Up),
            _ => self.run_path(flow, Direction::Down),
        }
    }

    /// The component that samples; those before it are hops.
    fn sampler(&self) -> usize {
        self.network.len()
    }

    /// A component of a flow: its client, its server, its path up, its path down.
    fn component(&self, flow: usize, part: usize) -> usize {
        self.sampler() + 1 + PER_FLOW * flow + part
    }

    fn run_hop(&mut self, hop: usize) {
        let now = self.now;
        self.network.handle_timeout(hop, now, (&mut self.recorder, &mut self.frames));
        while let Some((place, packet)) = self.network.poll_deliver(hop, now) {
            if let Some(windows) = &mut self.windows
                && let Some(direction) = self.network.gateway_at(place)
            {
                windows.note_wait(direction, &packet);
            }
            let (direction, next) = self.network.beyond(place);
            if self.following.is_some() && self.network.gateway_at(place).is_some() {
                self.left_gateway(direction, &packet, next);
            }
            if let Some(next) = next {
                self.enter_hop(next, packet);
                continue;
            }
            self.pass(Tap::after(direction), direction, &packet);
            let flow = packet.meta.flow.index();
            match direction {
                Direction::Up => self.enter_path(flow, direction, packet),
                Direction::Down => self.receive(flow, Side::Client, &packet),
            }
        }
        self.hop_changed(hop);
    }

    fn enter_network(&mut self, direction: Direction, packet: Packet<FrameId>) {
        self.pass(Tap::before(direction), direction, &packet);
        self.enter_hop(self.network.entry(direction, packet.meta.flow.index()), packet);
    }

    fn enter_hop(&mut self, place: Place, mut packet: Packet<FrameId>) {
        if let Some(classes) = &mut self.classes
            && let Some(direction) = self.network.gateway_at(place)
        {
            classes.assign(direction, &mut packet.meta, self.frames.get(packet.body), self.now);
        }
        if let Some(following) = &mut self.following
            && self.network.gateway_at(place) == Some(Direction::Down)
            && self.network.gateway_holds_downstream()
        {
            following.came(&packet, self.frames.get(packet.body), self.now);
        }
        if let Some(windows) = &mut self.windows
            && let Some(direction) = self.network.gateway_at(place)
        {
            windows.pass(direction, &packet, &mut self.frames, self.network.gateway_waits(), self.now);
        }
        self.network.handle_packet(place, packet, self.now, (&mut self.recorder, &mut self.frames));
        self.hop_changed(place.hop);
    }

    /// A packet has left one of the gateway's queues.
    fn left_gateway(&mut self, direction: Direction, packet: &Packet<FrameId>, next: Option<Place>) {
        let Some(following) = &mut self.following else { return };
        let (payload, now) = (self.frames.get(packet.body), self.now);
        following.left(direction, packet, payload, now);
        match (direction, next) {
            (Direction::Up, Some(modem)) => following.below(self.network.waiting(modem), now),
            (Direction::Down, None) if !self.network.gateway_holds_downstream() => {
                following.came(packet, payload, now);
            }
            _ => {}
        }
        for direction in Direction::BOTH {
            self.following_changed(direction);
        }
    }

    /// A shaper that follows its link decides.
    fn follow(&mut self, direction: Direction) {
        let Some(following) = &mut self.following else { return };
        let probe = following.handle_timeout(direction, self.now);
        if let Some(rate) = following.rate(direction) {
            self.network.shape(direction, rate);
        }
        let lane = following.probes().filter(|_| probe);
        self.following_changed(direction);
        let Some(lane) = lane else { return };
        let packet =
            self.packet(lane, Side::Client, Content::Datagram(PROBE), IpLen(PROBE + 28), Ecn::NotEct);
        let exit = self.network.gateway_exit();
        if self.network.gateway_at(exit).is_none()
            && let Some(following) = &mut self.following
        {
            following.probe_left(self.frames.get(packet.body).number, self.now);
        }
        self.enter_hop(exit, packet);
    }

    fn following_changed(&mut self, direction: Direction) {
        let deadline = self.following.as_ref().and_then(|following| following.poll_timeout(direction));
        let deadline = deadline.filter(|_| !self.ended);
        self.timetable.set(self.first_follower() + direction.index(), deadline);
    }

    fn hop_changed(&mut self, hop: usize) {
        if !self.ended {
            self.network.observe(hop, self.now);
        }
        self.timetable.set(hop, self.network.poll_timeout(hop));
    }

    fn run_path(&mut self, flow: usize, direction: Direction) {
        while let Some(packet) = self.flows[flow].paths[direction.index()].poll_deliver(self.now) {
            match direction {
                Direction::Up => self.receive(flow, Side::Server, &packet),
                Direction::Down => self.enter_network(direction, packet),
            }
        }
        self.path_changed(flow, direction);
    }

    fn enter_path(&mut self, flow: usize, direction: Direction, packet: Packet<FrameId>) {
        let now = self.now;
        let path = &mut self.flows[flow].paths[direction.index()];
        path.handle_packet(
            packet,
            now,
            &mut PathLosses { recorder: &mut self.recorder, frames: &mut self.frames, direction, now },
        );
        self.path_changed(flow, direction);
    }

    fn path_changed(&mut self, flow: usize, direction: Direction) {
        let deadline = self.flows[flow].paths[direction.index()].poll_timeout();
        self.timetable.set(self.component(flow, 2 + direction.index()), deadline);
    }

    /// A packet reaches a host.
    fn receive(&mut self, flow: usize, side: Side, packet: &Packet<FrameId>) {
        let (now, meta) = (self.now, &packet.meta);
        let direction = side.peer().sends();
        self.recorder.record(now, &Event::Received { direction, packet: meta.into() });
        if side == Side::Server {
            self.pass(Tap::Server, direction, packet);
        }
        if self.flows[flow].thin.is_some() {
            self.account_received(flow, side, packet);
        }
        let payload = self.frames.get(packet.body);
        let one_way = now.saturating_since(meta.sent_at);
        let state = &mut self.flows[flow];
        match side {
            Side::Server => state.host(side).last_seen = Some(Echo { number: payload.number, one_way }),
            Side::Client => {
                if let Some(echo) = payload.echo.filter(|echo| state.last_pair < Some(echo.number)) {
                    state.last_pair = Some(echo.number);
                    self.recorder.record(now, &Event::Rtt { lane: meta.flow, rtt: echo.one_way + one_way });
                }
            }
        }
        if !self.ended {
            let host = state.host(side);
            match &payload.content {
                Content::Datagram(payload) => {
                    host.handle_datagram(*payload, now);
                    self.recorder
                        .record(now, &Event::Goodput { lane: meta.flow, bytes: u64::from(*payload) });
                }
                // Taken in by `account_received`.
                Content::Repeated(_) => {}
                Content::Segment(segment) => {
                    host.handle_segment(side, payload.connection, segment, meta.ecn == Ecn::Ce, now);
                }
            }
        }
        self.frames.give_back(packet.body);
        if !self.ended {
            self.run_host(flow, side);
            if side == Side::Server && self.following.as_ref().is_some_and(|own| own.probes() == Some(flow)) {
                self.send(flow, side, Content::Datagram(PROBE), IpLen(PROBE + 28), Ecn::NotEct);
            }
        }
    }

    fn wake_host(&mut self, flow: usize, side: Side) {
        let now = self.now;
        self.flows[flow].host(side).handle_timeout(now);
        self.run_host(flow, side);
    }

    /// Lets a host do all it wants to do now.
    fn run_host(&mut self, flow: usize, side: Side) {
        let now = self.now;
        let mut opened = false;
        while let Some(output) = self.flows[flow].host(side).poll_output(now) {
            let id = self.flows[flow].id;
            match output {
                Output::Send { content, len, ecn } => self.send(flow, side, content, len, ecn),
                Output::Connected => opened = true,
                Output::Wrote(bytes) => {
                    let player = self.flows[flow].number;
                    if let Some(thin) = &mut self.flows[flow].thin {
                        thin.ways[side.sends().index()].wrote(player, bytes, now);
                    }
                }
                Output::Goodput(bytes) => self.recorder.record(now, &Event::Goodput { lane: id, bytes }),
                Output::Report(report) => self.recorder.record(now, &Event::App { lane: id, report }),
            }
        }
        let deadline = self.flows[flow].host(side).poll_timeout();
        self.timetable.set(self.component(flow, side as usize), deadline);
        if let Some(bundle) = self.flows[flow].bundle.filter(|_| opened) {
            self.bundles[bundle].carrier_up(side, flow, now);
            self.run_bundle(bundle, side);
        }
    }

    /// Lets an end of a bundle write all it may write now.
    fn run_bundle(&mut self, bundle: usize, side: Side) {
        let now = self.now;
        let mut touched = 0u64;
        let mut first = 0;
        while let Some(frame) = self.bundles[bundle].poll_frame(side, now) {
            let lane = &mut self.flows[frame.lane];
            if let Some(thin) = &mut lane.thin {
                thin.ways[side.sends().index()].wrote(frame.player, frame.bytes, now);
            }
            lane.host(side).write_frame(frame.bytes);
            first = frame.lane - lane.number as usize;
            touched |= 1 << lane.number;
        }
        while touched > 0 {
            let number = touched.trailing_zeros() as usize;
            touched &= touched - 1;
            self.run_host(first + number, side);
        }
        self.bundle_changed(bundle, side);
    }

    fn bundle_changed(&mut self, bundle: usize, side: Side) {
        let deadline = self.bundles[bundle].poll_timeout(side);
        let component = self.first_bundle() + 2 * bundle + side as usize;
        self.timetable.set(component, deadline);
    }

    /// Components before those of bundles.
    fn first_bundle(&self) -> usize {
        self.component(self.flows.len(), 0)
    }

    /// Components before those of shapers that follow.
    fn first_follower(&self) -> usize {
        self.first_bundle() + 2 * self.bundles.len()
    }

    /// The next packet of a host. Built in place: a packet returned from a call is copied once more.
    #[inline]
    fn packet(&mut self, flow: usize, side: Side, content: Content, len: IpLen, ecn: Ecn) -> Packet<FrameId> {
        let now = self.now;
        let state = &mut self.flows[flow];
        let (id, dscp, protocol) = (state.id, state.dscp, state.protocol);
        let host = state.host(side);
        let number = host.next_number;
        host.next_number += 1;
        let (ack, ack_number) = match &content {
            Content::Segment(segment) => (segment.ack_kind(), segment.ack as u32),
            Content::Datagram(_) | Content::Repeated(_) => (AckKind::NotPure, 0),
        };
        let packet = Packet {
            meta: PacketMeta {
                sent_at: now,
                queued_at: now,
                waited: Duration::ZERO,
                flow: id,
                flow_hash: host.flow_hash,
                hosts: host.hosts,
                len,
                protocol,
                ecn,
                dscp,
                class: ClassId::default(),
                ack,
                ack_number,
            },
            body: self.frames.put(Payload {
                connection: host.connection,
                number,
                echo: host.last_seen,
                content,
            }),
        };
        self.recorder.record(now, &Event::Sent { direction: side.sends(), packet: (&packet.meta).into() });
        packet
    }

    fn send(&mut self, flow: usize, side: Side, content: Content, len: IpLen, ecn: Ecn) {
        let packet = self.packet(flow, side, content, len, ecn);
        let direction = side.sends();
        if side == Side::Server {
            self.account_sent(flow, &packet);
            self.pass(Tap::Server, direction, &packet);
        }
        match side {
            Side::Client => self.enter_network(direction, packet),
            Side::Server => self.enter_path(flow, direction, packet),
        }
    }

    fn silence_hosts(&mut self) {
        self.ended = true;
        for hop in 0..self.network.len() {
            self.network.observe(hop, self.end);
        }
        self.timetable.set(self.sampler(), None);
        for flow in 0..self.flows.len() {
            for side in [Side::Client, Side::Server] {
                self.timetable.set(self.component(flow, side as usize), None);
            }
        }
        for component in 0..2 * self.bundles.len() {
            self.timetable.set(self.first_bundle() + component, None);
        }
        for direction in Direction::BOTH {
            self.following_changed(direction);
        }
    }
}

/// Flows that share connections, each with its bundle.
fn bundled(model: &Model, mut flows: Vec<Flow>, seed: Seed) -> (Vec<Flow>, Vec<Bundle>) {
    let mut bundles: Vec<Bundle> = Vec::new();
    for (lane, (flow, number)) in model.lanes().enumerate() {
        let flow = &model.flows[flow];
        if matches!(flow.carriage, Carriage::Mux { .. } | Carriage::Streams { .. }) {
            if number == 0 {
                bundles.push(Bundle::new(flow, lane, seed));
            }
            flows[lane].bundle = Some(bundles.len() - 1);
        }
    }
    (flows, bundles)
}

/// The first few connections of each flow: a hundred thousand alike need no curve each.
fn lanes_to_sample(model: &Model) -> Vec<(u32, u32, u32)> {
    let few = (0u32..).zip(model.lanes()).filter(|(_, (_, number))| *number < SAMPLED_CONNECTIONS);
    few.map(|(lane, (flow, number))| (lane, flow as u32, number)).collect()
}
