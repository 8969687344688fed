//! A task that waits for a session. Unlike tokio's `Notify` it has one task and its state is under the session's lock, so
//! waiting costs a comparison.

use std::task::{Context, Waker};

/// Who is told.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Option<Waker>);

impl Waiting {
    /// The task that asks is told from now on.
    pub(crate) fn wait(&mut self, cx: &Context<'_>) {
        match &mut self.0 {
            Some(waker) => waker.clone_from(cx.waker()),
            None => self.0 = Some(cx.waker().clone()),
        }
    }

    /// Tells it to look again.
    pub(crate) fn wake(&self) {
        if let Some(waker) = &self.0 {
            waker.wake_by_ref();
        }
    }
}
