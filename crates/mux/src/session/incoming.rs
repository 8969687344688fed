//! Handling of the frames that a session receives. Frames of the handshake are in `handshake`; bytes were decoded by
//! [`frame::parse`](crate::frame::parse).

use super::{Event, LIMIT, Phase, Role, Session};
use crate::body::Body;
use crate::config::{CarrierId, StreamId};
use crate::demux::Received;
use crate::error::ProtocolError;
use crate::frame::Frame;
use gamelane_core::{Duration, Instant};

impl<B: Body> Session<B> {
    /// Handles a frame from a carrier.
    ///
    /// # Errors
    /// On a protocol violation the session cannot continue: close all its carriers.
    pub fn handle_frame(
        &mut self,
        carrier: CarrierId,
        frame: Frame<B>,
        now: Instant,
    ) -> Result<(), ProtocolError> {
        let it = &mut self.carriers[carrier.index()];
        it.heard_at = now;
        match (it.phase, &frame) {
            _ if self.expired => return Ok(()),
            (Phase::Down, _) => return Ok(()),
            (Phase::Greeting { resume }, Frame::Hello(hello)) => {
                return self.greet(carrier, *hello, resume, now);
            }
            (Phase::Greeting { .. }, _) | (_, Frame::Hello(_)) => return Err(ProtocolError::OutOfPlace),
            _ => {}
        }
        match frame {
            Frame::Hello(_) => unreachable!("handled above"),
            Frame::Open { stream, metadata } => self.opened(stream, metadata, now)?,
            Frame::Data { stream, position, fin, body } => {
                let received = self.demux.handle_data(carrier, stream, position, fin, body, now)?;
                if received == Received::Unknown {
                    if !self.was_opened(stream) {
                        return Err(ProtocolError::NeverOpened);
                    }
                    self.confirm_end(stream)?;
                }
                while let Some(stream) = self.demux.poll_readable() {
                    self.events.push_back(Event::Readable(stream));
                }
            }
            Frame::Reset { stream, code } => self.was_reset(stream, code)?,
            Frame::Gone { stream } => {
                if self.mux.handle_gone(stream) {
                    self.events.push_back(Event::Finished(stream));
                }
            }
            Frame::Credit { stream, limit } => self.mux.handle_credit(stream, limit, now),
            Frame::Ack { stream, offset } => self.acknowledged(carrier, stream, offset, now)?,
            Frame::Ping { token } => {
                // One answer is enough for a peer that asks faster than it reads.
                let first = &mut self.carriers[carrier.index()].first;
                first.retain(|waiting| !matches!(waiting, Frame::Pong { .. }));
                first.push_back(Frame::Pong { token });
            }
            Frame::Pong { token } => self.measured(carrier, token, now),
            Frame::Drain => self.events.push_back(Event::Draining),
        }
        Ok(())
    }

    fn acknowledged(
        &mut self,
        carrier: CarrierId,
        stream: StreamId,
        offset: u64,
        now: Instant,
    ) -> Result<(), ProtocolError> {
        if self.mux.handle_ack(stream, offset, now)? {
            self.events.push_back(Event::Finished(stream));
        }
        if let Phase::Positions(left) = &mut self.carriers[carrier.index()].phase {
            *left -= 1;
            self.use_when_known(carrier, now);
        }
        Ok(())
    }

    fn opened(&mut self, stream: StreamId, metadata: B, now: Instant) -> Result<(), ProtocolError> {
        if self.config.role == Role::Near {
            return Err(ProtocolError::OutOfPlace);
        }
        if !self.opened.mark(stream)? {
            if self.demux.knows(stream) {
                self.demux.owe_ack(stream, now);
            } else {
                self.confirm_end(stream)?;
            }
        } else if self.room().is_err() {
            if self.mux.streams() >= self.config.max_streams + self.config.max_owed {
                return Err(ProtocolError::Unconfirmed);
            }
            self.mux.reset(stream, LIMIT, now);
        } else {
            self.mux.accept(stream);
            self.demux.expect(stream);
            self.demux.owe_ack(stream, now);
            self.events.push_back(Event::Opened { stream, metadata });
        }
        Ok(())
    }

    fn was_reset(&mut self, stream: StreamId, code: u64) -> Result<(), ProtocolError> {
        match self.config.role {
            Role::Far => drop(self.opened.mark(stream)?),
            Role::Near if !self.was_opened(stream) => return Err(ProtocolError::NeverOpened),
            Role::Near => {}
        }
        if self.demux.knows(stream) || self.mux.knows(stream) {
            self.events.push_back(Event::Reset { stream, code });
        }
        self.demux.forget(stream);
        self.mux.forget(stream);
        self.confirm_end(stream)
    }

    fn confirm_end(&mut self, stream: StreamId) -> Result<(), ProtocolError> {
        self.gone.insert(stream);
        if self.gone.len() > self.config.max_owed { Err(ProtocolError::Unconfirmed) } else { Ok(()) }
    }

    fn measured(&mut self, carrier: CarrierId, token: u64, now: Instant) {
        let sample = now.saturating_since(Instant::from_nanos(token));
        let it = &mut self.carriers[carrier.index()];
        // RFC 6298 section 2: SRTT takes one eighth of each new sample.
        let smoothed = it.rtt.map_or(sample, |rtt| {
            Duration::from_nanos(rtt.as_nanos() - rtt.as_nanos() / 8 + sample.as_nanos() / 8)
        });
        it.rtt = Some(smoothed);
        if let Some(rtt) = self.carriers.iter().filter_map(|it| it.rtt).min() {
            self.mux.set_rtt(rtt);
        }
    }
}
