//! Busy polling: for a while after a stream's last byte the event loop asks the kernel again and again instead of sleeping, so that
//! what follows soon, an answer above all, finds it awake. HAProxy calls this `busy-polling`, without an end to the while.

use super::{Hub, Inner};
use crate::wait::Waiting;
use gamelane_core::{Duration, Instant};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

/// When a session's event loop may sleep.
#[derive(Debug)]
pub(super) struct Spin {
    /// Awake for so long after a byte.
    span: Duration,
    until: Instant,
    waiting: Waiting,
}

impl Spin {
    pub(super) fn new(span: Duration) -> Self {
        Self { span, until: Instant::ZERO, waiting: Waiting::default() }
    }
}

impl Inner {
    /// A stream's bytes have come, from either side. Acknowledgements and pings are not answered by anybody who waits.
    pub(super) fn stay_awake(&mut self, now: Instant) {
        if let Some(spin) = &mut self.spin {
            if spin.until <= now {
                spin.waiting.wake();
            }
            spin.until = now + spin.span;
        }
    }

    /// The session is over.
    pub(super) fn let_sleep(&self) {
        if let Some(spin) = &self.spin {
            spin.waiting.wake();
        }
    }
}

impl Hub {
    /// Ends with the session.
    pub(super) async fn spin(self: Arc<Self>) {
        while !self.is_over() {
            if self.is_awake() {
                // Whoever else wants this core goes first: the answer may be theirs to give.
                std::thread::yield_now();
                // Unlike a task that wakes itself this lets tokio look for events before each turn.
                tokio::task::yield_now().await;
            } else {
                self.asleep().await;
            }
        }
    }

    fn is_awake(&self) -> bool {
        let inner = self.lock();
        inner.spin.as_ref().is_some_and(|spin| self.clock.now() < spin.until)
    }

    /// Until there is something to stay awake for.
    async fn asleep(&self) {
        poll_fn(|cx| {
            let mut inner = self.lock();
            let Some(spin) = &mut inner.spin else { return Poll::Ready(()) };
            spin.waiting.wait(cx);
            if self.is_over() || self.clock.now() < spin.until { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}
