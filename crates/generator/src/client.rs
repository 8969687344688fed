//! The client of one flow: says hello, returns the server's cookie, runs the application until its time is up, then leaves and gets
//! the server's counters. Pure.

use gamelane_core::{Direction, Duration, Instant};
use gamelane_traffic::Source;

use crate::cookie::Token;
use crate::record::Records;
use crate::stream::{Stream, StreamConfig};
use crate::wire::{Control, LONGEST, Refusal, Seal, Seen, Wish, sealed};

/// The client of one flow.
pub struct Client<'a> {
    wish: Wish,
    duration: Duration,
    token: &'a Token,
    state: State,
    /// When the application wanted to send its last packet.
    due: Instant,
}

enum State {
    /// Asks the server for a session; with the cookie once it has arrived.
    Asking { source: Box<Source>, cookie: Option<Seal>, tries: u32, next: Instant },
    /// The application runs. After its end, packets may still arrive.
    Playing { stream: Box<Stream>, alive: Instant },
    /// Waits for the server's report.
    Leaving { stream: Box<Stream>, tries: u32, next: Instant },
    /// Has ended.
    Ended(Result<Ending, Failure>),
}

/// Counters of both ends after a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Counters of this end.
    pub ours: Seen,
    /// Counters of the server, if its report arrived.
    pub theirs: Option<Seen>,
}

/// Why a session did not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The server did not answer.
    #[error("the server does not answer")]
    Silence,
    /// The two ends have different scenarios.
    #[error("the server has another scenario, or this flow of it is not over UDP")]
    OtherScenario,
    /// The two ends have different tokens.
    #[error("the server has another token")]
    Token,
    /// The server is at its limit of sessions.
    #[error("the server is at its limit of sessions")]
    Full,
}

/// Interval between repeated control messages.
const EVERY: Duration = Duration::from_millis(250);
const TRIES: u32 = 20;
/// Tries of a client that was asked to leave: its user waits.
const LAST_TRIES: u32 = 6;
/// Time without a packet after which the client sends a keep-alive.
const ALIVE: Duration = Duration::from_secs(1);
/// Wait for packets that are still in flight after the last one was sent.
const LINGER: Duration = Duration::from_secs(1);

impl<'a> Client<'a> {
    /// Asks the server for `wish` from `now` on, then runs `source` for `duration`.
    pub fn new(wish: Wish, source: Source, duration: Duration, token: &'a Token, now: Instant) -> Self {
        let state = State::Asking { source: Box::new(source), cookie: None, tries: 0, next: now };
        Self { wish, duration, token, state, due: now }
    }

    /// The result; `None` until the client has ended.
    pub const fn ended(&self) -> Option<Result<Ending, Failure>> {
        match &self.state {
            State::Ended(ending) => Some(*ending),
            _ => None,
        }
    }

    /// Ends the application now. Waits for the server's report for [`LAST_TRIES`], and for an answer to hello not at all.
    pub fn leave(&mut self, now: Instant) {
        self.say_bye(TRIES - LAST_TRIES, now);
    }

    fn say_bye(&mut self, tried: u32, now: Instant) {
        self.state = match std::mem::replace(&mut self.state, State::Ended(Err(Failure::Silence))) {
            State::Playing { stream, .. } => State::Leaving { stream, tries: tried, next: now },
            State::Leaving { stream, tries, next } => {
                State::Leaving { stream, tries: tries.max(tried), next }
            }
            State::Asking { .. } => State::Ended(Err(Failure::Silence)),
            ended @ State::Ended(_) => ended,
        };
    }

