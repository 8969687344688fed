//! A session joined to its sockets. Whoever has something, a client's socket, a carrier, a timer, takes the lock, moves
//! bytes as far as they go without waiting, and lets go: a message costs one wake-up at each proxy and no hand-over
//! between tasks.

use crate::clock::Clock;
use crate::config::Config;
use crate::flow::{Flow, Interest};
use crate::link::{BATCH, Link, LinkError};
use crate::metrics::Metrics;
use crate::payload::Payload;
use crate::sockets;
use bytes::Buf as _;
use gamelane_core::{Duration, Instant};
use gamelane_mux::session::{ABORTED, IDLE, SHUTDOWN, UNREACHABLE};
use gamelane_mux::{CarrierId, CarrierKind, Event, Frame, Role, Session, StreamId};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc, watch};

/// How often idle streams are looked for.
const SCAN_EVERY: Duration = Duration::from_secs(1);

/// The timers' step, which is also tokio's.
const TIMER_STEP: Duration = Duration::from_millis(1);

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; 64 << 10]);
}

/// A connection of the pair, as the hub sees it.
#[derive(Debug)]
pub(crate) enum Carrier {
    /// Written to at once.
    Tcp(Box<Link>),
    /// Has a task that asks for frames.
    Quic(Arc<Notify>),
}

/// Settings beside the session's.
#[derive(Clone, Copy, Debug)]
struct Settings {
    role: Role,
    idle: Duration,
    refuse_after: Duration,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Hub {
    inner: Mutex<Inner>,
    clock: Clock,
    timer: Notify,
    settings: Settings,
    /// Shared by all sessions of a process.
    pub metrics: Arc<Metrics>,
    over: watch::Sender<bool>,
}

#[derive(Debug)]
struct Inner {
    session: Session<Payload>,
    carriers: Vec<Option<(u64, Carrier)>>,
    attached: u64,
    flows: BTreeMap<StreamId, Flow>,
    opened: mpsc::UnboundedSender<(StreamId, Payload)>,
    armed: Option<Instant>,
    next_scan: Instant,
    draining: bool,
}

/// What `status` shows of a session.
#[derive(Clone, Debug, serde::Serialize)]
pub struct HubStatus {
    /// Carriers in use, and how many there should be.
    pub carriers_up: usize,
    /// As configured.
    pub carriers: usize,
    /// Their round trips in milliseconds; `null` for one that is down.
    pub carrier_rtt_ms: Vec<Option<f64>>,
    /// Clients or servers connected.
    pub streams: usize,
    /// Bytes waiting, retained and unread.
    pub buffered_bytes: u64,
    /// Frames, payload and headers sent.
    pub sent: Sent,
    /// Duplicates removed, and waits behind holes.
    pub received: ReceivedStatus,
}

/// What was sent.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Sent {
    /// Data frames.
    pub data_frames: u64,
    /// Payload in them.
    pub payload_bytes: u64,
    /// With headers.
    pub frame_bytes: u64,
    /// Early repeats.
    pub repeats: u64,
    /// Payload sent again after a carrier was lost.
    pub resent_bytes: u64,
}

/// What was received.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct ReceivedStatus {
    /// Payload that was new.
    pub payload_bytes: u64,
    /// Payload that had been here.
    pub duplicate_bytes: u64,
    /// Frames that waited behind a hole in their stream.
    pub held_frames: u64,
    /// The longest such wait.
    pub longest_hold_ms: f64,
}

/// One client, as `status` shows it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct FlowStatus {
    /// Id within the session.
    pub stream: u64,
    /// The client.
    pub client: SocketAddr,
    /// Since it came.
    pub age_s: f64,
    /// Since a byte passed.
    pub idle_s: f64,
    /// From it.
    pub bytes_in: u64,
    /// To it.
    pub bytes_out: u64,
    /// Times it took no more for a while.
    pub stalls: u64,
}

