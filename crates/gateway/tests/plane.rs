//! The gateway without interfaces: bytes in, bytes out.

use gamelane_core::{Direction, Duration, Ecn, Instant, Seed};
use gamelane_device::{Frames, Headers, Plane};
use gamelane_gateway::{Gateway, Policy};

fn policy(gateway: &str) -> Policy {
    let text = format!(
        "name = \"test\"\n[link]\ndown = \"1gbit\"\nup = \"1gbit\"\n[gateway]\n{gateway}\n\
         [[flow]]\nname = \"quake3\"\napp = \"game\"\nmodel = \"quake3\"\n\
         [[flow]]\nname = \"upload\"\napp = \"bulk\"\ndirection = \"up\"\n"
    );
    Policy::parse(&text, "test.toml", &[]).unwrap()
}

const ALL_OF_IT: &str = "shape = \"40mbit\"\nautorate = true\nvoap = {}\npriority = [\"quake3\"]\n\
                         up = { queue = \"priority\", acks = \"filter\" }\ndown = { queue = \"fq_codel\", limit = \"300p\" }";

#[test]
fn a_million_random_and_mutated_frames_leave_it_standing_and_every_frame_accounted_for() {
    let mut gateway = Gateway::new(&policy(ALL_OF_IT), Seed(1));
    let mut frames = Frames::new(700, 512);
    let mut random = Seed(2).stream("frames");
    let mut now = Instant::ZERO;
    let (mut given, mut taken) = (0_u64, 0_u64);
    let mut buffer = [0_u8; 400];
    for round in 0..1_000_000_u64 {
        let len = build(&mut buffer, &mut random);
        let direction = Direction::BOTH[random.below(2) as usize];
        now += Duration::from_nanos(random.below(9_000));
        gateway.handle_timeout(&mut frames, now);
        match frames.fill([&buffer[..len], &[], &[]]) {
            Some(id) => {
                given += 1;
                gateway.handle_frame(direction, id, &mut frames, now);
            }
            None => gateway.no_room(direction),
        }
        for direction in Direction::BOTH {
            while let Some(id) = gateway.poll_transmit(direction, &mut frames, now) {
                taken += 1;
                frames.give_back(id);
            }
        }
        if round % 100_000 == 50_000 {
            gateway.reload(
                &policy(if round % 200_000 == 50_000 { "up = { queue = \"cake\" }" } else { ALL_OF_IT }),
                now,
            );
        }
    }
    let mut waiting = 0;
    let mut dropped = 0;
    for direction in Direction::BOTH {
        let backlog = u64::from(gateway.backlog(direction).packets);
        let counters = gateway.account(direction).counters;
        assert!(counters.balance(backlog), "{direction:?}: {counters:?} {backlog}");
        waiting += backlog;
        dropped += counters.dropped.total();
    }
    assert_eq!(given, taken + dropped + waiting);
    assert_eq!(frames.taken() as u64, waiting);
    assert!(dropped > 0 && gateway.truth().forgotten() > 0, "it was more than it can hold");
}

/// Writes something like a frame and returns its length.
fn build(buffer: &mut [u8; 400], random: &mut gamelane_core::Stream) -> usize {
    let len = random.below(401) as usize;
    let fuzz = |bytes: &mut [u8], random: &mut gamelane_core::Stream| {
        for chunk in bytes.chunks_mut(8) {
            let bits = random.bits().to_ne_bytes();
            chunk.copy_from_slice(&bits[..chunk.len()]);
        }
    };
    fuzz(&mut buffer[..len], random);
    let kind = random.below(8);
    if kind == 0 || len < 74 {
        return len;
    }
    let at = if kind == 1 { 18 } else { 14 };
    if kind == 1 {
        buffer[12..14].copy_from_slice(&[0x81, 0]);
    }
    let protocol = [6, 6, 6, 17, 17, 44, 51, 0][random.below(8) as usize];
    if kind < 6 {
        buffer[at - 2..at].copy_from_slice(&[8, 0]);
        buffer[at] = 0x45;
        let ip_len = if random.below(9) == 0 { random.below(2000) as u16 } else { (len - at) as u16 };
        buffer[at + 2..at + 4].copy_from_slice(&ip_len.to_be_bytes());
        buffer[at + 6] &= if random.below(9) == 0 { 0xff } else { 0x40 };
        buffer[at + 7] = 0;
        buffer[at + 9] = protocol;
        buffer[at + 32] = 0x50 | buffer[at + 32] & 0x0f;
    } else {
        buffer[12..14].copy_from_slice(&[0x86, 0xdd]);
        buffer[14] = 0x60;
        buffer[18..20].copy_from_slice(&((len - 54) as u16).to_be_bytes());
        buffer[20] = protocol;
    }
    len
}

