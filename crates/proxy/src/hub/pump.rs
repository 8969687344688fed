//! Drives a session: handles its events, sends its frames, runs its timers, and resets streams that are idle or not confirmed.

use super::{Hub, Inner};
use crate::payload::Payload;
use gamelane_core::{Duration, Instant};
use gamelane_mux::session::{ABORTED, IDLE, LIMIT, SHUTDOWN, UNREACHABLE};
use gamelane_mux::{CarrierId, Event, Role};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::time::{Sleep, sleep_until};

/// Interval of the search for idle streams.
pub(super) const SCAN_EVERY: Duration = Duration::from_secs(1);

/// Resolution of timers, which is also tokio's.
const TIMER_STEP: Duration = Duration::from_millis(1);

impl Hub {
    /// Handles all events and sends all waiting frames.
    pub(super) fn pump(&self, inner: &mut Inner, now: Instant) {
        loop {
            while let Some(event) = inner.session.poll_event() {
                self.handle(inner, event, now);
            }
            let mut lost = false;
            for carrier in 0..inner.carriers.len() as u8 {
                lost |= self.send(inner, CarrierId(carrier), now);
            }
            if !lost {
                break;
            }
        }
        self.arm(inner);
    }

    fn handle(&self, inner: &mut Inner, event: Event<Payload>, now: Instant) {
        match event {
            Event::Opened { stream, metadata } => {
                // The receiver is gone only if the process is about to end.
                let _ = inner.opened.send((stream, metadata));
            }
            Event::Readable(stream) => self.deliver(inner, stream, now),
            Event::Writable(stream) => {
                if let Some(flow) = inner.flows.get(&stream) {
                    flow.waiting.wake();
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
                tracing::warn!(carrier = carrier.0, "carrier lost: timeouts.silence has passed");
                self.lose(inner, carrier, now);
            }
            Event::Draining => {
                tracing::info!("the other end is draining and refuses new streams");
                inner.draining = true;
            }
            Event::Expired => self.end(inner, now),
        }
    }

    /// Ends the session: drops all streams and carriers.
    pub(super) fn end(&self, inner: &mut Inner, now: Instant) {
        if self.over.send_replace(true) {
            return;
        }
        let streams: Vec<_> = inner.flows.keys().copied().collect();
        if !streams.is_empty() {
            tracing::warn!(streams = streams.len(), "session over, its streams are lost");
        }
        for stream in streams {
            self.drop_flow(inner, stream);
        }
        inner.timer.wake();
        inner.let_sleep();
        for carrier in 0..inner.carriers.len() as u8 {
            self.lose(inner, CarrierId(carrier), now);
        }
    }

    /// Resets streams that are idle, or that the far end has not confirmed in time.
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

    fn poll_timer(&self, sleep: &mut Pin<&mut Sleep>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if self.is_over() {
                return Poll::Ready(());
            }
            let mut inner = self.lock();
            inner.timer.wait(cx);
            let Some(armed) = inner.armed else { return Poll::Pending };
            drop(inner);
            let at = self.clock.at(armed);
            if sleep.deadline() != at {
                sleep.as_mut().reset(at);
            }
            if sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.tick();
        }
    }

    /// Sets the timer to fire earlier if something is due earlier. It never fires sooner than one step from now, so frames that are
    /// overdue behind a full carrier do not keep it busy.
    pub(super) fn arm(&self, inner: &mut Inner) {
        let wanted = inner.wanted();
        if inner.armed.is_some_and(|armed| armed <= wanted) {
            return;
        }
        let wanted = wanted.max(self.clock.now() + TIMER_STEP);
        if inner.armed.is_none_or(|armed| wanted < armed) {
            inner.armed = Some(wanted);
            inner.timer.wake();
        }
    }
}

impl Inner {
    fn wanted(&self) -> Instant {
        self.session.poll_timeout().unwrap_or(Instant::MAX).min(self.next_scan)
    }
}

/// Runs the session's timer until the session is over.
pub(super) async fn run_timer(hub: Arc<Hub>) {
    let mut sleep = pin!(sleep_until(hub.clock.at(Instant::MAX)));
    poll_fn(|cx| hub.poll_timer(&mut sleep, cx)).await;
}

fn reason(code: u64) -> &'static str {
    match code {
        UNREACHABLE => "the server cannot be reached",
        LIMIT => "too many streams",
        ABORTED => "the connection was reset",
        IDLE => "idle",
        SHUTDOWN => "the proxy is shutting down",
        _ => "unknown",
    }
}
