//! Wakes the one task that serves a socket. Unlike tokio's `Notify`, its state is under the session's lock, so waiting costs only a
//! comparison.

use std::task::{Context, Waker};

/// The task that waits, if any.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Option<Waker>);

impl Waiting {
    /// Makes the current task the one that waits.
    pub(crate) fn wait(&mut self, cx: &Context<'_>) {
        match &mut self.0 {
            Some(waker) => waker.clone_from(cx.waker()),
            None => self.0 = Some(cx.waker().clone()),
        }
    }

    /// Wakes it.
    pub(crate) fn wake(&self) {
        if let Some(waker) = &self.0 {
            waker.wake_by_ref();
        }
    }
}