impl Hub {
    /// A session with `id`. Streams that the other end opens go to `opened`.
    pub fn new(
        id: [u8; 16],
        config: &Config,
        role: Role,
        metrics: Arc<Metrics>,
        opened: mpsc::UnboundedSender<(StreamId, Payload)>,
    ) -> Arc<Self> {
        let clock = Clock::start();
        let hub = Arc::new(Self {
            inner: Mutex::new(Inner {
                session: Session::new(id, config.session(role), clock.now()),
                carriers: (0..config.carriers).map(|_| None).collect(),
                attached: 0,
                flows: BTreeMap::new(),
                opened,
                armed: None,
                next_scan: clock.now() + SCAN_EVERY,
                draining: false,
            }),
            clock,
            timer: Notify::new(),
            settings: Settings { role, idle: config.timeouts.idle.0, refuse_after: config.refuse_after.0 },
            metrics,
            over: watch::Sender::new(false),
        });
        tokio::spawn(run_timer(hub.clone()));
        hub
    }

    /// Resolves when the session is over: every stream is lost, and another has to be begun.
    pub async fn over(&self) {
        // The sender is ours, so this cannot fail.
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }

    /// True when it is.
    pub fn is_over(&self) -> bool {
        *self.over.borrow()
    }

    /// The other end, or this one, takes no new streams.
    pub fn is_draining(&self) -> bool {
        self.lock().draining
    }

    /// A new client. `None`: it is refused.
    pub fn open(&self, socket: Arc<TcpStream>, client: SocketAddr, metadata: Payload) -> Option<StreamId> {
        let mut inner = self.lock();
        if inner.draining || self.is_over() {
            return None;
        }
        let now = self.clock.now();
        let stream = inner.session.open(metadata, now)?;
        inner.flows.insert(stream, Flow::new(Some(socket), client, now));
        self.metrics.opened.one();
        self.pump(&mut inner, now);
        Some(stream)
    }

    /// The far end has heard of a client; its data waits in the session until the server is reached.
    pub(crate) fn announce(&self, stream: StreamId, client: SocketAddr) {
        let now = self.clock.now();
        self.lock().flows.insert(stream, Flow::new(None, client, now));
        self.metrics.opened.one();
    }

    /// The server is reached. False: the stream is gone meanwhile.
    pub(crate) fn join(&self, stream: StreamId, socket: Arc<TcpStream>) -> bool {
        let mut inner = self.lock();
        let now = self.clock.now();
        let Some(flow) = inner.flows.get_mut(&stream) else { return false };
        flow.socket = Some(socket);
        self.deliver(&mut inner, stream, now);
        self.pump(&mut inner, now);
        true
    }

    /// The server cannot be reached.
    pub(crate) fn refuse(&self, stream: StreamId) {
        let mut inner = self.lock();
        let now = self.clock.now();
        self.metrics.refused.one();
        self.give_up(&mut inner, stream, UNREACHABLE, now);
        self.pump(&mut inner, now);
    }

    /// Its task's notification.
    pub(crate) fn wake_of(&self, stream: StreamId) -> Option<Arc<Notify>> {
        self.lock().flows.get(&stream).map(|flow| flow.wake.clone())
    }

    /// What a flow's task should wait for; `None` when it is over.
    pub(crate) fn interest(&self, stream: StreamId) -> Option<Interest> {
        let mut inner = self.lock();
        let inner = &mut *inner;
        let flow = inner.flows.get(&stream)?;
        Some(Interest {
            read: !flow.eof_in && inner.session.writable(stream) > 0,
            write: flow.blocked_since.is_some(),
        })
    }

    /// A flow's socket may have something to read.
    pub(crate) fn pull(&self, stream: StreamId) {
        SCRATCH.with_borrow_mut(|scratch| {
            let mut inner = self.lock();
            let now = self.clock.now();
            self.read_flow(&mut inner, stream, scratch, now);
            self.pump(&mut inner, now);
        });
    }

