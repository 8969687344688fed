//! VoAP in the household: the stage inspects every packet that passes the home gateway, and may lower the window of a segment.
//! Its input is the delay of the last packet that left each queue, or zero if the queue is empty. Unless the gateway shapes
//! the downlink or feeds a radio, the downstream queue is at the provider. A real home gateway could not measure its delay;
//! the simulated one does.

use alloc::vec::Vec;
use gamelane_core::{Direction, Duration, FlowKey, Instant, Packet, Protocol, Seed};
use gamelane_scenario::Model;
use gamelane_stage::voap::VoapCounters;
use gamelane_stage::{HopView, TcpFacts, TcpFlags, Verdict, Voap};

use crate::frames::{FrameId, Frames};
use crate::payload::{Content, connection_key, lane_key};

pub(crate) struct Windows {
    voap: Voap,
    /// Addresses of the first connection of each lane, in the direction from the home.
    keys: Vec<FlowKey>,
    last_wait: [Duration; 2],
    /// Time that the packet of each frame had waited before it reached the gateway.
    waited_before: Vec<Duration>,
}

impl Windows {
    /// Builds the stage; `None` without VoAP.
    pub(crate) fn of(model: &Model, seed: Seed) -> Option<Self> {
        let config = model.gateway.voap?;
        let keys = model.lanes().map(|(flow, lane)| lane_key(&model.flows[flow], lane)).collect();
        Some(Self {
            voap: Voap::new(config, seed),
            keys,
            last_wait: [Duration::ZERO; 2],
            waited_before: Vec::new(),
        })
    }

    pub(crate) const fn counters(&self) -> &VoapCounters {
        self.voap.counters()
    }

    /// Notes the delay of a packet that left the gateway's queue of `direction`.
    pub(crate) fn note_wait(&mut self, direction: Direction, packet: &Packet<FrameId>) {
        let before = self.waited_before[packet.body.index()];
        self.last_wait[direction.index()] = packet.meta.waited.saturating_sub(before);
    }

    /// Inspects a packet that reaches the gateway's queue of `direction`. `waiting`: whether packets wait in each queue.
    pub(crate) fn pass(
        &mut self,
        direction: Direction,
        packet: &Packet<FrameId>,
        frames: &mut Frames,
        waiting: [bool; 2],
        now: Instant,
    ) {
        let (meta, frame) = (&packet.meta, packet.body.index());
        if frame >= self.waited_before.len() {
            self.waited_before.resize(frame + 1, Duration::ZERO);
        }
        self.waited_before[frame] = meta.waited;
        let payload = frames.get_mut(packet.body);
        let connection = connection_key(self.keys[meta.flow.index()], payload.connection);
        let Content::Segment(segment) = &mut payload.content else {
            let connection = FlowKey { protocol: Protocol::Udp, ..connection };
            return self.voap.note_other(&connection, direction, meta.len);
        };
        let facts = TcpFacts {
            connection,
            direction,
            // Stream offsets serve as sequence numbers; packets carry the low 32 bits.
            seq: segment.seq as u32,
            ack: segment.ack as u32,
            payload: segment.len,
            flags: TcpFlags {
                syn: segment.flags.syn(),
                ack: segment.flags.ack(),
                fin: segment.flags.fin(),
                rst: segment.flags.rst(),
            },
            window: segment.window,
            window_scale: segment.window_scale,
            mss: segment.mss.map(core::num::NonZeroU16::get),
        };
        let delay = |index: usize| if waiting[index] { self.last_wait[index] } else { Duration::ZERO };
        let hops = HopView { queue_delay: [delay(0), delay(1)] };
        if let Verdict::SetWindow(field) = self.voap.inspect(&facts, meta.len, &hops, now) {
            segment.window = field;
        }
    }
}
