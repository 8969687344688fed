//! Hands questions from HTTP clients to a loop that waits in `epoll`, and its answers back. The loop works only when somebody
//! asks, never waits, and needs no lock.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::http::CLIENTS;

/// How long a client waits for the loop's answer.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// The loop's end.
#[derive(Debug)]
pub struct Mailbox<Q, A> {
    wake: Arc<OwnedFd>,
    questions: mpsc::Receiver<Asked<Q, A>>,
}

/// The clients' end.
#[derive(Debug)]
pub struct Asker<Q, A> {
    wake: Arc<OwnedFd>,
    questions: mpsc::Sender<Asked<Q, A>>,
}

/// A question that waits for its answer.
#[derive(Debug)]
pub struct Asked<Q, A> {
    /// What is asked.
    pub question: Q,
    reply: oneshot::Sender<A>,
}

/// Makes both ends. The loop asks for a fresh status with `Q = ()` and `A = Arc<Status>`: it makes one status and answers all.
///
/// # Errors
/// The system has no free file descriptor.
pub fn new<Q, A>() -> io::Result<(Mailbox<Q, A>, Asker<Q, A>)> {
    let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    let (sender, receiver) = mpsc::channel(CLIENTS);
    Ok((Mailbox { wake: wake.clone(), questions: receiver }, Asker { wake, questions: sender }))
}

impl<Q, A> Mailbox<Q, A> {
    /// The descriptor to wait for: readable while questions wait.
    pub fn wake(&self) -> impl AsFd {
        self.wake.as_fd()
    }

    /// The next question whose client still waits. Call it until `None`.
    pub fn take(&mut self) -> Option<Asked<Q, A>> {
        // Reset first: a question that arrives after this makes the descriptor readable again.
        let _ = rustix::io::read(&self.wake, &mut [0; 8]);
        loop {
            let asked = self.questions.try_recv().ok()?;
            if !asked.reply.is_closed() {
                return Some(asked);
            }
        }
    }
}

impl<Q, A> Asked<Q, A> {
    /// Answers. If the client has left, nothing happens.
    pub fn answer(self, answer: A) {
        let _ = self.reply.send(answer);
    }
}

impl<Q, A> Asker<Q, A> {
    /// Asks the loop. `None` if it does not answer within [`PATIENCE`], or has ended.
    pub async fn ask(&self, question: Q) -> Option<A> {
        let asked = async {
            let (reply, answer) = oneshot::channel();
            self.questions.send(Asked { question, reply }).await.ok()?;
            rustix::io::write(&self.wake, &1_u64.to_ne_bytes()).ok()?;
            answer.await.ok()
        };
        timeout(PATIENCE, asked).await.ok().flatten()
    }
}

impl<Q, A> Clone for Asker<Q, A> {
    fn clone(&self) -> Self {
        Self { wake: self.wake.clone(), questions: self.questions.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, poll};

    fn is_readable<Q, A>(mailbox: &Mailbox<Q, A>) -> bool {
        let wake = mailbox.wake();
        poll(&mut [PollFd::new(&wake, PollFlags::IN)], Some(&rustix::time::Timespec::default())).unwrap() > 0
    }

    #[tokio::test(start_paused = true)]
    async fn the_loop_wakes_answers_each_and_sleeps_again() {
        let (mut mailbox, asker) = new::<u32, u32>().unwrap();
        assert!(!is_readable(&mailbox) && mailbox.take().is_none());
        let asked: Vec<_> = [1, 2, 3]
            .map(|number| {
                let asker = asker.clone();
                tokio::spawn(async move { asker.ask(number).await })
            })
            .into();
        tokio::task::yield_now().await;
        assert!(is_readable(&mailbox));
        while let Some(asked) = mailbox.take() {
            let double = asked.question * 2;
            asked.answer(double);
        }
        assert!(!is_readable(&mailbox));
        for (index, asked) in asked.into_iter().enumerate() {
            assert_eq!(asked.await.unwrap(), Some(index as u32 * 2 + 2));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_is_stuck_or_gone_is_no_answer() {
        let (mut mailbox, asker) = new::<(), ()>().unwrap();
        assert_eq!(asker.ask(()).await, None, "stuck");
        assert!(mailbox.take().is_none(), "nobody waits for that any more");
        drop(mailbox);
        assert_eq!(asker.ask(()).await, None, "gone");
    }
}
