//! Floods of connections at both ends, over real sockets and from 64 addresses: carriers come back, players stay, newcomers get in.
//! The proxies are processes of their own, so that the flood's work does not count as theirs. `GAMELANE_FLOOD_SECONDS` sets the
//! length of each flood; the default is short. Each test has a network namespace of its own, so that floods do not take the ports of
//! other tests. All addresses are in 127.0.0.0/8, which Linux answers without configuration.

use crate::command::{Running, free_port, output, start};
use crate::common::{PATIENCE, millis, serve, tls_table, write};
use gamelane_mux::Role;
use gamelane_proxy::config::Config;
use gamelane_proxy::tls::Identity;
use quinn::crypto::rustls::QuicClientConfig;
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, interval, sleep, timeout};

/// Connections of a flood per second.
const RATE: u64 = 2000;
/// Addresses of a flood.
const SOURCES: u64 = 64;
/// What a flood may add to a carrier's reconnection.
const ALLOWED: Duration = Duration::from_secs(1);

fn seconds() -> u64 {
    std::env::var("GAMELANE_FLOOD_SECONDS").map_or(4, |text| text.parse().expect("whole seconds"))
}

/// Runs a test of this file again in a network namespace of its own, one at a time, and there waits for `test`.
fn in_namespace(name: &str, test: impl Future<Output = ()>) {
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
        .args(["--exact", &format!("doors::{name}"), "--nocapture"])
        .env("GAMELANE_FLOOD_NAMESPACE", "1")
        .output()
        .unwrap();
    let text = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(done.status.success() && text.contains(" 1 passed"), "{text}");
    print!("{text}");
}

/// What a connection of a flood does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Nothing.
    Idle,
    /// Sends a byte of a long TLS record now and then.
    Drip,
}

/// Connections from many addresses. They end with it.
struct Flood {
    opened: Arc<AtomicU64>,
    since: Instant,
    task: AbortHandle,
}

