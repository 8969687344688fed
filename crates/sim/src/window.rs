//! VoAP in the household: every packet that passes the home gateway is shown to the stage, which may lower the window of
//! the segment inside. What it steers by is the delay of the last packet that left each queue, and none once that is
//! empty. The downstream queue stands at the provider's end of a wired link, where a home gateway could not measure it: a
//! real one shapes the downlink itself. Here both ends tell.

use alloc::vec::Vec;
use gamelane_core::{Direction, Duration, FlowKey, Instant, PacketMeta, Protocol, Seed};
use gamelane_scenario::Model;
use gamelane_stage::voap::VoapCounters;
use gamelane_stage::{HopView, TcpFacts, TcpFlags, Verdict, Voap};

use crate::payload::{Content, Payload, connection_key, player_key};

pub(crate) struct Windows {
    voap: Voap,
    /// Of the first connection of each lane, as the home sends it.
    keys: Vec<FlowKey>,
    last_wait: [Duration; 2],
}

impl Windows {
    /// The stage of a household, if it has one.
    pub(crate) fn of(model: &Model, seed: Seed) -> Option<Self> {
        let config = model.gateway.voap?;
        let keys = model.lanes().map(|(flow, lane)| player_key(model.flows[flow].key, lane)).collect();
        Some(Self { voap: Voap::new(config, seed), keys, last_wait: [Duration::ZERO; 2] })
    }

    pub(crate) const fn counters(&self) -> &VoapCounters {
        self.voap.counters()
    }

    /// A packet has left the hop of `direction`, the only one it passes.
    pub(crate) const fn note_wait(&mut self, direction: Direction, meta: &PacketMeta) {
        self.last_wait[direction.index()] = meta.waited;
    }

    /// A packet passes the gateway; `waiting` tells for each direction whether packets wait.
    pub(crate) fn pass(
        &mut self,
        direction: Direction,
        meta: &PacketMeta,
        payload: &mut Payload,
        waiting: [bool; 2],
        now: Instant,
    ) {
        let connection = connection_key(self.keys[meta.flow.index()], payload.connection);
        let Content::Segment(segment) = &mut payload.content else {
            let connection = FlowKey { protocol: Protocol::Udp, ..connection };
            return self.voap.note_other(&connection, direction, meta.len);
        };
        let facts = TcpFacts {
            connection,
            direction,
            // Offsets of the stream stand for sequence numbers; 32 bits of them are on the wire.
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
