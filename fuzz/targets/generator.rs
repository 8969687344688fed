//! What anyone may send to `gamelane-traffic`, and its files of records: nothing may panic, what is read is what was written, and
//! the server answers nobody with more bytes than it got before it knows the address.

use std::net::SocketAddr;
use std::sync::LazyLock;

use gamelane_core::{Duration, Instant};
use gamelane_generator::cookie::{Cookies, Token};
use gamelane_generator::measure::handshake::{ANSWER_BYTES, Answer, Exchange, Opening};
use gamelane_generator::measure::plan::{PLAN_BYTES, Plan};
use gamelane_generator::played::{self, Played};
use gamelane_generator::record::{Record, What};
use gamelane_generator::server::Server;
use gamelane_generator::wire::{Control, Echo, Header, LONGEST, Seal, Wish, sealed};
use gamelane_record::{Records, RunSummary, Totals};
use gamelane_scenario::{Model, Scenario};

/// A datagram, after four bytes for the number that is expected.
pub(crate) fn wire(bytes: &[u8]) {
    let Some((expected, packet)) = bytes.split_first_chunk::<4>() else { return };
    if let Some(control) = Control::read(packet) {
        let again = control.bytes();
        assert!(again.len() <= packet.len());
        assert_eq!(Control::read(&again), Some(control));
        assert_eq!(Header::read(packet, 0), None, "no packet is both");
    }
    let expected = u32::from_be_bytes(*expected);
    let Some(header) = Header::read(packet, expected) else { return };
    let bits = 8 * u32::from(packet[0] & 7);
    if (1..32).contains(&bits) {
        let (window, low) = (1_u32 << bits, header.number & ((1 << bits) - 1));
        let digits =
            packet[1..=bits as usize / 8].iter().fold(0, |number, digit| number << 8 | u32::from(*digit));
        assert_eq!(low, digits);
        let is_at_an_end = header.number < window || header.number > u32::MAX - window;
        assert!(header.number.abs_diff(expected) <= window / 2 || is_at_an_end, "{header:?} for {expected}");
    }
    let mut again = [0xff; 40];
    let stamped = Header { echo: header.echo.filter(|_| header.stamp_ns.is_some()), ..header };
    assert_eq!(stamped.write(&mut again), stamped.echo.is_some());
    assert_eq!(Header::read(&again, expected), Some(stamped));
}

/// Messages of `gamelane measure` and `gamelane serve`: an opening, a plan, and an answer.
pub(crate) fn measure(bytes: &[u8]) {
    if let Some(opening) = bytes.first_chunk().and_then(Opening::read) {
        assert_eq!(Opening::read(&opening.bytes()), Some(opening));
    }
    if let Some(plan) = bytes.first_chunk::<PLAN_BYTES>().and_then(Plan::read) {
        assert!(plan.is_allowed());
        assert_eq!(Plan::read(&plan.bytes()).as_ref(), Some(&plan));
        assert_eq!(plan.model().flows.len(), 6);
    }
    let exchange = Exchange { client: [1; 32], server: [2; 32] };
    let answer =
        bytes.first_chunk::<ANSWER_BYTES>().and_then(|bytes| exchange.answer(&Token::new("key"), bytes));
    assert!(!matches!(answer, Some(Answer::Accepted { .. })), "accepted without the key");
}

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
"#;

static MODEL: LazyLock<(Model, u128)> = LazyLock::new(|| {
    let model = Scenario::parse(SCENARIO, "test.toml", &[]).unwrap().to_model().unwrap();
    let fingerprint = model.fingerprint();
    (model, fingerprint)
});

/// A client as the server may not know it.
#[derive(Default)]
struct Stranger {
    cookie: Seal,
    /// The server knows the address: it has returned a cookie.
    known: bool,
    got: usize,
    sent: usize,
}