    /// A flow's socket may take more.
    pub(crate) fn push(&self, stream: StreamId) {
        let mut inner = self.lock();
        let now = self.clock.now();
        self.deliver(&mut inner, stream, now);
        self.pump(&mut inner, now);
    }

    /// A flow's socket has failed.
    pub(crate) fn abort(&self, stream: StreamId) {
        let mut inner = self.lock();
        let now = self.clock.now();
        self.give_up(&mut inner, stream, ABORTED, now);
        self.pump(&mut inner, now);
    }

    /// A connection for a carrier exists; its number is needed to speak for it. One it replaces is told to end.
    pub(crate) fn attach(&self, carrier: CarrierId, connection: Carrier) -> u64 {
        let mut inner = self.lock();
        let now = self.clock.now();
        self.lose(&mut inner, carrier, now);
        inner.attached += 1;
        let number = inner.attached;
        inner.carriers[usize::from(carrier.0)] = Some((number, connection));
        inner.session.carrier_connected(carrier, CarrierKind::Ordered, now);
        self.pump(&mut inner, now);
        number
    }

    /// The connection is at its end.
    pub(crate) fn detach(&self, carrier: CarrierId, number: u64) {
        let mut inner = self.lock();
        if inner.is_attached(carrier, number) {
            let now = self.clock.now();
            self.lose(&mut inner, carrier, now);
            self.pump(&mut inner, now);
        }
    }

    /// Whether a TCP carrier waits for its socket to take more; `None` if it is no longer attached.
    pub(crate) fn is_blocked(&self, carrier: CarrierId, number: u64) -> Option<bool> {
        let mut inner = self.lock();
        inner.link(carrier, number).map(|link| link.blocked)
    }

    /// A TCP carrier's socket may take more.
    pub(crate) fn unblock(&self, carrier: CarrierId, number: u64) {
        let mut inner = self.lock();
        if let Some(link) = inner.link(carrier, number) {
            link.blocked = false;
        }
        let now = self.clock.now();
        self.pump(&mut inner, now);
    }

    /// A TCP carrier's socket may have something to read. With `early`, what came behind the handshake.
    pub(crate) fn receive(&self, carrier: CarrierId, number: u64, early: bool) -> Result<(), LinkError> {
        SCRATCH.with_borrow_mut(|scratch| {
            let mut guard = self.lock();
            let inner = &mut *guard;
            let now = self.clock.now();
            let Some((attached, Carrier::Tcp(link))) = &mut inner.carriers[usize::from(carrier.0)] else {
                return Err(LinkError::Closed);
            };
            if *attached != number {
                return Err(LinkError::Closed);
            }
            let (session, flows, metrics) = (&mut inner.session, &mut inner.flows, &*self.metrics);
            let handle = |frame| take(session, flows, metrics, carrier, frame, now);
            let result =
                if early { link.receive_early(handle) } else { link.receive(scratch, handle).map(drop) };
            if let Err(LinkError::Protocol(error)) = &result {
                tracing::error!(%error, "session given up");
                self.end(inner, now);
            }
            self.pump(inner, now);
            result
        })
    }

    /// A frame that came over a QUIC carrier.
    pub(crate) fn take_frame(
        &self,
        carrier: CarrierId,
        number: u64,
        frame: Frame<Payload>,
    ) -> Result<(), LinkError> {
        let mut guard = self.lock();
        let inner = &mut *guard;
        if !inner.is_attached(carrier, number) {
            return Err(LinkError::Closed);
        }
        let now = self.clock.now();
        let result = take(&mut inner.session, &mut inner.flows, &self.metrics, carrier, frame, now);
        if let Err(LinkError::Protocol(error)) = &result {
            tracing::error!(%error, "session given up");
            self.end(inner, now);
        }
        self.pump(inner, now);
        result
    }

