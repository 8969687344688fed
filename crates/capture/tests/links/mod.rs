//! Link layers: every header leads to the packet, and tells its direction.

mod agreement;
mod files;
mod frames;
mod lengths;
mod wifi;

use crate::support::{open, pcap_of};
use frames::*;
use gamelane_capture::CapturedPacket;

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
fn every_header_leads_to_the_datagram() {
    for (name, link_type, frame) in frames() {
        let packets = read(link_type, std::slice::from_ref(&frame));
        assert_eq!(packets.len(), 1, "{name}");
        let [packet] = &packets[..] else { unreachable!() };
        assert_eq!((packet.key.source.port(), packet.payload_len), (1000, 4), "{name}");
        assert_eq!((packet.ip_len.0, packet.start), (32, Some([1, 2, 3, 4])), "{name}");
        // Cut anywhere, it is skipped or read, and never more than what was captured.
        for len in 0..frame.len() {
            let mut capture = open(pcap_of(link_type, &[frame[..len].to_vec()])).unwrap();
            let read = capture.by_ref().map_while(Result::ok).count() as u64;
            assert_eq!(read + capture.skipped().total(), 1, "{name}, cut at {len}");
        }
    }
}

#[test]
fn headers_tell_the_direction() {
    let outgoing = |link_type, frame: Vec<u8>| read(link_type, &[frame])[0].outgoing;
    for (hook, expected) in [(0, Some(false)), (1, Some(false)), (2, None), (3, Some(true)), (4, Some(true))]
    {
        assert_eq!(outgoing(239, nflog(hook, false, &DATAGRAM)), expected, "hook {hook}");
        assert_eq!(outgoing(239, nflog(hook, true, &DATAGRAM)), expected, "hook {hook}, big-endian");
    }
    for (flags, expected) in [(0, None), (1, Some(false)), (2, Some(true)), (3, None), (0x12, Some(true))] {
        assert_eq!(outgoing(258, pktap(12, flags, &DATAGRAM)), expected, "flags {flags}");
    }
    assert_eq!(outgoing(204, [&[1, 0xff, 3, 0, 0x21][..], &DATAGRAM].concat()), Some(true));
    assert_eq!(outgoing(204, [&[0, 0x21][..], &DATAGRAM].concat()), Some(false));
}

#[test]
fn a_range_of_netfilters_log_does_not_shorten_the_packet() {
    let packet = read(239, &[nflog(3, false, &DATAGRAM[..28])])[0];
    assert_eq!((packet.ip_len.0, packet.payload_len, packet.start), (32, 4, None));
}

#[test]
fn private_link_types_are_pktap_only_if_the_frame_proves_it() {
    let mut nameless = pktap(1, 0, &ethernet(&[&[8, 0][..], &DATAGRAM].concat()));
    nameless[12] = 0;
    let of_unknown = pktap(187, 0, &DATAGRAM);
    for frame in [DATAGRAM.to_vec(), nameless, of_unknown] {
        let mut capture = open(pcap_of(149, &[frame])).unwrap();
        assert!(capture.next_packet().is_err());
        assert_eq!(capture.skipped().unsupported_link_type, Some(149));
    }
    // A header within a header is no frame.
    let twice = pktap(258, 0, &pktap(12, 0, &DATAGRAM));
    assert_eq!(read(258, &[twice]), []);
}