/// A UDP packet over IPv4 with a correct checksum, ECN-capable.
fn datagram(class: u8) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([
        8, 0, 0x45, class, 0, 128, 0, 9, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 9, 0, 9, 0, 108,
        0, 0,
    ]);
    frame.resize(14 + 128, 7);
    let checksum = ip_checksum(&frame[14..34]);
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
    frame
}

/// Checksum over a whole header: 0 if its checksum field is correct.
fn ip_checksum(header: &[u8]) -> u16 {
    let sum: u32 = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    !((sum & 0xffff) + (sum >> 16)) as u16
}

#[test]
fn a_packet_with_another_code_point_or_mark_has_a_right_checksum_and_changes_nothing_else() {
    for class in [0x01, 0x02, 0xb9] {
        for (dscp, ecn) in [(class >> 2, Ecn::Ce), (0, Ecn::NotEct), (46, Ecn::Ect0)] {
            let before = datagram(class);
            assert_eq!(ip_checksum(&before[14..34]), 0);
            let headers = Headers::parse(&before);
            let mut after = before.clone();
            headers.write_traffic_class(&mut after, dscp, ecn);
            assert_eq!((after[15], ip_checksum(&after[14..34])), (dscp << 2 | ecn as u8, 0));
            after[15] = before[15];
            after[24..26].copy_from_slice(&before[24..26]);
            assert_eq!(after, before);
        }
    }
}

#[test]
fn the_traffic_class_of_ipv6_lies_across_two_bytes() {
    let mut before = vec![2; 12];
    before.extend([0x86, 0xdd, 0x6b, 0xa5, 0x43, 0x21, 0, 8, 17, 64]);
    before.resize(14 + 40, 7);
    before.extend([0, 9, 0, 9, 0, 8, 1, 2]);
    let headers = Headers::parse(&before);
    assert_eq!(headers.ip.map(|ip| (ip.dscp, ip.ecn)), Some((46, Ecn::Ect0)));
    let mut after = before.clone();
    headers.write_traffic_class(&mut after, 8, Ecn::Ce);
    assert_eq!(after[14..18], [0x62, 0x35, 0x43, 0x21]);
    assert_eq!(after[18..], before[18..]);
}

#[test]
fn cake_clears_the_code_point_and_keeps_the_mark() {
    for (wash, class) in [(true, 0x02), (false, 0xba)] {
        let config = format!("up = {{ queue = \"cake\", wash = {wash} }}");
        let mut gateway = Gateway::new(&policy(&config), Seed(1));
        let mut frames = Frames::new(8, 512);
        let id = frames.fill([&datagram(0xba), &[], &[]]).unwrap();
        gateway.handle_frame(Direction::Up, id, &mut frames, Instant::ZERO);
        let id = gateway.poll_transmit(Direction::Up, &mut frames, Instant::ZERO).unwrap();
        assert_eq!(frames.bytes(id), datagram(class));
    }
}

