//! A replay repeats every decision of its recording: with synthetic frames, and with those of real kernels.

use crate::common;
use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration as Wait;

use crate::common::slow_link::SlowLink;
use crate::common::{FQ, HOME, Net, Place, SERVER, in_time, net, sh, up_to_three_times};
use gamelane_core::{Direction, Duration, Instant, Seed};
use gamelane_device::watch::{self, What};
use gamelane_device::{Frames, Plane};
use gamelane_gateway::tap::log::{self, Event};
use gamelane_gateway::tap::replay::{Differences, Ended, NAMED, REST, Recorded, Report, recorded, replay};
use gamelane_gateway::tap::{About, EngineKind, Folder, Options, Tap, TapStatus, Tapped, WhenFull, about};
use gamelane_gateway::watched::Watched;
use gamelane_gateway::{Gateway, Policy};
use gamelane_record::summary::DirectionSummary;

const ALL_OF_IT: &str = "shape = \"4mbit\"\nvoap = {}\npriority = [\"quake3\"]\n\
                         up = { queue = \"priority\", acks = \"filter\", limit = \"40p\" }\n\
                         down = { queue = \"fq_codel\", limit = \"100p\" }";

/// Records frames of a few flows, more than the shaper lets through, with a policy that changes meanwhile.
fn record(folder: &Path, size: u64, when_full: WhenFull, frames_sent: u64) -> TapStatus {
    let options = Options { folder: folder.into(), snap: 160, size, when_full };
    let first = common::policy_text(ALL_OF_IT);
    let second = common::policy_text(&ALL_OF_IT.replace("4mbit", "6mbit").replace("fq_codel", "pie"));
    let parse = |text: &str| Policy::parse(text, "test.toml", &[]).unwrap();
    let seed = Seed(9);
    let mut frames = Frames::new(300, 1600);
    let about = about_of(&parse(&first), &options, &frames);
    let mut gateway = Gateway::new(&parse(&first), seed);
    gateway.watch_drops();
    let mut tap = Tap::start(Folder::make(&options.folder, None).unwrap(), &options, &about, &first).unwrap();
    let mut plane = Tapped { gateway: &mut gateway, tap: &mut tap };
    let mut random = Seed(1).stream("frames");
    let mut now = Instant::ZERO;
    for round in 0..frames_sent {
        now += Duration::from_micros(random.below(1500));
        plane.handle_timeout(&mut frames, now);
        let direction = Direction::BOTH[random.below(2) as usize];
        match frames.fill([&datagram(random.below(5) as u8, 40 + random.below(1400) as usize), &[], &[]]) {
            Some(id) => plane.handle_frame(direction, id, &mut frames, now),
            None => plane.no_room(direction),
        }
        if round == frames_sent / 2 {
            plane.reload(&parse(&second), &second, now);
        }
        for direction in Direction::BOTH {
            while let Some(id) = plane.poll_transmit(direction, &mut frames, now) {
                frames.give_back(id);
            }
        }
    }
    tap.finish(now)
}

fn about_of(policy: &Policy, options: &Options, frames: &Frames) -> About {
    About {
        schema: about::SCHEMA,
        version: "test".into(),
        policy: "test".into(),
        policy_hash: policy.hash.clone(),
        overrides: Vec::new(),
        seed: 9,
        epoch_ns: 1_800_000_000_000_000_000,
        snap: options.snap,
        interfaces: ["lan".into(), "wan".into()],
        engine: EngineKind::User,
        pool: [frames.capacity(), frames.slot()],
    }
}

/// A UDP packet of a flow over IPv4, ECN-capable so that it may be marked.
fn datagram(flow: u8, payload: usize) -> Vec<u8> {
    let len = 28 + payload as u16;
    let mut frame = vec![2; 12];
    frame.extend([8, 0, 0x45, flow & 2]);
    frame.extend(len.to_be_bytes());
    frame.extend([0, 9, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, flow, 10, 0, 1, flow, 0, 9, 0, flow]);
    frame.extend((len - 20).to_be_bytes());
    frame.extend([0, 0]);
    frame.resize(14 + usize::from(len), 7);
    frame
}

