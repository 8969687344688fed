//! A gateway between a home and the internet, and its recordings: nothing may panic, each frame is accounted for, and a frame that
//! leaves is the one that arrived, but for its window, its ECN field and their checksums.

use std::path::Path;
use std::sync::LazyLock;

use gamelane_core::{Direction, Duration, Instant, Seed};
use gamelane_device::{Frames, Headers, Plane};
use gamelane_gateway::tap::{EngineKind, Folder, Options, Tap, Tapped, WhenFull, about, log, replay};
use gamelane_gateway::{Gateway, Policy};

const SLOT: usize = 320;
const FRAMES: u32 = 48;

/// Each of the mechanisms that look into frames is in one of them.
const POLICIES: [&str; 4] = [
    "shape = \"2mbit\"\nautorate = true\nvoap = {}\npriority = [\"quake3\"]\n\
     up = { queue = \"priority\", acks = \"filter\", limit = \"20p\" }\ndown = { queue = \"fq_codel\", limit = \"30p\" }",
    "up = { queue = \"cake\" }\ndown = { queue = \"dualpi2\" }",
    "shape = \"1mbit\"\nvoap = {}\nup = { queue = \"pie\", ecn = true }\ndown = { queue = \"codel\", ecn = true }",
    "shape = \"500kbit\"\nup = { queue = \"fq_pie\", ecn = true }\ndown = { queue = \"fifo\", limit = \"9p\" }",
];

static READ: LazyLock<[Policy; 4]> = LazyLock::new(|| POLICIES.map(|gateway| parse(&text(gateway))));

fn text(gateway: &str) -> String {
    format!(
        "name = \"test\"\n[link]\ndown = \"1gbit\"\nup = \"1gbit\"\n[gateway]\n{gateway}\n\
         [[flow]]\nname = \"quake3\"\napp = \"game\"\nmodel = \"quake3\"\n"
    )
}

fn parse(text: &str) -> Policy {
    Policy::parse(text, "test.toml", &[]).expect("it is ours")
}

/// Frames after a byte that chooses the policy. Each has two bytes before it, for its way, its time and its length.
pub(crate) fn frames(bytes: &[u8]) {
    let Some((&choice, mut bytes)) = bytes.split_first() else { return };
    let mut gateway = Gateway::new(&READ[usize::from(choice & 3)], Seed(1));
    let mut frames = Frames::new(FRAMES, SLOT);
    // What arrived, by slot of the pool.
    let mut arrived = vec![Vec::new(); FRAMES as usize];
    let mut now = Instant::ZERO;
    let (mut given, mut taken) = (0_u64, 0_u64);
    while let [step, len, rest @ ..] = bytes {
        let (frame, rest) = rest.split_at(rest.len().min(usize::from(*len)));
        bytes = rest;
        let direction = Direction::BOTH[usize::from(step & 1)];
        now += Duration::from_micros(u64::from(step >> 3) * 400);
        gateway.handle_timeout(&mut frames, now);
        for _ in 0..=step >> 1 & 3 {
            match frames.fill([frame, &[], &[]]) {
                Some(id) => {
                    given += 1;
                    arrived[id.index()] = frame.to_vec();
                    gateway.handle_frame(direction, id, &mut frames, now);
                }
                None => gateway.no_room(direction),
            }
        }
        if *len == 0 {
            gateway.reload(&READ[usize::from(step >> 6)], now);
        }
        taken += leaving(&mut gateway, &mut frames, &arrived, now);
        let waiting = Direction::BOTH.map(|direction| u64::from(gateway.backlog(direction).packets));
        assert_eq!(frames.taken() as u64, waiting.iter().sum::<u64>());
        for direction in Direction::BOTH {
            assert!(gateway.account(direction).counters.balance(waiting[direction.index()]));
        }
    }
    // The slowest policy needs half a second for all that fits.
    for _ in 0..2000 {
        now += Duration::from_millis(1);
        gateway.handle_timeout(&mut frames, now);
        taken += leaving(&mut gateway, &mut frames, &arrived, now);
        if frames.taken() == 0 {
            break;
        }
    }
    assert_eq!(frames.taken(), 0, "what waits leaves");
    let dropped = |direction| gateway.account(direction).counters.dropped.total();
    assert_eq!(given, taken + dropped(Direction::Up) + dropped(Direction::Down));
}

fn leaving(gateway: &mut Gateway, frames: &mut Frames, arrived: &[Vec<u8>], now: Instant) -> u64 {
    let mut taken = 0;
    for direction in Direction::BOTH {
        while let Some(id) = gateway.poll_transmit(direction, frames, now) {
            same_but_for_its_marks(&arrived[id.index()], frames.bytes(id));
            frames.give_back(id);
            taken += 1;
        }
    }
    taken
}

/// `targets/device.rs` checks the checksums.
fn same_but_for_its_marks(before: &[u8], after: &[u8]) {
    if before == after {
        return;
    }
    let ip = Headers::parse(before).ip.expect("only IP packets are changed");
    assert_eq!(before.len(), after.len());
    for (at, (before, after)) in before.iter().zip(after).enumerate() {
        let of_ip = [1, 10, 11].contains(&at.wrapping_sub(ip.ip_at));
        let of_tcp = ip.tcp.is_some() && (14..18).contains(&at.wrapping_sub(ip.transport_at));
        assert!(before == after || of_ip || of_tcp, "byte {at}");
    }
}

