//! Two points with known truth: made packets that wait in queues of seconds, are lost, repeat their content, pass an
//! address translator, and carry the stamps of two clocks.

use crate::support::{header, key, open};
use gamelane_capture::pair::{Comparison, Losses, Seen, Unknown, compare, watch};
use gamelane_capture::{Analyzer, PacketHeader, PcapngWriter, WriteOptions};
use gamelane_core::{FlowKey, Protocol, Seed};

/// A packet: addresses, IP identification, payload bytes, and its times at both points if it was seen there.
#[derive(Clone, Copy, Debug)]
struct Packet {
    key: FlowKey,
    id: u16,
    size: u32,
    first_ns: Option<u64>,
    second_ns: Option<u64>,
}

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3600 * SECOND;

fn game() -> FlowKey {
    key("192.168.1.2:40000", "203.0.113.5:7000", Protocol::Udp)
}

/// A capture of packets, at their times.
fn capture(packets: impl Iterator<Item = (u64, Packet)>) -> Seen {
    let mut packets: Vec<(u64, Packet)> = packets.collect();
    packets.sort_by_key(|packet| packet.0);
    let mut writer = PcapngWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    let interface = writer.add_interface("tap").unwrap();
    for (at_ns, packet) in packets {
        let header = PacketHeader { id: packet.id, ..header(packet.key, at_ns) };
        writer.write_udp(interface, &header, packet.size).unwrap();
    }
    let (seen, error) =
        watch(&mut open(writer.finish_file().unwrap()).unwrap(), &mut Analyzer::default(), &mut ());
    assert!(error.is_none());
    seen
}

/// Compares the points; the second one's clock shows `clock` of the time.
fn compared(packets: &[Packet], clock: impl Fn(u64) -> u64) -> Comparison {
    let first = capture(packets.iter().filter_map(|packet| Some((packet.first_ns?, *packet))));
    let second = capture(packets.iter().filter_map(|packet| Some((clock(packet.second_ns?), *packet))));
    compare(&first, &second)
}

/// Packets every `every_ns` for `seconds`, from the first point to the second through a queue with the waiting time
/// `wait_ns`, which loses a share.
fn stream(key: FlowKey, seconds: u64, every_ns: u64, loss: f64, wait_ns: impl Fn(u64) -> u64) -> Vec<Packet> {
    let mut random = Seed(seconds + every_ns).stream("stream");
    let mut left = 0;
    (0..seconds * SECOND / every_ns)
        .map(|number| {
            let sent = SECOND + number * every_ns + random.below(every_ns / 3);
            left = (left + 10_000).max(sent + 20 * MS + wait_ns(sent));
            let second_ns = (!random.chance(loss)).then_some(left);
            Packet { key, id: number as u16, size: 100, first_ns: Some(sent), second_ns }
        })
        .collect()
}

/// The same from the second point to the first.
fn back(key: FlowKey, seconds: u64, every_ns: u64, loss: f64, wait_ns: impl Fn(u64) -> u64) -> Vec<Packet> {
    let mut packets = stream(key.reverse(), seconds, every_ns, loss, wait_ns);
    for packet in &mut packets {
        (packet.first_ns, packet.second_ns, packet.size) = (packet.second_ns, packet.first_ns, 60);
    }
    packets
}

/// A queue that builds up to ten seconds, stays and empties.
fn ten_seconds(at_ns: u64) -> u64 {
    let at_ms = at_ns / MS;
    (at_ms.saturating_sub(5000) * MS / 2).min(10 * SECOND).min((60_000u64.saturating_sub(at_ms)) * MS / 2)
}

/// A queue that holds up to two seconds of packets half of the time, and is empty in between.
fn now_and_then(at_ns: u64) -> u64 {
    let phase = at_ns % (7 * SECOND);
    if phase < 3500 * MS { phase.min(3500 * MS - phase) } else { (at_ns * 7919) % MS / 4 }
}

fn losses(found: &Comparison, direction: usize) -> &Losses {
    found.flows[0].directions[direction].losses.as_ref().unwrap()
}

fn lost(packets: &[Packet]) -> u64 {
    packets.iter().filter(|packet| packet.first_ns.is_none() || packet.second_ns.is_none()).count() as u64
}

fn delays(packets: &[Packet]) -> Vec<u64> {
    packets.iter().filter_map(|packet| Some(packet.second_ns?.abs_diff(packet.first_ns?))).collect()
}

