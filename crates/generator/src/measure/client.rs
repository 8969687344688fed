//! The client: asks for a measurement, runs probes and loads, and collects the records of both ends.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use gamelane_core::{Direction, Duration, Instant, Seed};

use crate::client::Client;
use crate::clock;
use crate::cookie::Token;
use crate::driver::{Sender, send};
use crate::measure::clocks::{self, Compared};
use crate::measure::control;
use crate::measure::handshake::{ANSWER_BYTES, Answer, Exchange, Load, Opening};
use crate::measure::load::{Stream, set_congestion};
use crate::measure::plan::{DRAIN, PHASES, PROBES, Phase, Plan};
use crate::measure::reach::{PATIENCE, Reached};
use crate::measure::trouble::Trouble;
use crate::record::{Record, Records, What};
use crate::socket::Socket;
use crate::wire::Wish;

/// What was measured.
#[derive(Debug)]
pub struct Measured {
    /// Records of this end.
    pub client: Vec<Record>,
    /// Records of the server, on this end's clock if it could be compared; or why they did not arrive.
    pub server: io::Result<Vec<Record>>,
    /// How the clocks compare; `None` if both ends share one clock, or packets did not arrive both ways.
    pub clocks: Option<Compared>,
    /// True if both ends share one clock.
    pub same_clock: bool,
    /// Name, start and end of the load of each phase that began, in time since the first packet.
    pub phases: Vec<(&'static str, Duration, Duration)>,
    /// The server's limit of the rate in each direction, in Mbit/s.
    pub limit_mbit: u32,
    /// True if `stop` ended it early.
    pub stopped: bool,
    /// What ended it early. Then `phases` has those that were whole.
    pub trouble: Option<Trouble>,
}

/// What happens now, for a display.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Time since the start.
    pub since: Duration,
    /// Name of the phase.
    pub phase: &'static str,
    /// The newest round trip; zero before the first.
    pub rtt: Duration,
    /// Bytes that this end sent and received in loads so far.
    pub moved: [u64; 2],
}

const PROGRESS_EVERY: Duration = Duration::from_millis(200);

/// Keeps records, and the newest round trip for a display.
struct Kept<'a> {
    records: Vec<Record>,
    rtt_ns: &'a AtomicU64,
}

impl Records for Kept<'_> {
    fn record(&mut self, record: &Record) {
        if let What::RoundTrip { took } = record.what {
            self.rtt_ns.store(took.as_nanos(), Ordering::Relaxed);
        }
        self.records.push(*record);
    }
}