#[test]
fn a_recording_decides_the_same_again_across_a_change_of_policy() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("tap");
    let status = record(&folder, 1 << 30, WhenFull::Stop, 20_000);
    assert_eq!((status.lost, status.full, status.error), (0, false, None));
    let report = replay(&folder, None).unwrap();
    assert_eq!((report.ended, report.reloads, &report.first), (Ended::Whole, 1, &None), "{report:?}");
    assert!(report.identical && report.frames == status.frames, "{report:?}");
    assert!(report.left > 5000 && report.dropped > 1000, "{report:?}");
    assert_eq!(report.policy_hash, report.recorded_hash);
}

#[test]
fn a_recording_becomes_records_by_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("tap");
    record(&folder, 1 << 30, WhenFull::Stop, 20_000);
    let Recorded { records, summary, report } = recorded(&folder).unwrap();
    // Five senders at home, and five on the internet.
    assert_eq!(summary.flows.iter().count(), 10, "{summary:?}");
    let ways = || summary.flows.values().flat_map(|flow| [&flow.up, &flow.down]);
    let sum = |count: fn(&DirectionSummary) -> u32| ways().map(|way| u64::from(count(way))).sum::<u64>();
    assert_eq!(sum(|way| way.sent), report.frames);
    assert_eq!(sum(|way| way.received), report.left);
    assert_eq!(sum(|way| way.lost), report.dropped);
    assert_eq!(records.drops.len() as u64, report.dropped);
    let queues = || summary.queues.values();
    assert_eq!(queues().map(|queue| queue.packets).sum::<u64>(), report.frames);
    let marks = sum(|way| way.marked);
    assert!(marks > 0 && marks <= queues().map(|queue| queue.marks).sum(), "{marks}: {summary:?}");
    assert!(summary.queues["up"].backlog_packets.max == 40, "{:?}", summary.queues["up"]);
    assert!(ways().all(|way| way.jitter_ms.count == 0 && way.queue_delay_ms.count as u32 == way.received));
    assert!(summary.voap.is_some() && summary.autorate.is_empty());
    let tenths = (records.end().as_secs_f64() * 10.0) as usize;
    assert_eq!((records.queues.len(), records.rates.len()), (2 * tenths, 0));
}

#[test]
fn conversations_beyond_the_busiest_are_one_flow() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("tap");
    let options = Options { folder: folder.clone(), snap: 160, size: 1 << 30, when_full: WhenFull::Stop };
    let text = common::policy_text(FQ);
    let policy = Policy::parse(&text, "test.toml", &[]).unwrap();
    let mut frames = Frames::new(8, 1600);
    let about = about_of(&policy, &options, &frames);
    let mut gateway = Gateway::new(&policy, Seed(about.seed));
    gateway.watch_drops();
    let mut tap = Tap::start(Folder::make(&options.folder, None).unwrap(), &options, &about, &text).unwrap();
    let mut plane = Tapped { gateway: &mut gateway, tap: &mut tap };
    for conversation in 0..NAMED as u8 + 7 {
        let now = Instant::from_millis(20 * u64::from(conversation));
        let id = frames.fill([&datagram(conversation, 100 + usize::from(conversation)), &[], &[]]).unwrap();
        plane.handle_frame(Direction::Up, id, &mut frames, now);
        let id = plane.poll_transmit(Direction::Up, &mut frames, now).unwrap();
        frames.give_back(id);
    }
    tap.finish(Instant::from_secs(2));
    let summary = recorded(&folder).unwrap().summary;
    assert_eq!(summary.flows.iter().count(), NAMED + 1);
    let busiest = NAMED + 6;
    assert!(summary.flows[0].up.sent_bytes == 128 + busiest as u64, "{summary:?}");
    assert_eq!((summary.flows[REST].up.sent, summary.flows[REST].app), (7, "other"));
}