    /// The next frame for a QUIC carrier.
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
        if let Some(frame) = &frame {
            self.metrics.carrier_bytes.add(frame.wire_len() as u64);
            self.metrics.carrier_writes.one();
        } else {
            self.arm(&mut inner);
        }
        Ok(frame)
    }

    /// True while the stream may have frames to send.
    pub(crate) fn sends(&self, stream: StreamId) -> bool {
        self.lock().session.mux().knows(stream)
    }

    /// No new streams, here or at the other end; those there are may end.
    pub fn drain(&self) {
        let mut inner = self.lock();
        inner.draining = true;
        inner.session.drain();
        let now = self.clock.now();
        self.pump(&mut inner, now);
    }

    /// Gives up all streams, and the session with them.
    pub fn shut_down(&self) {
        let mut inner = self.lock();
        let now = self.clock.now();
        let streams: Vec<_> = inner.flows.keys().copied().collect();
        for stream in streams {
            self.give_up(&mut inner, stream, SHUTDOWN, now);
        }
        self.pump(&mut inner, now);
        self.end(&mut inner, now);
    }

    /// Clients or servers connected.
    pub fn streams(&self) -> usize {
        self.lock().flows.len()
    }

    /// True when nothing is left that the other end has to be told.
    pub fn is_idle(&self) -> bool {
        let inner = self.lock();
        inner.flows.is_empty() && inner.session.is_idle()
    }

    /// Carriers in use.
    pub fn carriers_up(&self) -> usize {
        self.lock().session.carriers_up()
    }

    /// Closes the connection of a carrier, as if the network had: for tests.
    pub fn cut(&self, carrier: CarrierId) {
        let mut inner = self.lock();
        let now = self.clock.now();
        if let Some((_, Carrier::Tcp(link))) = &inner.carriers[usize::from(carrier.0)] {
            sockets::abort(&link.socket);
        }
        self.lose(&mut inner, carrier, now);
        self.pump(&mut inner, now);
    }

    /// For `status` and metrics.
    pub fn status(&self) -> HubStatus {
        let inner = self.lock();
        let session = &inner.session;
        let (sent, received) = (session.mux().counters(), session.demux().counters());
        let carriers = inner.carriers.len();
        HubStatus {
            carriers_up: session.carriers_up(),
            carriers,
            carrier_rtt_ms: (0..carriers)
                .map(|carrier| session.rtt(CarrierId(carrier as u8)).map(Duration::as_millis_f64))
                .collect(),
            streams: inner.flows.len(),
            buffered_bytes: session.buffered(),
            sent: Sent {
                data_frames: sent.data_frames,
                payload_bytes: sent.payload_bytes,
                frame_bytes: sent.wire_bytes,
                repeats: sent.repeats,
                resent_bytes: sent.requeued_bytes,
            },
            received: ReceivedStatus {
                payload_bytes: received.payload_bytes,
                duplicate_bytes: received.duplicate_bytes,
                held_frames: received.held_frames,
                longest_hold_ms: received.longest_hold.as_millis_f64(),
            },
        }
    }

    /// The clients, at most `most` of them.
    pub fn flows(&self, most: usize) -> Vec<FlowStatus> {
        let inner = self.lock();
        let now = self.clock.now();
        let flows = inner.flows.iter().take(most);
        flows
            .map(|(stream, flow)| FlowStatus {
                stream: stream.0,
                client: flow.client,
                age_s: now.saturating_since(flow.opened).as_secs_f64(),
                idle_s: now.saturating_since(flow.active).as_secs_f64(),
                bytes_in: flow.written,
                bytes_out: flow.delivered,
                stalls: flow.stalls,
            })
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("nothing panics while it holds the lock")
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
                debug_assert_eq!(written, Ok(()), "there was room");
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => self.give_up(inner, stream, ABORTED, now),
        }
    }

    /// Hands over what a stream has, as far as its socket takes it.
    fn deliver(&self, inner: &mut Inner, stream: StreamId, now: Instant) {
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
                    self.metrics.bytes_out.add(count as u64);
                    if flow.pending.is_empty() {
                        let since = flow.blocked_since.take().unwrap_or(now);
                        self.metrics.added_delay.record(self.clock.now().saturating_since(since));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if flow.blocked_since.is_none() {
                        flow.blocked_since = Some(now);
                        flow.stalls += 1;
                        self.metrics.stalls.one();
                        flow.wake.notify_one();
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
            flow.wake.notify_one();
        }
    }

    /// Resets the stream and closes its socket hard.
    fn give_up(&self, inner: &mut Inner, stream: StreamId, code: u64, now: Instant) {
        inner.session.reset(stream, code, now);
        self.drop_flow(inner, stream);
    }

    fn drop_flow(&self, inner: &mut Inner, stream: StreamId) {
        if let Some(flow) = inner.flows.remove(&stream) {
            self.metrics.aborted.one();
            if let Some(socket) = &flow.socket {
                sockets::abort(socket);
            }
            flow.wake.notify_one();
        }
    }

    fn lose(&self, inner: &mut Inner, carrier: CarrierId, now: Instant) {
        match inner.carriers[usize::from(carrier.0)].take() {
            Some((_, Carrier::Tcp(link))) => link.wake.notify_one(),
            Some((_, Carrier::Quic(wake))) => wake.notify_one(),
            None => return,
        }
        self.metrics.carriers_lost.one();
        inner.session.carrier_down(carrier, now);
    }

    /// Handles what has happened and sends what there is, until nothing moves.
    fn pump(&self, inner: &mut Inner, now: Instant) {
        loop {
            let mut moved = false;
            while let Some(event) = inner.session.poll_event() {
                moved = true;
                self.handle(inner, event, now);
            }
            for carrier in 0..inner.carriers.len() as u8 {
                moved |= self.send(inner, CarrierId(carrier), now);
            }
            if !moved {
                break;
            }
        }
        self.arm(inner);
    }

    /// True if the carrier was lost on the way.
    fn send(&self, inner: &mut Inner, carrier: CarrierId, now: Instant) -> bool {
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
            let mut any = false;
            while link.has_room()
                && let Some(frame) = session.poll_frame(carrier, BATCH, now)
            {
                any = true;
                link.put(&frame);
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
                link.wake.notify_one();
            }
            if !any || link.blocked {
                return false;
            }
        }
    }

    fn handle(&self, inner: &mut Inner, event: Event<Payload>, now: Instant) {
        match event {
            Event::Opened { stream, metadata } => {
                // The receiver is gone only when the process ends.
                let _ = inner.opened.send((stream, metadata));
            }
            Event::Readable(stream) => self.deliver(inner, stream, now),
            Event::Writable(stream) => {
                if let Some(flow) = inner.flows.get(&stream) {
                    flow.wake.notify_one();
                }
            }
            Event::Finished(_) => {}
            Event::Reset { stream, code } => {
                if let Some(flow) = inner.flows.get(&stream) {
                    tracing::debug!(stream = stream.0, client = %flow.client, reason = reason(code), "reset");
                }
                self.drop_flow(inner, stream);
            }
            Event::CarrierReady(carrier) => {
                tracing::info!(carrier = carrier.0, "carrier up");
                self.metrics.carriers_up.one();
            }
            Event::CarrierSilent(carrier) => {
                tracing::warn!(carrier = carrier.0, "carrier silent, given up");
                self.lose(inner, carrier, now);
            }
            Event::Draining => {
                tracing::info!("the other end is going down and takes no new streams");
                inner.draining = true;
            }
            Event::Expired => self.end(inner, now),
        }
    }

    fn end(&self, inner: &mut Inner, now: Instant) {
        if self.over.send_replace(true) {
            return;
        }
        let streams: Vec<_> = inner.flows.keys().copied().collect();
        if !streams.is_empty() {
            tracing::warn!(streams = streams.len(), "session over, streams lost");
        }
        for stream in streams {
            self.drop_flow(inner, stream);
        }
        for carrier in 0..inner.carriers.len() as u8 {
            self.lose(inner, CarrierId(carrier), now);
        }
    }

    /// Looks for streams that are idle, or that no far end has confirmed.
    fn scan(&self, inner: &mut Inner, now: Instant) {
        inner.next_scan = now + SCAN_EVERY;
        let near = self.settings.role == Role::Near;
        let mut late = Vec::new();
        for (stream, flow) in &inner.flows {
            if flow.active.saturating_add(self.settings.idle) <= now {
                late.push((*stream, IDLE));
            } else if near
                && flow.opened.saturating_add(self.settings.refuse_after) <= now
                && !inner.session.mux().is_confirmed(*stream)
            {
                late.push((*stream, UNREACHABLE));
            }
        }
        for (stream, code) in late {
            if code == UNREACHABLE {
                self.metrics.refused.one();
            }
            self.give_up(inner, stream, code, now);
        }
    }

    fn tick(&self) {
        let mut inner = self.lock();
        let now = self.clock.now();
        inner.armed = None;
        inner.session.handle_timeout(now);
        if inner.next_scan <= now {
            self.scan(&mut inner, now);
        }
        self.pump(&mut inner, now);
    }

    /// Wakes the timer if there is something to do before it would. What is overdue because a carrier takes no more is not
    /// looked at every microsecond.
    fn arm(&self, inner: &mut Inner) {
        let wanted = inner.wanted().max(self.clock.now() + TIMER_STEP);
        if inner.armed.is_none_or(|armed| wanted < armed) {
            inner.armed = Some(wanted);
            self.timer.notify_one();
        }
    }
}