/// Checks what a direction shows against its packets.
fn check(found: &Comparison, direction: usize, packets: &[Packet]) {
    let (losses, way) = (losses(found, direction), &found.flows[0].directions[direction]);
    let told = (losses.sent, losses.lost, losses.undecided, losses.unsent, losses.duplicated);
    assert_eq!(told, (packets.len() as u64, lost(packets), 0, 0, 0));
    let delays = delays(packets);
    let least = delays.iter().min().unwrap();
    let extra: f64 = delays.iter().map(|delay| (delay - least) as f64).sum();
    assert_eq!(way.one_way.above_least.max(), delays.iter().max().map(|most| most - least));
    let mean = way.one_way.above_least.mean().unwrap();
    assert!((mean - extra / delays.len() as f64).abs() < 1.0, "{mean}");
}

#[test]
fn a_delay_of_ten_seconds_is_no_loss_and_no_drift() {
    let up = stream(game(), 70, 33 * MS, 0.05, ten_seconds);
    let down = back(game(), 70, 50 * MS, 0.0, |_| 0);
    for offset in [0, HOUR] {
        let found = compared(&[up.clone(), down.clone()].concat(), |at| at + offset);
        assert_eq!((found.flows[0].first_is_near_client, found.drift_ppb), (Some(true), None));
        check(&found, 0, &up);
        check(&found, 1, &down);
        let most = found.flows[0].rtt.max().unwrap();
        assert!((10 * SECOND..10 * SECOND + 100 * MS).contains(&most), "{most}");
    }
}

#[test]
fn contents_that_repeat_are_told_apart_by_the_packets_around_them() {
    for seed in 0..20 {
        let mut random = Seed(seed).stream("sizes");
        let mut up = stream(game(), 70, 20 * MS, 0.03, ten_seconds);
        // Every tenth packet is unique; the others have one of four contents.
        for (number, packet) in up.iter_mut().enumerate() {
            if number % 10 != 0 {
                (packet.id, packet.size) = (0, 40 + random.below(4) as u32);
            }
        }
        let found = compared(&[up.clone(), back(game(), 70, 50 * MS, 0.0, |_| 0)].concat(), |at| at + HOUR);
        let told = losses(&found, 0);
        assert_eq!((told.sent, told.lost, told.unsent), (up.len() as u64, lost(&up), 0), "{seed}");
        let delays = delays(&up);
        let most = delays.iter().max().unwrap() - delays.iter().min().unwrap();
        let measured = found.flows[0].directions[0].one_way.above_least.max().unwrap();
        assert!(measured.abs_diff(most) < 100 * MS, "{seed}: {measured} {most}");
    }
}

#[test]
fn contents_that_nearly_all_repeat_are_told_apart_by_their_order() {
    // 40 sizes without identification, as of a game. No size is rare, and three packets are unique.
    for seed in 0..20 {
        let mut random = Seed(seed).stream("sizes");
        let mut up = stream(game(), 70, 33 * MS, 0.1, ten_seconds);
        for (number, packet) in up.iter_mut().enumerate() {
            if number % 700 != 300 {
                (packet.id, packet.size) = (0, 40 + random.below(40) as u32);
            }
        }
        let found = compared(&[up.clone(), back(game(), 70, 50 * MS, 0.0, |_| 0)].concat(), |at| at + HOUR);
        let told = losses(&found, 0);
        let told = (told.sent, told.lost, told.duplicated, told.unsent);
        assert_eq!(told, (up.len() as u64, lost(&up), 0, 0), "{seed}");
    }
}

#[test]
fn a_loss_and_a_repetition_of_equal_packets_are_both_counted() {
    // Every tenth packet is unique, the others are all equal. The order alone would explain that all arrived.
    let mut up = stream(game(), 20, 33 * MS, 0.0, |_| 0);
    for (number, packet) in up.iter_mut().enumerate() {
        packet.id = if number % 10 == 0 { 1 + number as u16 } else { 0 };
    }
    up[303].second_ns = None;
    let again = Packet { first_ns: None, second_ns: up[307].second_ns.map(|at| at + MS), ..up[307] };
    let found = compared(&[up.clone(), vec![again], back(game(), 20, 50 * MS, 0.0, |_| 0)].concat(), |at| at);
    let told = losses(&found, 0);
    assert_eq!((told.sent, told.lost, told.duplicated, told.unsent), (up.len() as u64, 1, 1, 0));
}

