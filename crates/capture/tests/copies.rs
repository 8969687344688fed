//! Captures that have each packet several times: of all interfaces of a router or bridge, and of a mirror port.

use crate::support::script::{Found, data};
use crate::support::{header, key, open};
use gamelane_capture::analysis::TransportReport;
use gamelane_capture::{
    Analyzer, InterfaceId, PacketHeader, PcapngWriter, TcpNumbers, WriteOptions, analyze,
};
use gamelane_core::{FlowKey, Protocol};
use gamelane_tcp::{Flags, Segment};

/// A capture of several interfaces. Packets are written in any order and sorted by time.
struct Router {
    interfaces: usize,
    packets: Vec<(u64, usize, PacketHeader, What)>,
    id: u16,
}

#[derive(Clone, Copy)]
enum What {
    Tcp(Segment),
    Udp(u32),
}

const LAN: usize = 0;
const WAN: usize = 1;

impl Router {
    fn new(interfaces: usize) -> Self {
        Self { interfaces, packets: Vec::new(), id: 0 }
    }

    /// Adds one packet, seen at (interface, microseconds, key) each.
    fn seen(&mut self, what: What, at: &[(usize, u64, FlowKey)]) {
        self.id += 1;
        self.seen_with_id(what, self.id, at);
    }

    fn seen_with_id(&mut self, what: What, id: u16, at: &[(usize, u64, FlowKey)]) {
        for &(interface, at_us, key) in at {
            let header = PacketHeader { id, ..header(key, at_us * 1000) };
            self.packets.push((at_us, interface, header, what));
        }
    }

    fn found(mut self) -> (Found, u64) {
        self.packets.sort_by_key(|packet| packet.0);
        let mut writer = PcapngWriter::new(Vec::new(), WriteOptions::default()).unwrap();
        let interfaces: Vec<InterfaceId> =
            (0..self.interfaces).map(|n| writer.add_interface(&n.to_string()).unwrap()).collect();
        let numbers =
            TcpNumbers { initial_sequence: 0, peer_initial_sequence: 0, maximum_segment_size: 1460 };
        for (_, interface, header, what) in &self.packets {
            let interface = interfaces[*interface];
            match what {
                What::Tcp(segment) => writer.write_tcp(interface, header, segment, &numbers).unwrap(),
                What::Udp(len) => writer.write_udp(interface, header, *len).unwrap(),
            }
        }
        let (mut found, mut analyzer) = (Found::default(), Analyzer::default());
        analyze(&mut open(writer.finish_file().unwrap()).unwrap(), &mut analyzer, &mut found).unwrap();
        assert_eq!(found.flows.len(), analyzer.flows() as usize);
        (found, analyzer.set_aside())
    }
}

fn inside() -> FlowKey {
    key("192.168.1.2:40000", "203.0.113.5:7000", Protocol::Tcp)
}

fn outside() -> FlowKey {
    key("198.51.100.7:61000", "203.0.113.5:7000", Protocol::Tcp)
}

/// Time inside the router in microseconds: a little up, a queue of 150 ms down.
const UP_US: u64 = 500;
const DOWN_US: u64 = 150_000;

/// A connection through a router: one message of 100 B every 200 ms, each answered after 40 ms with 200 B. `wan` is its
/// key at the outer interface.
fn connection(router: &mut Router, wan: FlowKey, from: u64) {
    let up = |router: &mut Router, at: u64, segment| {
        router.seen(What::Tcp(segment), &[(LAN, at, inside()), (WAN, at + UP_US, wan)]);
    };
    let down = |router: &mut Router, at: u64, segment| {
        router.seen(What::Tcp(segment), &[(WAN, at, wan.reverse()), (LAN, at + DOWN_US, inside().reverse())]);
    };
    let syn = Flags { syn: true, ..Flags::default() };
    let answer = Flags { syn: true, ack: true, ..Flags::default() };
    if from == 0 {
        up(router, 0, Segment { flags: syn.into(), ..data(0, 0, 0) });
        down(router, 40_000, Segment { flags: answer.into(), ..data(0, 1, 0) });
        up(router, 191_000, data(1, 1, 0));
    }
    for n in from..20 {
        let at = 400_000 + n * 200_000;
        up(router, at, data(1 + n * 100, 1 + n * 200, 100));
        down(router, at + 40_000, data(1 + n * 200, 101 + n * 100, 200));
    }
}

