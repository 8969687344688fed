//! The clients' or servers' side of a session: moves bytes between their sockets and their streams.

use super::{Hub, Inner, SCRATCH};
use crate::entrance::Place;
use crate::flow::Flow;
use crate::link::BATCH;
use crate::payload::Payload;
use crate::sockets;
use bytes::Buf as _;
use gamelane_core::Instant;
use gamelane_mux::StreamId;
use gamelane_mux::session::{ABORTED, LIMIT, NoRoom, UNREACHABLE};
use std::future::poll_fn;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::net::TcpStream;

impl Hub {
    /// Opens a stream for a new client.
    ///
    /// # Errors
    /// Why the client is refused.
    pub(crate) fn open(
        &self,
        socket: Arc<TcpStream>,
        client: SocketAddr,
        place: Place,
        metadata: Payload,
    ) -> Result<StreamId, &'static str> {
        let mut inner = self.lock();
        if inner.draining {
            return Err("the proxy or the far end is draining");
        }
        let now = self.clock.now();
        let stream = inner.session.open(metadata, now).map_err(|full| match full {
            // The players themselves have fewer places than the session.
            NoRoom::Streams => {
                "the far end has not confirmed the end of too many earlier clients; is a carrier up?"
            }
            NoRoom::Memory => "limits.memory is reached",
            NoRoom::Expired => "the session has ended, and the next one has not begun",
        })?;
        inner.flows.insert(stream, Flow::new(Some(socket), client, Some(place), now));
        self.metrics.opened.one();
        self.pump(&mut inner, now);
        Ok(stream)
    }

    /// Notes a new client at the far end. Its data waits in the session until the server is connected. False if the client has left
    /// already: then the session has no event for it any more, and a flow would stay until `timeouts.idle`.
    pub(crate) fn announce(&self, stream: StreamId, client: SocketAddr) -> bool {
        let mut inner = self.lock();
        if !inner.session.mux().knows(stream) {
            return false;
        }
        inner.flows.insert(stream, Flow::new(None, client, None, self.clock.now()));
        self.metrics.opened.one();
        true
    }

    /// Attaches the server's connection. False if the stream has ended meanwhile.
    pub(crate) fn join(&self, stream: StreamId, socket: Arc<TcpStream>) -> bool {
        let mut inner = self.lock();
        let now = self.clock.now();
        let Some(flow) = inner.flows.get_mut(&stream) else { return false };
        flow.socket = Some(socket);
        self.deliver(&mut inner, stream, now);
        self.pump(&mut inner, now);
        true
    }

    /// Resets a stream whose server cannot be reached.
    pub(crate) fn refuse(&self, stream: StreamId) {
        let mut inner = self.lock();
        let now = self.clock.now();
        self.metrics.refused.one();
        self.give_up(&mut inner, stream, UNREACHABLE, now);
        self.pump(&mut inner, now);
    }

    /// Resets a stream whose place is needed for another.
    pub(crate) fn evict(&self, stream: StreamId) {
        let mut inner = self.lock();
        let now = self.clock.now();
        self.give_up(&mut inner, stream, LIMIT, now);
        self.pump(&mut inner, now);
    }

    /// Serves a flow's socket until the flow is over.
    pub(crate) async fn serve_flow(self: Arc<Self>, stream: StreamId, socket: Arc<TcpStream>) {
        poll_fn(|cx| self.poll_flow(stream, &socket, cx)).await;
    }

    /// Moves bytes between a flow's socket and its stream as far as both take them. Ready when the flow is over.
    fn poll_flow(&self, stream: StreamId, socket: &TcpStream, cx: &mut Context<'_>) -> Poll<()> {
        SCRATCH.with_borrow_mut(|scratch| {
            let mut guard = self.lock();
            let inner = &mut *guard;
            loop {
                let Some(flow) = inner.flows.get_mut(&stream) else { return Poll::Ready(()) };
                flow.waiting.wait(cx);
                let (eof, blocked) = (flow.eof_in, flow.blocked_since.is_some());
                let reads = !eof && inner.session.writable(stream) > 0;
                let readable = if reads { socket.poll_read_ready(cx) } else { Poll::Pending };
                let writable = if blocked { socket.poll_write_ready(cx) } else { Poll::Pending };
                if readable.is_pending() && writable.is_pending() {
                    return Poll::Pending;
                }
                let now = self.clock.now();
                match writable {
                    Poll::Ready(Ok(())) => self.deliver(inner, stream, now),
                    Poll::Ready(Err(_)) => self.give_up(inner, stream, ABORTED, now),
                    Poll::Pending => {}
                }
                match readable {
                    Poll::Ready(Ok(())) => self.read_flow(inner, stream, scratch, now),
                    Poll::Ready(Err(_)) => self.give_up(inner, stream, ABORTED, now),
                    Poll::Pending => {}
                }
                self.pump(inner, now);
            }
        })
    }

    fn read_flow(&self, inner: &mut Inner, stream: StreamId, scratch: &mut [u8], now: Instant) {
        let Some(flow) = inner.flows.get_mut(&stream) else { return };
        let Some(socket) = &flow.socket else { return };
        let room = inner.session.writable(stream).min(scratch.len() as u64) as usize;
        if room == 0 || flow.eof_in {
            return;
        }
        match sockets::read(socket, &mut scratch[..room]) {
            Ok(0) => {
                flow.eof_in = true;
                inner.session.finish(stream, now);
                self.close_if_over(inner, stream);
            }
            Ok(count) => {
                flow.active = now;
                flow.written += count as u64;
                flow.sample.get_or_insert((flow.written, now));
                self.metrics.bytes_in.add(count as u64);
                self.metrics.reads.one();
                let written = inner.session.write(stream, Payload::copy(&scratch[..count]), now);
                debug_assert_eq!(written, Ok(()), "the length was limited to the room");
                inner.stay_awake(now);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => self.give_up(inner, stream, ABORTED, now),
        }
    }

    /// Writes a stream's bytes to its socket until the socket is full.
    pub(super) fn deliver(&self, inner: &mut Inner, stream: StreamId, now: Instant) {
        let Some(flow) = inner.flows.get_mut(&stream) else { return };
        let Some(socket) = &flow.socket else { return };
        loop {
            if flow.pending.is_empty() {
                match inner.session.read(stream, BATCH * 4) {
                    Some(body) => flow.pending = body.0,
                    None => break,
                }
            }
            match socket.try_write(&flow.pending) {
                Ok(count) => {
                    flow.pending.advance(count);
                    flow.delivered += count as u64;
                    flow.active = now;
                    // An answer to something the client said: it is a player, not an idle connection.
                    if flow.written > 0
                        && let Some(place) = &mut flow.place
                    {
                        place.prove();
                    }
                    self.metrics.bytes_out.add(count as u64);
                    if flow.pending.is_empty() {
                        let since = flow.blocked_since.take().unwrap_or(now);
                        let took = self.clock.now().saturating_since(since);
                        self.metrics.added_delay.record(took);
                        flow.added_delay.record(took);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if flow.blocked_since.is_none() {
                        flow.blocked_since = Some(now);
                        flow.stalls += 1;
                        self.metrics.stalls.one();
                        flow.waiting.wake();
                    }
                    return;
                }
                Err(_) => return self.give_up(inner, stream, ABORTED, now),
            }
        }
        if !flow.eof_out && inner.session.read_end(stream) {
            flow.eof_out = true;
            if sockets::finish(socket).is_err() {
                return self.give_up(inner, stream, ABORTED, now);
            }
            self.close_if_over(inner, stream);
        }
    }

    fn close_if_over(&self, inner: &mut Inner, stream: StreamId) {
        if inner.flows.get(&stream).is_some_and(|flow| flow.eof_in && flow.eof_out)
            && let Some(flow) = inner.flows.remove(&stream)
        {
            self.metrics.closed.one();
            flow.waiting.wake();
        }
    }

    /// Resets a stream, and its socket.
    pub(super) fn give_up(&self, inner: &mut Inner, stream: StreamId, code: u64, now: Instant) {
        inner.session.reset(stream, code, now);
        self.drop_flow(inner, stream);
    }

    pub(super) fn drop_flow(&self, inner: &mut Inner, stream: StreamId) {
        if let Some(flow) = inner.flows.remove(&stream) {
            self.metrics.aborted.one();
            if let Some(socket) = &flow.socket {
                sockets::abort(socket);
            }
            flow.waiting.wake();
        }
    }
}