#[test]
fn an_identification_that_wraps_is_no_other_packet() {
    // 1000 packets per second: the numbers wrap after 65.5 s, and a fifth of the packets has numbers used before.
    let up = stream(game(), 80, MS, 0.02, ten_seconds);
    let down = back(game(), 80, 50 * MS, 0.0, |_| 0);
    let all = [up.clone(), down].concat();
    check(&compared(&all, |at| at), 0, &up);
    // The first capture ends early: what it misses has the contents of packets that were lost.
    let cut: Vec<Packet> = all
        .iter()
        .map(|packet| Packet { first_ns: packet.first_ns.filter(|&at| at < 60 * SECOND), ..*packet })
        .collect();
    let found = compared(&cut, |at| at);
    let kept: Vec<Packet> =
        cut.iter().filter(|packet| packet.key == game() && packet.first_ns.is_some()).copied().collect();
    let told = losses(&found, 0);
    assert_eq!((told.sent, told.lost, told.unsent), (kept.len() as u64, lost(&kept), 0));
}

#[test]
fn without_any_unique_content_equal_counts_match_in_order() {
    let mut up = stream(game(), 70, 20 * MS, 0.0, ten_seconds);
    up.iter_mut().for_each(|packet| packet.id = 0);
    let all = [up.clone(), back(game(), 70, 50 * MS, 0.0, |_| 0)].concat();
    check(&compared(&all, |at| at), 0, &up);
}

#[test]
fn without_any_unique_content_the_other_flows_tell_or_nothing_is_claimed() {
    let mut up = stream(game(), 70, 50 * MS, 0.04, ten_seconds);
    up.iter_mut().for_each(|packet| packet.id = 0);
    let down = back(game(), 70, 50 * MS, 0.0, |_| 0);
    let found = compared(&[up.clone(), down.clone()].concat(), |at| at);
    let way = &found.flows[0].directions[0];
    assert_eq!(way.losses.as_ref().err(), Some(&Unknown::ContentsRepeat));
    assert_eq!(
        (way.seen, way.one_way.above_least.count(), way.one_way.difference),
        (up.len() as u64, 0, None)
    );
    assert_eq!(losses(&found, 1).sent, down.len() as u64);

    // A second flow in the same queue, and one that no queue delays.
    let other = key("192.168.1.2:40001", "203.0.113.6:7000", Protocol::Udp);
    let others =
        |wait: fn(u64) -> u64| [stream(other, 70, 20 * MS, 0.01, wait), back(other, 70, 50 * MS, 0.0, |_| 0)];
    let same = [[up.clone(), down.clone()].concat(), others(ten_seconds).concat()].concat();
    // The game's own direction is known only if both directions of it are: the answers tell nothing here.
    let found = compared(&same, |at| at);
    let told = found.flows[0].directions[0].losses.as_ref().unwrap();
    assert_eq!((told.sent, told.lost), (up.len() as u64, lost(&up)));
    let apart = [[up, down].concat(), others(|_| 0).concat()].concat();
    let found = compared(&apart, |at| at);
    assert_eq!(found.flows[0].directions[0].losses.as_ref().err(), Some(&Unknown::ContentsRepeat));
}

#[test]
fn a_packet_that_may_be_under_way_is_neither_lost_nor_sent() {
    let up = stream(game(), 40, 20 * MS, 0.05, |_| 5 * SECOND);
    let down = back(game(), 60, 50 * MS, 0.0, |_| 0);
    let all = [up.clone(), down].concat();
    // The second capture runs from 10 to 30 s.
    let cut = |at: &u64| (10 * SECOND..30 * SECOND).contains(at);
    let seen: Vec<Packet> =
        all.iter().map(|packet| Packet { second_ns: packet.second_ns.filter(cut), ..*packet }).collect();
    let found = compared(&seen, |at| at);
    let told = losses(&found, 0);
    let arrivals = up.iter().filter_map(|packet| packet.second_ns).filter(cut).count() as u64;
    assert_eq!((told.sent - told.lost, told.unsent), (arrivals, 0));
    // Lost ones between the first and the last arrival are lost; those beside them cannot be told.
    let passed: Vec<bool> = seen.iter().take(up.len()).map(|packet| packet.second_ns.is_some()).collect();
    let range =
        passed.iter().position(|&passed| passed).unwrap()..passed.iter().rposition(|&passed| passed).unwrap();
    let lost = passed[range].iter().filter(|&&passed| !passed).count() as u64;
    assert!(lost > 30 && told.lost == lost, "{lost} {}", told.lost);
    // Each direction has one delay, but for the queue of 10 us a packet: few are in doubt, most were outside.
    assert!(told.undecided <= 4, "{}", told.undecided);
    // From the other side: what arrived but had been sent before the capture began is not unsent.
    let late: Vec<Packet> = all
        .iter()
        .map(|packet| Packet { first_ns: packet.first_ns.filter(|&at| at > 20 * SECOND), ..*packet })
        .collect();
    assert_eq!(losses(&compared(&late, |at| at), 0).unsent, 0);
}