#[test]
fn another_policy_and_a_changed_record_are_told() {
    let whole = tempfile::tempdir().unwrap();
    let folder = whole.path().join("tap");
    record(&folder, 1 << 30, WhenFull::Stop, 4000);
    // 41 packets instead of 40.
    let other = whole.path().join("other.toml");
    std::fs::write(&other, common::policy_text(&ALL_OF_IT.replace("40p", "41p"))).unwrap();
    let report = replay(&folder, Some(&other)).unwrap();
    assert!(!report.identical && report.differences.dropped > 0, "{report:?}");
    assert!(report.first.unwrap().contains("recorded: frame"));

    // As if a frame left with a congestion mark that no law set.
    let path = about::frames(&folder, 0);
    let original = std::fs::read(&path).unwrap();
    let mut changed = original.clone();
    let (out, ecn) = first_frame_of(&original, 3);
    assert_eq!(changed[out..out + 2], [2, 2]);
    changed[out + ecn] ^= 3;
    std::fs::write(&path, changed).unwrap();
    let report = replay(&folder, None).unwrap();
    assert_eq!(report.differences, Differences { bytes: 1, ..Differences::default() }, "{report:?}");

    // Another reason for the first drop in the log.
    std::fs::write(&path, original).unwrap();
    let path = about::decisions(&folder, 0);
    let log = std::fs::read(&path).unwrap();
    let mut rest = &log[log::MAGIC.len()..];
    let mut changed = log::MAGIC.to_vec();
    let mut done = false;
    while let Some(mut event) = log::read(&mut rest) {
        if let (Event::Dropped(direction, number, _), false) = (event, done) {
            event = Event::Dropped(direction, number, gamelane_core::DropReason::Path);
            done = true;
        }
        log::write(&mut changed, event);
    }
    std::fs::write(&path, changed).unwrap();
    let report = replay(&folder, None).unwrap();
    assert_eq!(report.differences, Differences { dropped: 1, ..Differences::default() }, "{report:?}");
    let refused = recorded(&folder).unwrap_err().to_string();
    assert!(refused.contains("recorded by gamelane test"), "{refused}");
}

#[test]
fn a_rate_that_followed_the_link_follows_it_again() {
    let whole = tempfile::tempdir().unwrap();
    let folder = whole.path().join("tap");
    let options = Options { folder: folder.clone(), snap: 160, size: 1 << 30, when_full: WhenFull::Stop };
    let text = common::policy_text(SlowLink::POLICY);
    let policy = Policy::parse(&text, "test.toml", &[]).unwrap();
    let mut link = SlowLink::new();
    let about = about_of(&policy, &options, link.frames());
    let mut gateway = Gateway::new(&policy, Seed(about.seed));
    gateway.watch_drops();
    let mut tap = Tap::start(Folder::make(&options.folder, None).unwrap(), &options, &about, &text).unwrap();
    let mut plane = Tapped { gateway: &mut gateway, tap: &mut tap };
    link.run(&mut plane, 4, 10e6);
    link.run(&mut plane, 6, 4e6);
    tap.finish(link.now());
    let counters = *gateway.follower(Direction::Up).unwrap().autorate().counters();
    assert!(counters.lowered > 2 && counters.raised > 10, "{counters:?}");
    let report = replay(&folder, None).unwrap();
    assert!(report.identical && report.ended == Ended::Whole && report.left > 5000, "{report:?}");
    let Recorded { records, summary, .. } = recorded(&folder).unwrap();
    let following = &summary.autorate["up"];
    assert_eq!((following.lowered, following.raised), (counters.lowered, counters.raised));
    let mean =
        records.rates.iter().map(|row| row.shaped.bps() as f64).sum::<f64>() / records.rates.len() as f64;
    assert!((following.rate_bps.mean - mean).abs() < 1.0, "{following:?} {mean}");
    assert_eq!(records.rates.len(), records.queues.len() / 2);
    assert!(records.rates.iter().all(|row| row.link.is_none() && row.direction == Direction::Up));
    // Without following, the rate and so the decisions differ.
    let fixed = whole.path().join("fixed.toml");
    std::fs::write(&fixed, text.replace("autorate =", "# autorate =")).unwrap();
    let report = replay(&folder, Some(&fixed)).unwrap();
    assert!(!report.identical && report.differences.left > 1000, "{report:?}");
}

/// Offset of the first frame of an interface in a pcapng, and of its traffic class.
fn first_frame_of(file: &[u8], interface: u32) -> (usize, usize) {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let mut at = 0;
    while (word(at), word(at + 8)) != (6, interface) {
        at += word(at + 4) as usize;
    }
    (at + 28, 15)
}