impl Inner {
    fn wanted(&self) -> Instant {
        self.session.poll_timeout().unwrap_or(Instant::MAX).min(self.next_scan)
    }

    fn is_attached(&self, carrier: CarrierId, number: u64) -> bool {
        matches!(&self.carriers[usize::from(carrier.0)], Some((attached, _)) if *attached == number)
    }

    fn link(&mut self, carrier: CarrierId, number: u64) -> Option<&mut Link> {
        match &mut self.carriers[usize::from(carrier.0)] {
            Some((attached, Carrier::Tcp(link))) if *attached == number => Some(link),
            _ => None,
        }
    }
}

fn take(
    session: &mut Session<Payload>,
    flows: &mut BTreeMap<StreamId, Flow>,
    metrics: &Metrics,
    carrier: CarrierId,
    frame: Frame<Payload>,
    now: Instant,
) -> Result<(), LinkError> {
    if let Frame::Ack { stream, offset } = frame
        && let Some(flow) = flows.get_mut(&stream)
        && let Some((until, at)) = flow.sample
        && until <= offset
    {
        flow.sample = None;
        metrics.acknowledged.record(now.saturating_since(at));
    }
    Ok(session.handle_frame(carrier, frame, now)?)
}

fn reason(code: u64) -> &'static str {
    match code {
        UNREACHABLE => "the server cannot be reached",
        gamelane_mux::session::LIMIT => "too many streams",
        ABORTED => "the connection was reset",
        IDLE => "idle",
        SHUTDOWN => "the proxy goes down",
        _ => "unknown",
    }
}

async fn run_timer(hub: Arc<Hub>) {
    while !hub.is_over() {
        let armed = hub.lock().armed;
        match armed {
            None => hub.timer.notified().await,
            Some(at) => {
                tokio::select! {
                    () = tokio::time::sleep_until(hub.clock.at(at)) => hub.tick(),
                    () = hub.timer.notified() => {}
                }
            }
        }
    }
}