/// Clients of 80 addresses. Each step is an operation, an address, a value, and for raw bytes their number and they themselves.
pub(crate) fn server(mut bytes: &[u8]) {
    let (model, fingerprint) = &*MODEL;
    let token = Token::new("");
    let mut server = Server::new(model.clone(), Token::new(""), Cookies::new().unwrap(), 1);
    let mut strangers: Vec<Stranger> = (0..80).map(|_| Stranger::default()).collect();
    let mut now = Instant::from_secs(100);
    let mut records: Vec<Record> = Vec::new();
    let mut buffer = [0; LONGEST];
    while let [step, address, value, rest @ ..] = bytes {
        bytes = rest;
        let number = usize::from(*address) % strangers.len();
        let from: SocketAddr = ([192, 0, 2, number as u8], 4000).into();
        let stranger = &mut strangers[number];
        let session = u64::from(value & 3);
        let other = u128::from(value >> 7);
        let wish = Wish {
            flow: u16::from(value >> 5 & 3),
            fingerprint: fingerprint ^ other,
            seed: 7,
            session,
            boot: 1,
        };
        let packet = match step & 7 {
            0 => Control::Hello(wish).bytes(),
            1 => {
                let proof = token.prove(&sealed(&wish, &stranger.cookie));
                Control::Start { wish, cookie: stranger.cookie, proof }.bytes()
            }
            2 => Control::Start { wish, cookie: stranger.cookie, proof: [*value; 16] }.bytes(),
            3 => Control::Alive { session }.bytes(),
            4 => Control::Bye { session }.bytes(),
            5 => {
                let (packet, rest) = bytes.split_at(bytes.len().min(usize::from(*value)));
                bytes = rest;
                packet.to_vec()
            }
            6 => {
                let echo = Some(Echo { number: (*value).into(), held_ns: 1000 });
                let mut packet = vec![0; 60];
                Header { number: (*value).into(), stamp_ns: Some(now.as_nanos()), echo }.write(&mut packet);
                packet
            }
            _ => {
                now += Duration::from_millis(u64::from(*value) * 20);
                server.handle_timeout(now);
                Vec::new()
            }
        };
        now += Duration::from_millis(1);
        if !packet.is_empty() {
            stranger.sent += packet.len();
            server.handle_datagram(from, &packet, now, now, &mut records);
        }
        while let Some((to, len, _)) = server.poll_transmit(now, &mut buffer, &mut records) {
            let stranger = match to {
                SocketAddr::V4(to) => &mut strangers[usize::from(to.ip().octets()[3])],
                SocketAddr::V6(to) => panic!("nobody has {to}"),
            };
            stranger.got += len;
            match Control::read(&buffer[..len]) {
                Some(Control::Challenge { cookie, .. }) => stranger.cookie = cookie,
                Some(Control::Accept { .. }) => stranger.known = true,
                _ => {}
            }
            assert!(
                stranger.known || stranger.got <= stranger.sent,
                "{} B for {}",
                stranger.got,
                stranger.sent
            );
        }
        while server.poll_ended().is_some() {}
        assert!(server.sessions() <= 64 && server.sessions() <= strangers.iter().filter(|s| s.known).count());
    }
    // Silence ends every session.
    server.handle_timeout(now + Duration::from_secs(6));
    assert_eq!(server.sessions(), 0);
}

/// A client's file of records, and a server's behind a first byte that says how many are the client's: what is read is what was
/// written, and the recorder takes it.
pub(crate) fn records(bytes: &[u8]) {
    let Some((&count, bytes)) = bytes.split_first() else { return };
    let Ok(all) = played::read(bytes) else { return };
    let again: Vec<u8> = all.iter().flat_map(Record::bytes).collect();
    assert_eq!(played::read(&again).as_ref(), Ok(&all));
    let (client, server) = all.split_at(all.len().min(count.into()));
    let mut records = Records::new(&MODEL.0);
    Played::new(client.to_vec(), (!server.is_empty()).then(|| server.to_vec())).record(&mut records);
    let summary = RunSummary::new(1, &records, &Totals::default());
    assert!(summary.queues.is_empty(), "the ends see no queue");
    for flow in summary.flows.values() {
        for way in [&flow.up, &flow.down] {
            let sent =
                client.iter().chain(server).filter(|record| matches!(record.what, What::Sent { .. })).count();
            assert!(way.sent as usize <= sent && way.lost <= way.sent, "{} of {}", way.lost, way.sent);
        }
    }
}
