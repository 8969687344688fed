//! The carriers' side of a session: reads and writes frames.

use super::{Hub, Inner, SCRATCH};
use crate::link::{BATCH, Link, LinkError};
use crate::payload::Payload;
use crate::sockets;
use gamelane_core::Instant;
use gamelane_mux::{CarrierId, CarrierKind, Frame, StreamId};
use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::net::TcpStream;
use tokio::sync::Notify;

/// A connection between the two proxies.
#[derive(Debug)]
pub(crate) enum Carrier {
    /// TCP: the hub writes to its socket.
    Tcp(Box<Link>),
    /// QUIC: the connection's own task asks for frames; this wakes it.
    Quic(Arc<Notify>),
}

impl Hub {
    /// Attaches a connection to a carrier and returns its number, which later calls need. A connection that it replaces is closed.
    pub(crate) fn attach(&self, carrier: CarrierId, connection: Carrier) -> u64 {
        let mut inner = self.lock();
        let now = self.clock.now();
        self.lose(&mut inner, carrier, now);
        inner.attached += 1;
        let number = inner.attached;
        if let (Carrier::Quic(_), Some(datagrams)) = (&connection, self.settings.datagrams)
            && inner.carriers.iter().all(Option::is_none)
        {
            inner.session.carrier_connected(datagrams, CarrierKind::Datagram, now);
        }
        inner.carriers[usize::from(carrier.0)] = Some((number, connection));
        inner.session.carrier_connected(carrier, CarrierKind::Ordered, now);
        self.pump(&mut inner, now);
        number
    }

    /// Removes a connection that has ended.
    pub(crate) fn detach(&self, carrier: CarrierId, number: u64) {
        let mut inner = self.lock();
        if inner.is_attached(carrier, number) {
            let now = self.clock.now();
            self.lose(&mut inner, carrier, now);
            self.pump(&mut inner, now);
        }
    }

    /// Serves an attached TCP carrier until it ends, and returns the reason.
    pub(crate) async fn serve_carrier(
        &self,
        carrier: CarrierId,
        number: u64,
        socket: &TcpStream,
    ) -> LinkError {
        let Err(error) = poll_fn(|cx| self.poll_carrier(carrier, number, socket, cx)).await;
        self.detach(carrier, number);
        error
    }

