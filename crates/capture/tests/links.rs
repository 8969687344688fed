//! Link layers, byte by byte: each test builds a frame as its source defines it.

use crate::support::{open, pcap_of};
use gamelane_capture::CapturedPacket;

/// UDP from 10.0.0.1:1000 to 10.0.0.2:2000 with 4 bytes.
const DATAGRAM: [u8; 32] = [
    0x45, 0, 0, 32, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x03, 0xe8, 0x07, 0xd0, 0, 12, 0,
    0, 1, 2, 3, 4,
];

const TO_US: u8 = 0;
const TO_OTHERS: u8 = 3;
const FROM_US: u8 = 4;

fn read(link_type: u32, frames: &[Vec<u8>]) -> Vec<CapturedPacket> {
    open(pcap_of(link_type, frames)).unwrap().map(Result::unwrap).collect()
}

/// pcap-linktype(7), LINKTYPE_LINUX_SLL: packet type, ARPHRD type, length and bytes of the address, protocol.
fn cooked(packet_type: u8) -> Vec<u8> {
    [&[0, packet_type, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0][..], &DATAGRAM].concat()
}

/// pcap-linktype(7), LINKTYPE_LINUX_SLL2: protocol, reserved, interface index, ARPHRD type, packet type, length and
/// bytes of the address.
fn cooked_2(interface: u32, packet_type: u8) -> Vec<u8> {
    let index = interface.to_be_bytes();
    [&[8, 0, 0, 0][..], &index, &[0, 1, packet_type, 6, 2, 0, 0, 0, 0, 1, 0, 0], &DATAGRAM].concat()
}

/// A block of pcapng, little-endian.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let len = (body.len() as u32 + 12).to_le_bytes();
    [&kind.to_le_bytes()[..], &len, &body, &len].concat()
}

/// A pcapng with one interface for each link type, and frames by interface.
fn pcapng(links: &[u16], frames: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut file = block(0x0a0d_0d0a, &[&[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..], &[0xff; 8]].concat());
    for link in links {
        file.extend(block(1, &[&link.to_le_bytes()[..], &[0; 6]].concat()));
    }
    for (interface, frame) in frames {
        let len = (frame.len() as u32).to_le_bytes();
        file.extend(block(6, &[&interface.to_le_bytes()[..], &[0; 8], &len, &len, frame].concat()));
    }
    file
}

#[test]
fn cooked_captures_tell_the_direction_and_version_2_the_interface() {
    let seen = |packets: Vec<CapturedPacket>| -> Vec<_> {
        packets.iter().map(|packet| (packet.interface, packet.outgoing)).collect()
    };
    let frames = [cooked(TO_US), cooked(TO_OTHERS), cooked(FROM_US), cooked(7)];
    assert_eq!(seen(read(113, &frames)), [(0, Some(false)), (0, Some(false)), (0, Some(true)), (0, None)]);
    let frames = [cooked_2(2, TO_US), cooked_2(70_000, FROM_US), cooked_2(2, 9)];
    assert_eq!(seen(read(276, &frames)), [(2, Some(false)), (70_000, Some(true)), (2, None)]);
    assert_eq!(seen(read(101, &[DATAGRAM.to_vec()])), [(0, None)]);
}

#[test]
fn one_interface_of_a_cooked_capture_is_read_and_counted_alone() {
    let mut arp = cooked_2(3, TO_US);
    arp[..2].copy_from_slice(&[8, 6]);
    // Cut before its interface: it belongs to the interface of the file.
    let cut = cooked_2(3, TO_US)[..7].to_vec();
    let frames = [cooked_2(2, TO_US), cooked_2(3, FROM_US), arp, cooked_2(3, FROM_US), cut];
    for (interface, packets, read) in [(2, 1, 1), (3, 2, 3), (0, 0, 1), (5, 0, 0)] {
        let mut capture = open(pcap_of(276, &frames)).unwrap();
        capture.only_interface(interface);
        let found: Vec<_> = capture.by_ref().map(Result::unwrap).collect();
        assert!(found.iter().all(|packet| packet.interface == interface));
        assert_eq!((found.len(), capture.packets_read()), (packets, read), "interface {interface}");
        assert_eq!(capture.skipped().total(), read - packets as u64, "interface {interface}");
    }
}

#[test]
fn the_interface_in_the_frame_wins_over_the_one_of_the_file() {
    let frames =
        [(0, cooked_2(7, TO_US)), (1, cooked_2(7, TO_US)), (2, cooked(TO_US)), (1, cooked_2(2, TO_US))];
    let file = pcapng(&[276, 276, 113], &frames);
    let seen: Vec<_> = open(file.clone()).unwrap().map(|packet| packet.unwrap().interface).collect();
    assert_eq!(seen, [7, 7, 2, 2]);
    let mut capture = open(file).unwrap();
    capture.only_interface(7);
    assert_eq!((capture.by_ref().count(), capture.packets_read()), (2, 2));
}