/// Measures the line to the server that was reached. `stop` ends it early, and what was measured is kept.
pub fn measure(
    Reached { to, mut socket }: Reached,
    key: &Token,
    plan: &Plan,
    stop: &AtomicBool,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<Measured, Trouble> {
    socket.set_nodelay(true)?;
    set_congestion(&socket, &plan.congestion).map_err(|_| {
        let file = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
        let allowed = std::fs::read_to_string(file).unwrap_or_default().trim().replace(' ', ", ");
        Trouble::Congestion(plan.congestion.clone(), allowed)
    })?;
    let Welcome { boot, port, mbit, token } = ask(&mut socket, key, plan)?;
    let model = plan.model();
    let fingerprint = model.fingerprint();
    let mut senders = Vec::new();
    for (place, flow) in (0..PROBES).zip(&model.flows) {
        let session = plan.id.wrapping_add(place.into());
        let wish = Wish { flow: place, fingerprint, seed: plan.seed, session, boot: clock::boot() };
        let path = format!("flow/{}/app", flow.name);
        let (source, _) = gamelane_traffic::build(&flow.app, flow.schedule, Seed(plan.seed), &path);
        let client = Client::new(wish, source, model.duration, &token, clock::now());
        let own = Socket::bind(SocketAddr::new(socket.local_addr()?.ip(), 0))?;
        own.connect(SocketAddr::new(to.ip(), port))?;
        senders.push(Sender { client, socket: own, dscp: flow.dscp });
    }
    let (rtt_ns, moved) = (AtomicU64::new(0), [const { AtomicU64::new(0) }; 2]);
    let (leave, failed) = (AtomicBool::new(false), AtomicBool::new(false));
    let shared = Shared { to, plan, token: &token, leave: &leave, failed: &failed, moved: &moved };
    let began = clock::now();
    let (probed, loaded, mut phases) = thread::scope(|scope| {
        let probes = scope.spawn(|| {
            let mut kept = Kept { records: Vec::new(), rtt_ns: &rtt_ns };
            let ended = send(&mut senders, &leave, &mut kept);
            failed.store(ended.as_ref().is_ok_and(|all| all.iter().any(Result::is_err)), Ordering::Relaxed);
            ended.map(|ended| (ended, kept.records))
        });
        let mut loaded = Loaded::default();
        let mut phases = Vec::new();
        for (place, phase) in (0..).zip(&PHASES) {
            let length = plan.phase().as_nanos();
            let start = began.saturating_add(Duration::from_nanos(place * length));
            let end = start.saturating_add(Duration::from_nanos(length));
            let until = Instant::from_nanos(end.as_nanos() - DRAIN.as_nanos());
            let streams = scope.spawn(move || shared.load(scope, phase, until));
            while clock::now() < end && !stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
                thread::sleep(std::time::Duration::from_nanos(
                    PROGRESS_EVERY.as_nanos().min(end.saturating_since(clock::now()).as_nanos()),
                ));
                on_progress(Progress {
                    since: clock::now().saturating_since(began),
                    phase: phase.name,
                    rtt: Duration::from_nanos(rtt_ns.load(Ordering::Relaxed)),
                    moved: [0, 1].map(|way| moved[way].load(Ordering::Relaxed)),
                });
            }
            let over = clock::now() < end;
            leave.store(over, Ordering::Relaxed);
            let ended = until.min(clock::now());
            loaded.extend(streams.join().expect("a load does not panic"));
            if loaded.failed.is_none() {
                phases.push((phase.name, start, ended));
            }
            if over || loaded.failed.is_some() {
                leave.store(true, Ordering::Relaxed);
                break;
            }
        }
        (probes.join().expect("a probe does not panic"), loaded, phases)
    });
    let stopped = stop.load(Ordering::Relaxed);
    let (ended, mut client) = probed?;
    if let Some(why) = ended.into_iter().find_map(Result::err).filter(|_| !stopped) {
        return Err(Trouble::Udp(port, why));
    }
    client.extend(loaded.records);
    let heard = last_heard(&client);
    let is_lost = !stopped && phases.last().is_some_and(|(.., until)| heard < *until);
    let patience = if is_lost { PATIENCE } else { control::time_for_records(plan) };
    let deadline = clock::now().saturating_add(patience);
    let told = socket.write_all(&[control::END]);
    let mut server = told.and_then(|()| control::read_records(&mut socket, plan.most_records(), deadline));
    let same_clock = boot == clock::boot();
    let mut compared = None;
    if let Ok(server) = &mut server {
        server.retain(|record| record.session.wrapping_sub(plan.id) < PROBES.into());
        compared = if same_clock { None } else { clocks::compare(&mut client, server) };
    }
    let mut trouble = loaded.failed.filter(|_| !stopped).map(Trouble::Load);
    if is_lost && server.is_err() {
        // A load that nobody heard delays nothing: its phase would get a good grade.
        phases.retain(|(.., until)| *until <= heard);
        trouble = trouble.or(Some(Trouble::Lost(heard.saturating_since(began).as_secs_f64())));
    }
    if phases.is_empty()
        && let Some(trouble) = trouble
    {
        return Err(trouble);
    }
    let first = client.iter().map(|record| record.at).min().unwrap_or(began);
    let since = |(name, from, to): (_, Instant, Instant)| {
        (name, from.saturating_since(first), to.saturating_since(first))
    };
    let phases = phases.into_iter().map(since).collect();
    Ok(Measured { client, server, clocks: compared, same_clock, phases, limit_mbit: mbit, stopped, trouble })
}

