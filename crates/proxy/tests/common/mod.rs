//! A pair of proxies in this process, with servers and clients, on loopback ports that the kernel chooses.

#![allow(unreachable_pub, reason = "modules of a test program have no other reader")]

use gamelane_core::{Seed, Stream};
use gamelane_mux::Role;
use gamelane_proxy::certificates;
use gamelane_proxy::config::Config;
use gamelane_proxy::far::Far;
use gamelane_proxy::near::Near;
use gamelane_proxy::tls::Certificates;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinHandle;

pub struct Pair {
    pub near: Arc<Near>,
    pub far: Arc<Far>,
    /// Address for clients.
    pub address: SocketAddr,
    /// Certificates of the near and the far end; `None` without TLS.
    pub shown: [Option<Arc<Certificates>>; 2],
    near_task: JoinHandle<String>,
    far_task: JoinHandle<String>,
    folder: TempDir,
}

/// Settings of a pair: keys for both files, and for each.
#[derive(Clone, Default)]
pub struct Setup {
    pub both: String,
    pub near: String,
    pub far: String,
    pub tls: bool,
    /// Fraction of datagrams lost between the two proxies, in each direction.
    pub loss: f64,
}

impl Setup {
    pub fn both(keys: &str) -> Self {
        Self { both: keys.into(), ..Self::default() }
    }

    pub fn tls(self) -> Self {
        Self { tls: true, ..self }
    }

    pub fn loss(self, loss: f64) -> Self {
        Self { loss, ..self }
    }
}

impl Pair {
    /// Folder with its files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.near_task.abort();
        self.far_task.abort();
        self.near.hub().shut_down();
        for hub in self.far.hubs() {
            hub.shut_down();
        }
    }
}

pub fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let file = folder.join(name);
    std::fs::write(&file, text).unwrap();
    file
}

pub fn certificates_of(file: &Path, config: &Config) -> Option<Arc<Certificates>> {
    let role = if config.far.is_some() { Role::Near } else { Role::Far };
    config.tls.as_ref().map(|tls| Certificates::load(file, tls, role).unwrap())
}

pub fn tls_table(end: &str) -> String {
    format!("\n[tls]\ncertificate = \"{end}.pem\"\nkey = \"{end}.key\"\nauthority = \"authority.pem\"\n")
}

pub async fn pair(server: SocketAddr, setup: &Setup) -> Pair {
    let folder = TempDir::new().unwrap();
    if setup.tls {
        certificates::make(folder.path(), 1).unwrap();
    }
    let tls = |end| if setup.tls { tls_table(end) } else { String::new() };
    let text = format!(
        "listen = \"127.0.0.1:0\"\nserver = \"{server}\"\n{}\n{}\n{}",
        setup.far,
        setup.both,
        tls("far")
    );
    let file = write(folder.path(), "far.toml", &text);
    let config = Config::load(&file, Role::Far).unwrap();
    let far_shown = certificates_of(&file, &config);
    let (far, listener) =
        Far::bind(Arc::new(config), far_shown.as_ref().map(|shown| shown.current()).as_deref()).unwrap();
    let far_task = tokio::spawn(far.clone().run(listener, far_shown.clone()));

    let way = if setup.loss > 0.0 { lossy(far.address, setup.loss).await } else { far.address };
    let text = format!(
        "listen = \"127.0.0.1:0\"\nfar = \"{}\"\n{}\n{}\n{}",
        way,
        setup.near,
        setup.both,
        tls("near")
    );
    let file = write(folder.path(), "near.toml", &text);
    let config = Config::load(&file, Role::Near).unwrap();
    let shown = certificates_of(&file, &config);
    let (near, listener) = Near::bind(Arc::new(config)).unwrap();
    let address = near.address;
    let near_task = tokio::spawn(near.clone().run(listener, shown.clone()));
    Pair { near, far, address, shown: [shown, far_shown], near_task, far_task, folder }
}

