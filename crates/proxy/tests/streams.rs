//! Bytes through a pair arrive complete and in order, whatever happens to carriers and other streams.

use crate::common::*;
use gamelane_mux::{CarrierId, Frame, Hello, Length, StreamId};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

async fn many_converse(setup: Setup) {
    let pair = pair(echo().await, &setup).await;
    let clients: Vec<_> =
        (0..50).map(|seed| tokio::spawn(converse(pair.address, seed, 40, millis(2)))).collect();
    for client in clients {
        timeout(PATIENCE, client).await.expect("in time").unwrap();
    }
    eventually(
        || pair.near.hub().is_idle() && pair.far.hubs().iter().all(|hub| hub.is_idle()),
        "nothing left",
    )
    .await;
    assert_eq!((pair.near.metrics.closed.value(), pair.near.metrics.aborted.value()), (50, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_clients_over_one_plain_carrier() {
    many_converse(Setup::default()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_clients_over_four_encrypted_carriers() {
    many_converse(Setup::both("carriers = 4\nassignment = \"least-backlog\"").tls()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_clients_with_coalescing_and_repeats() {
    let keys = "carriers = 2\n[coalescing]\ndeadline = \"3ms\"\n[repeat]\nafter = 0.5\n";
    many_converse(Setup::both(keys)).await;
}

#[tokio::test]
async fn many_clients_while_the_event_loop_stays_awake() {
    many_converse(Setup::both("carriers = 2\nbusy_poll = \"1ms\"")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_clients_over_quic() {
    many_converse(Setup::both("carriers = 2\ntransport = \"quic\"").tls()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn over_quic_late_messages_are_repeated_in_datagrams_and_count_once() {
    let keys = "transport = \"quic\"\n[repeat]\nafter = 0.5\n";
    let pair = pair(echo().await, &Setup::both(keys).tls()).await;
    // The number depends on the round trip, which is longer on a busy machine, so go on until there are some.
    let seen =
        || (pair.far.hubs()[0].status().sent.repeats, pair.near.hub().status().received.duplicate_bytes);
    for seed in 0..20 {
        timeout(PATIENCE, converse(pair.address, seed, 100, millis(2))).await.expect("in time");
        let (repeats, duplicates) = seen();
        if repeats > 30 && duplicates > 1000 {
            return;
        }
    }
    panic!("repeats, duplicate bytes: {:?}", seen());
}

async fn renewed(setup: Setup) {
    let pair = pair(echo().await, &setup).await;
    let client = tokio::spawn(converse(pair.address, 1, 300, millis(5)));
    eventually(|| pair.near.hub().carriers_up() == 1, "the pair is up").await;
    let shown = || pair.shown.iter().flatten();
    // A file that is not valid is not used.
    std::fs::write(pair.folder().join("far.pem"), "nonsense").unwrap();
    assert!(pair.shown[1].as_ref().unwrap().renew().is_err());
    pair.near.hub().cut(CarrierId(0));
    eventually(|| pair.near.metrics.carriers_up.value() == 2, "the old certificates still work").await;
    // Another authority: the two ends accept each other only if both have new certificates.
    for file in ["authority.pem", "authority.key", "near.pem", "near.key", "far.pem", "far.key"] {
        std::fs::remove_file(pair.folder().join(file)).unwrap();
    }
    gamelane_proxy::certificates::make(pair.folder(), 1).unwrap();
    pair.shown[1].as_ref().unwrap().renew().unwrap();
    pair.near.hub().cut(CarrierId(0));
    eventually(
        || pair.far.metrics.handshakes_failed.value() > 0,
        "the near end's old certificate is refused",
    )
    .await;
    shown().for_each(|shown| shown.renew().unwrap());
    timeout(PATIENCE, client).await.expect("in time").unwrap();
    // The client sees the end of its stream before the near end has counted it.
    eventually(|| pair.near.metrics.closed.value() == 1, "the stream is closed").await;
    assert_eq!(pair.near.metrics.aborted.value(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_are_renewed_under_a_stream() {
    renewed(Setup::default().tls()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_are_renewed_under_a_stream_over_quic() {
    renewed(Setup::both("transport = \"quic\"").tls()).await;
}

async fn carriers_die(setup: Setup) {
    let pair = pair(echo().await, &setup).await;
    let clients: Vec<_> =
        (0..40).map(|seed| tokio::spawn(converse(pair.address, seed, 150, millis(10)))).collect();
    let mut random = gamelane_core::Seed(5).stream("cuts");
    let lost = || pair.near.metrics.carriers_lost.value();
    let mut cuts = 0;
    // A carrier that has not reconnected cannot be cut, so some cuts have no effect.
    while cuts < 20 || lost() < 5 {
        cuts += 1;
        tokio::time::sleep(millis(30 + random.below(60))).await;
        let carrier = CarrierId(random.below(2) as u8);
        match random.below(2) {
            0 => pair.near.hub().cut(carrier),
            _ => pair.far.hubs().iter().for_each(|hub| hub.cut(carrier)),
        }
    }
    for client in clients {
        timeout(PATIENCE, client).await.expect("in time").unwrap();
    }
    assert_eq!(pair.near.metrics.aborted.value(), 0);
    eventually(
        || pair.near.hub().is_idle() && pair.far.hubs().iter().all(|hub| hub.is_idle()),
        "nothing left",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_or_doubled_when_carriers_are_cut_at_random() {
    carriers_die(Setup::both("carriers = 2")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_or_doubled_when_quic_carriers_are_cut() {
    carriers_die(Setup::both("carriers = 2\ntransport = \"quic\"").tls()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_or_doubled_when_quic_carriers_lose_packets_and_are_cut() {
    // After a packet loss, streams can overtake the hello of their connection.
    carriers_die(Setup::both("carriers = 2\ntransport = \"quic\"").tls().loss(0.1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reads_nothing_does_not_block_others() {
    // The greedy client asks for endless data and does not read it.
    let server = serve(|mut socket| async move {
        let mut first = [0; 1];
        if socket.read_exact(&mut first).await.is_err() {
            return;
        }
        if first == *b"!" {
            let block = vec![7; 1 << 16];
            while socket.write_all(&block).await.is_ok() {}
        } else {
            let (mut from, mut to) = socket.split();
            let _ = to.write_all(&first).await;
            let _ = tokio::io::copy(&mut from, &mut to).await;
        }
    })
    .await;
    let pair = pair(server, &Setup::default()).await;
    let mut greedy = TcpStream::connect(pair.address).await.unwrap();
    greedy.write_all(b"!").await.unwrap();
    eventually(|| pair.near.metrics.stalls.value() > 0, "the greedy client stalls").await;
    timeout(PATIENCE, converse(pair.address, 3, 100, millis(1))).await.expect("others go on");
    // Data of the others is acknowledged soon. Of the greedy one, a window stays at each end.
    let held = || [pair.near.hub(), pair.far.hubs()[0].clone()].map(|hub| hub.status().buffered_bytes);
    eventually(|| held().iter().all(|bytes| *bytes <= 64 << 10), "a window at each end").await;
    // When it reads, all its data arrives.
    let mut block = vec![0; 4 << 20];
    timeout(PATIENCE, greedy.read_exact(&mut block)).await.expect("in time").unwrap();
    assert!(block.iter().all(|byte| *byte == 7));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_direction_ends_on_its_own() {
    let server = serve(|mut socket| async move {
        let mut all = Vec::new();
        socket.read_to_end(&mut all).await.unwrap();
        // The client has ended its direction; the server's is still open.
        socket.write_all(format!("{} bytes", all.len()).as_bytes()).await.unwrap();
    })
    .await;
    let pair = pair(server, &Setup::default()).await;
    let mut client = TcpStream::connect(pair.address).await.unwrap();
    client.write_all(&[1; 100_000]).await.unwrap();
    client.shutdown().await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, client.read_to_string(&mut answer)).await.expect("in time").unwrap();
    assert_eq!(answer, "100000 bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_is_a_reset_at_the_other_end() {
    let (seen, mut saw) = tokio::sync::mpsc::unbounded_channel();
    let server = serve(move |mut socket| {
        let seen = seen.clone();
        async move {
            let mut first = [0; 1];
            socket.read_exact(&mut first).await.unwrap();
            if first == *b"x" {
                // If a byte is unread, the kernel closes with a reset.
                socket.readable().await.unwrap();
                return;
            }
            let _ = seen.send(socket.read(&mut [0; 1]).await.map_err(|error| error.kind()));
        }
    })
    .await;
    let pair = pair(server, &Setup::default()).await;
    let client = TcpStream::connect(pair.address).await.unwrap();
    let mut client = client;
    client.write_all(b"a").await.unwrap();
    eventually(|| pair.far.metrics.bytes_out.value() > 0, "it arrives").await;
    socket2::SockRef::from(&client).set_linger(Some(millis(0))).unwrap();
    drop(client);
    let end = timeout(PATIENCE, saw.recv()).await.expect("in time").unwrap();
    assert_eq!(end, Err(std::io::ErrorKind::ConnectionReset));

    let mut client = TcpStream::connect(pair.address).await.unwrap();
    client.write_all(b"xy").await.unwrap();
    let end = timeout(PATIENCE, client.read(&mut [0; 1])).await.expect("in time");
    assert_eq!(end.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    eventually(|| pair.near.hub().is_idle(), "nothing left").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_at_once_leaves_nothing() {
    let pair = pair(echo().await, &Setup::default()).await;
    // This near end opens a stream and resets it in one packet.
    let (session, carrier, stream) = ([5; 16], CarrierId(0), StreamId(0));
    let hello = Hello { session, carrier, carriers: 1, window: 65_536, positions: 0, resume: false };
    let mut bytes = Vec::new();
    Frame::<Length>::Hello(hello).put_header(&mut bytes);
    Frame::Open { stream, metadata: Length(0) }.put_header(&mut bytes);
    Frame::<Length>::Reset { stream, code: 3 }.put_header(&mut bytes);
    // The stream after it shows that the far end has seen all of this.
    Frame::Open { stream: StreamId(1), metadata: Length(0) }.put_header(&mut bytes);
    let mut near = TcpStream::connect(pair.far.address).await.unwrap();
    near.write_all(&bytes).await.unwrap();
    eventually(|| pair.far.metrics.opened.value() > 0, "the second client").await;
    let hub = || pair.far.hubs().into_iter().find(|hub| hub.streams() > 0);
    eventually(|| hub().is_some_and(|hub| hub.flows(9).iter().any(|flow| flow.stream == 1)), "its flow")
        .await;
    assert_eq!(hub().unwrap().flows(9).iter().map(|flow| flow.stream).collect::<Vec<_>>(), [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_learns_the_players_address() {
    let server = serve(|mut socket| async move {
        let mut header = [0; 28];
        socket.read_exact(&mut header).await.unwrap();
        let client = gamelane_proxy::proxy_header::client(&header).unwrap().unwrap();
        socket.write_all(client.to_string().as_bytes()).await.unwrap();
    })
    .await;
    let setup = Setup { far: "proxy_protocol = \"v2\"".into(), ..Setup::default() };
    let direct = pair(server, &setup).await;
    let mut client = TcpStream::connect(direct.address).await.unwrap();
    let mut said = String::new();
    client.read_to_string(&mut said).await.unwrap();
    assert_eq!(said, client.local_addr().unwrap().to_string());

    // Behind a load balancer that sends a header.
    let setup = Setup { near: "proxy_protocol = \"v2\"".into(), ..setup };
    let behind = pair(server, &setup).await;
    let mut client = TcpStream::connect(behind.address).await.unwrap();
    let player: SocketAddr = "192.0.2.7:4321".parse().unwrap();
    let header = gamelane_proxy::proxy_header::write(player, behind.address);
    for part in header.chunks(5) {
        client.write_all(part).await.unwrap();
    }
    let mut said = String::new();
    client.read_to_string(&mut said).await.unwrap();
    assert_eq!(said, "192.0.2.7:4321");

    let mut client = TcpStream::connect(behind.address).await.unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nHost: example\r\n\r\n").await.unwrap();
    let end = timeout(PATIENCE, client.read(&mut [0; 1])).await.expect("in time");
    assert_eq!(end.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
}
