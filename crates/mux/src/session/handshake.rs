//! The handshake of a carrier: a hello from both ends, followed by one acknowledgement per stream. Only then the carrier is
//! used. Datagram carriers have no handshake. Authentication is left to the proxy.

use super::{Event, Phase, Role, Session};
use crate::body::Body;
use crate::config::{CarrierId, CarrierKind};
use crate::error::ProtocolError;
use crate::frame::{Frame, Hello};
use alloc::collections::VecDeque;
use gamelane_core::Instant;

impl<B: Body> Session<B> {
    /// Starts the handshake on a new connection. An earlier connection of this carrier counts as lost.
    pub fn carrier_connected(&mut self, carrier: CarrierId, kind: CarrierKind, now: Instant) {
        if self.carriers[carrier.index()].phase != Phase::Down {
            self.carrier_down(carrier, now);
        }
        let positions: VecDeque<Frame<B>> = match kind {
            CarrierKind::Ordered => {
                self.demux.positions().map(|(stream, offset)| Frame::Ack { stream, offset }).collect()
            }
            CarrierKind::Datagram => VecDeque::new(),
        };
        let it = &mut self.carriers[carrier.index()];
        it.kind = kind;
        it.rtt = None;
        it.sent_at = now;
        it.heard_at = now;
        it.first = positions;
        if kind == CarrierKind::Datagram {
            it.phase = Phase::Up;
            self.mux.carrier_up(carrier, kind, now);
            return;
        }
        it.phase = Phase::Greeting { resume: self.greeted };
        let hello = Hello {
            session: self.id,
            carrier,
            carriers: self.config.mux.carriers,
            window: self.config.window,
            positions: it.first.len() as u64,
            resume: self.greeted,
        };
        it.first.push_front(Frame::Hello(hello));
    }

    pub(super) fn greet(
        &mut self,
        carrier: CarrierId,
        hello: Hello,
        resume: bool,
        now: Instant,
    ) -> Result<(), ProtocolError> {
        if hello.session != self.id || hello.carrier != carrier || hello.carriers != self.config.mux.carriers
        {
            return Err(ProtocolError::OutOfPlace);
        }
        if self.config.role == Role::Near && resume && !hello.resume {
            self.expire();
            return Ok(());
        }
        self.greeted = true;
        self.mux.set_initial_credit(hello.window);
        self.carriers[carrier.index()].phase = Phase::Positions(hello.positions);
        self.use_when_known(carrier, now);
        Ok(())
    }

    /// Starts to use the carrier when the peer has sent all positions.
    pub(super) fn use_when_known(&mut self, carrier: CarrierId, now: Instant) {
        let it = &mut self.carriers[carrier.index()];
        if it.phase == Phase::Positions(0) {
            it.phase = Phase::Up;
            it.first.push_back(Frame::Ping { token: now.as_nanos() & crate::varint::MAX });
            self.dark_since = None;
            self.mux.carrier_up(carrier, CarrierKind::Ordered, now);
            self.events.push_back(Event::CarrierReady(carrier));
        }
    }
}
