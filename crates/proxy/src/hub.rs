//! Joins a session to its sockets. Each task (of a client's socket, a carrier, a timer) takes the session's lock, moves bytes as
//! far as they go without waiting, and releases the lock. So a message costs one wake-up at each proxy, and no hand-over between
//! tasks. [`flows`] has the clients' or servers' side, [`carriers`] the other side, [`pump`] what is between them.

mod carriers;
mod flows;
mod pump;
mod spin;
pub mod status;

use crate::clock::Clock;
use crate::config::Config;
use crate::flow::Flow;
use crate::metrics::Metrics;
use crate::payload::Payload;
use crate::wait::Waiting;
pub(crate) use carriers::Carrier;
use gamelane_core::{Duration, Instant};
use gamelane_mux::session::SHUTDOWN;
use gamelane_mux::{CarrierId, Frame, Role, Session, StreamId};
use pump::{SCAN_EVERY, run_timer};
use spin::Spin;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::{mpsc, watch};

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; 64 << 10]);
}

/// Settings that the session does not have.
#[derive(Clone, Copy, Debug)]
struct Settings {
    role: Role,
    idle: Duration,
    refuse_after: Duration,
    /// QUIC only: the additional carrier whose frames go in datagrams.
    datagrams: Option<CarrierId>,
}

/// A session and its sockets; see the [module](self).
#[derive(Debug)]
pub struct Hub {
    inner: Mutex<Inner>,
    clock: Clock,
    settings: Settings,
    /// Metrics, shared by all sessions of a process.
    pub metrics: Arc<Metrics>,
    over: watch::Sender<bool>,
}

#[derive(Debug)]
struct Inner {
    session: Session<Payload>,
    /// The connection of each carrier, with its number.
    carriers: Vec<Option<(u64, Carrier)>>,
    /// Connections attached so far; the number of the last one.
    attached: u64,
    flows: BTreeMap<StreamId, Flow>,
    opened: mpsc::UnboundedSender<(StreamId, Payload)>,
    /// Frames of one read. Empty between reads; kept for its memory.
    arrived: Vec<Frame<Payload>>,
    timer: Waiting,
    /// When the timer fires next.
    armed: Option<Instant>,
    next_scan: Instant,
    spin: Option<Spin>,
    draining: bool,
}

impl Hub {
    /// Begins a session with `id`. Streams that the other end opens go to `opened`.
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
                arrived: Vec::new(),
                timer: Waiting::default(),
                armed: None,
                next_scan: clock.now() + SCAN_EVERY,
                spin: config.busy_poll.map(|span| Spin::new(span.0)),
                draining: false,
            }),
            clock,
            settings: Settings {
                role,
                idle: config.timeouts.idle.0,
                refuse_after: config.refuse_after.0,
                datagrams: config.datagrams(),
            },
            metrics,
            over: watch::Sender::new(false),
        });
        tokio::spawn(run_timer(hub.clone()));
        if config.busy_poll.is_some() {
            tokio::spawn(hub.clone().spin());
        }
        hub
    }

    /// Resolves when the session is over. Its streams are lost, and a new session must begin.
    pub async fn over(&self) {
        // This hub holds the sender, so this cannot fail.
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }

    /// True if the session is over.
    pub fn is_over(&self) -> bool {
        *self.over.borrow()
    }

    /// Refuses new streams at both ends. Open streams may end by themselves.
    pub fn drain(&self) {
        let mut inner = self.lock();
        inner.draining = true;
        inner.session.drain();
        let now = self.clock.now();
        self.pump(&mut inner, now);
    }

    /// Resets all streams and ends the session.
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

    /// Number of clients or servers connected.
    pub fn streams(&self) -> usize {
        self.lock().flows.len()
    }

    /// True if there is no stream and nothing waits to be sent or acknowledged.
    pub fn is_idle(&self) -> bool {
        let inner = self.lock();
        inner.flows.is_empty() && inner.session.is_idle()
    }

    /// Number of carriers in use.
    pub fn carriers_up(&self) -> usize {
        self.lock().session.carriers_up()
    }

    /// True if no carrier is connected, also before the first.
    pub(crate) fn is_dark(&self) -> bool {
        self.lock().carriers.iter().all(Option::is_none)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("nothing panics while it holds the lock")
    }
}
