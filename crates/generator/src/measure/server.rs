//! The server: a thread for each connection. Until a client has proved the key, a thread costs it [`OPENING_BYTES`] and the server one
//! of [`STRANGERS`] places for [`Limits::handshake`]. UDP is [`crate::server`], which answers nobody before a cookie.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use gamelane_core::{Duration, Instant};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::os::fd::AsFd as _;

use crate::clock;
use crate::cookie::{Cookies, Token};
use crate::driver::serve;
use crate::measure::control;
use crate::measure::hello::{ASKING_BYTES, Exchange, Load, OPENING_BYTES, Opening, Refusal};
use crate::measure::limits::{Bucket, Guests, Limits, STRANGERS, STRANGERS_PER_ADDRESS};
use crate::measure::load::Stream;
use crate::measure::plan::{PHASES, Plan};
use crate::record::Record;
use crate::server::Server as UdpServer;
use crate::socket::Socket;

/// A server of measurements.
pub struct Server {
    key: Token,
    limits: Limits,
    clients: Guests,
    strangers: Guests,
    /// Limits of rate, by direction.
    buckets: [Bucket; 2],
    tests: Mutex<Vec<Arc<Test>>>,
    moved: AtomicU64,
    stop: Arc<AtomicBool>,
}

/// A measurement that runs.
struct Test {
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

/// Time that a client may take longer than its plan, for handshakes and its last packets.
const GRACE: Duration = Duration::from_secs(15);
/// Longest wait for a connection, so that a stop is noticed.
const PATIENCE_MS: u16 = 200;

impl Server {
    /// Serves until `stop`.
    pub fn new(key: Token, limits: Limits, stop: Arc<AtomicBool>) -> Arc<Self> {
        let bucket = || Bucket::new(limits.mbit, clock::now());
        Arc::new(Self {
            key,
            limits,
            clients: Guests::new(limits.clients, limits.per_address),
            strangers: Guests::new(STRANGERS, STRANGERS_PER_ADDRESS),
            buckets: [bucket(), bucket()],
            tests: Mutex::default(),
            moved: AtomicU64::new(0),
            stop,
        })
    }