/// Time at which the last packet or byte of the server arrived.
fn last_heard(client: &[Record]) -> Instant {
    let arrived = client.iter().filter(|record| matches!(record.what, What::Received { .. }));
    arrived.map(|record| record.at).max().unwrap_or(Instant::ZERO)
}

/// What the server said when it accepted, and the token of the measurement.
struct Welcome {
    boot: u64,
    port: u16,
    mbit: u32,
    token: Token,
}

/// Makes the exchange of [`crate::measure::handshake`].
fn ask(socket: &mut TcpStream, key: &Token, plan: &Plan) -> Result<Welcome, Trouble> {
    let mut nonce = [0; 32];
    getrandom::fill(&mut nonce).map_err(|error| io::Error::other(error.to_string()))?;
    let deadline = clock::now().saturating_add(PATIENCE);
    let mut said = || {
        socket.write_all(&Opening::Control { nonce }.bytes())?;
        let exchange = Exchange { client: nonce, server: control::read(socket, deadline)? };
        socket.write_all(&exchange.ask(key, plan))?;
        Ok((control::read::<ANSWER_BYTES>(socket, deadline)?, exchange))
    };
    let (answer, exchange) = said().map_err(Trouble::Unheard)?;
    match exchange.answer(key, &answer).ok_or(Trouble::Stranger)? {
        Answer::Refused(why) => Err(why.into()),
        Answer::Accepted { boot, port, mbit } => Ok(Welcome { boot, port, mbit, token: exchange.token(key) }),
    }
}

/// What all loads share.
#[derive(Clone, Copy)]
struct Shared<'a> {
    to: SocketAddr,
    plan: &'a Plan,
    token: &'a Token,
    leave: &'a AtomicBool,
    /// A stream has failed.
    failed: &'a AtomicBool,
    moved: &'a [AtomicU64; 2],
}

/// What the streams of loads recorded, and the first failure among them.
#[derive(Default)]
struct Loaded {
    records: Vec<Record>,
    failed: Option<io::Error>,
}

impl Loaded {
    fn extend(&mut self, other: Self) {
        self.records.extend(other.records);
        self.failed = self.failed.take().or(other.failed);
    }
}

impl<'a> Shared<'a> {
    /// Runs all streams of a phase, each in a thread.
    fn load<'scope>(
        self,
        scope: &'scope thread::Scope<'scope, '_>,
        phase: &'static Phase,
        until: Instant,
    ) -> Loaded
    where
        'a: 'scope,
    {
        let streams: Vec<_> = phase
            .loads
            .iter()
            .flat_map(|load| (0..self.plan.streams).map(move |number| (*load, number)))
            .map(|((flow, direction), number)| {
                scope.spawn(move || self.stream(flow, direction, number, until))
            })
            .collect();
        let mut all = Loaded::default();
        for stream in streams {
            all.extend(stream.join().expect("a stream does not panic"));
        }
        all
    }

    fn stream(self, flow: u16, direction: Direction, number: u8, until: Instant) -> Loaded {
        let mut records = Vec::new();
        let failed = self.play(flow, direction, number, until, &mut records).err();
        if failed.is_some() {
            self.failed.store(true, Ordering::Relaxed);
        }
        Loaded { records, failed }
    }

    fn play(
        self,
        flow: u16,
        direction: Direction,
        number: u8,
        until: Instant,
        records: &mut Vec<Record>,
    ) -> io::Result<()> {
        let patience = std::time::Duration::from_nanos(PATIENCE.as_nanos());
        let mut socket = TcpStream::connect_timeout(&self.to, patience)?;
        set_congestion(&socket, &self.plan.congestion)?;
        socket.write_all(&Opening::Load(Load::new(self.token, self.plan.id, flow, number)).bytes())?;
        let moved = Some(&self.moved[direction.index()]);
        let (id, stop) = (self.plan.id, self.leave);
        let stream = Stream { socket, direction, flow, number, id, until, stop, bucket: None, moved };
        match direction {
            Direction::Up => stream.send(records),
            Direction::Down => stream.receive(records),
        }
    }
}
