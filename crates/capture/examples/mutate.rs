//! Analyses captures with frames changed at random, for the campaign `mutate`: nothing may panic, and packets must add up.
//! `cargo run -p gamelane-capture --example mutate -- SECONDS SEED CAPTURE...` prints what it did as JSON. With `--frames FILE`
//! before it, it writes changed frames as one pcap of Ethernet instead.

#[path = "../../../fuzz/targets/capture.rs"]
#[allow(dead_code, reason = "one of its functions is used")]
mod targets;

use std::path::Path;
use std::time::{Duration, Instant};

use gamelane_capture::{RawCapture, blocks};
use gamelane_core::{Seed, Stream};

/// A stored frame.
#[derive(Clone)]
struct Frame {
    at_ns: u64,
    original_len: u32,
    bytes: Vec<u8>,
}

/// What was done.
#[derive(Default)]
struct Counts {
    frames: u64,
    mutated: u64,
    files: u64,
    flows: u64,
    connections: u64,
}

/// Frames of one file.
const WINDOW: u64 = 1500;
/// A link type of each kind of header.
const LINKS: [u16; 20] =
    [0, 1, 9, 12, 50, 51, 100, 101, 105, 113, 117, 119, 127, 163, 204, 239, 258, 276, 281, 285];

#[expect(clippy::disallowed_methods, reason = "the campaign has a time")]
fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let frames_only = (words.first().map(String::as_str) == Some("--frames")).then(|| {
        words.remove(0);
        words.remove(0)
    });
    let (Some(seconds), Some(seed)) = (word(&words, 0), word(&words, 1)) else {
        eprintln!("usage: mutate [--frames FILE] SECONDS SEED CAPTURE...");
        std::process::exit(2)
    };
    let captures: Vec<(u16, Vec<Frame>)> = words[2..].iter().map(|path| read(Path::new(path))).collect();
    let mut random = Seed(seed).stream("mutate");
    if let Some(file) = frames_only {
        let mut out = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1].map(u32::to_le_bytes).concat();
        for _ in 0..40 {
            let (_, frames, _) = changed(&captures, &mut random);
            for frame in frames {
                let len = frame.bytes.len() as u32;
                out.extend([0, 0, len, len].map(u32::to_le_bytes).concat());
                out.extend(frame.bytes);
            }
        }
        std::fs::write(file, out).expect("there is room");
        return;
    }
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut counts = Counts::default();
    while Instant::now() < until {
        let (link, frames, mutated) = changed(&captures, &mut random);
        let file = written(link, &frames, &mut random);
        // The seed, and how many came before: enough to repeat it after a panic.
        eprintln!("file {}", counts.files);
        let (flows, connections) = targets::everything(&file);
        counts.files += 1;
        counts.frames += frames.len() as u64;
        counts.mutated += mutated;
        counts.flows += flows;
        counts.connections += connections;
    }
    let Counts { frames, mutated, files, flows, connections } = counts;
    println!(
        r#"{{"files": {files}, "frames": {frames}, "frames mutated": {mutated}, "flows": {flows}, "connections": {connections}}}"#
    );
}

fn word(words: &[String], at: usize) -> Option<u64> {
    words.get(at)?.parse().ok()
}

/// The frames of a capture, and its link type.
fn read(path: &Path) -> (u16, Vec<Frame>) {
    let mut capture = RawCapture::open(path).unwrap_or_else(|error| panic!("{error}"));
    let mut frames = Vec::new();
    while let Ok(Some(frame)) = capture.next_frame() {
        frames.push(Frame {
            at_ns: frame.at_ns,
            original_len: frame.original_len,
            bytes: frame.bytes.to_vec(),
        });
    }
    let is_ip = frames.iter().take(9).all(|frame| matches!(frame.bytes.first(), Some(0x45 | 0x60)));
    (if is_ip { 101 } else { 1 }, frames)
}

/// Some frames of a capture in a row, changed at random; their link type, and how many were changed.
fn changed(captures: &[(u16, Vec<Frame>)], random: &mut Stream) -> (u16, Vec<Frame>, u64) {
    let any = |random: &mut Stream| &captures[random.below(captures.len() as u64) as usize];
    let (link, all) = any(random);
    let start = random.below(all.len() as u64) as usize;
    let mut frames: Vec<Frame> =
        all[start..].iter().take(1 + random.below(WINDOW) as usize).cloned().collect();
    let share = [0.001, 0.01, 0.1, 0.6][random.below(4) as usize];
    let mut mutated = 0;
    for at in 0..frames.len() {
        if !random.chance(share) {
            continue;
        }
        mutated += 1;
        let (_, other) = any(random);
        let other = &other[random.below(other.len() as u64) as usize];
        let to = random.below(frames.len() as u64) as usize;
        match random.below(9) {
            0 => frames.swap(at, to),
            1 => frames[to] = frames[at].clone(),
            2 => frames[at] = other.clone(),
            3 => frames[at].at_ns = random.bits() >> random.below(64),
            4 => frames[at].original_len = random.bits() as u32 >> random.below(32),
            5 => {
                let len = random.below(frames[at].bytes.len() as u64 + 1) as usize;
                frames[at].bytes.truncate(len);
            }
            6 => {
                let len = frames[at].bytes.len() + random.below(200) as usize;
                frames[at].bytes.resize(len, random.bits() as u8);
            }
            // Headers more often than payload.
            kind => {
                let within = if kind == 7 { 74 } else { 2000 }.min(frames[at].bytes.len() as u64);
                for _ in 0..=random.below(6) {
                    if within > 0 {
                        frames[at].bytes[random.below(within) as usize] ^= 1 << random.below(8);
                    }
                }
            }
        }
    }
    let link = if random.chance(0.05) { LINKS[random.below(LINKS.len() as u64) as usize] } else { *link };
    (link, frames, mutated)
}

/// A pcapng of two interfaces, sometimes cut or with damage between its frames.
fn written(link_type: u16, frames: &[Frame], random: &mut Stream) -> Vec<u8> {
    let mut file = Vec::new();
    let to_memory = "memory takes everything";
    blocks::section(&mut file).expect(to_memory);
    for name in ["one", "two"] {
        blocks::interface(&mut file, &blocks::Interface { name, link_type, snap_len: 0 }).expect(to_memory);
    }
    let both = random.chance(0.2);
    for frame in frames {
        let interface = if both { random.below(2) as u32 } else { 0 };
        let stamp = blocks::Stamp { interface, at_ns: frame.at_ns, original_len: frame.original_len };
        blocks::packet(&mut file, &stamp, [&frame.bytes, &[]]).expect(to_memory);
    }
    match random.below(20) {
        0 => file.truncate(random.below(file.len() as u64) as usize),
        1 => {
            let at = random.below(file.len() as u64) as usize;
            file[at] ^= 1 << random.below(8);
        }
        _ => {}
    }
    file
}