impl Flood {
    fn begin(to: SocketAddr, kind: Kind) -> Self {
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
    fn rate(&self) -> f64 {
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

async fn connect(from: Ipv4Addr, to: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.set_nodelay(true)?;
    socket.bind((from, 0).into())?;
    socket.connect(to).await
}

/// Two proxies with TLS, a game server behind them, and a relay between them that can cut their connections.
struct Place {
    near: SocketAddr,
    far: SocketAddr,
    cut: Arc<Notify>,
    /// Carriers that the relay has connected.
    connected: Arc<AtomicU64>,
    folder: TempDir,
    near_process: Running,
    _far_process: Running,
}

impl Place {
    async fn with(keys: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let (code, _, error) = output(&["certificates", folder.path().to_str().unwrap()]);
        assert_eq!(code, 0, "{error}");
        let server = serve(game).await;
        let (near, far) = (local(free_port()), local(free_port()));
        let (cut, connected) = (Arc::new(Notify::new()), Arc::new(AtomicU64::new(0)));
        let relay = match keys.contains("quic") {
            true => far,
            false => relay(far, cut.clone(), connected.clone()).await,
        };
        let admin = || format!("\n[admin]\nlisten = \"{}\"\n", local(free_port()));
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

    fn status(&self, end: &str) -> Value {
        let file = self.folder.path().join(format!("{end}.toml"));
        let (code, text, error) = output(&["status", file.to_str().unwrap(), "--json"]);
        assert_eq!(code, 0, "{error}");
        serde_json::from_str(&text).unwrap()
    }

    fn count(&self, end: &str, name: &str) -> u64 {
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
async fn relay(far: SocketAddr, cut: Arc<Notify>, connected: Arc<AtomicU64>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let (cut, connected) = (cut.clone(), connected.clone());
            tokio::spawn(async move {
                near.set_nodelay(true)?;
                let mut far = connect(Ipv4Addr::new(127, 2, 0, 1), far).await?;
                connected.fetch_add(1, Relaxed);
                tokio::select! {
                    done = tokio::io::copy_bidirectional(&mut near, &mut far) => done.map(drop),
                    () = cut.notified() => Ok(()),
                }
            });
        }
    });
    address
}

/// A player's connection, which must never end.
struct Player(TcpStream);

impl Player {
    async fn arrive(number: u64, near: SocketAddr) -> std::io::Result<Self> {
        let from = Ipv4Addr::new(127, 3, (number / 250) as u8, 1 + (number % 250) as u8);
        connect(from, near).await.map(Self)
    }

    /// Sends a message every 20 ms and returns the longest round trip.
    async fn play(&mut self, messages: usize) -> std::io::Result<Duration> {
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
async fn gap(place: &Place, player: &mut Player) -> Duration {
    let before = place.connected.load(Relaxed);
    place.cut.notify_waiters();
    let longest = player.play(30).await.expect("the player stays");
    assert!(place.connected.load(Relaxed) > before, "the carrier was cut");
    longest
}

#[test]
fn floods_at_far_delay_a_carrier_by_less_than_a_second() {
    in_namespace("floods_at_far_delay_a_carrier_by_less_than_a_second", floods_at_far());
}

async fn floods_at_far() {
    let place = Place::with("").await;
    let mut player = Player::arrive(0, place.near).await.unwrap();
    player.play(5).await.unwrap();
    let mut calm = Duration::ZERO;
    for _ in 0..3 {
        calm = calm.max(gap(&place, &mut player).await);
    }
    for kind in [Kind::Idle, Kind::Drip] {
        let flood = Flood::begin(place.far, kind);
        player.play(50).await.expect("the player stays");
        let mut worst = Duration::ZERO;
        while flood.since.elapsed() < Duration::from_secs(seconds()) {
            worst = worst.max(gap(&place, &mut player).await);
        }
        eprintln!("{kind:?}: {:.0} connections/s, calm {calm:?}, longest {worst:?}", flood.rate());
        assert!(flood.rate() > RATE as f64 / 4.0, "the flood was only {:.0} connections/s", flood.rate());
        assert!(worst <= calm + ALLOWED, "{kind:?}: {worst:?} instead of {calm:?}");
    }
}

#[test]
fn floods_at_near_reset_no_player_and_keep_no_newcomer_out() {
    in_namespace("floods_at_near_reset_no_player_and_keep_no_newcomer_out", floods_at_near());
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
    in_namespace("idle_sockets_of_one_address_take_only_its_share", idle_sockets());
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

/// First packets of QUIC clients, as they would come from forged addresses: the clients never see an answer.
async fn initials(near: &Config, identity: &Identity, count: usize) -> Vec<Vec<u8>> {
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
    in_namespace("forged_quic_handshakes_delay_a_carrier_by_less_than_a_second", forged_quic_handshakes());
}

async fn forged_quic_handshakes() {
    // Far keeps the session of a killed near proxy for a while, so it needs room for many.
    let mut place = Place::with("transport = \"quic\"\n[limits]\nsessions = 10000\n").await;
    let file = place.folder.path().join("near.toml");
    let config = Config::load(&file, Role::Near).unwrap();
    let identity = Identity::load(&file, config.tls.as_ref().unwrap(), Role::Near).unwrap();
    // `block_in_place` needs a task of the runtime.
    let packets = tokio::spawn(async move { initials(&config, &identity, 1000).await }).await.unwrap();
    let mut calm = Duration::ZERO;
    for number in 0..3 {
        calm = calm.max(place.restart(number).await);
    }
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
    sleep(millis(500)).await;
    let (begun, mut worst, mut number) = (Instant::now(), Duration::ZERO, 10);
    while begun.elapsed() < Duration::from_secs(seconds()) {
        worst = worst.max(place.restart(number).await);
        number += 1;
    }
    flood.abort();
    eprintln!("forged QUIC handshakes: calm {calm:?}, longest {worst:?}");
    assert!(sent.load(Relaxed) > RATE * seconds() / 4, "the flood was only {sent:?} packets");
    assert!(worst <= calm + ALLOWED, "{worst:?} instead of {calm:?}");
    assert!(place.count("far", "quic_retries") > 0);
}