    /// Moves frames between a TCP carrier's socket and the session as far as both take them. Ready when the carrier ends, with the
    /// reason.
    fn poll_carrier(
        &self,
        carrier: CarrierId,
        number: u64,
        socket: &TcpStream,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Infallible, LinkError>> {
        SCRATCH.with_borrow_mut(|scratch| {
            let mut guard = self.lock();
            let inner = &mut *guard;
            loop {
                let Some(link) = inner.link(carrier, number) else {
                    return Poll::Ready(Err(LinkError::Closed));
                };
                link.waiting.wait(cx);
                let blocked = link.blocked;
                let readable = socket.poll_read_ready(cx)?;
                let writable = if blocked { socket.poll_write_ready(cx)? } else { Poll::Pending };
                if readable.is_pending() && writable.is_pending() {
                    return Poll::Pending;
                }
                let now = self.clock.now();
                if writable.is_ready() {
                    link.blocked = false;
                }
                if readable.is_ready() {
                    self.receive(inner, carrier, Some(scratch), now)?;
                }
                self.pump(inner, now);
            }
        })
    }

    /// Handles the frames that arrived with a TCP carrier's handshake.
    pub(crate) fn receive_early(&self, carrier: CarrierId, number: u64) -> Result<(), LinkError> {
        let mut inner = self.lock();
        if inner.link(carrier, number).is_none() {
            return Err(LinkError::Closed);
        }
        let now = self.clock.now();
        let result = self.receive(&mut inner, carrier, None, now);
        self.pump(&mut inner, now);
        result
    }

    /// Handles a frame of a QUIC carrier. For a frame in a datagram, `carrier` is the one of [`datagrams`](Self::datagrams).
    pub(crate) fn take_frame(
        &self,
        carrier: CarrierId,
        number: u64,
        frame: Frame<Payload>,
    ) -> Result<(), LinkError> {
        let mut guard = self.lock();
        let inner = &mut *guard;
        if !inner.is_attached(carrier, number) && Some(carrier) != self.settings.datagrams {
            return Err(LinkError::Closed);
        }
        let now = self.clock.now();
        let result = self.take(inner, carrier, frame, now);
        self.end_if_broken(inner, &result, now);
        self.pump(inner, now);
        result
    }

    /// Returns the next frame to send on a QUIC carrier.
    pub(crate) fn next_frame(
        &self,
        carrier: CarrierId,
        number: u64,
    ) -> Result<Option<Frame<Payload>>, LinkError> {
        let mut inner = self.lock();
        if !inner.is_attached(carrier, number) {
            return Err(LinkError::Closed);
        }
        let now = self.clock.now();
        let frame = inner.session.poll_frame(carrier, BATCH, now);
        self.count_frame(frame.as_ref());
        if frame.is_none() {
            self.arm(&mut inner);
        }
        Ok(frame)
    }

    /// Returns the next early repeat that fits into a datagram of `room` bytes. Any of the connections may ask.
    pub(crate) fn next_datagram(&self, room: usize) -> Option<Frame<Payload>> {
        let mut inner = self.lock();
        let frame = inner.session.poll_frame(self.settings.datagrams?, room, self.clock.now());
        self.count_frame(frame.as_ref());
        frame
    }

    /// The carrier whose frames go in datagrams; `None` over TCP.
    pub(crate) fn datagrams(&self) -> Option<CarrierId> {
        self.settings.datagrams
    }

    /// True if the stream may have frames to send.
    pub(crate) fn sends(&self, stream: StreamId) -> bool {
        self.lock().session.mux().knows(stream)
    }

    /// Breaks the connection of a carrier, for tests.
    pub fn cut(&self, carrier: CarrierId) {
        let mut inner = self.lock();
        let now = self.clock.now();
        if let Some((_, Carrier::Tcp(link))) = &inner.carriers[usize::from(carrier.0)] {
            sockets::abort(&link.socket);
        }
        self.lose(&mut inner, carrier, now);
        self.pump(&mut inner, now);
    }

    /// Drops the connection of a carrier, if there is one, and wakes its task so that it ends.
    pub(super) fn lose(&self, inner: &mut Inner, carrier: CarrierId, now: Instant) {
        match inner.carriers[usize::from(carrier.0)].take() {
            Some((_, Carrier::Tcp(link))) => link.waiting.wake(),
            Some((_, Carrier::Quic(wake))) => wake.notify_one(),
            None => return,
        }
        self.metrics.carriers_lost.one();
        inner.session.carrier_down(carrier, now);
        if let Some(datagrams) = self.settings.datagrams
            && inner.carriers.iter().all(Option::is_none)
        {
            inner.session.carrier_down(datagrams, now);
        }
    }

    /// Sends waiting frames on a carrier. Returns true if the carrier was lost.
    pub(super) fn send(&self, inner: &mut Inner, carrier: CarrierId, now: Instant) -> bool {
        let session = &mut inner.session;
        let link = match &mut inner.carriers[usize::from(carrier.0)] {
            Some((_, Carrier::Tcp(link))) if !link.blocked => link,
            Some((_, Carrier::Quic(wake))) => {
                wake.notify_one();
                return false;
            }
            _ => return false,
        };
        loop {
            let mut more = true;
            while more && link.has_room() {
                match session.poll_frame(carrier, BATCH, now) {
                    Some(frame) => link.put(&frame),
                    None => more = false,
                }
            }
            match link.flush() {
                Ok(0) => {}
                Ok(count) => {
                    self.metrics.carrier_writes.one();
                    self.metrics.carrier_bytes.add(count as u64);
                }
                Err(error) => {
                    tracing::info!(carrier = carrier.0, %error, "carrier lost");
                    self.lose(inner, carrier, now);
                    return true;
                }
            }
            session.set_backlog(carrier, link.backlog() as u64);
            if link.blocked {
                link.waiting.wake();
            }
            if !more || link.blocked {
                return false;
            }
        }
    }

    /// Reads once from an attached TCP carrier; without `scratch`, takes the bytes that arrived with its handshake.
    fn receive(
        &self,
        inner: &mut Inner,
        carrier: CarrierId,
        scratch: Option<&mut Vec<u8>>,
        now: Instant,
    ) -> Result<(), LinkError> {
        let mut frames = std::mem::take(&mut inner.arrived);
        let Some((_, Carrier::Tcp(link))) = &mut inner.carriers[usize::from(carrier.0)] else {
            return Err(LinkError::Closed);
        };
        let mut result = match scratch {
            Some(scratch) => link.receive(scratch, &mut frames),
            None => link.receive_early(&mut frames),
        };
        // Complete frames before a broken one are handled.
        for frame in frames.drain(..) {
            if let Err(error) = self.take(inner, carrier, frame, now) {
                result = Err(error);
                break;
            }
        }
        inner.arrived = frames;
        self.end_if_broken(inner, &result, now);
        result
    }

    fn take(
        &self,
        inner: &mut Inner,
        carrier: CarrierId,
        frame: Frame<Payload>,
        now: Instant,
    ) -> Result<(), LinkError> {
        if let Frame::Ack { stream, offset } = frame
            && let Some(flow) = inner.flows.get_mut(&stream)
            && let Some((until, at)) = flow.sample
            && until <= offset
        {
            flow.sample = None;
            let took = now.saturating_since(at);
            self.metrics.acknowledged.record(took);
            flow.acknowledged.record(took);
        }
        if matches!(frame, Frame::Data { .. }) {
            inner.stay_awake(now);
        }
        Ok(inner.session.handle_frame(carrier, frame, now)?)
    }

    fn end_if_broken(&self, inner: &mut Inner, result: &Result<(), LinkError>, now: Instant) {
        if let Err(LinkError::Protocol(error)) = result {
            tracing::error!(%error, "session ended: the other end broke the protocol");
            self.end(inner, now);
        }
    }

    fn count_frame(&self, frame: Option<&Frame<Payload>>) {
        if let Some(frame) = frame {
            self.metrics.carrier_bytes.add(frame.wire_len() as u64);
            self.metrics.carrier_writes.one();
        }
    }
}

impl Inner {
    fn is_attached(&self, carrier: CarrierId, number: u64) -> bool {
        let slot = self.carriers.get(usize::from(carrier.0));
        matches!(slot, Some(Some((attached, _))) if *attached == number)
    }

    fn link(&mut self, carrier: CarrierId, number: u64) -> Option<&mut Link> {
        match &mut self.carriers[usize::from(carrier.0)] {
            Some((attached, Carrier::Tcp(link))) if *attached == number => Some(link),
            _ => None,
        }
    }
}
