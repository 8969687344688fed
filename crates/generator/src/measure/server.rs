//! The server: a thread for each connection. Before its proof, a connection takes one of [`UNPROVED`] places, for
//! [`Limits::handshake`] at most. UDP is [`crate::server`]: until a client returns a cookie, answers are shorter than what it sent.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use gamelane_core::{Duration, Instant};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::os::fd::AsFd as _;

use crate::clock;
use crate::cookie::{Cookies, Token};
use crate::driver::serve;
use crate::measure::control;
use crate::measure::handshake::{ASKING_BYTES, Exchange, Load, OPENING_BYTES, Opening, Refusal};
use crate::measure::limits::{Bucket, Limits, Places, UNPROVED, UNPROVED_PER_ADDRESS};
use crate::measure::load::{Stream, set_congestion};
use crate::measure::plan::{PHASES, Plan};
use crate::record::{Record, Records};
use crate::server::Server as UdpServer;
use crate::socket::Socket;

/// A server of measurements.
pub struct Server {
    key: Token,
    limits: Limits,
    clients: Places,
    unproved: Places,
    /// Limits of rate, by direction.
    buckets: [Bucket; 2],
    running: Mutex<Vec<Arc<Measurement>>>,
    stop: Arc<AtomicBool>,
}

/// A measurement that runs.
struct Measurement {
    plan: Plan,
    token: Token,
    address: IpAddr,
    deadline: Instant,
    stop: AtomicBool,
    /// Streams that were opened: none may be opened twice.
    opened: Mutex<BTreeSet<(u16, u8)>>,
    /// Records of loads that have ended, and the number of loads that have not.
    records: Mutex<(Vec<Record>, usize)>,
}

/// Keeps a number of records, and drops the rest.
struct Bounded {
    kept: Vec<Record>,
    most: usize,
}

impl Records for Bounded {
    fn record(&mut self, record: &Record) {
        if self.kept.len() < self.most {
            self.kept.push(*record);
        }
    }
}

/// Time that a client may take longer than its plan, for handshakes and its last packets.
const GRACE: Duration = Duration::from_secs(15);
/// Longest wait for a connection, so that a stop is noticed.
const PATIENCE_MS: u16 = 200;

impl Server {
    /// Makes a server that [`Server::run`] runs until `stop`.
    pub fn new(key: Token, limits: Limits, stop: Arc<AtomicBool>) -> Arc<Self> {
        let bucket = || Bucket::new(limits.mbit, clock::now());
        Arc::new(Self {
            key,
            limits,
            clients: Places::new(limits.clients, limits.per_address),
            unproved: Places::new(UNPROVED, UNPROVED_PER_ADDRESS),
            buckets: [bucket(), bucket()],
            running: Mutex::default(),
            stop,
        })
    }

