//! What file formats tell of a packet beside its bytes: interface, direction, check sequence.

use super::frames::*;
use crate::support::{open, pcap_of};

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

/// `pcap_sf_patched_pkthdr` of libpcap: after the lengths come interface index, protocol and packet type of Linux.
#[test]
fn the_modified_pcap_format_has_interfaces_and_directions() {
    for big in [false, true] {
        let u32 = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
        let version = if big { [0, 2, 0, 4] } else { [2, 0, 4, 0] };
        let mut file = [u32(0xa1b2_cd34), version, u32(0), u32(0), u32(65_535), u32(101)].concat();
        for (interface, packet_type) in [(2, TO_US), (3, FROM_US)] {
            let [stored, original] = [u32(32), u32(40)];
            file.extend([u32(1), u32(500_000), stored, original, u32(interface)].concat());
            file.extend([8, 0, packet_type, 0]);
            file.extend(DATAGRAM);
        }
        let seen: Vec<_> = open(file.clone())
            .unwrap()
            .map(Result::unwrap)
            .map(|packet| (packet.at_ns, packet.interface, packet.outgoing, packet.payload_len))
            .collect();
        assert_eq!(seen, [(1_500_000_000, 2, Some(false), 4), (1_500_000_000, 3, Some(true), 4)]);
        let mut capture = open(file).unwrap();
        capture.only_interface(3);
        assert_eq!((capture.by_ref().count(), capture.packets_read()), (1, 1));
    }
}

/// Lengths changed places in version 2.3, and some programs wrote that version with the old order.
#[test]
fn old_pcap_versions_have_the_original_length_first() {
    for (version, lengths) in [
        ([2, 4], [30u32, 32]),
        ([2, 3], [30, 32]),
        ([2, 3], [32, 30]),
        ([2, 2], [32, 30]),
        ([543, 0], [32, 30]),
    ] {
        let mut file = pcap_of(101, &[DATAGRAM[..30].to_vec()]);
        file[4..8].copy_from_slice(&version.map(u16::to_le_bytes).concat());
        file[32..40].copy_from_slice(&lengths.map(u32::to_le_bytes).concat());
        let packets: Vec<_> = open(file).unwrap().map(Result::unwrap).collect();
        assert_eq!(packets.len(), 1, "{version:?}");
        assert_eq!((packets[0].ip_len.0, packets[0].start), (32, None), "{version:?}");
    }
}

/// The option `epb_flags` of pcapng: two bits for the direction, four for the length of the check sequence.
#[test]
fn packet_flags_of_pcapng_tell_direction_and_check_sequence() {
    let mut long = DATAGRAM;
    long[3] = 100;
    for (flags, outgoing, len) in [(0u32, None, 36), (1, Some(false), 36), (2 | 4 << 5, Some(true), 32)] {
        let mut file = pcapng(&[101], &[]);
        let data = [&long[..], &[9; 4]].concat();
        let head = [0u32, 0, 0, 36, 36].map(u32::to_le_bytes).concat();
        let comment = [1, 0, 3, 0, b'a', b'b', b'c', 0];
        file.extend(block(
            6,
            &[&head, &data[..], &comment, &[2, 0, 4, 0], &flags.to_le_bytes(), &[0; 4]].concat(),
        ));
        let packet = open(file).unwrap().next().unwrap().unwrap();
        assert_eq!((packet.outgoing, packet.ip_len.0), (outgoing, len), "flags {flags}");
    }
}