#[test]
fn pieces_are_one_flow_and_unknown_frames_another() {
    let mut first = datagram(0);
    first[20] = 0x20;
    let mut later = datagram(0);
    later[21] = 16;
    later[34..38].fill(0xee);
    let now = Instant::ZERO;
    let hash = |frame: &[u8]| Headers::parse(frame).meta(frame, now).flow_hash;
    assert_eq!(hash(&first), hash(&later));
    assert_ne!(hash(&first), hash(&datagram(0)), "whole packets have ports");
    let arp = [&[2; 12][..], &[8, 6], &[0; 46]].concat();
    assert_ne!(hash(&arp), hash(&first));
    assert_eq!(Headers::parse(&arp).meta(&arp, now).len.0, 46);
}

#[test]
fn the_shaper_lets_frames_go_one_serialisation_apart() {
    let mut gateway = Gateway::new(&policy("shape = \"1mbit\"\nup = { queue = \"fifo\" }"), Seed(1));
    let mut frames = Frames::new(8, 512);
    for _ in 0..3 {
        let id = frames.fill([&datagram(0), &[], &[]]).unwrap();
        gateway.handle_frame(Direction::Up, id, &mut frames, Instant::ZERO);
    }
    let mut left = Vec::new();
    let mut now = Instant::ZERO;
    loop {
        while let Some(id) = gateway.poll_transmit(Direction::Up, &mut frames, now) {
            frames.give_back(id);
            left.push(now.as_nanos() / 1000);
        }
        match gateway.poll_timeout([false; 2]) {
            Some(at) => now = now.max(at),
            None => break,
        }
    }
    // 128 B at 1 Mbit/s.
    assert_eq!(left, [0, 1024, 2048]);
}

#[test]
fn what_waits_when_the_policy_changes_leaves_first_and_at_the_new_rate() {
    let mut gateway = Gateway::new(&policy("shape = \"8kbit\"\nup = { queue = \"fifo\" }"), Seed(1));
    let mut frames = Frames::new(8, 512);
    let send = |gateway: &mut Gateway, frames: &mut Frames, mark: u8, now| {
        let mut bytes = datagram(0);
        bytes[60] = mark;
        let id = frames.fill([&bytes, &[], &[]]).unwrap();
        gateway.handle_frame(Direction::Up, id, frames, now);
    };
    for mark in 1..=3 {
        send(&mut gateway, &mut frames, mark, Instant::ZERO);
    }
    let now = Instant::from_millis(1);
    gateway.reload(&policy("up = { queue = \"fq_codel\" }"), now);
    send(&mut gateway, &mut frames, 4, now);
    let mut marks = Vec::new();
    while let Some(id) = gateway.poll_transmit(Direction::Up, &mut frames, now) {
        marks.push(frames.bytes(id)[60]);
        frames.give_back(id);
    }
    assert_eq!(marks, [1, 2, 3, 4]);
    assert_eq!(gateway.poll_timeout([false; 2]), None);
}

#[test]
fn forwarding_allocates_nothing() {
    let mut gateway = Gateway::new(&policy(ALL_OF_IT), Seed(1));
    let mut frames = Frames::new(700, 512);
    let mut random = Seed(3).stream("frames");
    let mut buffer = [0_u8; 400];
    let mut forward = |count: u64, from: Instant| {
        for packet in 0..count {
            let len = build(&mut buffer, &mut random);
            let now = from + Duration::from_micros(5) * packet;
            let direction = Direction::BOTH[(packet % 2) as usize];
            if let Some(id) = frames.fill([&buffer[..len], &[], &[]]) {
                gateway.handle_frame(direction, id, &mut frames, now);
            }
            gateway.handle_timeout(&mut frames, now);
            while let Some(id) = gateway.poll_transmit(direction, &mut frames, now) {
                frames.give_back(id);
            }
        }
    };
    // First the slabs of the queues grow to their limits.
    forward(50_000, Instant::ZERO);
    let used = allocation_counter::measure(|| forward(50_000, Instant::from_secs(1)));
    assert_eq!((used.count_total, used.bytes_total), (0, 0));
}
