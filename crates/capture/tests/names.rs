//! Names of games and applications: of the shipped captures, and of flows written packet by packet.

use std::fmt::Write as _;

use gamelane_capture::names::{
    Application, Confidence, Group, Known, KnownApplication, Ports, Sends, application,
};
use gamelane_capture::{Analyzer, Capture, FlowReport, Sink, analyze};
use gamelane_core::Protocol;

use crate::support::{open, shipped};

/// Names each flow.
struct Names<'a>(&'a Known, Vec<(FlowReport, Application)>);

impl Sink for Names<'_> {
    fn flow(&mut self, report: FlowReport) {
        let found = application(&report, self.0);
        self.1.push((report, found));
    }
}

#[test]
fn the_shipped_captures_have_these_names() {
    let mut found = String::new();
    for name in [
        "openarena-4p-srv",
        "openarena-4p-cli",
        "openarena-2p-srv-headers",
        "openarena-16p-srv-headers",
        "thin-tcp-lan-srv",
        "thin-tcp-wan-cli",
    ] {
        let known = Known::default();
        let mut names = Names(&known, Vec::new());
        analyze(&mut Capture::open(&shipped(name)).unwrap(), &mut Analyzer::default(), &mut names).unwrap();
        for (report, application) in names.1 {
            let word = application.name.as_deref().unwrap_or("-");
            writeln!(
                found,
                "{name} {}: {word}, {}",
                report.key.source,
                format!("{:?}", application.confidence).to_lowercase()
            )
            .unwrap();
        }
    }
    // The thin streams are gamelane's own: their bytes have no form.
    let expected = "\
openarena-4p-srv 10.77.0.2:27960: quake3-family, likely
openarena-4p-cli 10.77.0.2:27960: quake3-family, likely
openarena-2p-srv-headers 10.77.0.2:27960: quake3-family, likely
openarena-16p-srv-headers 10.77.0.2:27960: quake3-family, likely
thin-tcp-lan-srv 10.78.2.1:46452: -, unknown
thin-tcp-lan-srv 10.78.2.1:46458: -, unknown
thin-tcp-lan-srv 10.78.2.1:45394: -, unknown
thin-tcp-lan-srv 10.78.2.1:45404: -, unknown
thin-tcp-wan-cli 10.79.0.2:34732: -, unknown
thin-tcp-wan-cli 10.79.0.2:34748: -, unknown
thin-tcp-wan-cli 10.79.0.2:34752: -, unknown
thin-tcp-wan-cli 10.79.0.2:34768: -, unknown
";
    assert_eq!(found, expected);
}

/// A capture of UDP or TCP packets between a client and a server.
struct Talk {
    server_port: u16,
    packets: Vec<(u64, Vec<u8>)>,
    is_tcp: bool,
}

impl Talk {
    const fn udp(server_port: u16) -> Self {
        Self { server_port, packets: Vec::new(), is_tcp: false }
    }