/// The log of a recording: what is read is what was written.
pub(crate) fn decisions(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let mut rest = bytes;
        let Some(event) = log::read(&mut rest) else { return };
        let len = bytes.len() - rest.len();
        let mut again = Vec::new();
        log::write(&mut again, event);
        // A number may be written longer than need be; ours are not.
        assert!(again.len() <= len && again.len() <= log::LONGEST);
        assert_eq!(log::read(&mut &again[..]), Some(event));
        for part in 0..len {
            assert_eq!(log::read(&mut &bytes[..part]), None, "{part} of {len} bytes");
        }
        bytes = rest;
    }
}

/// A recording of a few frames. Each process has one, and replaces one of its files by the fuzzer's bytes.
static RECORDING: LazyLock<(tempfile::TempDir, Vec<u8>, Vec<u8>)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("there is room for a small folder");
    let path = folder.path().join("tap");
    let (first, second) = (text(POLICIES[0]), text(POLICIES[1]));
    let mut frames = Frames::new(8, SLOT);
    let options = Options { folder: path.clone(), snap: 160, size: 1 << 30, when_full: WhenFull::Stop };
    let policy = parse(&first);
    let about = about::About {
        schema: about::SCHEMA,
        version: "test".into(),
        policy: "test".into(),
        policy_hash: policy.hash.clone(),
        overrides: Vec::new(),
        seed: 1,
        epoch_ns: 1_800_000_000_000_000_000,
        snap: options.snap,
        interfaces: ["lan".into(), "wan".into()],
        engine: EngineKind::User,
        pool: [frames.capacity(), frames.slot()],
    };
    let mut gateway = Gateway::new(&policy, Seed(1));
    gateway.watch_drops();
    let made = Folder::make(&path, None).expect("it is new");
    let mut tap = Tap::start(made, &options, &about, &first).expect("there is room");
    let mut plane = Tapped { gateway: &mut gateway, tap: &mut tap };
    let mut now = Instant::ZERO;
    for round in 0..12_u8 {
        now += Duration::from_micros(300);
        plane.handle_timeout(&mut frames, now);
        let direction = Direction::BOTH[usize::from(round & 1)];
        match frames.fill([&datagram(round & 3), &[], &[]]) {
            Some(id) => plane.handle_frame(direction, id, &mut frames, now),
            None => plane.no_room(direction),
        }
        if round == 6 {
            plane.reload(&parse(&second), &second, now);
        }
        while let Some(id) = plane.poll_transmit(direction, &mut frames, now) {
            frames.give_back(id);
        }
    }
    tap.finish(now);
    let read = |file| std::fs::read(file).expect("it was just written");
    let (log, pcapng) = (read(about::decisions(&path, 0)), read(about::frames(&path, 0)));
    (folder, log, pcapng)
});

/// A UDP packet that may be marked.
fn datagram(flow: u8) -> [u8; 142] {
    let mut frame = [7; 142];
    frame[12..34]
        .copy_from_slice(&[8, 0, 0x45, 2, 0, 128, 0, 9, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, flow, 10, 0, 1, 9]);
    frame[34..42].copy_from_slice(&[0, 9, 0, flow, 0, 108, 0, 0]);
    frame
}

/// A recording with a log of these bytes, or with these frames: the first byte says which, and how much of the true file precedes.
pub(crate) fn recording(bytes: &[u8]) {
    let Some(([choice, kept], bytes)) = bytes.split_first_chunk::<2>() else { return };
    let (folder, log, pcapng) = &*RECORDING;
    let path = folder.path().join("tap");
    let with = |file: &[u8], least: usize| -> Vec<u8> {
        let kept = least.max(file.len() * usize::from(*kept) / 255);
        [&file[..kept], bytes].concat()
    };
    let (log, pcapng) = match choice & 1 {
        0 => (with(log, log::MAGIC.len()), pcapng.clone()),
        _ => (log.clone(), with(pcapng, 0)),
    };
    write(&about::decisions(&path, 0), &log);
    write(&about::frames(&path, 0), &pcapng);
    if choice & 4 != 0 {
        as_of_linux(&path);
        return;
    }
    let Ok(report) = replay::replay(&path, None) else { return };
    assert!(!report.identical || report.first.is_none(), "{report:?}");
    if choice & 2 != 0
        && let Ok(recorded) = replay::recorded(&path)
    {
        assert_eq!(recorded.report, report);
    }
}

/// The same bytes as a recording of Linux's queues: what left or was dropped had come.
fn as_of_linux(folder: &Path) {
    let file = folder.join("tap.json");
    let own = std::fs::read_to_string(&file).expect("it was just written");
    write(&file, own.replace("\"user\"", "\"kernel\"").as_bytes());
    if let Ok(recorded) = replay::recorded(folder) {
        for flow in recorded.summary.flows.values().flat_map(|flow| [&flow.up, &flow.down]) {
            assert!(flow.received + flow.lost <= flow.sent, "{flow:?}");
        }
    }
    write(&file, own.as_bytes());
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).expect("there is room");
}