#[test]
fn a_recording_that_is_cut_or_has_lost_something_is_checked_up_to_there() {
    let whole = tempfile::tempdir().unwrap();
    let folder = whole.path().join("tap");
    record(&folder, 1 << 30, WhenFull::Stop, 4000);
    let path = about::decisions(&folder, 0);
    let log = std::fs::read(&path).unwrap();
    std::fs::write(&path, &log[..log.len() / 2]).unwrap();
    let report = replay(&folder, None).unwrap();
    assert!(report.identical && report.ended == Ended::Cut && report.frames > 500, "{report:?}");
    let mut gap = Vec::new();
    log::write(&mut gap, Event::Lost(3));
    let mut rest = &log[log::MAGIC.len()..];
    for _ in 0..900 {
        log::read(&mut rest).unwrap();
    }
    let at = log.len() - rest.len();
    std::fs::write(&path, [&log[..at], &gap[..], &log[at..]].concat()).unwrap();
    let report = replay(&folder, None).unwrap();
    assert!(
        report.identical && report.ended == Ended::Lost && report.calls == 901 - nows(&log, 900),
        "{report:?}"
    );
    // The file of frames is cut short, as by a kill.
    std::fs::write(&path, &log).unwrap();
    let frames = std::fs::read(about::frames(&folder, 0)).unwrap();
    std::fs::write(about::frames(&folder, 0), &frames[..frames.len() / 3 + 1]).unwrap();
    let report = replay(&folder, None).unwrap();
    assert!(report.identical && report.ended == Ended::Cut, "{report:?}");
}

fn nows(log: &[u8], count: usize) -> u64 {
    let mut rest = &log[log::MAGIC.len()..];
    (0..count).filter(|_| matches!(log::read(&mut rest), Some(Event::Now(_)))).count() as u64
}

#[test]
fn a_recording_keeps_to_its_size_and_a_rotated_one_says_that_it_cannot_be_replayed() {
    let whole = tempfile::tempdir().unwrap();
    let size = 4 << 20;
    let stopped = whole.path().join("stopped");
    let status = record(&stopped, size, WhenFull::Stop, 40_000);
    assert!(status.full && status.lost > 0 && status.bytes <= size, "{status:?}");
    assert!(bytes_in(&stopped) <= size + (8 << 10));
    let report = replay(&stopped, None).unwrap();
    assert!(report.identical && report.ended == Ended::Cut && report.frames > 5000, "{report:?}");
    let rotated = whole.path().join("rotated");
    let status = record(&rotated, size, WhenFull::Rotate, 40_000);
    assert!(!status.full && status.lost == 0 && status.bytes > size, "{status:?}");
    assert!(bytes_in(&rotated) <= size + (8 << 10), "{}", bytes_in(&rotated));
    assert!(replay(&rotated, None).unwrap_err().to_string().contains("viewed, but not replayed"));
}

