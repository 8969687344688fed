//! Client and server in virtual time, over a path that the test controls.

use std::collections::VecDeque;

use super::*;
use crate::client::{Client, Failure};
use crate::record::{Record, What};
use gamelane_scenario::Scenario;

const SCENARIO: &str = r#"
name = "test"
duration = "2s"
[link]
down = "1gbit"
up = "1gbit"
[[flow]]
name = "game"
app = "game"
model = "quake3"
[[flow]]
name = "upload"
app = "bulk"
direction = "up"
[[flow]]
name = "feed"
app = "udp"
direction = "down"
rate = "80kbit"
size = "100B"
"#;

fn model() -> Model {
    Scenario::parse(SCENARIO, "test.toml", &[]).unwrap().to_model().unwrap()
}

fn server(token: &str) -> Server {
    Server::new(model(), Token::new(token), Cookies::new().unwrap(), 1)
}

fn wish(flow: u16, fingerprint: u128) -> Wish {
    Wish { flow, fingerprint, seed: 7, session: 42, boot: 1 }
}

const HOME: &str = "192.0.2.1:5000";
const ONE_WAY: Duration = Duration::from_millis(15);

/// Runs both until the client ends. `fate` returns how often a datagram arrives, by its index in its direction.
fn run(
    server: &mut Server,
    client: &mut Client<'_>,
    fate: impl Fn(Direction, usize) -> usize,
) -> (Vec<Record>, Vec<Record>) {
    let home: SocketAddr = HOME.parse().unwrap();
    let (mut up, mut down) = (VecDeque::new(), VecDeque::new());
    let (mut ups, mut downs) = (0, 0);
    let (mut at_client, mut at_server) = (Vec::new(), Vec::new());
    let mut buffer = [0; LONGEST];
    let mut now = Instant::from_secs(100);
    while client.ended().is_none() {
        while let Some((_, packet)) = up.pop_front_if(|(at, _): &mut (Instant, Vec<u8>)| *at <= now) {
            server.handle_datagram(home, &packet, now, now, &mut at_server);
        }
        while let Some((_, packet)) = down.pop_front_if(|(at, _): &mut (Instant, Vec<u8>)| *at <= now) {
            client.handle_datagram(&packet, now, now, &mut at_client);
        }
        server.handle_timeout(now);
        while let Some(length) = client.poll_transmit(now, &mut buffer, &mut at_client) {
            for _ in 0..fate(Direction::Up, ups) {
                up.push_back((now + ONE_WAY, buffer[..length].to_vec()));
            }
            ups += 1;
        }
        while let Some((to, length, _)) = server.poll_transmit(now, &mut buffer, &mut at_server) {
            assert_eq!(to, home);
            for _ in 0..fate(Direction::Down, downs) {
                down.push_back((now + ONE_WAY, buffer[..length].to_vec()));
            }
            downs += 1;
        }
        let arrivals = up.front().into_iter().chain(down.front()).map(|(at, _)| *at);
        let next = arrivals.chain(client.poll_timeout()).chain(server.poll_timeout()).min();
        now = next.map_or(now, |next| next.max(now + Duration::from_nanos(1)));
    }
    (at_client, at_server)
}

fn client<'a>(wish: Wish, token: &'a Token) -> Client<'a> {
    let model = model();
    let flow = &model.flows[usize::from(wish.flow)];
    let (source, _) = gamelane_traffic::build(&flow.app, flow.schedule, Seed(7), "flow/game/app");
    Client::new(wish, source, model.duration, token, Instant::from_secs(100))
}

fn always(_: Direction, _: usize) -> usize {
    1
}