fn check(found: &Found, packets: u64) {
    let [flow] = &found.flows[..] else { panic!("one flow, not {}", found.flows.len()) };
    let TransportReport::Tcp(tcp) = &flow.transport else { panic!("TCP") };
    assert_eq!(flow.key, inside());
    for (direction, inside_us) in [(0, UP_US), (1, DOWN_US)] {
        assert_eq!(
            (tcp.halves[direction].counts.resent, tcp.halves[direction].counts.duplicate_acks),
            (0, 0)
        );
        let own = &flow.directions[direction];
        let copies = own.copies.as_ref().unwrap();
        assert_eq!(copies.packets, own.packets);
        assert_eq!(copies.after.median(), Some(inside_us as f64 * 1000.0));
        assert_eq!(own.duplicates, 0);
    }
    assert_eq!(flow.packets(), packets);
    // From the router's way in to the server and back to its way in: 40 ms.
    assert_eq!(tcp.halves[0].counts.ack_rtt.median(), Some(40e6));
}

#[test]
fn a_router_that_records_both_sides_has_one_capture_point() {
    let mut router = Router::new(2);
    connection(&mut router, inside(), 0);
    let (found, set_aside) = router.found();
    check(&found, 43);
    assert_eq!(set_aside, 43);
}

#[test]
fn translated_addresses_are_the_same_flow() {
    // From the handshake, and from the middle of the connection.
    for (from, packets) in [(0, 43), (5, 30)] {
        let mut router = Router::new(2);
        connection(&mut router, outside(), from);
        let (found, set_aside) = router.found();
        check(&found, packets);
        assert_eq!(set_aside, packets);
    }
}

#[test]
fn a_capture_that_begins_with_a_packet_down_names_the_player_by_the_home_address() {
    let mut router = Router::new(2);
    connection(&mut router, outside(), 5);
    router.packets.retain(|packet| packet.0 >= 1_440_000);
    let (found, _) = router.found();
    check(&found, 29);
}

#[test]
fn a_bridge_shows_each_packet_three_times() {
    let mut router = Router::new(3);
    let game = key("192.168.1.2:40000", "203.0.113.5:27960", Protocol::Udp);
    for n in 0..200 {
        let at = n * 30_000;
        let len = 60 + (n % 7) as u32;
        router.seen(What::Udp(len), &[(0, at, game), (2, at + 10, game), (1, at + 20, game)]);
        let back = game.reverse();
        router
            .seen(What::Udp(150), &[(1, at + 12_000, back), (2, at + 12_010, back), (0, at + 12_020, back)]);
    }
    let (found, set_aside) = router.found();
    let [flow] = &found.flows[..] else { panic!("one flow") };
    assert_eq!((flow.packets(), set_aside), (400, 800));
    assert_eq!(flow.directions[0].copies.as_ref().unwrap().after.median(), Some(20_000.0));
    assert!(matches!(
        flow.transport,
        TransportReport::Udp { behaviour: gamelane_capture::analysis::Behaviour::Game, .. }
    ));
}

#[test]
fn messages_of_equal_content_without_identification_are_counted_at_each_place() {
    // Ten equal messages pass a queue of 70 ms; the fourth is lost in it.
    let mut router = Router::new(2);
    let game = key("192.168.1.2:40000", "203.0.113.5:27960", Protocol::Udp);
    for n in 0..10 {
        let at = n * 30_000;
        let both = [(LAN, at, game), (WAN, at + 70_000, game)];
        router.seen_with_id(What::Udp(60), 0, if n == 3 { &both[..1] } else { &both });
    }
    let (found, set_aside) = router.found();
    let [flow] = &found.flows[..] else { panic!("one flow") };
    assert_eq!((flow.directions[0].packets, flow.directions[1].packets, set_aside), (10, 0, 9));
}