fn bytes_in(folder: &Path) -> u64 {
    std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

#[test]
fn what_real_kernels_send_is_decided_the_same_again() {
    let Some(net) = net(1500, &["iperf3"]) else { return };
    let fair = format!("shape = {{ up = \"8mbit\", down = \"20mbit\" }}\n{FQ}");
    up_to_three_times(|| {
        let report = live(&net, &fair, &["-C", "reno", "-R", "-t", "2"])?;
        in_time(report.dropped > 0, || format!("the download fills its queue: {report:?}"))
    });
    assert_told(&net, &fair.replace("20mbit", "18mbit"));

    let first = "shape = \"20mbit\"\nvoap = { alpha = \"5ms\", beta = \"15ms\" }\npriority = [\"quake3\"]\n\
                 up = { queue = \"priority\", acks = \"prioritise\" }\ndown = { queue = \"priority\" }";
    up_to_three_times(|| {
        let report = live(&net, first, &["-C", "reno", "-R", "-t", "3"])?;
        in_time(report.windows_lowered > 100, || format!("{report:?}"))
    });
    assert_told(&net, &first.replace("beta = \"15ms\"", "beta = \"8ms\""));
}

/// A game and a transfer, recorded and replayed by the program.
fn live(net: &Net, policy: &str, iperf: &[&str]) -> Result<Report, String> {
    let tap = net.folder.path().join("tap");
    let _ = std::fs::remove_dir_all(&tap);
    let gateway = net.gateway_with(&net.policy(policy), &["--tap", tap.to_str().unwrap()]);
    let updates = std::thread::scope(|scope| {
        let game = scope.spawn(|| game(net));
        net.iperf(iperf);
        game.join().unwrap()
    });
    in_time(updates > 50, || format!("only {updates} updates reach the player"))?;
    gateway.assert_conserves();
    let status = gateway.status().tap.unwrap();
    assert_eq!((status.full, &status.error), (false, &None), "{status:?}");
    in_time(status.lost == 0, || format!("the writer was late: {status:?}"))?;
    assert_eq!(gateway.end("TERM"), Some(0));
    let (code, out, error) = net.program(&["replay", tap.to_str().unwrap(), "--json"]);
    assert_eq!(code, 0, "{out}{error}");
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((value["identical"].as_bool(), value["ended"].as_str()), (Some(true), Some("whole")), "{out}");
    let report = replay(&tap, Some(&net.folder.path().join("policy.toml"))).unwrap();
    assert!(report.identical, "{report:?}");
    let summary = recorded(&tap).unwrap().summary;
    let game = &summary.flows[&*format!("udp {HOME}:27961 {SERVER}:27960")];
    assert!(game.down.received > 50 && game.goodput_bps > 0.0, "{game:?}");
    // The download: what is acknowledged is what arrived, without headers and retransmissions.
    let download = summary.flows.values().max_by_key(|flow| flow.down.received).unwrap();
    let ratio = download.goodput_bps / download.down.throughput_bps.mean;
    assert!((0.5..1.3).contains(&ratio), "{ratio}: {download:?}");
    in_time(report.frames > 2000 && report.left > 2000, || format!("{report:?}"))?;
    Ok(report)
}

/// Asserts that this policy decides differently from the recording.
fn assert_told(net: &Net, policy: &str) {
    let tap = net.folder.path().join("tap");
    let path = net.policy(policy);
    let (code, out, _) = net.program(&["replay", tap.to_str().unwrap(), path.to_str().unwrap()]);
    assert!(code == 1 && out.starts_with("differs") && out.contains("the first: at"), "{code}: {out}");
}

/// Sends 30 updates a second each way for two seconds. Returns how many reached the player.
fn game(net: &Net) -> usize {
    let socket = |place, address: String| {
        net.enter(place);
        let socket = UdpSocket::bind(address).unwrap();
        socket.set_nonblocking(true).unwrap();
        socket
    };
    let server = socket(Place::Internet, format!("{SERVER}:27960"));
    let player = socket(Place::Home, format!("{HOME}:27961"));
    server.connect((HOME, 27961)).unwrap();
    player.connect((SERVER, 27960)).unwrap();
    let mut received = 0;
    for _ in 0..60 {
        // The first frame may be lost while the neighbour is not known, so it is sent again.
        let _ = (player.send(&[1; 60]), server.send(&[2; 200]));
        std::thread::sleep(Wait::from_millis(33));
        while player.recv(&mut [0; 300]).is_ok() {
            received += 1;
        }
    }
    received
}

#[test]
fn a_folder_in_use_and_a_tap_without_a_folder_are_refused() {
    let Some(net) = net(1500, &[]) else { return };
    let policy = net.policy(FQ);
    let policy = policy.to_str().unwrap();
    let run = |words: &[&str]| {
        let words: Vec<&str> = [&["run", "--lan", "lan", "--wan", "wan", policy], words].concat();
        net.program(&words)
    };
    sh(&format!("mkdir -p {0}/full && touch {0}/full/file", net.folder.path().display()));
    let full = net.folder.path().join("full");
    let (code, _, error) = run(&["--tap", full.to_str().unwrap()]);
    assert!(code == 2 && error.contains("not empty"), "{error}");
    let (code, _, error) = run(&["--tap-size", "5"]);
    assert!(code == 2 && error.contains("--tap"), "{error}");
    let (code, _, error) = net.program(&["replay", "/nowhere"]);
    assert!(code == 2 && error.contains("no recording"), "{error}");
}

/// A TCP segment over IPv4, or several in one packet.
fn tcp(from: ([u8; 4], u16), to: ([u8; 4], u16), sequence: u32, payload: usize) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend([8, 0, 0x45, 2]);
    frame.extend((40 + payload as u16).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    frame.extend(from.0);
    frame.extend(to.0);
    frame.extend(from.1.to_be_bytes());
    frame.extend(to.1.to_be_bytes());
    frame.extend(sequence.to_be_bytes());
    frame.extend([0, 0, 0, 0, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    frame.resize(frame.len() + payload.min(42), 7);
    frame
}

#[test]
fn a_recording_of_linux_knows_large_packets_and_the_home_behind_its_router() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("tap");
    let options = Options { folder: folder.clone(), snap: 160, size: 1 << 30, when_full: WhenFull::Stop };
    let text = common::policy_text("shape = { up = \"4mbit\" }\nautorate = { up = { lowest = \"1mbit\" } }");
    let policy = Policy::parse(&text, "test.toml", &[]).unwrap();
    let about = About {
        engine: EngineKind::Kernel,
        pool: [0; 2],
        ..about_of(&policy, &options, &Frames::new(1, 64))
    };
    let mut tap = Tap::start(Folder::make(&folder, None).unwrap(), &options, &about, &text).unwrap();
    let mut watched = Watched::new(Some(&policy), Seed(9), Instant::ZERO);
    let (home, router, server) =
        (([192, 168, 1, 2], 5000), ([203, 0, 113, 5], 61_000), ([203, 0, 113, 9], 443));
    let mut now = Instant::ZERO;
    let mut happen =
        |packet: u64, what: What, way: Direction, sequence: u32, segments: u16, priority: u32| {
            now += Duration::from_millis(1);
            let payload = 1000 * usize::from(segments);
            let (from, to) = if way == Direction::Up { (router, server) } else { (server, router) };
            let frame = tcp(from, to, sequence, payload);
            let event = watch::Event {
                at: now,
                packet,
                interface: 1,
                what,
                len: 40 + payload as u32,
                segments: (segments > 1).then_some((1000, segments)),
                priority,
                source: (way == Direction::Up).then(|| home.into()),
                frame: &frame,
            };
            let outcome = watched.take(&event, way, Some("QDISC_DROP"));
            tap.saw(&event, way, &outcome, watched.now());
            watched.follow(now);
            tap.followed(now);
        };
    use Direction::{Down, Up};
    happen(1, What::Came, Up, 0, 3, 0);
    happen(2, What::Came, Up, 3000, 2, 0);
    happen(10, What::Left, Up, 0, 1, 0);
    happen(11, What::Dropped(66), Up, 1000, 1, 0);
    happen(12, What::Left, Up, 2000, 1, 0);
    happen(2, What::Left, Up, 3000, 2, 0);
    happen(3, What::Came, Down, 0, 1, 0x6a0 << 16);
    happen(3, What::Left, Down, 0, 1, 0x6a0 << 16);
    // Of another connection, which was not seen to come.
    happen(99, What::Left, Down, 0, 1, 0);
    let status = tap.finish(now);
    assert_eq!((status.frames, status.lost, status.error), (3, 0, None));

    let Recorded { records, summary, report } = recorded(&folder).unwrap();
    assert_eq!((report.ended, report.frames, report.left, report.dropped), (Ended::Whole, 3, 4, 1));
    let (name, flow) = summary.flows.iter().next().unwrap();
    assert_eq!((summary.flows.iter().count(), name), (1, "tcp 192.168.1.2:5000 203.0.113.9:443"));
    assert_eq!((flow.up.sent, flow.up.received, flow.up.lost), (5, 4, 1));
    assert_eq!((flow.down.sent, flow.down.received), (1, 1));
    assert_eq!(summary.queues["up"].packets, 5);
    assert_eq!(summary.queues["up"].backlog_packets.max, 5);
    assert_eq!(records.drops.len(), 1);
    assert!(summary.autorate.get("up").is_some());
    let refused = replay(&folder, None).unwrap_err().to_string();
    assert!(refused.contains("decisions of Linux"), "{refused}");
    // A damaged one is read as far as it goes, or refused.
    let files = [about::decisions(&folder, 0), about::frames(&folder, 0)];
    let whole = files.each_ref().map(|file| std::fs::read(file).unwrap());
    let mut random = Seed(4).stream("damage");
    for round in 0..2000 {
        let mut damaged = whole[round % 2].clone();
        let at = random.below(damaged.len() as u64) as usize;
        damaged[at] = random.below(256) as u8;
        damaged.truncate(damaged.len() - random.below(8) as usize);
        std::fs::write(&files[round % 2], damaged).unwrap();
        if let Ok(Recorded { summary, .. }) = recorded(&folder) {
            for way in summary.flows.values().flat_map(|flow| [&flow.up, &flow.down]) {
                assert!(way.received + way.lost <= way.sent, "{way:?}");
            }
        }
        std::fs::write(&files[round % 2], &whole[round % 2]).unwrap();
    }
}
