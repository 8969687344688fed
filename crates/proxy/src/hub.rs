//! A session joined to its sockets. Whoever has something, a client's socket, a carrier, a timer, takes the lock, moves
//! bytes as far as they go without waiting, and lets go: a message costs one wake-up at each proxy and no hand-over
//! between tasks. The two sides are in [`flows`] and [`carriers`], what is between them in [`pump`].

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

/// Settings beside the session's.
#[derive(Clone, Copy, Debug)]
struct Settings {
    role: Role,
    idle: Duration,
    refuse_after: Duration,
    /// The carrier behind the last that is datagrams of all of them.
    datagrams: Option<CarrierId>,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Hub {
    inner: Mutex<Inner>,
    clock: Clock,
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
    /// Frames of one read; empty between reads.
    arrived: Vec<Frame<Payload>>,
    timer: Waiting,
    armed: Option<Instant>,
    next_scan: Instant,
    spin: Option<Spin>,
    draining: bool,
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

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("nothing panics while it holds the lock")
    }
}
