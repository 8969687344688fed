//! What a session has to be done about: events, timers, streams that wait for nothing.

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

/// How often idle streams are looked for.
pub(super) const SCAN_EVERY: Duration = Duration::from_secs(1);

/// The timers' step, which is also tokio's.
const TIMER_STEP: Duration = Duration::from_millis(1);

impl Hub {
    /// Handles what has happened and sends what there is.
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
                // The receiver is gone only when the process ends.
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

    pub(super) fn end(&self, inner: &mut Inner, now: Instant) {
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
        inner.timer.wake();
        inner.let_sleep();
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

    /// Wakes the timer if there is something to do before it would. What is overdue because a carrier takes no more is not
    /// looked at every microsecond.
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

/// Does what is due at its time, until the session is over.
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
        SHUTDOWN => "the proxy goes down",
        _ => "unknown",
    }
}
