//! Floods of connections at both ends, over real sockets and from 64 addresses: carriers come back, players stay, newcomers get in.
//! The proxies are processes of their own, so that the flood's work does not count as theirs. `GAMELANE_FLOOD_SECONDS` sets the
//! length of each flood; the default is short. Each test has a network namespace of its own, so that floods do not take the ports of
//! other tests. All addresses are in 127.0.0.0/8, which Linux answers without configuration.

use crate::command::{Running, output, start};
use crate::common::{PATIENCE, millis, serve_at, tls_table, write};
use gamelane_mux::Role;
use gamelane_proxy::config::Config;
use gamelane_proxy::tls::Identity;
use quinn::crypto::rustls::QuicClientConfig;
use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Notify;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, interval, sleep, sleep_until, timeout};

/// Connections of a flood per second.
pub(crate) const RATE: u64 = 2000;
/// Addresses of a flood.
pub(crate) const SOURCES: u64 = 64;
/// What a flood may add to a carrier's reconnection.
const ALLOWED: Duration = Duration::from_secs(1);

pub(crate) fn seconds() -> u64 {
    std::env::var("GAMELANE_FLOOD_SECONDS").map_or(4, |text| text.parse().expect("whole seconds"))
}

/// Runs a test again in a network namespace of its own, one at a time, and there waits for `test`.
pub(crate) fn in_namespace(name: &str, test: impl Future<Output = ()>) {
    static ONE: Mutex<()> = Mutex::new(());
    if std::env::var_os("GAMELANE_FLOOD_NAMESPACE").is_some() {
        let up = Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap();
        assert!(up.success());
        return tokio::runtime::Runtime::new().unwrap().block_on(test);
    }
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let made = Command::new("unshare").args(["--net", "true"]).output();
    if !made.is_ok_and(|made| made.status.success()) {
        let why = "no network namespace can be made: run as root, with util-linux installed";
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{why}");
        return eprintln!("skipped: {why}");
    }
    let done = Command::new("unshare")
        .args(["--net", "--"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env("GAMELANE_FLOOD_NAMESPACE", "1")
        .output()
        .unwrap();
    let text = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(done.status.success() && text.contains(" 1 passed"), "{text}");
    print!("{text}");
}

/// Measures the longest delay with a flood, and without one at the same time, up to three times. It says so: a busy machine can spoil
/// one measurement.
pub(crate) async fn in_time(what: &str, mut measure: impl AsyncFnMut() -> [Duration; 2]) {
    for _ in 0..3 {
        let [flooded, calm] = measure().await;
        eprintln!("{what}: longest {flooded:?}, without it {calm:?}");
        if flooded <= calm + ALLOWED {
            return;
        }
    }
    panic!("{what}: more than {ALLOWED:?} longer, three times");
}

/// What a connection of a flood does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Nothing.
    Idle,
    /// Sends a byte of a long TLS record now and then.
    Drip,
}

/// Connections from many addresses. They end with it.
pub(crate) struct Flood {
    opened: Arc<AtomicU64>,
    pub(crate) since: Instant,
    task: AbortHandle,
}

impl Flood {
    pub(crate) fn begin(to: SocketAddr, kind: Kind) -> Self {
        let opened = Arc::new(AtomicU64::new(0));
        let counter = opened.clone();
        let flood = async move {
            let mut connections = JoinSet::new();
            let mut tick = interval(millis(10));
            loop {
                tick.tick().await;
                for _ in 0..RATE / 100 {
                    let number = counter.fetch_add(1, Relaxed);
                    connections.spawn(connection(to, number, kind));
                }
                while connections.try_join_next().is_some() {}
            }
        };
        Self { opened, since: Instant::now(), task: tokio::spawn(flood).abort_handle() }
    }

    /// Connections per second so far.
    pub(crate) fn rate(&self) -> f64 {
        self.opened.load(Relaxed) as f64 / self.since.elapsed().as_secs_f64()
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn connection(to: SocketAddr, number: u64, kind: Kind) -> std::io::Result<()> {
    let mut socket = connect(Ipv4Addr::new(127, 1, 0, 1 + (number % SOURCES) as u8), to).await?;
    if kind == Kind::Drip {
        for byte in [0x16, 3, 1, 0x3f, 0xff].into_iter().chain(std::iter::repeat(1)) {
            tokio::select! {
                read = socket.read_u8() => drop(read?),
                () = sleep(millis(300)) => socket.write_all(&[byte]).await?,
            }
        }
    }
    socket.read_u8().await.map(drop)
}

pub(crate) async fn connect(from: impl Into<IpAddr>, to: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = if to.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.set_nodelay(true)?;
    socket.bind((from.into(), 0).into())?;
    socket.connect(to).await
}

/// Two proxies with TLS, a game server behind them, and a relay between them that can cut their connections.
pub(crate) struct Place {
    pub(crate) near: SocketAddr,
    pub(crate) far: SocketAddr,
    cut: Arc<Notify>,
    /// Carriers that the relay has connected.
    connected: Arc<AtomicU64>,
    pub(crate) folder: TempDir,
    near_process: Running,
    _far_process: Running,
}

impl Place {
    pub(crate) async fn with(keys: &str) -> Self {
        Self::at(Ipv4Addr::LOCALHOST.into(), Duration::ZERO, keys).await
    }

    /// All of it at one address, with a delay between the proxies in each direction.
    pub(crate) async fn at(host: IpAddr, delay: Duration, keys: &str) -> Self {
        // A port that is free over IPv4 may be in use over IPv6.
        let free = || std::net::TcpListener::bind((host, 0)).unwrap().local_addr().unwrap();
        let folder = TempDir::new().unwrap();
        let (code, _, error) = output(&["certificates", folder.path().to_str().unwrap()]);
        assert_eq!(code, 0, "{error}");
        let server = serve_at(host, game).await;
        let (near, far) = (free(), free());
        let (cut, connected) = (Arc::new(Notify::new()), Arc::new(AtomicU64::new(0)));
        let relay = match (keys.contains("quic"), delay.is_zero()) {
            (true, true) => far,
            (true, false) => udp_relay(far, delay).await,
            (false, _) => relay(far, delay, cut.clone(), connected.clone()).await,
        };
        let admin = || format!("\n[admin]\nlisten = \"{}\"\n", free());
        let text =
            format!("listen = \"{far}\"\nserver = \"{server}\"\n{keys}{}{}", admin(), tls_table("far"));
        let file = write(folder.path(), "far.toml", &text);
        let far_process = start("far", &file);
        let text = format!("listen = \"{near}\"\nfar = \"{relay}\"\n{keys}{}{}", admin(), tls_table("near"));
        let file = write(folder.path(), "near.toml", &text);
        let near_process = start("near", &file);
        Self { near, far, cut, connected, folder, near_process, _far_process: far_process }
    }

    /// Ends the near proxy, starts it again, and returns the time until it serves a player.
    async fn restart(&mut self, number: u64) -> Duration {
        self.near_process.0.kill().unwrap();
        self.near_process.0.wait().unwrap();
        let begun = Instant::now();
        self.near_process = start("near", &self.folder.path().join("near.toml"));
        let player = async { Player::arrive(number, self.near).await?.play(1).await };
        let played = player.await;
        let took = begun.elapsed();
        assert!(
            played.is_ok(),
            "{played:?} after {took:?}: {:#} {:#}",
            self.status("near"),
            self.status("far")
        );
        took
    }

    /// Restarts the near proxies of both places again and again, and returns the longest time of each.
    pub(crate) async fn restarts(&mut self, calm: &mut Self) -> [Duration; 2] {
        let (begun, mut longest, mut number) = (Instant::now(), [Duration::ZERO; 2], 10);
        while begun.elapsed() < Duration::from_secs(seconds()) {
            longest[0] = longest[0].max(self.restart(number).await);
            longest[1] = longest[1].max(calm.restart(number).await);
            number += 1;
        }
        longest
    }

    pub(crate) fn status(&self, end: &str) -> Value {
        let file = self.folder.path().join(format!("{end}.toml"));
        let (code, text, error) = output(&["status", file.to_str().unwrap(), "--json"]);
        assert_eq!(code, 0, "{error}");
        serde_json::from_str(&text).unwrap()
    }

    pub(crate) fn count(&self, end: &str, name: &str) -> u64 {
        self.status(end)["counters"][name].as_u64().unwrap_or_else(|| panic!("no counter {name}"))
    }
}

fn local(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// A server that says nothing to a client who does not begin with `p`, and then echoes.
async fn game(mut socket: TcpStream) {
    socket.set_nodelay(true).unwrap();
    let mut part = [0; 256];
    let mut known = false;
    while let Ok(count @ 1..) = socket.read(&mut part).await {
        known |= part[0] == b'p';
        if known && socket.write_all(&part[..count]).await.is_err() {
            return;
        }
    }
}

/// Passes connections on from an address of its own, until they are cut.
async fn relay(far: SocketAddr, delay: Duration, cut: Arc<Notify>, connected: Arc<AtomicU64>) -> SocketAddr {
    let (own, outside) = match far {
        SocketAddr::V4(_) => (Ipv4Addr::LOCALHOST.into(), Ipv4Addr::new(127, 2, 0, 1).into()),
        SocketAddr::V6(far) => (IpAddr::from(*far.ip()), IpAddr::from(*far.ip())),
    };
    let listener = TcpListener::bind((own, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let (cut, connected) = (cut.clone(), connected.clone());
            tokio::spawn(async move {
                near.set_nodelay(true)?;
                let far = connect(outside, far).await?;
                connected.fetch_add(1, Relaxed);
                let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
                tokio::select! {
                    done = pass(near_in, far_out, delay) => done,
                    done = pass(far_in, near_out, delay) => done,
                    () = cut.notified() => Ok(()),
                }
            });
        }
    });
    address
}

/// Passes bytes on, each after the delay.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, delay: Duration) -> std::io::Result<()> {
    let (late, mut due) = unbounded_channel::<(Instant, Vec<u8>)>();
    let write = async {
        while let Some((at, part)) = due.recv().await {
            sleep_until(at).await;
            to.write_all(&part).await?;
        }
        Ok(())
    };
    let read = async move {
        let mut part = vec![0; 1 << 16];
        while let Ok(count @ 1..) = from.read(&mut part).await {
            // It is gone only if writing has failed.
            let _ = late.send((Instant::now() + delay, part[..count].to_vec()));
        }
        Ok(())
    };
    tokio::try_join!(read, write).map(drop)
}

/// Passes datagrams on, each after the delay.
async fn udp_relay(far: SocketAddr, delay: Duration) -> SocketAddr {
    let inside = Arc::new(tokio::net::UdpSocket::bind((far.ip(), 0)).await.unwrap());
    let address = inside.local_addr().unwrap();
    tokio::spawn(async move {
        let mut ways: BTreeMap<SocketAddr, Arc<tokio::net::UdpSocket>> = BTreeMap::new();
        let mut datagram = [0; 2048];
        while let Ok((len, near)) = inside.recv_from(&mut datagram).await {
            if let Entry::Vacant(place) = ways.entry(near) {
                let outside = Arc::new(tokio::net::UdpSocket::bind((far.ip(), 0)).await.unwrap());
                outside.connect(far).await.unwrap();
                place.insert(outside.clone());
                let inside = inside.clone();
                tokio::spawn(async move {
                    let mut datagram = [0; 2048];
                    // The kernel reports a far end that is away; it may come back.
                    while let Ok(len) = outside.recv(&mut datagram).await {
                        let (datagram, inside) = (datagram[..len].to_vec(), inside.clone());
                        tokio::spawn(async move {
                            sleep(delay).await;
                            inside.send_to(&datagram, near).await
                        });
                    }
                });
            }
            let (datagram, outside) = (datagram[..len].to_vec(), ways[&near].clone());
            tokio::spawn(async move {
                sleep(delay).await;
                outside.send(&datagram).await
            });
        }
    });
    address
}

/// A player's connection, which must never end.
pub(crate) struct Player(pub(crate) TcpStream);

impl Player {
    pub(crate) async fn arrive(number: u64, near: SocketAddr) -> std::io::Result<Self> {
        let from = Ipv4Addr::new(127, 3, (number / 250) as u8, 1 + (number % 250) as u8);
        connect(from, near).await.map(Self)
    }

    /// Sends a message every 20 ms and returns the longest round trip.
    pub(crate) async fn play(&mut self, messages: usize) -> std::io::Result<Duration> {
        let mut longest = Duration::ZERO;
        for _ in 0..messages {
            let sent = Instant::now();
            self.0.write_all(b"p").await?;
            let answer = timeout(PATIENCE, self.0.read_u8()).await;
            answer.map_err(|_| std::io::ErrorKind::TimedOut)??;
            longest = longest.max(sent.elapsed());
            sleep(millis(20)).await;
        }
        Ok(longest)
    }
}

/// Cuts the carrier while a player plays, and returns the player's longest round trip: pause, reconnection and resumption.
pub(crate) async fn gap(place: &Place, player: &mut Player) -> Duration {
    let before = place.connected.load(Relaxed);
    place.cut.notify_waiters();
    let longest = player.play(30).await.expect("the player stays");
    assert!(place.connected.load(Relaxed) > before, "the carrier was cut");
    longest
}

#[test]
fn floods_at_far_delay_a_carrier_by_less_than_a_second() {
    in_namespace("doors::floods_at_far_delay_a_carrier_by_less_than_a_second", floods_at_far());
}

async fn floods_at_far() {
    endure(&Place::with("").await, &Place::with("").await).await;
}

/// Floods far, and cuts the carrier again and again. `calm` is such a place without a flood.
pub(crate) async fn endure(place: &Place, calm: &Place) {
    let mut player = Player::arrive(0, place.near).await.unwrap();
    let mut other = Player::arrive(1, calm.near).await.unwrap();
    player.play(5).await.unwrap();
    other.play(5).await.unwrap();
    for kind in [Kind::Idle, Kind::Drip] {
        let flooded = async || {
            let flood = Flood::begin(place.far, kind);
            sleep(Duration::from_secs(1)).await;
            let mut longest = [Duration::ZERO; 2];
            while longest[0].is_zero() || flood.since.elapsed() < Duration::from_secs(seconds()) {
                longest[0] = longest[0].max(gap(place, &mut player).await);
                longest[1] = longest[1].max(gap(calm, &mut other).await);
            }
            assert!(flood.rate() > RATE as f64 / 4.0, "the flood was only {:.0} connections/s", flood.rate());
            longest
        };
        in_time(&format!("{kind:?}"), flooded).await;
    }
}

#[test]
fn floods_at_near_reset_no_player_and_keep_no_newcomer_out() {
    in_namespace("doors::floods_at_near_reset_no_player_and_keep_no_newcomer_out", floods_at_near());
}

async fn floods_at_near() {
    let keys = "[limits]\nstreams = 500\n";
    let place = Place::with(keys).await;
    for kind in [Kind::Idle, Kind::Drip] {
        let mut players = JoinSet::new();
        for number in 0..20 {
            let mut player = Player::arrive(number, place.near).await.unwrap();
            player.play(2).await.expect("the player is served");
            players.spawn(async move { player.play(40 * seconds() as usize).await });
        }
        let flood = Flood::begin(place.near, kind);
        sleep(millis(500)).await;
        let (mut newcomers, mut longest) = (0, Duration::ZERO);
        while flood.since.elapsed() < Duration::from_secs(seconds()) {
            let newcomer = async { Player::arrive(100 + newcomers, place.near).await?.play(3).await };
            let took =
                newcomer.await.unwrap_or_else(|error| panic!("{kind:?}: newcomer {newcomers}: {error}"));
            (newcomers, longest) = (newcomers + 1, longest.max(took));
        }
        let rate = flood.rate();
        for played in players.join_all().await {
            longest =
                longest.max(played.unwrap_or_else(|error| panic!("{kind:?}: a player was reset: {error}")));
        }
        eprintln!("{kind:?}: {rate:.0} connections/s, {newcomers} newcomers, longest round trip {longest:?}");
        assert!(rate > RATE as f64 / 4.0, "the flood was only {rate:.0} connections/s");
    }
}

#[test]
fn idle_sockets_of_one_address_take_only_its_share() {
    in_namespace("doors::idle_sockets_of_one_address_take_only_its_share", idle_sockets());
}

async fn idle_sockets() {
    let keys = "[limits]\nstreams = 500\n";
    let place = Place::with(keys).await;
    let mut idle = Vec::new();
    for _ in 0..520 {
        // A reset may come before the call returns.
        idle.extend(connect(Ipv4Addr::new(127, 1, 0, 1), place.near).await);
    }
    let mut player = Player::arrive(0, place.near).await.unwrap();
    player.play(5).await.expect("another address has its own share");
    assert!(place.status("near")["streams"].as_u64().unwrap() <= 126);
    assert!(place.count("near", "streams_evicted") >= 395);
}

/// Far keeps the session of a killed near proxy for a while, so it needs room for many.
pub(crate) const QUIC: &str = "transport = \"quic\"\n[limits]\nsessions = 10000\n";

/// First packets of QUIC clients, as they would come from forged addresses: the clients never see an answer.
pub(crate) async fn initials(near: &Config, identity: &Identity, count: usize) -> Vec<Vec<u8>> {
    let sink = UdpSocket::bind("127.0.0.1:0").unwrap();
    let client = quinn::Endpoint::client(local(0)).unwrap();
    let crypto = QuicClientConfig::try_from(identity.client().unwrap()).unwrap();
    let config = quinn::ClientConfig::new(Arc::new(crypto));
    let name = near.tls.as_ref().unwrap().name.clone();
    let (mut packets, mut connecting) = (Vec::new(), Vec::new());
    for _ in 0..count {
        connecting.push(client.connect_with(config.clone(), sink.local_addr().unwrap(), &name).unwrap());
        let mut packet = vec![0; 2048];
        let len = tokio::task::block_in_place(|| sink.recv(&mut packet)).unwrap();
        packet.truncate(len);
        packets.push(packet);
    }
    packets
}

#[test]
fn forged_quic_handshakes_delay_a_carrier_by_less_than_a_second() {
    in_namespace(
        "doors::forged_quic_handshakes_delay_a_carrier_by_less_than_a_second",
        forged_quic_handshakes(),
    );
}

async fn forged_quic_handshakes() {
    endure_forged(Place::with(QUIC).await, Place::with(QUIC).await).await;
}

/// Floods far with first packets from forged addresses, and restarts near again and again. `calm` is such a place without a flood.
pub(crate) async fn endure_forged(mut place: Place, mut calm: Place) {
    let file = place.folder.path().join("near.toml");
    let config = Config::load(&file, Role::Near).unwrap();
    let identity = Identity::load(&file, config.tls.as_ref().unwrap(), Role::Near).unwrap();
    // `block_in_place` needs a task of the runtime.
    let packets = tokio::spawn(async move { initials(&config, &identity, 1000).await }).await.unwrap();
    let sockets: Vec<_> = (1..=SOURCES as u8)
        .map(|last| UdpSocket::bind((Ipv4Addr::new(127, 1, 0, last), 0)).unwrap())
        .collect();
    let (far, sent) = (place.far, Arc::new(AtomicU64::new(0)));
    let counter = sent.clone();
    let flood = tokio::spawn(async move {
        let mut tick = interval(millis(10));
        loop {
            tick.tick().await;
            for _ in 0..RATE / 100 {
                let number = counter.fetch_add(1, Relaxed) as usize;
                // The kernel drops what far does not read in time.
                let _ = sockets[number % sockets.len()].send_to(&packets[number % packets.len()], far);
            }
        }
    });
    let begun = Instant::now();
    sleep(millis(500)).await;
    in_time("forged QUIC handshakes", async || place.restarts(&mut calm).await).await;
    flood.abort();
    assert!(sent.load(Relaxed) > RATE * begun.elapsed().as_secs() / 4, "the flood was only {sent:?} packets");
    assert!(place.count("far", "quic_retries") > 0);
}
