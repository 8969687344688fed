//! Lets connections in at either end: the allow-list, the [`Doors`] for handshakes and for players, the time limits of a handshake, and
//! the turns that keep a flood from delaying the event loop.

use crate::clock::Clock;
use crate::config::Config;
use crate::doors::{Doors, LogLimit, Refused, Source, Ticket};
use crate::link::LinkError;
use crate::metrics::Metrics;
use crate::network::Network;
use crate::sockets::{self, Enough};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Connections that are accepted before other tasks get their turn.
const ROUND: u32 = 16;
/// QUIC: while fewer than this part of all handshakes are open, an address need not be validated.
const UNVALIDATED: usize = 8;

/// Resolves to `Ok` when the connection must be closed, because its place was given to another.
pub(crate) type Evicted = oneshot::Receiver<()>;

/// A limited number of connections.
#[derive(Debug)]
struct Room {
    doors: Mutex<Doors<oneshot::Sender<()>>>,
    total: usize,
    share: usize,
}

impl Room {
    fn new(total: usize, share: usize) -> Arc<Self> {
        Arc::new(Self { doors: Mutex::new(Doors::new(total, share)), total, share })
    }

    fn lock(&self) -> MutexGuard<'_, Doors<oneshot::Sender<()>>> {
        self.doors.lock().expect("nothing panics while it holds the lock")
    }

    /// Admits a connection; true if another one had to leave for it.
    fn admit(self: &Arc<Self>, source: Source, trusted: bool) -> Result<(Place, Evicted, bool), Refused> {
        let (leave, evicted) = oneshot::channel();
        let (ticket, victim) = self.lock().admit(source, trusted, leave)?;
        let has_victim = victim.is_some();
        if let Some(victim) = victim {
            // The receiver is gone if that connection is ending by itself.
            let _ = victim.send(());
        }
        Ok((Place { room: self.clone(), ticket, proven: false }, evicted, has_victim))
    }

    fn status(&self) -> RoomStatus {
        let doors = self.lock();
        RoomStatus {
            open: doors.len(),
            sources: doors.sources(),
            limit: self.total,
            limit_per_source: self.share,
        }
    }
}

/// The place of an admitted connection. Dropping it makes room.
#[derive(Debug)]
pub(crate) struct Place {
    room: Arc<Room>,
    ticket: Ticket,
    proven: bool,
}

impl Place {
    /// Notes that the connection is proven: it keeps its place from now on.
    pub(crate) fn prove(&mut self) {
        if !std::mem::replace(&mut self.proven, true) {
            self.room.lock().prove(self.ticket);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.lock().leave(self.ticket);
    }
}

/// Connections of one kind and their limits.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct RoomStatus {
    /// Connections now.
    pub open: usize,
    /// Addresses (IPv6: /64 networks) that they come from.
    pub sources: usize,
    /// Largest number of connections.
    pub limit: usize,
    /// Largest number from one source that is not in `allow`.
    pub limit_per_source: usize,
}

/// Connections from outside and their limits.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct EntranceStatus {
    /// Carriers and clients that have not identified themselves.
    pub handshakes: RoomStatus,
    /// Near: clients. Far: those of all near proxies.
    pub streams: RoomStatus,
}

/// What all listeners of a proxy share.
#[derive(Debug)]
pub struct Entrance {
    allow: Option<Vec<Network>>,
    handshakes: Arc<Room>,
    streams: Arc<Room>,
    first_byte: Duration,
    handshake: Duration,
    /// Far only: near proxies at a time.
    pub(crate) sessions: usize,
    metrics: Arc<Metrics>,
    clock: Clock,
    log: Mutex<LogLimit>,
    /// One TLS message is processed per turn.
    pub(crate) turns: Turns,
}

impl Entrance {
    pub(crate) fn new(config: &Config, metrics: Arc<Metrics>) -> Self {
        let (limits, clock) = (&config.limits, Clock::start());
        let Enough { handshakes, sessions, streams } = sockets::descriptors_for(config);
        let share = if config.far.is_some() { limits.streams_per_source(streams) } else { streams };
        Self {
            allow: config.allow.clone(),
            handshakes: Room::new(handshakes, limits.handshakes_per_source(handshakes)),
            streams: Room::new(streams, share),
            sessions,
            first_byte: config.timeouts.first_byte().std(),
            handshake: config.timeouts.handshake.std(),
            metrics,
            clock,
            log: Mutex::new(LogLimit::new(clock.now())),
            turns: Turns::default(),
        }
    }

    /// The connections now.
    pub fn status(&self) -> EntranceStatus {
        EntranceStatus { handshakes: self.handshakes.status(), streams: self.streams.status() }
    }