    /// Accepts connections. `on_end` gets a line for each measurement that has ended.
    pub fn run(self: &Arc<Self>, listener: &TcpListener, on_end: fn(&str)) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        while !self.stop.load(Ordering::Relaxed) {
            let mut polled = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
            let _ = poll(&mut polled, PollTimeout::from(PATIENCE_MS));
            let Ok((socket, from)) = listener.accept() else { continue };
            let server = self.clone();
            let local = listener.local_addr()?;
            // Without a thread the connection closes, and the server goes on.
            let _ = thread::Builder::new().name("client".into()).spawn(move || {
                if let Ok(Some(said)) = server.welcome(socket, from, local) {
                    on_end(&said);
                }
            });
        }
        for test in lock(&self.tests).iter() {
            test.stop.store(true, Ordering::Relaxed);
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
        let Ok(stranger) = self.strangers.enter(from.ip()) else { return Ok(None) };
        let deadline = clock::now().saturating_add(self.limits.handshake);
        match Opening::read(&control::read::<OPENING_BYTES>(&mut socket, deadline)?) {
            None => Ok(None),
            Some(Opening::Load(load)) => {
                let found = lock(&self.tests).iter().find(|test| test.plan.id == load.id).cloned();
                let found = found.filter(|test| load.is_proved(&test.token) && test.address == from.ip());
                drop(stranger);
                if let Some(test) = found {
                    self.load(socket, &test, &load)?;
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
                drop(stranger);
                match self.measure(&mut socket, from, local, &exchange, &asked)? {
                    Ok(said) => Ok(Some(said)),
                    Err(why) => {
                        socket.write_all(&why.bytes())?;
                        Ok(Some(format!("{}: refused: {}", from.ip(), first_line(why))))
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
            Ok(Some(plan)) => plan,
            Ok(None) => return Ok(Err(Refusal::Plan)),
            Err(why) => return Ok(Err(why)),
        };
        if plan.seconds > self.limits.seconds {
            return Ok(Err(Refusal::Seconds(self.limits.seconds)));
        }
        if set_congestion(socket, &plan.congestion).is_err() {
            return Ok(Err(Refusal::Congestion));
        }
        let _client = match self.clients.enter(from.ip()) {
            Ok(client) => client,
            Err(why) => return Ok(Err(why)),
        };
        let Some(udp) = self.open_udp(socket.local_addr()?.ip(), local.port()) else {
            return Ok(Err(Refusal::Port));
        };
        let port = udp.local()?.port();
        let length = Duration::from_secs(plan.seconds.into()) + GRACE;
        let test = Arc::new(Test {
            token: exchange.token(&self.key),
            address: from.ip(),
            deadline: clock::now().saturating_add(length),
            stop: AtomicBool::new(false),
            opened: Mutex::default(),
            records: Mutex::default(),
            plan,
        });
        if lock(&self.tests).iter().any(|other| other.plan.id == test.plan.id) {
            return Ok(Err(Refusal::Plan));
        }
        lock(&self.tests).push(test.clone());
        let ended = self.host(socket, &test, exchange, udp, port);
        test.stop.store(true, Ordering::Relaxed);
        lock(&self.tests).retain(|other| other.plan.id != test.plan.id);
        let how = if ended.is_ok() { "measured" } else { "the client left early" };
        Ok(Ok(format!("{}: {how}", from.ip())))
    }

    /// Runs the probes until the client says that it has ended, then sends it the records.
    fn host(
        &self,
        socket: &mut TcpStream,
        test: &Arc<Test>,
        exchange: &Exchange,
        mut udp: Socket,
        port: u16,
    ) -> io::Result<()> {
        let cookies = Cookies::new().map_err(|error| io::Error::other(error.to_string()))?;
        let token = exchange.token(&self.key);
        let mut server = UdpServer::new(test.plan.model(), token, cookies, clock::boot());
        let own = test.clone();
        let probes = thread::Builder::new().name("probes".into()).spawn(move || {
            let mut records = Vec::new();
            let _ = serve(&mut server, &mut udp, false, &own.stop, &mut records, &mut |_, _| {});
            records
        })?;
        socket.write_all(&exchange.accept(&self.key, clock::boot(), port))?;
        let ended = control::read::<1>(socket, test.deadline);
        test.stop.store(true, Ordering::Relaxed);
        let mut records = probes.join().unwrap_or_default();
        ended?;
        let patience = clock::now().saturating_add(Duration::from_secs(1));
        while lock(&test.records).1 > 0 && clock::now() < patience {
            thread::sleep(std::time::Duration::from_millis(5));
        }
        records.append(&mut lock(&test.records).0);
        control::send_records(socket, &records)
    }

    /// Opens the first free UDP port from the one of TCP on, so that a firewall needs one rule; any port if TCP's was any.
    fn open_udp(&self, local: IpAddr, first: u16) -> Option<Socket> {
        (0..self.limits.clients)
            .find_map(|place| Socket::bind(SocketAddr::new(local, first.checked_add(place)?)).ok())
    }

    fn load(&self, socket: TcpStream, test: &Test, load: &Load) -> io::Result<()> {
        let direction = PHASES.iter().flat_map(|phase| phase.loads).find(|(flow, _)| *flow == load.flow);
        let Some(&(_, direction)) = direction.filter(|_| load.stream < test.plan.streams) else {
            return Ok(());
        };
        if !lock(&test.opened).insert((load.flow, load.stream)) {
            return Ok(());
        }
        set_congestion(&socket, &test.plan.congestion)?;
        lock(&test.records).1 += 1;
        let until = clock::now().saturating_add(test.plan.phase()).min(test.deadline);
        let stream = Stream {
            socket,
            direction,
            flow: load.flow,
            number: load.stream,
            id: load.id,
            until,
            stop: &test.stop,
            bucket: Some(&self.buckets[direction.index()]),
            moved: &self.moved,
        };
        let mut records = Vec::new();
        let ended = match direction {
            gamelane_core::Direction::Up => stream.receive(&mut records),
            gamelane_core::Direction::Down => stream.send(&mut records),
        };
        let mut held = lock(&test.records);
        held.0.append(&mut records);
        held.1 -= 1;
        ended
    }
}

/// Chooses a congestion control; an empty name keeps the system's.
pub(super) fn set_congestion(socket: &TcpStream, name: &str) -> io::Result<()> {
    if name.is_empty() {
        return Ok(());
    }
    socket2::SockRef::from(socket).set_tcp_congestion(name.as_bytes())
}

fn first_line(why: Refusal) -> String {
    why.to_string().lines().next().unwrap_or_default().to_owned()
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
