//! Busy polling: for a set time after a stream's last byte, the event loop polls the kernel instead of sleeping. Bytes that follow
//! soon, mostly answers, then find it awake. HAProxy's `busy-polling` is the same without a time limit.

use super::{Hub, Inner};
use crate::wait::Waiting;
use gamelane_core::{Duration, Instant};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

/// Decides when a session's event loop may sleep.
#[derive(Debug)]
pub(super) struct Spin {
    /// Time to stay awake after a byte.
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
    /// Keeps the event loop awake: bytes of a stream have arrived from either side. Acknowledgements and keep-alives do not count,
    /// because no application waits for an answer to them.
    pub(super) fn stay_awake(&mut self, now: Instant) {
        if let Some(spin) = &mut self.spin {
            if spin.until <= now {
                spin.waiting.wake();
            }
            spin.until = now + spin.span;
        }
    }

    /// Ends busy polling when the session is over.
    pub(super) fn let_sleep(&self) {
        if let Some(spin) = &self.spin {
            spin.waiting.wake();
        }
    }
}

impl Hub {
    /// Polls while the session is awake, and sleeps otherwise. Ends with the session.
    pub(super) async fn spin(self: Arc<Self>) {
        while !self.is_over() {
            if self.is_awake() {
                // Other processes go first: the answer may come from one of them.
                std::thread::yield_now();
                // Unlike a task that wakes itself, this lets tokio poll for events before each turn.
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

    /// Resolves when the event loop must stay awake, or the session is over.
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