    /// Returns the number of log lines left out since the last one, if a line about a connection from outside may be written now.
    pub(crate) fn line(&self) -> Option<u64> {
        let now = self.clock.now();
        self.log.lock().expect("nothing panics while it holds the lock").line(now)
    }

    /// True if the allow-list has the address.
    pub(crate) fn trusts(&self, address: SocketAddr) -> bool {
        self.allow.as_ref().is_some_and(|list| list.iter().any(|network| network.contains(address.ip())))
    }

    /// Refuses an address that the allow-list leaves out.
    pub(crate) fn check(&self, address: SocketAddr) -> Result<(), &'static str> {
        if self.allow.is_none() || self.trusts(address) {
            return Ok(());
        }
        self.metrics.unlisted.one();
        Err("its address is not in `allow`")
    }

    /// True if a QUIC connection from an address that is not validated has to prove that it receives what is sent there (RFC 9000
    /// section 8.1.2). Else a flood with forged addresses could take the share of another source.
    pub(crate) fn must_validate(&self) -> bool {
        self.handshakes.lock().len() >= self.handshakes.total.div_ceil(UNVALIDATED)
    }

    /// Admits a connection to its handshake.
    pub(crate) fn greet(&self, guest: SocketAddr) -> Result<(Place, Evicted), &'static str> {
        self.check(guest)?;
        let admitted = self.handshakes.admit(guest.ip().into(), self.trusts(guest));
        let (place, evicted, has_victim) = admitted.map_err(|_| "limits.handshakes reached")?;
        self.metrics.handshakes_evicted.add(has_victim.into());
        Ok((place, evicted))
    }

    /// Waits for the first byte and then for the handshake.
    pub(crate) async fn in_time<T>(
        &self,
        (place, evicted): (Place, Evicted),
        first_byte: impl Future<Output = std::io::Result<()>>,
        handshake: impl Future<Output = Result<T, LinkError>>,
    ) -> Result<T, LinkError> {
        let both = async {
            match timeout(self.first_byte, first_byte).await {
                Ok(arrived) => arrived?,
                Err(_) => {
                    self.metrics.no_first_byte.one();
                    return Err(LinkError::Late("no byte within timeouts.first_byte"));
                }
            }
            handshake.await
        };
        let done = tokio::select! {
            Ok(()) = evicted => Err(LinkError::Evicted),
            done = timeout(self.handshake, both) => done.unwrap_or_else(|_| {
                self.metrics.handshakes_late.one();
                Err(LinkError::late())
            }),
        };
        drop(place);
        done
    }

    /// Admits a player. `peer` is where the connection comes from, `client` whom its header names: that counts if `peer` is in the
    /// allow-list, else anybody could name any address.
    pub(crate) fn seat(
        &self,
        peer: SocketAddr,
        client: Option<SocketAddr>,
    ) -> Result<(Place, Evicted), &'static str> {
        let trusted = self.trusts(peer);
        let (source, trusted) = match client {
            Some(client) if trusted => (client, false),
            _ => (peer, trusted),
        };
        match self.streams.admit(source.ip().into(), trusted) {
            Ok((place, evicted, has_victim)) => {
                self.metrics.streams_evicted.add(has_victim.into());
                Ok((place, evicted))
            }
            Err(Refused::Share) => {
                self.metrics.over_share.one();
                Err("limits.streams_per_source reached; list a load balancer in `allow`")
            }
            Err(Refused::Full) => {
                self.metrics.over_limit.one();
                Err("limits.streams reached")
            }
        }
    }

    /// Takes the place of a connection to the server, at the far end. It is kept whatever comes later.
    pub(crate) fn connect(&self, client: SocketAddr) -> Result<Place, &'static str> {
        let Ok((mut place, ..)) = self.streams.admit(client.ip().into(), true) else {
            self.metrics.over_limit.one();
            return Err("no descriptor is left for it; raise LimitNOFILE or `ulimit -n`");
        };
        place.prove();
        Ok(place)
    }
}

/// Lets other tasks run between costly steps, so that a flood delays nobody by more than one step.
#[derive(Debug, Default)]
pub(crate) struct Turns(tokio::sync::Mutex<()>);

impl Turns {
    /// Does a costly step. Others wait for the next pass of the event loop.
    pub(crate) async fn take<T>(&self, step: impl FnOnce() -> T) -> T {
        let _turn = self.0.lock().await;
        let done = step();
        tokio::task::yield_now().await;
        done
    }
}

/// Accepts in rounds, with other tasks' turn between them.
#[derive(Debug, Default)]
pub(crate) struct Rounds(u32);

impl Rounds {
    /// Call before each connection.
    pub(crate) async fn next(&mut self) {
        self.0 += 1;
        if self.0.is_multiple_of(ROUND) {
            self.0 = 0;
            tokio::task::yield_now().await;
        }
    }
}