/// Starts a server that echoes, and ends when its client does.
pub async fn echo() -> SocketAddr {
    serve(|mut socket| async move {
        let (mut from, mut to) = socket.split();
        let _ = tokio::io::copy(&mut from, &mut to).await;
    })
    .await
}

/// Starts a server that calls `treat` for each connection.
pub async fn serve<F, T>(treat: F) -> SocketAddr
where
    F: Fn(TcpStream) -> T + Send + 'static,
    T: Future<Output = ()> + Send + 'static,
{
    serve_at(Ipv4Addr::LOCALHOST.into(), treat).await
}

/// Starts such a server at an address.
pub async fn serve_at<F, T>(host: IpAddr, treat: F) -> SocketAddr
where
    F: Fn(TcpStream) -> T + Send + 'static,
    T: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind((host, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(treat(socket));
        }
    });
    address
}

/// Starts a UDP relay to `to` that loses a fraction of the datagrams in each direction.
async fn lossy(to: SocketAddr, loss: f64) -> SocketAddr {
    let outside = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
    let address = outside.local_addr().unwrap();
    tokio::spawn(async move {
        let mut insides: BTreeMap<SocketAddr, Arc<UdpSocket>> = BTreeMap::new();
        let mut random = Seed(11).stream("loss");
        let mut datagram = [0; 2048];
        while let Ok((len, from)) = outside.recv_from(&mut datagram).await {
            if let Entry::Vacant(place) = insides.entry(from) {
                let inside = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
                inside.connect(to).await.unwrap();
                tokio::spawn(back(inside.clone(), outside.clone(), from, loss));
                place.insert(inside);
            }
            if !random.chance(loss) {
                let _ = insides[&from].send(&datagram[..len]).await;
            }
        }
    });
    address
}

async fn back(inside: Arc<UdpSocket>, outside: Arc<UdpSocket>, to: SocketAddr, loss: f64) {
    let mut random = Seed(u64::from(to.port())).stream("loss");
    let mut datagram = [0; 2048];
    while let Ok(len) = inside.recv(&mut datagram).await {
        if !random.chance(loss) {
            let _ = outside.send_to(&datagram[..len], to).await;
        }
    }
}

/// Generates the same bytes for the same seed, so a test can check bytes without storing them.
pub struct Bytes(Stream);

impl Bytes {
    pub fn new(seed: u64) -> Self {
        Self(Seed(seed).stream("bytes"))
    }

    pub fn next(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.0.bits() as u8).collect()
    }
}

/// Runs a client that sends `messages` and checks that exactly its bytes come back.
pub async fn converse(address: SocketAddr, seed: u64, messages: usize, pause: Duration) {
    let socket = TcpStream::connect(address).await.unwrap();
    socket.set_nodelay(true).unwrap();
    let (mut from, mut to) = socket.into_split();
    let sizes = move || {
        let mut random = Seed(seed).stream("sizes");
        (0..messages).map(move |_| 1 + random.below(200) as usize * if random.chance(0.02) { 50 } else { 1 })
    };
    let writer = tokio::spawn(async move {
        let mut bytes = Bytes::new(seed);
        for size in sizes() {
            to.write_all(&bytes.next(size)).await.expect("the stream is open");
            tokio::time::sleep(pause).await;
        }
        to.shutdown().await.unwrap();
    });
    let mut bytes = Bytes::new(seed);
    for (index, size) in sizes().enumerate() {
        let mut part = vec![0; size];
        from.read_exact(&mut part)
            .await
            .unwrap_or_else(|error| panic!("client {seed}, message {index}: {error}"));
        assert!(part == bytes.next(size), "client {seed}: message {index} differs");
    }
    assert_eq!(from.read(&mut [0; 16]).await.unwrap(), 0, "no bytes after the end");
    writer.await.unwrap();
}

/// How long to wait for what must happen: a busy machine may take this long.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until `what` holds.
pub async fn eventually(what: impl Fn() -> bool, name: &str) {
    for _ in 0..6000 {
        if what() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {name}");
}

pub fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