#[test]
fn a_mirror_port_shows_each_packet_twice() {
    for with_id in [true, false] {
        let mut router = Router::new(1);
        let mut seen = |segment, at: u64, key| {
            router.id += u16::from(with_id);
            let id = router.id;
            router.seen_with_id(What::Tcp(segment), id, &[(0, at, key), (0, at + 90, key)]);
        };
        for n in 0..50 {
            let at = n * 100_000;
            seen(data(1 + n * 100, 1 + n * 50, 100), at, inside());
            seen(data(1 + n * 50, 101 + n * 100, 50), at + 30_000, inside().reverse());
            seen(data(101 + n * 100, 51 + n * 50, 0), at + 70_000, inside());
        }
        let (found, set_aside) = router.found();
        let [up, down] = found.halves();
        for half in [up, down] {
            assert_eq!((half.counts.resent, half.counts.duplicate_acks), (0, 0), "{with_id}");
        }
        assert_eq!(found.flows[0].directions[1].duplicates, 50);
        assert!(set_aside >= 145, "{set_aside}");
    }
}

#[test]
fn offloading_that_regroups_segments_makes_no_retransmissions() {
    let mut router = Router::new(2);
    let (up, down) = (inside(), inside().reverse());
    for n in 0..50u64 {
        let at = n * 20_000;
        let first = 1 + n * 2896;
        // Two segments arrive; one of twice the size leaves. In the next round it is the other way round.
        let two = |router: &mut Router, place, at| {
            router.seen(What::Tcp(data(first, 1, 1448)), &[(place, at, down)]);
            router.seen(What::Tcp(data(first + 1448, 1, 1448)), &[(place, at + 5, down)]);
        };
        let one = |router: &mut Router, place, at| {
            router.seen(What::Tcp(data(first, 1, 2896)), &[(place, at, down)]);
        };
        if n % 2 == 0 {
            two(&mut router, WAN, at);
            one(&mut router, LAN, at + 300);
        } else {
            one(&mut router, WAN, at);
            two(&mut router, LAN, at + 300);
        }
        let ack = What::Tcp(data(1, first + 2896, 0));
        router.seen(ack, &[(LAN, at + 1000, up), (WAN, at + 1100, up)]);
    }
    let (found, _) = router.found();
    let [_, server] = found.halves();
    assert_eq!((server.counts.resent, server.counts.new_bytes), (0, 50 * 2896));
}

#[test]
fn a_route_out_of_one_interface_and_back_on_another_is_one_flow() {
    let mut router = Router::new(2);
    for n in 0..50 {
        let at = n * 100_000;
        router.seen(What::Tcp(data(1 + n * 100, 1 + n * 50, 100)), &[(0, at, inside())]);
        let back = What::Tcp(data(1 + n * 50, 101 + n * 100, 50));
        router.seen(back, &[(1, at + 30_000, inside().reverse())]);
    }
    let (found, set_aside) = router.found();
    assert_eq!((found.flows.len(), set_aside), (1, 0));
    assert_eq!(found.halves()[0].counts.ack_rtt.median(), Some(30e6));
}

#[test]
fn equal_messages_to_several_players_stay_apart() {
    let mut router = Router::new(2);
    let to = |player: u8| key("203.0.113.5:27960", &format!("192.168.1.{player}:27960"), Protocol::Udp);
    for n in 0..50 {
        for player in 2..6 {
            let at = n * 50_000 + u64::from(player);
            let both = [(WAN, at, to(player)), (LAN, at + 1_000, to(player))];
            router.seen_with_id(What::Udp(80), 0, &both);
        }
    }
    let (found, set_aside) = router.found();
    assert_eq!((found.flows.len(), set_aside), (4, 200));
    assert!(found.flows.iter().all(|flow| flow.packets() == 50));
}