#[test]
fn a_game_is_played_both_ways_and_measured() {
    let token = Token::new("");
    let mut server = server("");
    let mut client = client(wish(0, server.fingerprint), &token);
    let (at_client, at_server) = run(&mut server, &mut client, always);
    let ending = client.ended().unwrap().unwrap();
    let theirs = ending.theirs.unwrap();
    // 33 ms between commands and 50 ms between updates for two seconds.
    assert!((60..=61).contains(&ending.ours.sent) && theirs.received == ending.ours.sent, "{ending:?}");
    assert!((39..=40).contains(&theirs.sent) && ending.ours.received == theirs.sent, "{ending:?}");
    for record in at_client.iter().chain(&at_server) {
        match record.what {
            What::Received { one_way } => assert_eq!(one_way, Some(ONE_WAY)),
            What::RoundTrip { took } => assert_eq!(took, ONE_WAY * 2),
            What::Sent { .. } => {}
            What::Duplicate | What::Tcp { .. } | What::Delivered { .. } | What::Acknowledged { .. } => {
                panic!("{record:?}")
            }
        }
    }
    let trips = |records: &[Record]| {
        records.iter().filter(|record| matches!(record.what, What::RoundTrip { .. })).count()
    };
    assert!(trips(&at_client) >= 37, "{}", trips(&at_client));
    assert!(trips(&at_server) >= 37, "{}", trips(&at_server));
}

#[test]
fn loss_and_copies_are_counted_where_they_happen() {
    let token = Token::new("");
    let mut server = server("");
    let mut client = client(wish(0, server.fingerprint), &token);
    // The first messages up are the hello and the start.
    let fate = |direction, number| match (direction, number) {
        (Direction::Up, 10..20) => 0,
        (Direction::Up, 30..35) => 2,
        _ => 1,
    };
    run(&mut server, &mut client, fate);
    let ending = client.ended().unwrap().unwrap();
    let theirs = ending.theirs.unwrap();
    assert_eq!(theirs.received, ending.ours.sent - 10);
    assert_eq!(theirs.duplicates, 5);
}

#[test]
fn lost_control_messages_are_sent_again() {
    let token = Token::new("");
    let mut server = server("");
    let mut client = client(wish(2, server.fingerprint), &token);
    let fate = |direction, number: usize| match direction {
        Direction::Up => usize::from(number % 2 == 1),
        Direction::Down => usize::from(!number.is_multiple_of(3)),
    };
    run(&mut server, &mut client, fate);
    let ending = client.ended().unwrap().unwrap();
    // 80 kbit/s of 128 B packets for two seconds, a third lost. The client sends only keep-alives.
    let theirs = ending.theirs.unwrap();
    assert_eq!((ending.ours.sent, theirs.received), (0, 0));
    assert!((155..=157).contains(&theirs.sent), "{theirs:?}");
    assert!(ending.ours.received.abs_diff(theirs.sent * 2 / 3) <= 2, "{ending:?}");
}

#[test]
fn a_refused_client_learns_the_reason() {
    let refused = |flow, fingerprint: Option<u128>, ours: &str, theirs: &str| {
        let mut server = server(theirs);
        let token = Token::new(ours);
        let mut client = client(wish(flow, fingerprint.unwrap_or(server.fingerprint)), &token);
        run(&mut server, &mut client, always);
        assert_eq!(server.sessions(), 0);
        client.ended().unwrap().unwrap_err()
    };
    assert_eq!(refused(0, Some(1), "", ""), Failure::OtherScenario);
    assert_eq!(refused(0, None, "one", "other"), Failure::Token);
    let mut nobody = server("");
    let token = Token::new("");
    let mut client = client(wish(0, nobody.fingerprint), &token);
    run(&mut nobody, &mut client, |_, _| 0);
    assert_eq!(client.ended(), Some(Err(Failure::Silence)));
}

