//! Peers and clients that are wrong, slow, hostile or gone: they are refused or limited, and others do not notice.

use crate::common::*;
use gamelane_mux::{CarrierId, Frame, Hello, Length, Parsed, Position, Role, StreamId, frame};
use gamelane_proxy::certificates;
use gamelane_proxy::config::Config;
use gamelane_proxy::near::Near;
use gamelane_proxy::proxy_header;
use gamelane_proxy::tls::Identity;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// Connects a client and expects a reset, on connecting or on its first read.
async fn is_refused(address: SocketAddr, within: std::time::Duration) {
    let reset = timeout(within, async {
        let mut client = TcpStream::connect(address).await?;
        client.read(&mut [0; 1]).await
    });
    let error = reset.await.expect("in time").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

fn hello(session: u8) -> Vec<u8> {
    let hello = Hello {
        session: [session; 16],
        carrier: CarrierId(0),
        carriers: 1,
        window: 65_536,
        positions: 0,
        resume: false,
    };
    let mut bytes = Vec::new();
    Frame::<Length>::Hello(hello).put_header(&mut bytes);
    bytes
}

/// Reads until the other end closes.
async fn closed(mut socket: TcpStream, within: std::time::Duration) {
    let mut sink = Vec::new();
    // It may close with or without a reset.
    let _ = timeout(within, socket.read_to_end(&mut sink)).await.expect("closed in time");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_refused_if_the_server_is_down() {
    let nobody: SocketAddr = "127.0.0.1:1".parse().unwrap();
    let pair = pair(nobody, &Setup::default()).await;
    is_refused(pair.address, PATIENCE).await;
    assert_eq!(pair.far.metrics.refused.value(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_far_proxy_clients_are_refused_after_the_stated_time() {
    let folder = TempDir::new().unwrap();
    let text = "listen = \"127.0.0.1:0\"\nfar = \"127.0.0.1:1\"\nrefuse_after = \"300ms\"\n";
    let config = Config::load(&write(folder.path(), "near.toml", text), Role::Near).unwrap();
    let (near, listener) = Near::bind(Arc::new(config)).unwrap();
    let task = tokio::spawn(near.clone().run(listener, None));
    is_refused(near.address, PATIENCE).await;
    assert_eq!(near.metrics.refused.value(), 1);
    assert!(!task.is_finished(), "it keeps trying");
    task.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_beyond_the_limit_are_refused() {
    let pair = pair(echo().await, &Setup::both("[limits]\nstreams = 2\nstreams_per_source = 2\n")).await;
    let mut kept = Vec::new();
    for _ in 0..2 {
        let mut client = TcpStream::connect(pair.address).await.unwrap();
        client.write_all(b"x").await.unwrap();
        client.read_exact(&mut [0; 1]).await.unwrap();
        kept.push(client);
    }
    is_refused(pair.address, PATIENCE).await;
    drop(kept);
    eventually(|| pair.near.hub().is_idle(), "the clients have left").await;
    timeout(PATIENCE, converse(pair.address, 1, 5, millis(1))).await.expect("there is room again");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_stream_is_given_up() {
    let pair = pair(echo().await, &Setup::both("[timeouts]\nidle = \"500ms\"\n")).await;
    let mut client = TcpStream::connect(pair.address).await.unwrap();
    client.write_all(b"x").await.unwrap();
    client.read_exact(&mut [0; 1]).await.unwrap();
    let end = timeout(PATIENCE, client.read(&mut [0; 1])).await.expect("in time");
    assert_eq!(end.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
}

/// Runs a near proxy with the certificates in `near` until it gives up, and returns the reason.
async fn near_gives_up(near: &TempDir, far: SocketAddr) -> String {
    let text = format!("listen = \"127.0.0.1:0\"\nfar = \"{far}\"\n{}", tls_table("near"));
    let file = write(near.path(), "near.toml", &text);
    let config = Config::load(&file, Role::Near).unwrap();
    let shown = certificates_of(&file, &config);
    let (near, listener) = Near::bind(Arc::new(config)).unwrap();
    timeout(PATIENCE, near.run(listener, shown)).await.expect("gives up in time")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_another_authority_is_refused_and_reported() {
    let pair = pair(echo().await, &Setup::default().tls()).await;
    timeout(PATIENCE, converse(pair.address, 1, 5, millis(1))).await.expect("the right one works");
    let other = TempDir::new().unwrap();
    certificates::make(other.path(), 1).unwrap();
    let why = near_gives_up(&other, pair.far.address).await;
    assert!(why.contains("do not accept each other's certificates"), "{why}");
    eventually(|| pair.far.metrics.handshakes_failed.value() > 0, "the far end counts it").await;
    assert_eq!(pair.far.hubs().len(), 1, "no session came of it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_near_end_without_a_certificate_of_its_own_is_refused() {
    // It knows the far end's authority and shows a certificate of another: an attacker with the public files could do this.
    let pair = pair(echo().await, &Setup::default().tls()).await;
    let why = {
        let own = TempDir::new().unwrap();
        certificates::make(own.path(), 1).unwrap();
        let trusted = own.path().join("authority.pem");
        let read = |path| std::fs::read_to_string(path).unwrap();
        std::fs::write(&trusted, read(pair.folder().join("authority.pem")) + &read(trusted.clone())).unwrap();
        near_gives_up(&own, pair.far.address).await
    };
    assert!(why.contains("do not accept each other's certificates"), "{why}");
    eventually(|| pair.far.metrics.handshakes_failed.value() > 0, "the far end counts it").await;
}

#[test]
fn an_expired_certificate_is_named_with_its_date() {
    let folder = TempDir::new().unwrap();
    certificates::make(folder.path(), 0).unwrap();
    std::thread::sleep(millis(1100));
    let text = format!("listen = \"127.0.0.1:0\"\nserver = \"127.0.0.1:1\"\n{}", tls_table("far"));
    let file = write(folder.path(), "far.toml", &text);
    let config = Config::load(&file, Role::Far).unwrap();
    let problems = Identity::load(&file, config.tls.as_ref().unwrap(), Role::Far).unwrap_err();
    let error = &problems.0[0];
    assert_eq!((error.key.as_deref(), error.value.as_deref()), (Some("tls.certificate"), Some("far.pem")));
    assert!(error.message.starts_with("the certificate of CN=far.gamelane expired on "), "{}", error.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replayed_handshake_is_refused() {
    let pair = pair(echo().await, &Setup::default().tls()).await;
    // A relay that records all bytes of a near end.
    let recorded: Arc<Mutex<Vec<u8>>> = Arc::default();
    let tap = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let tapped = tap.local_addr().unwrap();
    let (log, far) = (recorded.clone(), pair.far.address);
    tokio::spawn(async move {
        let (mut near, _) = tap.accept().await.unwrap();
        let mut far = TcpStream::connect(far).await.unwrap();
        let (mut near_in, mut near_out) = near.split();
        let (mut far_in, mut far_out) = far.split();
        let forth = async {
            let mut part = [0; 4096];
            while let Ok(count @ 1..) = near_in.read(&mut part).await {
                log.lock().unwrap().extend_from_slice(&part[..count]);
                far_out.write_all(&part[..count]).await.unwrap();
            }
        };
        tokio::join!(forth, async { tokio::io::copy(&mut far_in, &mut near_out).await.unwrap() });
    });
    let text = format!("listen = \"127.0.0.1:0\"\nfar = \"{tapped}\"\n{}", tls_table("near"));
    let file = write(pair.folder(), "tapped.toml", &text);
    let config = Config::load(&file, Role::Near).unwrap();
    let shown = certificates_of(&file, &config);
    let (near, listener) = Near::bind(Arc::new(config)).unwrap();
    let task = tokio::spawn(near.clone().run(listener, shown));
    timeout(PATIENCE, converse(near.address, 1, 5, millis(1))).await.expect("it works");
    let (sessions, failed) = (pair.far.hubs().len(), pair.far.metrics.handshakes_failed.value());

    let mut replay = TcpStream::connect(pair.far.address).await.unwrap();
    let bytes = recorded.lock().unwrap().clone();
    replay.write_all(&bytes).await.unwrap();
    closed(replay, PATIENCE).await;
    eventually(|| pair.far.metrics.handshakes_failed.value() > failed, "refused").await;
    assert_eq!(pair.far.hubs().len(), sessions);
    task.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn both_ends_report_another_version() {
    // A far end of a later version.
    let server = serve(|mut socket| async move {
        socket.write_all(&[0xf0, b'G', b'L', b'M', 9]).await.unwrap();
        let _ = socket.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let folder = TempDir::new().unwrap();
    let text = format!("listen = \"127.0.0.1:0\"\nfar = \"{server}\"\n");
    let config = Config::load(&write(folder.path(), "near.toml", &text), Role::Near).unwrap();
    let (near, listener) = Near::bind(Arc::new(config)).unwrap();
    let why = timeout(PATIENCE, near.run(listener, None)).await.expect("gives up");
    assert!(why.contains("version 9"), "{why}");

    // A near end of a later version gets an answer, so that it can report the same.
    let pair = pair(echo().await, &Setup::default()).await;
    let mut late = TcpStream::connect(pair.far.address).await.unwrap();
    late.write_all(&[0xf0, b'G', b'L', b'M', 9]).await.unwrap();
    let mut answer = Vec::new();
    timeout(PATIENCE, late.read_to_end(&mut answer)).await.expect("in time").unwrap();
    assert_eq!(answer[1..4], *b"GLM");
    eventually(|| pair.far.metrics.handshakes_failed.value() == 1, "it is counted").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_frames_end_only_their_own_carrier() {
    let pair = pair(echo().await, &Setup::default()).await;
    let oversized = {
        let frame = Frame::Data {
            stream: StreamId(0),
            position: Position::Continues,
            fin: false,
            body: Length(1 << 20),
        };
        let mut bytes = Vec::new();
        frame.put_header(&mut bytes);
        bytes
    };
    let unopened = vec![0x10, 7, 1, b'x'];
    let attacks: [Vec<u8>; 5] = [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        vec![0xf0; 200],
        [hello(1), oversized].concat(),
        [hello(2), unopened].concat(),
        [hello(3), vec![0; 64]].concat(),
    ];
    for attack in attacks {
        let mut socket = TcpStream::connect(pair.far.address).await.unwrap();
        socket.write_all(&attack).await.unwrap();
        closed(socket, PATIENCE).await;
    }
    timeout(PATIENCE, converse(pair.address, 1, 20, millis(1))).await.expect("the pair goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_peer_is_cut_off_and_frees_its_place() {
    let keys = "[timeouts]\nhandshake = \"3s\"\n[limits]\nhandshakes = 4\n";
    let pair = pair(echo().await, &Setup { far: keys.into(), ..Setup::default() }).await;
    eventually(|| pair.near.hub().carriers_up() == 1, "the pair is up").await;
    let mut slow = Vec::new();
    for _ in 0..4 {
        let mut socket = TcpStream::connect(pair.far.address).await.unwrap();
        socket.write_all(&hello(9)[..3]).await.unwrap();
        slow.push(socket);
    }
    // A carrier takes the place of the oldest.
    pair.near.hub().cut(CarrierId(0));
    timeout(PATIENCE, converse(pair.address, 1, 5, millis(1))).await.expect("there is room");
    for socket in slow {
        closed(socket, PATIENCE).await;
    }
    assert_eq!(
        (pair.far.metrics.handshakes_evicted.value(), pair.far.metrics.handshakes_late.value()),
        (1, 3)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vanished_peer_is_found_by_its_silence() {
    // A busy machine holds keep-alives up, so the silence is many of them.
    let keys = "[timeouts]\nkeep_alive = \"100ms\"\nsilence = \"3s\"\nresume = \"300ms\"\n";
    let pair = pair(echo().await, &Setup::both(keys)).await;
    eventually(|| pair.far.hubs().len() == 1, "the pair is up").await;
    // It says hello and then nothing more, like a machine that has lost its power.
    let mut half_open = TcpStream::connect(pair.far.address).await.unwrap();
    half_open.write_all(&hello(5)).await.unwrap();
    eventually(|| pair.far.hubs().len() == 2, "its session").await;
    eventually(|| pair.far.hubs().len() == 1, "its session ends").await;
    assert!(pair.near.hub().carriers_up() == 1, "keep-alives keep the other one");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_outside_of_the_allow_list_is_refused() {
    let pair = pair(echo().await, &Setup::both("allow = [\"192.0.2.0/24\", \"2001:db8::/32\"]\n")).await;
    is_refused(pair.address, PATIENCE).await;
    assert_eq!((pair.near.metrics.unlisted.value(), pair.near.metrics.refused.value()), (1, 1));
    eventually(|| pair.far.metrics.unlisted.value() > 0, "far refuses the carrier").await;
    assert_eq!(pair.far.metrics.handshakes_failed.value(), 0);
    assert_eq!(pair.far.hubs().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listed_address_is_served_and_has_no_share() {
    let keys = "allow = [\"127.0.0.1\"]\n[limits]\nstreams_per_source = 1\nhandshakes_per_source = 1\n";
    let pair = pair(echo().await, &Setup::both(keys)).await;
    let clients = (0..3).map(|seed| tokio::spawn(converse(pair.address, seed, 20, millis(5))));
    for client in clients.collect::<Vec<_>>() {
        timeout(PATIENCE, client).await.expect("in time").unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_without_a_first_byte_is_cut_off_before_a_slow_one() {
    let keys = "[timeouts]\nfirst_byte = \"200ms\"\nhandshake = \"300s\"\n";
    let pair = pair(echo().await, &Setup { far: keys.into(), ..Setup::default() }).await;
    let mut slow = TcpStream::connect(pair.far.address).await.unwrap();
    slow.write_all(&hello(9)[..3]).await.unwrap();
    is_refused(pair.far.address, PATIENCE).await;
    let metrics = &pair.far.metrics;
    assert_eq!((metrics.no_first_byte.value(), metrics.handshakes_late.value()), (1, 0));
    slow.write_all(&hello(9)[3..]).await.unwrap();
    eventually(|| pair.far.hubs().len() == 2, "the slow one is served").await;
}

/// Connects as a load balancer for `client` and has one message echoed.
async fn balanced(near: SocketAddr, client: &str) -> std::io::Result<TcpStream> {
    let mut socket = TcpStream::connect(near).await?;
    socket.write_all(&proxy_header::write(client.parse().unwrap(), near)).await?;
    socket.write_all(b"x").await?;
    socket.read_exact(&mut [0; 1]).await?;
    Ok(socket)
}

#[tokio::test(flavor = "multi_thread")]
async fn shares_count_by_the_header_of_a_listed_load_balancer_only() {
    let keys = "proxy_protocol = \"v2\"\n[limits]\nstreams_per_source = 1\n";
    for (allow, is_served) in [("allow = [\"127.0.0.1/32\"]\n", true), ("", false)] {
        let pair = pair(echo().await, &Setup { near: format!("{allow}{keys}"), ..Setup::default() }).await;
        let _one = balanced(pair.address, "203.0.113.1:1").await.expect("the first is served");
        let same = balanced(pair.address, "203.0.113.1:2").await.unwrap_err();
        assert_eq!(same.kind(), std::io::ErrorKind::ConnectionReset);
        assert_eq!(pair.near.metrics.over_share.value(), 1);
        let other = balanced(pair.address, "203.0.113.2:1").await;
        assert_eq!(other.is_ok(), is_served, "{other:?}");
    }
}

/// Connects as a near proxy, says hello, and returns the connection and whether far has accepted the session.
async fn greets(far: SocketAddr, session: u8) -> (TcpStream, bool) {
    let mut socket = TcpStream::connect(far).await.unwrap();
    socket.write_all(&hello(session)).await.unwrap();
    let mut answer = vec![0; hello(session).len()];
    let read = timeout(PATIENCE, socket.read_exact(&mut answer)).await.expect("in time");
    // A refusal is a hello without credit, which is shorter.
    let accepted = read.is_ok()
        && matches!(frame::parse(&answer, 0), Ok(Parsed::Frame { frame: Frame::Hello(hello), .. }) if hello.window > 0);
    (socket, accepted)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_near_proxy_that_is_killed_and_restarted_in_a_loop_does_not_fill_the_sessions() {
    let keys = "[limits]\nsessions = 3\n[timeouts]\nresume = \"300s\"\n";
    let pair = pair(echo().await, &Setup { far: keys.into(), ..Setup::default() }).await;
    eventually(|| pair.near.hub().carriers_up() == 1, "the pair is up").await;
    for session in 1..10 {
        let (socket, accepted) = greets(pair.far.address, session).await;
        assert!(accepted, "start {session}");
        drop(socket);
        eventually(
            || pair.far.hubs().iter().filter(|hub| hub.carriers_up() > 0).count() == 1,
            "far sees the end",
        )
        .await;
    }
    assert_eq!(pair.far.hubs().len(), 3);
    // Sessions with a carrier stay.
    let kept = [greets(pair.far.address, 10).await, greets(pair.far.address, 11).await];
    assert!(kept.iter().all(|(_, accepted)| *accepted));
    assert!(!greets(pair.far.address, 12).await.1, "all three have a carrier");
    timeout(PATIENCE, converse(pair.address, 1, 5, millis(1))).await.expect("the pair goes on");
}

/// Starts a near proxy with the certificate of this name.
fn near_named(folder: &Path, name: &str, far: SocketAddr) -> (Arc<Near>, tokio::task::JoinHandle<String>) {
    let text = format!("listen = \"127.0.0.1:0\"\nfar = \"{far}\"\n{}", tls_table(name));
    let file = write(folder, &format!("{name}.toml"), &text);
    let config = Config::load(&file, Role::Near).unwrap();
    let shown = certificates_of(&file, &config);
    let (near, listener) = Near::bind(Arc::new(config)).unwrap();
    (near.clone(), tokio::spawn(near.run(listener, shown)))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_gives_way_only_to_a_near_proxy_with_the_same_certificate() {
    let keys = "[limits]\nsessions = 2\n[timeouts]\nresume = \"300s\"\n";
    let pair = pair(echo().await, &Setup { far: keys.into(), ..Setup::default() }.tls()).await;
    eventually(|| pair.near.hub().carriers_up() == 1, "the pair is up").await;
    let folder = certificates::folder::Folder::open(pair.folder()).unwrap();
    for name in ["home", "other"] {
        folder.add(name, Role::Near, 1).unwrap();
    }
    drop(folder);
    let kill = |(near, task): (Arc<Near>, tokio::task::JoinHandle<String>)| {
        task.abort();
        near.hub().cut(CarrierId(0));
        near.hub().shut_down();
    };
    // A near proxy that is refused has a carrier for a moment, so far is asked.
    let live = || pair.far.hubs().iter().filter(|hub| hub.carriers_up() > 0).count();
    let home = near_named(pair.folder(), "home", pair.far.address);
    eventually(|| live() == 2, "the first one is up").await;
    kill(home);
    eventually(|| live() == 1, "far sees the end").await;
    let other = near_named(pair.folder(), "other", pair.far.address);
    tokio::time::sleep(millis(500)).await;
    assert_eq!((live(), pair.far.hubs().len()), (1, 2), "the session is not its own");
    kill(other);
    let home = near_named(pair.folder(), "home", pair.far.address);
    eventually(|| live() == 2, "it has its place again").await;
    timeout(PATIENCE, converse(home.0.address, 1, 5, millis(1))).await.expect("it serves");
    timeout(PATIENCE, converse(pair.address, 1, 5, millis(1))).await.expect("the other one goes on");
    kill(home);
}