#[test]
fn what_is_lost_inside_the_router_is_repeated_by_the_sender() {
    let mut router = Router::new(2);
    let (up, down) = (inside(), inside().reverse());
    for n in 0..40u64 {
        let at = n * 300_000;
        let bytes = data(1 + n * 100, 1, 100);
        let lost = n % 10 == 5;
        let both = [(LAN, at, up), (WAN, at + 1_000, up)];
        router.seen(What::Tcp(bytes), if lost { &both[..1] } else { &both });
        let answered = if lost {
            router.seen(What::Tcp(bytes), &[(LAN, at + 230_000, up), (WAN, at + 231_000, up)]);
            at + 250_000
        } else {
            at + 20_000
        };
        router.seen(
            What::Tcp(data(1, 101 + n * 100, 0)),
            &[(WAN, answered, down), (LAN, answered + 1_000, down)],
        );
    }
    let (found, _) = router.found();
    let [client, _] = found.halves();
    assert_eq!(client.counts.resent, 4);
    let copies = found.flows[0].directions[0].copies.as_ref().unwrap().packets;
    assert_eq!((found.flows[0].directions[0].packets, copies), (44, 40));
}

proptest::proptest! {
    /// Packets of few contents and addresses, so that everything meets: copies, translated addresses, reopened flows.
    #[test]
    fn every_packet_is_in_one_flow_or_set_aside(
        packets in proptest::collection::vec((0..3usize, 0..4u8, 0..6u32, 0..3u16, 0..200_000u64, proptest::prelude::any::<bool>()), 1..300),
    ) {
        let mut router = Router::new(3);
        let mut at_us = 0;
        let total = packets.len() as u64;
        for (interface, addresses, content, id, later_us, is_tcp) in packets {
            at_us += later_us;
            let protocol = if is_tcp { Protocol::Tcp } else { Protocol::Udp };
            let key = FlowKey { protocol, ..if addresses & 2 == 0 { inside() } else { outside() } };
            let key = if addresses & 1 == 0 { key } else { key.reverse() };
            let flags = Flags { syn: content == 5, ack: content != 5, fin: content == 4, ..Flags::default() };
            let segment = Segment { flags: flags.into(), ..data(1 + u64::from(content) * 40, 1, content * 20) };
            let what = if is_tcp { What::Tcp(segment) } else { What::Udp(content) };
            router.seen_with_id(what, id, &[(interface, at_us, key)]);
        }
        let (found, set_aside) = router.found();
        let reported: std::collections::BTreeSet<u32> = found.flows.iter().map(|flow| flow.flow).collect();
        proptest::prop_assert!(found.told.iter().all(|flow| reported.contains(flow) || found.absorbed.contains(flow)));
        let kept: u64 = found.flows.iter().map(gamelane_capture::FlowReport::packets).sum();
        proptest::prop_assert_eq!(kept + set_aside, total);
    }
}

#[test]
fn duplicates_that_the_network_made_are_counted_as_such() {
    let mut writer = PcapngWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    let tap = writer.add_interface("tap").unwrap();
    let game = key("203.0.113.5:27960", "192.168.1.2:27960", Protocol::Udp);
    for n in 0..100u16 {
        let header = PacketHeader { id: n + 1, ..header(game, u64::from(n) * 50_000_000) };
        writer.write_udp(tap, &header, 80).unwrap();
        if n % 20 == 7 {
            let later = PacketHeader { at: header.at + gamelane_core::Duration::from_millis(3), ..header };
            writer.write_udp(tap, &later, 80).unwrap();
        }
    }
    let mut found = Found::default();
    analyze(&mut open(writer.finish_file().unwrap()).unwrap(), &mut Analyzer::default(), &mut found).unwrap();
    let [flow] = &found.flows[..] else { panic!("one flow") };
    let down = &flow.directions[usize::from(flow.key.source != game.source)];
    assert_eq!((down.packets, down.duplicates), (100, 5));
}

#[test]
fn a_mirror_port_shows_datagrams_without_identification_twice() {
    let mut router = Router::new(1);
    let game = key("192.168.1.2:27960", "203.0.113.5:27960", Protocol::Udp);
    for n in 0..200u32 {
        let at = u64::from(n) * 30_000;
        router.seen_with_id(What::Udp(60 + n % 7), 0, &[(0, at, game), (0, at + 90, game)]);
        let answer = What::Udp(150 + n % 11);
        router.seen_with_id(answer, 0, &[(0, at + 9_000, game.reverse()), (0, at + 9_090, game.reverse())]);
    }
    let (found, set_aside) = router.found();
    // Four repetitions show the mirror; they count as packets.
    assert_eq!((found.flows[0].packets(), set_aside), (403, 397));
}