/// Regression: after Ctrl-C a client waited five seconds for a server that was gone, and as long for an answer to its hello.
#[test]
fn a_client_that_is_asked_to_leave_does_not_wait_long_for_a_server_that_is_gone() {
    let token = Token::new("");
    let mut server = server("");
    let now = Instant::from_secs(100);
    let mut asking = client(wish(0, server.fingerprint), &token);
    asking.leave(now);
    assert_eq!(asking.ended(), Some(Err(Failure::Silence)));

    let mut playing = client(wish(0, server.fingerprint), &token);
    let (mut buffer, mut records) = ([0; LONGEST], Vec::new());
    for _ in ["hello", "start"] {
        let length = playing.poll_transmit(now, &mut buffer, &mut records).unwrap();
        server.handle_datagram(HOME.parse().unwrap(), &buffer[..length], now, now, &mut records);
        let (_, length, _) = server.poll_transmit(now, &mut buffer, &mut records).unwrap();
        playing.handle_datagram(&buffer[..length], now, now, &mut records);
    }
    playing.leave(now);
    let mut at = now;
    while let Some(next) = playing.poll_timeout() {
        at = next;
        while playing.poll_transmit(at, &mut buffer, &mut records).is_some() {}
    }
    assert_eq!(playing.ended().unwrap().unwrap().theirs, None);
    assert!((Duration::from_secs(1)..Duration::from_secs(2)).contains(&(at - now)), "{:?}", at - now);
}

/// For an address that never sees an answer, the server keeps no state, and sends it no more bytes than it received.
#[test]
fn a_forged_address_gets_nothing_out_of_it() {
    let mut server = server("");
    let victim: SocketAddr = "203.0.113.9:53".parse().unwrap();
    let now = Instant::from_secs(1);
    let (mut buffer, mut records) = ([0; LONGEST], Vec::new());
    let forged = wish(0, server.fingerprint);
    let start = Control::Start { wish: forged, cookie: [0; 16], proof: [0; 16] };
    let data = vec![0x84; 1400];
    let questions =
        [Control::Hello(forged).bytes(), start.bytes(), Control::Bye { session: 42 }.bytes(), data];
    for question in questions {
        server.handle_datagram(victim, &question, now, now, &mut records);
        let mut answered = 0;
        while let Some((_, length, _)) = server.poll_transmit(now, &mut buffer, &mut records) {
            answered += length;
        }
        assert!(answered <= question.len() / 2, "{answered} B for {} B", question.len());
    }
    assert_eq!((server.sessions(), server.poll_timeout(), records.len()), (0, None, 0));
}

#[test]
fn a_client_that_vanishes_is_forgotten() {
    let mut server = server("");
    let token = Token::new("");
    let mut client = client(wish(0, server.fingerprint), &token);
    run(&mut server, &mut client, always);
    let mut buffer = [0; LONGEST];
    while let Some(now) = server.poll_timeout() {
        server.handle_timeout(now);
        assert_eq!(server.poll_transmit(now, &mut buffer, &mut Vec::new()), None);
    }
    assert_eq!(server.sessions(), 0);
    assert_eq!(server.poll_ended().map(|(from, _)| from.to_string()).as_deref(), Some(HOME));
}

/// Regression: a process that got no CPU time from before its last packet until after the end waited for that packet forever.
#[test]
fn a_sender_that_is_late_at_the_end_still_sends_its_last_packet_and_ends() {
    let model = model();
    let flow = &model.flows[2];
    let sent = |late_by| {
        let (_, source) = gamelane_traffic::build(&flow.app, flow.schedule, Seed(7), "flow/feed/app");
        let (direction, session, duration) = (Direction::Down, 42, model.duration);
        let config = StreamConfig { source, direction, flow: 2, session, duration, same_clock: true };
        let mut stream = Stream::new(config, Instant::from_secs(100));
        let (mut buffer, mut records) = ([0; LONGEST], Vec::<Record>::new());
        for _ in 0..1000 {
            let Some(due) = stream.poll_timeout() else { break };
            let is_last = due + Duration::from_millis(15) >= stream.ends();
            let now = if is_last { due + late_by } else { due };
            stream.handle_timeout(now);
            while stream.poll_transmit(due, now, &mut buffer, &mut records).is_some() {}
        }
        assert_eq!(stream.poll_timeout(), None, "it has ended");
        stream.seen().sent
    };
    assert_eq!(sent(Duration::from_millis(40)), sent(Duration::ZERO));
}