#[test]
fn a_queue_that_grows_to_the_end_leaves_its_packets_undecided() {
    // The queue lets half through; the capture ends with 10 s of packets in it.
    let up = stream(game(), 20, 20 * MS, 0.05, |at| at - SECOND);
    let down = back(game(), 21, 50 * MS, 0.0, |_| 0);
    let seen: Vec<Packet> = [up.clone(), down]
        .concat()
        .iter()
        .map(|packet| Packet { second_ns: packet.second_ns.filter(|&at| at < 21 * SECOND), ..*packet })
        .collect();
    let told = compared(&seen, |at| at);
    let told = losses(&told, 0);
    let last = seen[..up.len()].iter().rposition(|packet| packet.second_ns.is_some()).unwrap();
    assert_eq!((told.sent, told.lost), (last as u64 + 1, lost(&seen[..last])));
    // No packet is faster than 20 ms, so the capture had ended for the last ones.
    let outside = (up.len() - last - 1) as u64 - told.undecided;
    assert!(told.undecided > 400 && outside <= 2, "{} {outside}", told.undecided);
}

#[test]
fn drift_is_measured_where_both_directions_show_it() {
    for ppm in [-300i64, -50, 50, 300] {
        let clock = |at: u64| HOUR + (at as i64 + at as i64 / 1_000_000 * ppm) as u64;
        for (name, wait, wait_back) in [
            ("no queue", (|at| at * 31 % MS) as fn(u64) -> u64, (|at| at * 17 % MS) as fn(u64) -> u64),
            ("a queue up", now_and_then, |at| at * 17 % MS),
            ("queues both ways", now_and_then, |at| now_and_then(at + 2 * SECOND)),
        ] {
            let up = stream(game(), 300, 20 * MS, 0.02, wait);
            let down = back(game(), 300, 20 * MS, 0.0, wait_back);
            let found = compared(&[up.clone(), down.clone()].concat(), clock);
            let drift = found.drift_ppb.unwrap_or_else(|| panic!("{name}, {ppm} ppm")) / 1e3;
            assert!((drift - ppm as f64).abs() < 2.0, "{name}: {drift} for {ppm}");
            for (direction, (packets, sign)) in [(&up, 1.0), (&down, -1.0)].into_iter().enumerate() {
                let told = losses(&found, direction);
                assert_eq!(
                    (told.sent, told.lost, told.unsent),
                    (packets.len() as u64, lost(packets), 0),
                    "{name}"
                );
                let one_way = &found.flows[0].directions[direction].one_way;
                assert_eq!(one_way.drift_ppb, Some(sign * drift * 1e3));
                let delays = delays(packets);
                let most = delays.iter().max().unwrap() - delays.iter().min().unwrap();
                let measured = one_way.above_least.max().unwrap();
                assert!(measured.abs_diff(most) < 2 * MS, "{name}, {ppm} ppm: {measured} for {most}");
            }
        }
    }
}

#[test]
fn what_may_be_a_queue_is_not_taken_for_a_drift() {
    let growing = |at: u64| at / 20_000;
    let standing = |at: u64| SECOND + now_and_then(at) / 2 + at * 31 % (200 * MS);
    for (name, up, down) in [
        // 50 us per second up, and nothing down.
        ("grows slowly", stream(game(), 300, 20 * MS, 0.0, growing), back(game(), 300, 20 * MS, 0.0, |_| 0)),
        (
            "grow both ways",
            stream(game(), 300, 20 * MS, 0.0, growing),
            back(game(), 300, 20 * MS, 0.0, growing),
        ),
        (
            "grows to seconds",
            stream(game(), 70, 20 * MS, 0.0, ten_seconds),
            back(game(), 70, 20 * MS, 0.0, |_| 0),
        ),
        ("noise", stream(game(), 300, 20 * MS, 0.0, standing), back(game(), 300, 20 * MS, 0.0, standing)),
        ("one way", stream(game(), 300, 20 * MS, 0.02, growing), Vec::new()),
    ] {
        let found = compared(&[up.clone(), down.clone()].concat(), |at| at + HOUR);
        assert_eq!(found.drift_ppb, None, "{name}");
        check(&found, 0, &up);
    }
    // With a real drift below standing queues, a wrong drift would be worse than none.
    let (up, down) = (stream(game(), 300, 20 * MS, 0.0, standing), back(game(), 300, 20 * MS, 0.0, standing));
    let found = compared(&[up, down].concat(), |at| at + at / 1_000_000 * 50);
    assert_eq!(found.drift_ppb, None);
}

