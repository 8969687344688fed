//! The two sides of a TCP transfer, used by bulk and web. The client opens a connection once or periodically. One side
//! writes on each connection, for a time, without end, or a number of bytes, and then closes. The other side closes
//! after its peer. Requests are left out: data starts when the connection is open, as with iperf.

use gamelane_core::dist::Dist;
use gamelane_core::time::earliest;
use gamelane_core::{ByteCount, Duration, Instant, Stream};

use crate::app::{AppAction, AppEvent, AppReport, TrafficSource};
use crate::config::Schedule;

/// Amount that the writing side sends on one connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// At full speed until the stop of the schedule.
    Endless,
    /// At full speed for a random time in seconds, at least [`MIN_LASTING`].
    Lasting(Dist),
    /// A random number of bytes, at least 1. All of them are sent, even after the stop of the schedule.
    Sized(Dist),
    /// A fixed number of bytes. All of them are sent, even after the stop of the schedule.
    Bytes(ByteCount),
}

impl Load {
    /// True if the size of a transfer is known when it starts.
    const fn is_sized(self) -> bool {
        matches!(self, Self::Sized(_) | Self::Bytes(_))
    }
}

/// The side that opens connections.
#[derive(Clone, Debug)]
pub struct TransferClient {
    /// Time of the next connection; `None` after the last one.
    connect_at: Option<Instant>,
    period: Option<Duration>,
    stop: Instant,
    connecting: bool,
    half: Half,
}

impl TransferClient {
    /// A client that connects at the start of the schedule, and then once per `period` if there is one.
    pub(crate) fn new(schedule: Schedule, period: Option<Duration>, half: Half) -> Self {
        let (start, stop) = schedule.bounds();
        let connect_at = (start < stop).then_some(start);
        Self { connect_at, period, stop, connecting: false, half }
    }
}

impl TrafficSource for TransferClient {
    fn handle_event(&mut self, event: &AppEvent, now: Instant) {
        self.half.handle_event(event, now);
    }

    fn poll_action(&mut self, now: Instant) -> Option<AppAction> {
        if core::mem::take(&mut self.connecting) {
            return Some(AppAction::Connect);
        }
        self.half.poll_action(now)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        earliest(self.connect_at, self.half.poll_timeout())
    }

    /// Opens one connection, even if several starts were missed. The grid of the period does not shift.
    fn handle_timeout(&mut self, now: Instant) {
        self.half.handle_timeout(now);
        let Some(due) = self.connect_at.filter(|&at| at <= now) else { return };
        self.connecting = true;
        // The earlier connection ends here, with anything left on it.
        self.half.reset();
        self.half.begin(now);
        self.connect_at = self.period.map(|period| {
            let period = period.max(Duration::from_nanos(1));
            let passed = (now - due).as_nanos() / period.as_nanos() + 1;
            due.saturating_add(period.saturating_mul(passed))
        });
        self.connect_at = self.connect_at.filter(|&at| at < self.stop);
    }
}

/// The side that accepts connections.
#[derive(Clone, Debug)]
pub struct TransferServer(pub(crate) Half);

impl TrafficSource for TransferServer {
    fn handle_event(&mut self, event: &AppEvent, now: Instant) {
        if *event == AppEvent::Connected {
            self.0.begin(now);
        }
        self.0.handle_event(event, now);
    }

    fn poll_action(&mut self, now: Instant) -> Option<AppAction> {
        self.0.poll_action(now)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.0.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.0.handle_timeout(now);
    }
}

/// One side of a series of connections, writing or reading.
#[derive(Clone, Debug)]
pub(crate) struct Half {
    /// Load to write; `None` for a reading side.
    load: Option<(Load, Stream)>,
    stop: Instant,
    state: State,
    arrival: Option<Arrival>,
}

/// Progress of a transfer of known size at the reading side, for reports.
#[derive(Clone, Copy, Debug, Default)]
struct Arrival {
    /// Start of the current transfer.
    began: Option<Instant>,
    bytes: u64,
    /// Report to be polled.
    report: Option<AppReport>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No connection, or nothing left to do on it.
    Quiet,
    /// Connected; this many bytes must be written now.
    Load(ByteCount),
    /// Connected; writing starts now and lasts until this time.
    LoadUntil(Instant),
    /// Writing without end until this time.
    Writing(Instant),
    /// The connection must be closed.
    Closing,
}

impl Half {
    pub(crate) fn writer(load: Load, rng: Stream, schedule: Schedule) -> Self {
        Self { load: Some((load, rng)), stop: schedule.bounds().1, state: State::Quiet, arrival: None }
    }

    /// The reading side of a transfer with this load.
    pub(crate) fn reader(of: Load) -> Self {
        let arrival = of.is_sized().then(Arrival::default);
        Self { load: None, stop: Instant::MAX, state: State::Quiet, arrival }
    }

    fn reset(&mut self) {
        self.state = State::Quiet;
    }

    fn begin(&mut self, now: Instant) {
        if let Some(arrival) = &mut self.arrival {
            (arrival.began, arrival.bytes) = (Some(now), 0);
        }
    }

    fn handle_event(&mut self, event: &AppEvent, now: Instant) {
        if let Some(arrival) = &mut self.arrival {
            arrival.handle_event(event, now);
        }
        match (event, &mut self.load) {
            (AppEvent::Connected, Some(_)) if now >= self.stop => self.state = State::Closing,
            (AppEvent::Connected, Some((load, rng))) => {
                self.state = match *load {
                    Load::Endless => State::LoadUntil(self.stop),
                    Load::Lasting(seconds) => {
                        let lasting = Duration::from_secs_f64(seconds.sample(rng)).max(MIN_LASTING);
                        State::LoadUntil(now.saturating_add(lasting).min(self.stop))
                    }
                    Load::Sized(bytes) => State::Load(ByteCount(((bytes.sample(rng) + 0.5) as u64).max(1))),
                    Load::Bytes(bytes) => State::Load(bytes),
                };
            }
            (AppEvent::Connected, None) => self.state = State::Quiet,
            (AppEvent::PeerClosed, None) => self.state = State::Closing,
            _ => {}
        }
    }

    fn poll_action(&mut self, _: Instant) -> Option<AppAction> {
        if let Some(report) = self.arrival.as_mut().and_then(|arrival| arrival.report.take()) {
            return Some(AppAction::Report(report));
        }
        let (action, next) = match self.state {
            State::Quiet | State::Writing(_) => return None,
            State::Load(bytes) => (AppAction::Write { bytes }, State::Closing),
            State::LoadUntil(until) => (AppAction::WriteForever, State::Writing(until)),
            State::Closing => (AppAction::Close, State::Quiet),
        };
        self.state = next;
        Some(action)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self.state {
            State::Writing(until) if until < Instant::MAX => Some(until),
            _ => None,
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.poll_timeout().is_some_and(|until| until <= now) {
            self.state = State::Closing;
        }
    }
}

impl Arrival {
    fn handle_event(&mut self, event: &AppEvent, now: Instant) {
        match event {
            AppEvent::Delivered { bytes } => self.bytes += bytes.bytes(),
            AppEvent::PeerClosed => {
                let took = |began| now.saturating_since(began);
                let bytes = ByteCount(self.bytes);
                let report = |began| AppReport::Transfer { bytes, took: took(began) };
                self.report = self.began.take().filter(|_| self.bytes > 0).map(report);
            }
            AppEvent::Connected | AppEvent::Datagram { .. } => {}
        }
    }
}

/// Minimum duration of a transfer by time.
pub const MIN_LASTING: Duration = Duration::from_millis(1);
