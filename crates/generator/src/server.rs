//! The server of a scenario's datagram flows. Until a client has proved its address by a cookie and its knowledge of the token, the
//! server keeps no state for it and sends it no more bytes than it received. Then it runs the server of the flow asked for. Pure.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use gamelane_core::{Direction, Duration, Instant, Seed};
use gamelane_scenario::Model;
use gamelane_traffic::Transport;

use crate::client::accepted;
use crate::cookie::{Cookies, Token};
use crate::record::Records;
use crate::stream::{Stream, StreamConfig};
use crate::wire::{Control, LONGEST, Refusal, Seal, Seen, Wish, sealed};

/// Serves the datagram flows of one scenario.
pub struct Server {
    model: Model,
    fingerprint: u128,
    boot: u64,
    token: Token,
    cookies: Cookies,
    sessions: BTreeMap<SocketAddr, Session>,
    answers: Vec<(SocketAddr, Control)>,
    /// Sessions that have ended, with their counters.
    ended: Vec<(SocketAddr, Seen)>,
}

struct Session {
    wish: Wish,
    cookie: Seal,
    stream: Stream,
    due: Instant,
    /// The session ends if no packet arrives until then.
    patience: Instant,
}

/// Largest number of sessions at a time.
const SESSIONS: usize = 64;
/// Largest number of answers that wait to be sent. Further control messages of the same batch get no answer.
const ANSWERS: usize = 256;
/// Silence of a client after which its session ends.
const PATIENCE: Duration = Duration::from_secs(5);

impl Server {
    /// Serves `model`; `boot` is the number of [`crate::clock::boot`].
    pub fn new(model: Model, token: Token, cookies: Cookies, boot: u64) -> Self {
        let fingerprint = model.fingerprint();
        let (sessions, answers, ended) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self { model, fingerprint, boot, token, cookies, sessions, answers, ended }
    }

    /// Number of sessions.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Returns a session that has ended, with its counters; call it until `None`.
    pub fn poll_ended(&mut self) -> Option<(SocketAddr, Seen)> {
        self.ended.pop()
    }

    /// The time of the next call; `None` without a session.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let each = |session: &Session| {
            session.stream.poll_timeout().map_or(session.patience, |at| at.min(session.patience))
        };
        self.sessions.values().map(each).min()
    }

    /// Runs the applications' timers, and ends sessions of silent clients.
    pub fn handle_timeout(&mut self, now: Instant) {
        let ended = &mut self.ended;
        self.sessions.retain(|address, session| {
            let keep = session.patience > now;
            if !keep {
                ended.push((*address, session.stream.seen()));
            }
            keep
        });
        for session in self.sessions.values_mut() {
            if let Some(at) = session.stream.poll_timeout().filter(|at| *at <= now) {
                session.due = at;
                session.stream.handle_timeout(now);
            }
        }
    }

    /// Writes the next datagram into `buffer` and returns its destination, its length and the flow's DSCP; call it until `None`.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        buffer: &mut [u8; LONGEST],
        records: &mut dyn Records,
    ) -> Option<(SocketAddr, usize, u8)> {
        if let Some((to, answer)) = self.answers.pop() {
            let bytes = answer.bytes();
            buffer[..bytes.len()].copy_from_slice(&bytes);
            return Some((to, bytes.len(), 0));
        }
        self.sessions.iter_mut().find_map(|(to, session)| {
            let transmit = session.stream.poll_transmit(session.due, now, buffer, records)?;
            let dscp = self.model.flows[usize::from(session.wish.flow)].dscp;
            Some((*to, transmit.payload, dscp))
        })
    }

    /// Handles a datagram that arrived at `at`.
    pub fn handle_datagram(
        &mut self,
        from: SocketAddr,
        packet: &[u8],
        at: Instant,
        now: Instant,
        records: &mut dyn Records,
    ) {
        let Some(control) = Control::read(packet) else {
            if let Some(session) = self.sessions.get_mut(&from) {
                session.patience = now.saturating_add(PATIENCE);
                session.stream.handle_datagram(packet, at, records);
            }
            return;
        };
        let answer = match control {
            Control::Hello(Wish { session, .. }) => {
                Some(Control::Challenge { session, cookie: self.cookies.bake(from, session, now) })
            }
            Control::Start { wish, cookie, proof } => self.start(from, wish, cookie, &proof, now),
            Control::Alive { session } => {
                if let Some(own) = self.of(from, session) {
                    own.patience = now.saturating_add(PATIENCE);
                }
                None
            }
            Control::Bye { session } => {
                let seen = self.of(from, session).map(|own| {
                    own.stream.stop(now);
                    own.stream.seen()
                });
                // The session is kept until its silence is too long, because the report may get lost.
                seen.map(|seen| Control::Report { session, seen })
            }
            _ => None,
        };
        if let Some(answer) = answer.filter(|_| self.answers.len() < ANSWERS) {
            self.answers.push((from, answer));
        }
    }

    fn of(&mut self, from: SocketAddr, session: u64) -> Option<&mut Session> {
        self.sessions.get_mut(&from).filter(|own| own.wish.session == session)
    }

    fn start(
        &mut self,
        from: SocketAddr,
        wish: Wish,
        cookie: Seal,
        proof: &Seal,
        now: Instant,
    ) -> Option<Control> {
        let session = wish.session;
        if let Some(cookie) = self.of(from, session).map(|own| own.cookie) {
            return Some(self.accept(session, &cookie));
        }
        if !self.cookies.is_fresh(&cookie, from, session, now) {
            return None;
        }
        let refuse = |why| Some(Control::Refuse { session, why });
        if !self.token.accepts(&sealed(&wish, &cookie), proof) {
            return refuse(Refusal::Token);
        }
        let flow = self.model.flows.get(usize::from(wish.flow));
        let flow = flow.filter(|flow| flow.app.transport() == Transport::Udp);
        let Some(flow) = flow.filter(|_| wish.fingerprint == self.fingerprint) else {
            return refuse(Refusal::OtherScenario);
        };
        if self.sessions.len() >= SESSIONS && !self.sessions.contains_key(&from) {
            return refuse(Refusal::Full);
        }
        let path = format!("flow/{}/app", flow.name);
        let (_, source) = gamelane_traffic::build(&flow.app, flow.schedule, Seed(wish.seed), &path);
        let config = StreamConfig {
            source,
            direction: Direction::Down,
            flow: wish.flow,
            session,
            duration: self.model.duration,
            same_clock: wish.boot == self.boot,
        };
        let stream = Stream::new(config, now);
        let patience = now.saturating_add(PATIENCE);
        self.sessions.insert(from, Session { wish, cookie, stream, due: now, patience });
        Some(self.accept(session, &cookie))
    }

    fn accept(&self, session: u64, cookie: &Seal) -> Control {
        let proof = self.token.prove(&accepted(session, self.boot, cookie));
        Control::Accept { session, boot: self.boot, proof }
    }
}

#[cfg(test)]
mod tests;
