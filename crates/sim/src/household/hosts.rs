//! Hosts in the event loop: received packets, and the actions of applications and transports.

use gamelane_core::{AckKind, ClassId, Duration, Ecn, IpLen, Packet, PacketMeta};
use gamelane_record::{Event, Recorder, Side};

use super::follow::{PROBE, PROBE_LEN};
use super::{Component, Household};
use crate::flow::Output;
use crate::frames::FrameId;
use crate::payload::{Content, Echo, Payload, Tap};

impl<R: Recorder> Household<R> {
    /// Takes a packet that reached a host.
    pub(super) fn receive(&mut self, flow: usize, side: Side, packet: &Packet<FrameId>) {
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
                // `account_received` handles these.
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
                self.send(flow, side, Content::Datagram(PROBE), PROBE_LEN, Ecn::NotEct);
            }
        }
    }

    pub(super) fn wake_host(&mut self, flow: usize, side: Side) {
        let now = self.now;
        self.flows[flow].host(side).handle_timeout(now);
        self.run_host(flow, side);
    }

    /// Does everything that a host asks for now, then sets its deadline.
    pub(super) fn run_host(&mut self, flow: usize, side: Side) {
        let now = self.now;
        let mut opened = false;
        while let Some(output) = self.flows[flow].host(side).poll_output(now) {
            let id = self.flows[flow].id;
            match output {
                Output::Send { content, len, ecn } => self.send(flow, side, content, len, ecn),
                Output::Reset { connection, segment } => {
                    let own = self.flows[flow].host(side).name(connection);
                    self.send(flow, side, Content::Segment(segment), segment.ip_len(), Ecn::NotEct);
                    self.flows[flow].host(side).name(own);
                }
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
        self.set(Component::Host { flow, side }, deadline);
        if let Some(bundle) = self.flows[flow].bundle.filter(|_| opened) {
            self.bundles[bundle].carrier_up(side, flow, now);
            self.run_bundle(bundle, side);
        }
    }

    pub(super) fn wake_bundle(&mut self, bundle: usize, side: Side) {
        self.bundles[bundle].handle_timeout(side, self.now);
        self.run_bundle(bundle, side);
    }

    /// Writes all frames that an end of a bundle has now, then runs the hosts that got some.
    pub(super) fn run_bundle(&mut self, bundle: usize, side: Side) {
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

    pub(super) fn bundle_changed(&mut self, bundle: usize, side: Side) {
        let deadline = self.bundles[bundle].poll_timeout(side);
        self.set(Component::Bundle { bundle, side }, deadline);
    }

    /// Makes the next packet of a host. Inlined, because returning a packet from a call copies it.
    #[inline]
    pub(super) fn packet(
        &mut self,
        flow: usize,
        side: Side,
        content: Content,
        len: IpLen,
        ecn: Ecn,
    ) -> Packet<FrameId> {
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

    pub(super) fn send(&mut self, flow: usize, side: Side, content: Content, len: IpLen, ecn: Ecn) {
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
}
