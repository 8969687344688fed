//! Floods in three more situations: from QUIC clients that prove their addresses, while the proxies are 100 ms apart, and over IPv6,
//! where a source is a /64. `doors.rs` has the others.

use crate::common::{PATIENCE, millis};
use crate::doors::{
    Place, Player, QUIC, RATE, SOURCES, connect, endure, endure_forged, in_namespace, in_time,
};
use gamelane_mux::Role;
use gamelane_proxy::config::Config;
use gamelane_proxy::tls::Identity;
use quinn::crypto::rustls::QuicClientConfig;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep, timeout};

/// A QUIC handshake takes this machine as long as many connections do.
const HANDSHAKES: u64 = RATE / 8;

#[test]
fn quic_handshakes_from_proven_addresses_delay_a_carrier_by_less_than_a_second() {
    let name = "floods::quic_handshakes_from_proven_addresses_delay_a_carrier_by_less_than_a_second";
    in_namespace(name, quic_handshakes());
}

async fn quic_handshakes() {
    let (mut place, mut calm) = (Place::with(QUIC).await, Place::with(QUIC).await);
    let file = place.folder.path().join("near.toml");
    let config = Config::load(&file, Role::Near).unwrap();
    let identity = Identity::load(&file, config.tls.as_ref().unwrap(), Role::Near).unwrap();
    let crypto = QuicClientConfig::try_from(identity.client().unwrap()).unwrap();
    let client = quinn::ClientConfig::new(Arc::new(crypto));
    let (far, proven) = (place.far, Arc::new(AtomicU64::new(0)));
    let counter = proven.clone();
    let flood = tokio::spawn(async move {
        let (mut handshakes, mut number) = (JoinSet::new(), 0);
        let mut tick = interval(millis(1000 / HANDSHAKES));
        loop {
            tick.tick().await;
            number += 1;
            let from = Ipv4Addr::new(127, 1, 0, 1 + (number % SOURCES) as u8);
            handshakes.spawn(half_open(from, far, client.clone(), counter.clone()));
            while handshakes.try_join_next().is_some() {}
        }
    });
    let begun = Instant::now();
    sleep(millis(500)).await;
    in_time("proven QUIC handshakes", async || place.restarts(&mut calm).await).await;
    flood.abort();
    let rate = proven.load(Relaxed) as f64 / begun.elapsed().as_secs_f64();
    assert!(rate > HANDSHAKES as f64 / 4.0, "the flood was only {rate:.0} handshakes/s");
}

/// Begins a handshake, answers the Retry, and says no more.
async fn half_open(
    from: Ipv4Addr,
    far: SocketAddr,
    config: quinn::ClientConfig,
    proven: Arc<AtomicU64>,
) -> std::io::Result<()> {
    let outside = UdpSocket::bind((from, 0)).await?;
    outside.connect(far).await?;
    let inside = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let client = quinn::Endpoint::client((Ipv4Addr::LOCALHOST, 0).into())?;
    let connecting = client.connect_with(config, inside.local_addr()?, "far.gamelane");
    let _connecting = connecting.map_err(std::io::Error::other)?;
    let mut packet = [0; 2048];
    let (len, back) = inside.recv_from(&mut packet).await?;
    outside.send(&packet[..len]).await?;
    let len = timeout(Duration::from_secs(1), outside.recv(&mut packet)).await??;
    // RFC 9000 section 17.2.5: the type of a Retry packet is 3.
    if packet[0] & 0xf0 == 0xf0 {
        inside.send_to(&packet[..len], back).await?;
        let (len, _) = inside.recv_from(&mut packet).await?;
        outside.send(&packet[..len]).await?;
        proven.fetch_add(1, Relaxed);
    }
    Ok(())
}

/// Proxies that are 100 ms apart.
async fn far_away(keys: &str) -> Place {
    Place::at(Ipv4Addr::LOCALHOST.into(), millis(100), keys).await
}

#[test]
fn floods_delay_a_carrier_of_a_long_path_by_less_than_a_second() {
    let long = async { endure(&far_away("").await, &far_away("").await).await };
    in_namespace("floods::floods_delay_a_carrier_of_a_long_path_by_less_than_a_second", long);
}

#[test]
fn forged_quic_handshakes_delay_a_carrier_of_a_long_path_by_less_than_a_second() {
    let name = "floods::forged_quic_handshakes_delay_a_carrier_of_a_long_path_by_less_than_a_second";
    let long = async { endure_forged(far_away(QUIC).await, far_away(QUIC).await).await };
    in_namespace(name, long);
}

#[test]
fn over_ipv6_players_are_served_and_a_64_has_one_share() {
    in_namespace("floods::over_ipv6_players_are_served_and_a_64_has_one_share", over_ipv6());
}

async fn over_ipv6() {
    let address = |network: u16, host: u16| Ipv6Addr::new(0x2001, 0xdb8, 0, network, 0, 0, 0, host);
    let (crowd, other) = ([1, 2, 3, 4].map(|host| address(1, host)), address(2, 1));
    for own in crowd.iter().chain([&other]) {
        let own = format!("{own}/64");
        let done = Command::new("ip").args(["address", "add", &own, "dev", "lo", "nodad"]).status();
        assert!(done.unwrap().success(), "{own}");
    }
    for keys in ["", "transport = \"quic\"\n"] {
        let keys = format!("{keys}[limits]\nstreams = 500\n");
        let place = Place::at(Ipv6Addr::LOCALHOST.into(), Duration::ZERO, &keys).await;
        let mut idle = Vec::new();
        for number in 0..520 {
            // A reset may come before the call returns.
            idle.extend(connect(crowd[number % crowd.len()], place.near).await);
        }
        let mut player = Player(connect(other, place.near).await.unwrap());
        player.play(5).await.expect("another network has its own share");
        let status = place.status("near");
        let streams = &status["doors"]["streams"];
        assert_eq!((&streams["limit_per_source"], &streams["sources"]), (&125.into(), &2.into()));
        assert!(streams["open"].as_u64().unwrap() <= 126, "{streams}");
        assert!(place.count("near", "streams_evicted") >= 395);
        // The crowd's newest connections are served.
        let last = timeout(PATIENCE, Player(idle.pop().unwrap()).play(5)).await;
        last.expect("in time").expect("it has not lost its place");
        let clients = place.status("near")["clients"].as_array().unwrap().clone();
        let client = format!("[{other}]:");
        assert!(
            clients.iter().any(|one| one["client"].as_str().unwrap().starts_with(&client)),
            "{clients:?}"
        );
    }
}
