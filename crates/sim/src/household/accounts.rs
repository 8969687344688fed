//! Events for the recorder: messages that arrived, samples of queues and TCP, and packets at taps.

use gamelane_core::{Direction, Packet};
use gamelane_record::messages::Arrival;
use gamelane_record::{Event, Recorder, Side};

use super::{Component, Household, SAMPLE_EVERY};
use crate::bundle::NOBODY;
use crate::frames::FrameId;
use crate::payload::{Content, Passed, Tap};

impl<R: Recorder> Household<R> {
    /// Notes that the server of a game over TCP sends a segment.
    pub(super) fn account_sent(&mut self, flow: usize, packet: &Packet<FrameId>) {
        let Some(thin) = &mut self.flows[flow].thin else { return };
        if let Content::Segment(segment) = &self.frames.get(packet.body).content {
            thin.ledger.sent(self.now, segment.seq, segment.len, &mut thin.totals);
        }
    }

    /// Takes a segment of a game over TCP that arrived: delivers messages, and acknowledges packets of the server.
    pub(super) fn account_received(&mut self, flow: usize, side: Side, packet: &Packet<FrameId>) {
        if self.ended {
            return;
        }
        let segment = match self.frames.get(packet.body).content {
            Content::Segment(segment) => segment,
            Content::Repeated(number) => return self.receive_repeats(flow, side, number),
            Content::Datagram(_) => return,
        };
        let (now, id, recorder) = (self.now, packet.meta.flow, &mut self.recorder);
        let Some(thin) = &mut self.flows[flow].thin else { return };
        let direction = side.peer().sends();
        if segment.len > 0 {
            thin.ways[direction.index()].arrived(segment.seq, segment.len, now, |arrival| {
                let Arrival { player, delay, held } = arrival;
                if player == NOBODY {
                    return;
                }
                recorder.record(now, &Event::Delivered { lane: id, direction, player, delay, held });
            });
        }
        if side == Side::Server && segment.flags.ack() {
            thin.ledger.acknowledged(now, segment.ack, &mut thin.totals, |history| {
                if history.retransmissions > 0 {
                    recorder.record(now, &Event::Retransmitted { lane: id, history });
                }
            });
        }
    }

    /// Takes a datagram with messages that arrived.
    fn receive_repeats(&mut self, flow: usize, side: Side, number: u64) {
        let (now, recorder) = (self.now, &mut self.recorder);
        let lane = &mut self.flows[flow];
        let (id, player) = (lane.id, lane.number);
        let [client, server] = &mut lane.hosts;
        let (mine, peer) = if side == Side::Client { (client, server) } else { (server, client) };
        let (Some(mine), Some(peer)) = (&mut mine.repeats, &mut peer.repeats) else { return };
        let direction = side.peer().sends();
        mine.handle_datagram(peer, number, player, now, |arrival| {
            let Arrival { player, delay, held } = arrival;
            recorder.record(now, &Event::Delivered { lane: id, direction, player, delay, held });
        });
    }

    pub(super) fn sample(&mut self) {
        let now = self.now;
        for direction in Direction::BOTH {
            let backlog = self.network.backlog(direction);
            self.recorder.record(now, &Event::Queue { direction, backlog });
            if let Some(following) = &self.following
                && let Some(shaped) = following.rate(direction)
            {
                let link = following.link_rate(direction, now);
                self.recorder.record(now, &Event::Rate { direction, shaped, link });
            }
        }
        for &(lane, flow, connection) in &self.sampled {
            for side in Side::BOTH {
                if let Some(endpoint) = self.flows[lane as usize].hosts[side as usize].endpoint() {
                    let state = endpoint.observe().into();
                    self.recorder.record(now, &Event::Tcp { flow, connection, side, state });
                }
            }
        }
        self.next_sample = now + SAMPLE_EVERY;
        self.set(Component::Sampler, Some(self.next_sample));
    }

    pub(super) fn pass(&mut self, tap: Tap, direction: Direction, packet: &Packet<FrameId>) {
        if let Some(passed) = &mut self.passed {
            let payload = *self.frames.get(packet.body);
            passed.push(Passed { at: self.now, tap, direction, meta: packet.meta, payload });
        }
    }
}