    /// Adds a packet from the client or from the server.
    fn say(&mut self, at_us: u64, from_server: bool, payload: &[u8]) {
        let mut ends = [([192, 168, 1, 2], 50_000u16), ([203, 0, 113, 5], self.server_port)];
        if from_server {
            ends.reverse();
        }
        let mut transport = ends.map(|(_, port)| port.to_be_bytes()).concat();
        if self.is_tcp {
            let number = 1000 * (self.packets.len() as u32 + 1);
            transport.extend(number.to_be_bytes());
            transport.extend([0, 0, 0, 1, 0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
        } else {
            transport.extend((8 + payload.len() as u16).to_be_bytes());
            transport.extend([0, 0]);
        }
        transport.extend(payload);
        let id = (self.packets.len() as u16 + 1).to_be_bytes();
        let len = (20 + transport.len() as u16).to_be_bytes();
        let protocol = if self.is_tcp { 6 } else { 17 };
        let mut packet = vec![0x45, 0, len[0], len[1], id[0], id[1], 0, 0, 64, protocol, 0, 0];
        packet.extend(ends[0].0);
        packet.extend(ends[1].0);
        packet.extend(transport);
        self.packets.push((at_us, packet));
    }

    /// Adds messages of both sides for five seconds. `payload` makes one from its number and its direction.
    fn play(mut self, per_second: [u64; 2], payload: impl Fn(u32, bool) -> Vec<u8>) -> Self {
        for (from_server, rate) in [false, true].into_iter().zip(per_second) {
            for number in 0..5 * rate {
                let bytes = payload(number as u32, from_server);
                self.say(1_000_000 + number * 1_000_000 / rate, from_server, &bytes);
            }
        }
        self
    }

    fn named(mut self, known: &Known) -> Application {
        self.packets.sort_by_key(|(at_us, _)| *at_us);
        let mut file = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 101].map(u32::to_le_bytes).concat();
        for (at_us, packet) in &self.packets {
            let len = packet.len() as u32;
            let (seconds, rest) = ((at_us / 1_000_000) as u32, (at_us % 1_000_000) as u32);
            file.extend([seconds, rest, len, len].map(u32::to_le_bytes).concat());
            file.extend(packet);
        }
        let mut names = Names(known, Vec::new());
        analyze(&mut open(file).unwrap(), &mut Analyzer::default(), &mut names).unwrap();
        let [(_, application)] = &names.1[..] else { panic!("{} flows", names.1.len()) };
        application.clone()
    }
}

/// Bytes that have no form: a random start, and zeros.
fn formless(number: u32, len: usize) -> Vec<u8> {
    let mut bytes = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(u64::from(number) + 1).to_be_bytes().to_vec();
    // No form begins so.
    bytes[0] = 0x3a;
    bytes.resize(len, 0);
    bytes
}

/// A game: messages of the client have 90 B, those of the server 160 B.
fn game(number: u32, from_server: bool) -> Vec<u8> {
    formless(number, if from_server { 160 } else { 90 })
}

fn known(name: &str, group: Group, range: std::ops::RangeInclusive<u16>) -> KnownApplication {
    let ports = vec![Ports { protocol: Protocol::Udp, range }];
    KnownApplication { name: name.into(), group, ports, domains: Vec::new(), sends: None }
}

/// A game that sends as [`game`], the server at this rate.
fn paced(name: &str, range: std::ops::RangeInclusive<u16>, per_second: f64) -> KnownApplication {
    let up = Sends { per_second: 60.0, payload_bytes: 80.0 };
    KnownApplication {
        sends: Some([up, Sends { per_second, payload_bytes: 200.0 }]),
        ..known(name, Group::Game, range)
    }
}

fn of(applications: impl Into<Vec<KnownApplication>>) -> Known {
    Known { applications: applications.into() }
}

fn told(application: &Application) -> (Option<&str>, Confidence) {
    (application.name.as_deref(), application.confidence)
}

const UNKNOWN: (Option<&str>, Confidence) = (None, Confidence::Unknown);

#[test]
fn a_game_is_named_if_port_and_pace_agree() {
    let shooters = of([paced("fast", 7000..=7500, 128.0), paced("slow", 7000..=7500, 60.0)]);
    let at = |port, rate: u64, known: &Known| Talk::udp(port).play([64, rate], game).named(known);
    assert_eq!(told(&at(7100, 128, &shooters)), (Some("fast"), Confidence::Likely));
    assert_eq!(told(&at(7100, 60, &shooters)), (Some("slow"), Confidence::Likely));
    // Neither has this pace, and no other game has this port.
    let neither = at(7100, 66, &shooters);
    assert_eq!(told(&neither), UNKNOWN);
    assert_eq!(
        neither.because,
        "Port 7100 is one of fast, slow, but packets do not come as those of any do."
    );
    assert_eq!(told(&at(7600, 128, &shooters)), UNKNOWN);
}

#[test]
fn games_that_cannot_be_told_apart_stay_unknown() {
    let both = of([paced("one", 7000..=7100, 60.0), paced("other", 7050..=7060, 60.0)]);
    let found = Talk::udp(7055).play([60, 60], game).named(&both);
    assert_eq!((told(&found), &*found.because), (UNKNOWN, "Port 7055 belongs to several: one, other."));
    let variants = of([paced("one", 7000..=7100, 60.0), paced("one-4k", 7050..=7060, 60.0)]);
    assert_eq!(
        told(&Talk::udp(7055).play([60, 60], game).named(&variants)),
        (Some("one"), Confidence::Likely)
    );
}

#[test]
fn an_ordinary_port_is_never_enough() {
    for (port, range) in
        [(443, 443..=443), (3074, 3074..=3074), (50_000, 49_152..=65_535), (12_500, 12_000..=20_000)]
    {
        let games = of([paced("game", range.clone(), 60.0), known("call", Group::Media, range)]);
        let agreeing = Talk::udp(port).play([60, 60], game).named(&games);
        assert_eq!(told(&agreeing), (Some("game"), Confidence::Possible), "{port}");
        assert_eq!(told(&Talk::udp(port).play([10, 20], game).named(&games)), UNKNOWN, "{port}");
    }
}

#[test]
fn a_port_alone_is_possible() {
    let short = of([paced("game", 7000..=7100, 60.0)]);
    let mut talk = Talk::udp(7001);
    (0..10).for_each(|number| talk.say(u64::from(number) * 10_000, number % 2 == 1, &formless(number, 90)));
    let found = talk.named(&short);
    assert_eq!(told(&found), (Some("game"), Confidence::Possible));
    assert_eq!((found.told(), &*found.because), (None, "Only its port tells: 7001 is one of game."));
}

fn rtp(number: u32, source: u8) -> Vec<u8> {
    let [.., high, low] = number.to_be_bytes();
    let mut packet = vec![0x80, 0x78, high, low, 0, 0, high, low, 0xab, 0xcd, 0xef, source];
    packet.resize(160, 0x55);
    packet
}

/// A binding request (RFC 8489), and the first record of DTLS.
const STUN: [u8; 20] = [0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
const DTLS: [u8; 15] = [22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0];

#[test]
fn a_call_is_named_by_what_shares_its_flow() {
    let nothing = Known::default();
    let call =
        |port| Talk::udp(port).play([50, 50], |number, from_server| rtp(number, u8::from(from_server)));
    let with = |first: &[&[u8]]| {
        let mut talk = call(3478);
        for (at_us, payload) in (0..).zip(first) {
            talk.say(at_us * 1000, at_us % 2 == 1, payload);
        }
        talk.named(&nothing)
    };
    assert_eq!(told(&with(&[])), (Some("rtp"), Confidence::Sure));
    assert_eq!(told(&with(&[&STUN, &STUN, &DTLS, &DTLS])), (Some("webrtc"), Confidence::Sure));
    let zoom = of([known("zoom", Group::Media, 8801..=8810), known("zoom-1to1", Group::Media, 8801..=8810)]);
    assert_eq!(told(&call(8805).named(&zoom)), (Some("zoom"), Confidence::Likely));
    // A game begins with the same checks and goes on with bytes of its own.
    let mut own = Talk::udp(3478).play([60, 60], game);
    own.say(0, false, &STUN);
    own.say(1000, true, &STUN);
    assert_eq!(told(&own.named(&nothing)), UNKNOWN);
}

#[test]
fn random_bytes_in_the_form_of_rtp_are_no_call() {
    let random = |number: u32, from_server: bool| {
        let mut bytes = formless(number, 160);
        let source =
            0x2545_f491_4f6c_dd1du64.wrapping_mul(u64::from(number * 2 + u32::from(from_server) + 1));
        bytes[0] = 0x80;
        bytes[1] = 0;
        bytes[8..16].copy_from_slice(&source.to_be_bytes());
        bytes
    };
    assert_eq!(told(&Talk::udp(6000).play([50, 50], random).named(&Known::default())), UNKNOWN);
}

/// A message of the Quake family: number, four bytes, and more.
fn numbered(number: u32, next: [u8; 4]) -> Vec<u8> {
    let mut bytes = [number.to_le_bytes(), next].concat();
    bytes.resize(60, 0x41);
    bytes
}

#[test]
fn games_of_the_quake_family_are_told_by_their_numbers() {
    let nothing = Known::default();
    let scrambled = |number: u32| number.wrapping_mul(0x9e37_79b9).to_le_bytes();
    let quake = |number: u32, from_server: bool| {
        let [a, b, c, d] = scrambled(number);
        numbered(number + 1, if from_server { [a, b, c, d] } else { [0x6c, 0xf5, c, d] })
    };
    let at = |port| Talk::udp(port).play([30, 20], quake).named(&nothing);
    assert_eq!(told(&at(27_960)), (Some("quake3-family"), Confidence::Likely));
    // Another game may have a counter and a constant, so without the port this is weak.
    assert_eq!(told(&at(7000)), (Some("quake3-family"), Confidence::Possible));
    // Source: each message acknowledges the last one of the other side.
    let source = |number: u32, from_server: bool| {
        let other = if from_server { number * 3 / 2 } else { number * 2 / 3 };
        numbered(number + 1, other.to_le_bytes())
    };
    let found = Talk::udp(27_015).play([30, 20], source).named(&nothing);
    assert_eq!(told(&found), (Some("source-family"), Confidence::Likely));
    // Numbers alone are no sign of a family.
    let counted = |number: u32, _| numbered(number + 1, scrambled(number));
    assert_eq!(told(&Talk::udp(27_960).play([30, 20], counted).named(&nothing)), UNKNOWN);
    // A message out of band is.
    let mut talk = Talk::udp(27_970).play([30, 20], counted);
    talk.say(0, false, b"\xff\xff\xff\xffgetinfo xxx");
    assert_eq!(told(&talk.named(&nothing)), (Some("quake3-family"), Confidence::Sure));
}

#[test]
fn a_game_of_a_family_may_have_its_own_name() {
    let game_of_it = of([paced("tremulous", 30_720..=30_720, 20.0)]);
    let mut talk = Talk::udp(30_720).play([60, 20], game);
    talk.say(0, false, b"\xff\xff\xff\xffgetinfo xxx");
    let found = talk.named(&game_of_it);
    assert_eq!(told(&found), (Some("tremulous"), Confidence::Likely));
    assert!(
        found.because.ends_with("and the flow has a message out of band with a word of Quake III."),
        "{found:?}"
    );
}

#[test]
fn a_signature_contradicts_a_port() {
    let game = of([paced("game", 7000..=7100, 20.0)]);
    let tunnel = |number: u32, _| {
        let mut bytes = formless(number, 160);
        bytes[..4].copy_from_slice(&[4, 0, 0, 0]);
        bytes
    };
    let found = Talk::udp(7000).play([60, 20], tunnel).named(&game);
    assert_eq!(told(&found), (Some("wireguard"), Confidence::Sure));
    assert_eq!(found.told(), None, "a protocol is no application");
}

#[test]
fn a_server_name_names_the_application() {
    let domains = vec!["netflix.com".to_owned(), "nflxvideo.net".to_owned()];
    let video = of([KnownApplication { domains, ..known("netflix", Group::Other, 1..=1) }]);
    let fetch = |host: &str| {
        let mut talk = Talk { is_tcp: true, ..Talk::udp(80) };
        talk.say(0, false, format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
        talk.say(1000, true, b"HTTP/1.1 200 OK\r\n\r\n");
        talk.named(&video)
    };
    let found = fetch("occ-0-2773-1432.1.nflxvideo.net");
    assert_eq!(told(&found), (Some("netflix"), Confidence::Sure));
    assert_eq!(found.because, "HTTP without encryption asks for *.1.nflxvideo.net.");
    let other = fetch("notnetflix.com");
    assert_eq!((told(&other), other.told()), ((Some("http"), Confidence::Sure), None));
    assert_eq!(other.because, "It has HTTP without encryption for notnetflix.com.");
}

#[test]
fn only_the_first_packets_of_a_flow_are_looked_at() {
    // A message out of band after 5 s of others: the flow was decided before.
    let mut talk = Talk::udp(7000).play([60, 60], game);
    talk.say(7_000_000, false, b"\xff\xff\xff\xffgetinfo xxx");
    assert_eq!(told(&talk.named(&Known::default())), UNKNOWN);
    assert!(size_of::<gamelane_capture::names::Heard>() <= 320);
}