#[test]
fn translated_addresses_and_reused_ports_are_matched_by_content() {
    let mut all = Vec::new();
    let inside = |player: u8| key(&format!("192.168.1.{player}:40000"), "203.0.113.5:7000", Protocol::Udp);
    for player in 2..7 {
        let mut up = stream(inside(player), 10 + u64::from(player), 30 * MS, 0.05, |_| SECOND);
        let mut down = back(inside(player), 10 + u64::from(player), 50 * MS, 0.02, |_| 0);
        for (packets, size) in [(&mut up, 30), (&mut down, 60)] {
            packets.iter_mut().for_each(|packet| packet.size = size + u32::from(player));
        }
        all.push([up, down]);
    }
    let first =
        capture(all.iter().flatten().flatten().filter_map(|packet| Some((packet.first_ns?, *packet))));
    // Beyond the translator all players have one address, and ports in another order.
    let outside = |packet: &Packet| {
        let up = packet.key.destination.port() == 7000;
        let inner = if up { packet.key } else { packet.key.reverse() };
        let std::net::IpAddr::V4(address) = inner.source.ip() else { panic!("IPv4") };
        let port = 60_000 - u16::from(address.octets()[3]);
        let outer = key(&format!("198.51.100.1:{port}"), "203.0.113.5:7000", Protocol::Udp);
        Packet { key: if up { outer } else { outer.reverse() }, ..*packet }
    };
    let second = capture(
        all.iter().flatten().flatten().filter_map(|packet| Some((packet.second_ns?, outside(packet)))),
    );
    for (found, near) in [(compare(&first, &second), true), (compare(&second, &first), false)] {
        assert_eq!(found.flows.len(), 5);
        for flow in &found.flows {
            let player = if near { flow.key.source.to_string() } else { String::new() };
            assert_eq!(flow.first_is_near_client, Some(near));
            let sizes = flow.directions.iter().map(|direction| direction.seen);
            let [up, down] =
                all.iter().find(|[up, down]| sizes.clone().eq([up.len() as u64, down.len() as u64])).unwrap();
            assert!(!near || up[0].key.source.to_string() == player);
            for (direction, packets) in flow.directions.iter().zip([up, down]) {
                let told = direction.losses.as_ref().unwrap();
                assert_eq!((told.sent + told.undecided, told.unsent), (packets.len() as u64, 0));
                assert_eq!(told.lost + told.undecided, lost(packets));
            }
        }
    }

    // The same addresses in two matches, ten minutes apart. The second capture has only the second match.
    let mut early = [stream(game(), 10, 30 * MS, 0.0, |_| 0), back(game(), 10, 50 * MS, 0.0, |_| 0)].concat();
    let mut late = [stream(game(), 19, 30 * MS, 0.05, |_| 0), back(game(), 20, 50 * MS, 0.0, |_| 0)].concat();
    for packet in &mut early {
        (packet.second_ns, packet.size) = (None, 200);
    }
    for packet in &mut late {
        packet.size = if packet.key == game() { 30 } else { 60 };
        packet.first_ns = packet.first_ns.map(|at| at + 600 * SECOND);
        packet.second_ns = packet.second_ns.map(|at| at + 600 * SECOND);
    }
    let found = compared(&[early, late.clone()].concat(), |at| at);
    assert_eq!((found.flows.len(), found.flows[0].flows), (1, [1, 0]));
    let up: Vec<Packet> = late.into_iter().filter(|packet| packet.key == game()).collect();
    check(&found, 0, &up);
}

#[test]
fn times_at_both_ends_of_the_range_do_not_overflow() {
    let up = stream(game(), 20, 20 * MS, 0.1, now_and_then);
    let mut repeated = up.clone();
    repeated.iter_mut().step_by(2).for_each(|packet| packet.id = 0);
    let down = back(game(), 20, 20 * MS, 0.1, now_and_then);
    for up in [up, repeated] {
        let all = [up, down.clone()].concat();
        for clock in
            [|at| u64::MAX - at, |at| u64::MAX - HOUR + at, |at| at * 500_000_000, |at| at / 1_000_000_000]
        {
            let found = compared(&all, clock);
            assert_eq!((found.flows.len(), found.drift_ppb), (1, None));
        }
    }
}