    /// The time of the next call.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match &self.state {
            State::Asking { next, .. } | State::Leaving { next, .. } => Some(*next),
            State::Playing { stream, alive } => {
                let own = stream.poll_timeout().unwrap_or(stream.ends().saturating_add(LINGER));
                Some(own.min(*alive))
            }
            State::Ended(_) => None,
        }
    }

    /// Writes the next datagram into `buffer` and returns its length; call it until `None`.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        buffer: &mut [u8; LONGEST],
        records: &mut dyn Records,
    ) -> Option<usize> {
        if let State::Playing { stream, .. } = &self.state
            && stream.poll_timeout().is_none()
            && now >= stream.ends().saturating_add(LINGER)
        {
            self.say_bye(0, now);
        }
        let session = self.wish.session;
        let message = match &mut self.state {
            State::Ended(_) => return None,
            State::Playing { stream, alive } => {
                if let Some(at) = stream.poll_timeout().filter(|at| *at <= now) {
                    self.due = at;
                    stream.handle_timeout(now);
                }
                if let Some(transmit) = stream.poll_transmit(self.due, now, buffer, records) {
                    *alive = now.saturating_add(ALIVE);
                    return Some(transmit.payload);
                }
                if *alive > now {
                    return None;
                }
                *alive = now.saturating_add(ALIVE);
                Control::Alive { session }
            }
            State::Asking { next, .. } | State::Leaving { next, .. } if *next > now => return None,
            State::Asking { tries: TRIES, .. } => {
                self.state = State::Ended(Err(Failure::Silence));
                return None;
            }
            State::Leaving { stream, tries: TRIES, .. } => {
                self.state = State::Ended(Ok(Ending { ours: stream.seen(), theirs: None }));
                return None;
            }
            State::Asking { cookie, tries, next, .. } => {
                *tries += 1;
                *next = now.saturating_add(EVERY);
                match *cookie {
                    None => Control::Hello(self.wish),
                    Some(cookie) => {
                        let proof = self.token.prove(&sealed(&self.wish, &cookie));
                        Control::Start { wish: self.wish, cookie, proof }
                    }
                }
            }
            State::Leaving { tries, next, .. } => {
                *tries += 1;
                *next = now.saturating_add(EVERY);
                Control::Bye { session }
            }
        };
        let bytes = message.bytes();
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Some(bytes.len())
    }

    /// Handles a datagram of the server that arrived at `at`.
    pub fn handle_datagram(&mut self, packet: &[u8], at: Instant, now: Instant, records: &mut dyn Records) {
        let session = self.wish.session;
        match (&mut self.state, Control::read(packet)) {
            (State::Playing { stream, .. } | State::Leaving { stream, .. }, None) => {
                stream.handle_datagram(packet, at, records);
            }
            (
                State::Asking { cookie, tries, next, .. },
                Some(Control::Challenge { session: own, cookie: new }),
            ) if own == session => {
                (*cookie, *tries, *next) = (Some(new), 0, now);
            }
            (
                State::Asking { source, cookie: Some(cookie), .. },
                Some(Control::Accept { session: own, boot, proof }),
            ) if own == session && self.token.accepts(&accepted(session, boot, cookie), &proof) => {
                let config = StreamConfig {
                    source: std::mem::replace(&mut **source, Source::Silent),
                    direction: Direction::Up,
                    flow: self.wish.flow,
                    session,
                    duration: self.duration,
                    same_clock: boot == self.wish.boot,
                };
                let stream = Box::new(Stream::new(config, now));
                self.state = State::Playing { stream, alive: now.saturating_add(ALIVE) };
            }
            (State::Asking { cookie: Some(_), .. }, Some(Control::Refuse { session: own, why }))
                if own == session =>
            {
                self.state = State::Ended(Err(match why {
                    Refusal::OtherScenario => Failure::OtherScenario,
                    Refusal::Token => Failure::Token,
                    Refusal::Full => Failure::Full,
                }));
            }
            (State::Leaving { stream, .. }, Some(Control::Report { session: own, seen }))
                if own == session =>
            {
                self.state = State::Ended(Ok(Ending { ours: stream.seen(), theirs: Some(seen) }));
            }
            _ => {}
        }
    }
}

/// The bytes over which the server makes its proof.
pub(crate) fn accepted(session: u64, boot: u64, cookie: &Seal) -> Vec<u8> {
    let mut bytes = b"accept".to_vec();
    bytes.extend(session.to_be_bytes());
    bytes.extend(boot.to_be_bytes());
    bytes.extend(cookie);
    bytes
}