#[test]
fn equal_messages_in_a_row_are_no_copies() {
    for id in [0, 7] {
        let mut router = Router::new(1);
        let game = key("192.168.1.2:27960", "203.0.113.5:27960", Protocol::Udp);
        for n in 0..500 {
            router.seen_with_id(What::Udp(60), id, &[(0, n * 1_500, game)]);
        }
        assert_eq!(router.found().1, 0, "{id}");
    }
}

#[test]
fn retransmissions_over_another_interface_of_a_bond_are_retransmissions() {
    // Packets alternate between two interfaces, and all of them appear on the bond as well.
    const BOND: usize = 2;
    let mut router = Router::new(3);
    let (up, down) = (inside(), inside().reverse());
    for n in 0..100u64 {
        let at = n * 100_000;
        let stamped = |stamp: u64, segment| Segment { timestamps: Some((stamp as u32, 1)), ..segment };
        let bytes = data(1 + n * 100, 1, 100);
        let slave = (n % 2) as usize;
        router.seen(What::Tcp(stamped(at / 1000, bytes)), &[(slave, at, up), (BOND, at + 5, up)]);
        let mut answered = at + 20_000;
        if n % 10 == 5 {
            let again = at + 40_000;
            let both = [(1 - slave, again, up), (BOND, again + 5, up)];
            router.seen(What::Tcp(stamped(again / 1000, bytes)), &both);
            answered = again + 20_000;
        }
        let ack = What::Tcp(stamped(answered / 1000, data(1, 101 + n * 100, 0)));
        router.seen(ack, &[(slave, answered, down), (BOND, answered + 5, down)]);
    }
    let (found, _) = router.found();
    assert_eq!(found.halves()[0].counts.resent, 10);
}

#[test]
fn fast_retransmissions_without_identification_are_no_copies() {
    let mut router = Router::new(1);
    for n in 0..50u64 {
        let at = n * 10_000;
        let start = 1 + n * 2000;
        let mut seen = |segment, at, key| router.seen_with_id(What::Tcp(segment), 0, &[(0, at, key)]);
        seen(data(start, 1, 1000), at, inside());
        seen(data(start + 1000, 1, 1000), at + 10, inside());
        let hole = gamelane_tcp::SackBlock { start: start + 1000, end: start + 2000 };
        let sack = gamelane_tcp::SackBlocks::new(start, &[hole]);
        seen(Segment { sack, ..data(1, start, 0) }, at + 120, inside().reverse());
        seen(data(start, 1, 1000), at + 200, inside());
        seen(data(1, start + 2000, 0), at + 300, inside().reverse());
    }
    let (found, set_aside) = router.found();
    assert_eq!((found.halves()[0].counts.resent, set_aside), (50, 0));
}

#[test]
fn a_content_that_appears_everywhere_joins_a_bounded_number_of_flows() {
    let mut router = Router::new(20);
    for n in 0..2000u16 {
        let somewhere = key(&format!("192.168.1.2:{}", 1024 + n), "203.0.113.5:7000", Protocol::Tcp);
        let packet = What::Tcp(data(1, 1, 100));
        router.seen_with_id(packet, 9, &[(usize::from(n % 20), u64::from(n) * 10, somewhere)]);
    }
    assert!(router.found().0.flows.len() > 100);
}

#[test]
fn a_bridge_whose_interfaces_have_no_numbers_shows_each_packet_twice_in_and_twice_out() {
    let mut router = Router::new(2);
    let game = key("192.168.1.2:27960", "203.0.113.5:27960", Protocol::Udp);
    for n in 0..200u32 {
        let at = u64::from(n) * 30_000;
        let seen = |at: u64, key| [(0, at, key), (0, at + 10, key), (1, at + 20, key), (1, at + 40, key)];
        router.seen_with_id(What::Udp(60 + n % 7), 0, &seen(at, game));
        router.seen_with_id(What::Udp(150 + n % 11), 0, &seen(at + 9_000, game.reverse()));
    }
    let (found, set_aside) = router.found();
    // The first repetitions show that each packet is there twice; they count as packets.
    let packets = found.flows[0].packets();
    assert!(packets + set_aside == 1600 && packets <= 408, "{packets} {set_aside}");
}