    /// Accepts connections. `on_end` gets a line for each measurement that has ended.
    pub fn run(self: &Arc<Self>, listener: &TcpListener, on_end: fn(&str)) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        while !self.stop.load(Ordering::Relaxed) {
            let mut polled = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
            let _ = poll(&mut polled, PollTimeout::from(PATIENCE_MS));
            let (socket, from) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                Err(_) => {
                    // Without a free descriptor `poll` returns at once, again and again.
                    thread::sleep(std::time::Duration::from_millis(PATIENCE_MS.into()));
                    continue;
                }
            };
            let server = self.clone();
            let local = listener.local_addr()?;
            // Without a thread the connection closes, and the server goes on.
            let _ = thread::Builder::new().name("client".into()).spawn(move || {
                if let Ok(Some(said)) = server.welcome(socket, from, local) {
                    on_end(&said);
                }
            });
        }
        for measurement in lock(&self.running).iter() {
            measurement.stop.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    fn welcome(
        &self,
        mut socket: TcpStream,
        from: SocketAddr,
        local: SocketAddr,
    ) -> io::Result<Option<String>> {
        socket.set_nonblocking(false)?;
        socket.set_nodelay(true)?;
        let Ok(place) = self.unproved.take(from.ip()) else { return Ok(None) };
        let deadline = clock::now().saturating_add(self.limits.handshake);
        match Opening::read(&control::read::<OPENING_BYTES>(&mut socket, deadline)?) {
            None => Ok(None),
            Some(Opening::Load(load)) => {
                let found = lock(&self.running).iter().find(|one| one.plan.id == load.id).cloned();
                let found = found.filter(|one| load.is_proved(&one.token) && one.address == from.ip());
                drop(place);
                if let Some(measurement) = found {
                    self.load(socket, &measurement, &load)?;
                }
                Ok(None)
            }
            Some(Opening::Control { nonce }) => {
                let mut own = [0; 32];
                getrandom::fill(&mut own).map_err(|error| io::Error::other(error.to_string()))?;
                socket.set_write_timeout(Some(std::time::Duration::from_secs(5)))?;
                socket.write_all(&own)?;
                let exchange = Exchange { client: nonce, server: own };
                let asked = control::read::<ASKING_BYTES>(&mut socket, deadline)?;
                drop(place);
                match self.measure(&mut socket, from, local, &exchange, &asked)? {
                    Ok(said) => Ok(Some(said)),
                    Err(why) => {
                        socket.write_all(&why.bytes())?;
                        let why = if why == Refusal::Key { "wrong key".into() } else { first_line(why) };
                        Ok(Some(format!("{}: refused: {why}", from.ip())))
                    }
                }
            }
        }
    }

    fn measure(
        &self,
        socket: &mut TcpStream,
        from: SocketAddr,
        local: SocketAddr,
        exchange: &Exchange,
        asked: &[u8; ASKING_BYTES],
    ) -> io::Result<Result<String, Refusal>> {
        let plan = match exchange.asked(&self.key, asked) {
            Ok(plan) => plan,
            Err(why) => return Ok(Err(why)),
        };
        if plan.seconds > self.limits.seconds {
            return Ok(Err(Refusal::Seconds(self.limits.seconds)));
        }
        if set_congestion(socket, &plan.congestion).is_err() {
            return Ok(Err(Refusal::Congestion));
        }
        let _client = match self.clients.take(from.ip()) {
            Ok(client) => client,
            Err(why) => return Ok(Err(why)),
        };
        let Some(udp) = self.open_udp(socket.local_addr()?.ip(), local.port()) else {
            return Ok(Err(Refusal::Port));
        };
        let port = udp.local()?.port();
        let length = Duration::from_secs(plan.seconds.into()) + GRACE;
        let measurement = Arc::new(Measurement {
            token: exchange.token(&self.key),
            address: from.ip(),
            deadline: clock::now().saturating_add(length),
            stop: AtomicBool::new(false),
            opened: Mutex::default(),
            records: Mutex::default(),
            plan,
        });
        {
            let mut running = lock(&self.running);
            if running.iter().any(|other| other.plan.id == measurement.plan.id) {
                return Ok(Err(Refusal::Plan));
            }
            running.push(measurement.clone());
        }
        let ended = self.host(socket, &measurement, exchange, udp, port);
        measurement.stop.store(true, Ordering::Relaxed);
        lock(&self.running).retain(|other| other.plan.id != measurement.plan.id);
        let how = if ended.is_ok() { "measured" } else { "the client left early" };
        Ok(Ok(format!("{}: {how}", from.ip())))
    }

    /// Runs the probes until the client says that it has ended, then sends it the records.
    fn host(
        &self,
        socket: &mut TcpStream,
        measurement: &Arc<Measurement>,
        exchange: &Exchange,
        mut udp: Socket,
        port: u16,
    ) -> io::Result<()> {
        let cookies = Cookies::new().map_err(|error| io::Error::other(error.to_string()))?;
        let plan = &measurement.plan;
        let mut server = UdpServer::new(plan.model(), measurement.token.clone(), cookies, clock::boot());
        let own = measurement.clone();
        let probes = thread::Builder::new().name("probes".into()).spawn(move || {
            let mut records = Bounded { kept: Vec::new(), most: own.plan.most_records() };
            let _ = serve(&mut server, &mut udp, false, &own.stop, &mut records, &mut |_, _| {});
            records.kept
        })?;
        socket.write_all(&exchange.accept(&self.key, clock::boot(), port, self.limits.mbit))?;
        let ended = control::read(socket, measurement.deadline);
        measurement.stop.store(true, Ordering::Relaxed);
        let mut records = probes.join().unwrap_or_default();
        if ended? != [control::END] {
            return Err(ErrorKind::InvalidData.into());
        }
        let patience = clock::now().saturating_add(Duration::from_secs(1));
        while lock(&measurement.records).1 > 0 && clock::now() < patience {
            thread::sleep(std::time::Duration::from_millis(5));
        }
        records.append(&mut lock(&measurement.records).0);
        let deadline = clock::now().saturating_add(control::time_for_records(plan));
        control::send_records(socket, &records, deadline)
    }

    /// Opens the first free UDP port from the one of TCP on, so that a firewall needs one rule.
    fn open_udp(&self, local: IpAddr, first: u16) -> Option<Socket> {
        (0..self.limits.clients)
            .find_map(|place| Socket::bind(SocketAddr::new(local, first.checked_add(place)?)).ok())
    }

    fn load(&self, socket: TcpStream, measurement: &Measurement, load: &Load) -> io::Result<()> {
        let direction = PHASES.iter().flat_map(|phase| phase.loads).find(|(flow, _)| *flow == load.flow);
        let Some(&(_, direction)) = direction.filter(|_| load.stream < measurement.plan.streams) else {
            return Ok(());
        };
        if !lock(&measurement.opened).insert((load.flow, load.stream)) {
            return Ok(());
        }
        set_congestion(&socket, &measurement.plan.congestion)?;
        lock(&measurement.records).1 += 1;
        let until = clock::now().saturating_add(measurement.plan.phase()).min(measurement.deadline);
        let stream = Stream {
            socket,
            direction,
            flow: load.flow,
            number: load.stream,
            id: load.id,
            until,
            stop: &measurement.stop,
            bucket: Some(&self.buckets[direction.index()]),
            moved: None,
        };
        let mut records = Vec::new();
        let ended = match direction {
            gamelane_core::Direction::Up => stream.receive(&mut records),
            gamelane_core::Direction::Down => stream.send(&mut records),
        };
        let mut held = lock(&measurement.records);
        held.0.append(&mut records);
        held.1 -= 1;
        ended
    }
}

fn first_line(why: Refusal) -> String {
    why.to_string().lines().next().unwrap_or_default().to_owned()
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
