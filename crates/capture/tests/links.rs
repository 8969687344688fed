//! Link layers, byte by byte: each test builds a frame as its source defines it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use crate::support::{self, open, pcap_of};
use gamelane_capture::{CaptureError, CapturedPacket, FrameHeaders};
use gamelane_core::FlowKey;

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

/// A frame control field of 802.11: data with these flags.
const DATA: u8 = 0x08;
const QOS_DATA: u8 = 0x88;
const TO_SYSTEM: u8 = 1;
const FROM_SYSTEM: u8 = 2;
const MORE_FRAGMENTS: u8 = 4;
const RETRY: u8 = 8;
const PROTECTED: u8 = 0x40;
const ORDER: u8 = 0x80;

/// RFC 1042: LLC and SNAP with an EtherType.
const SNAP: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

/// IEEE 802.11-2020 section 9.3.2.1: frame control, duration, three addresses, sequence control, a fourth address
/// between access points; then `more` (QoS and HT control) and the payload.
fn wifi(control: u8, flags: u8, more: &[u8], payload: &[u8]) -> Vec<u8> {
    let fourth: &[u8] = if flags & 3 == 3 { &[2, 0, 0, 0, 0, 4] } else { &[] };
    let addresses = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 3];
    [&[control, flags, 0, 0][..], &addresses, &[0x10, 0], fourth, more, payload].concat()
}

fn snap(payload: &[u8]) -> Vec<u8> {
    [&SNAP[..], payload].concat()
}

/// Section 9.3.2.2: destination, source, length, payload, padding to four bytes.
fn subframe(payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u16).to_be_bytes();
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], &len, payload].concat()
}

fn aggregate(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![];
    for payload in payloads {
        bytes.resize(usize::next_multiple_of(bytes.len(), 4), 0);
        bytes.extend(subframe(payload));
    }
    bytes
}

/// The datagram with another source port.
fn datagram(port: u16) -> Vec<u8> {
    let mut bytes = DATAGRAM.to_vec();
    bytes[20..22].copy_from_slice(&port.to_be_bytes());
    bytes
}

/// radiotap.org: version, padding, length, present words, fields. Here: timer (aligned to 8), flags, rate.
fn radiotap(flags: u8, frame: &[u8]) -> Vec<u8> {
    [&[0, 0, 18, 0, 7, 0, 0, 0][..], &[9; 8], &[flags, 2], frame].concat()
}

/// The same with three present words: the timer starts at 24, because it is aligned to 8 from the header's start.
fn radiotap_of_two_antennas(flags: u8, frame: &[u8]) -> Vec<u8> {
    let present = [0xa000_0003u32, 0xa000_0020, 0x20].map(u32::to_le_bytes).concat();
    [&[0, 0, 36, 0][..], &present, &[9; 8], &[flags, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8], frame].concat()
}

/// LINKTYPE_NFLOG: family, version, resource; then attributes with length, type, value and padding to four bytes.
fn nflog(hook: u8, big: bool, payload: &[u8]) -> Vec<u8> {
    let number = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut frame = vec![2, 0, 0, 0];
    for (kind, value) in [(1, &[8, 0, hook, 0][..]), (10, b"log\0"), (5, &[0, 0, 0, 2]), (9, payload)] {
        frame.extend(number(value.len() as u16 + 4));
        frame.extend(number(kind));
        frame.extend(value);
        frame.resize(frame.len().next_multiple_of(4), 0);
    }
    frame
}

/// `bsd/net/pktap.h` of XNU: length, type of record (1: a packet), link type, interface, flags (2: out), then process
/// and command.
fn pktap(link_type: u32, flags: u32, frame: &[u8]) -> Vec<u8> {
    let mut header = [108u32, 1, link_type].map(u32::to_le_bytes).concat();
    header.extend(b"en0\0");
    header.resize(36, 0);
    header.extend(flags.to_le_bytes());
    header.resize(108, 0);
    [header, frame.to_vec()].concat()
}

fn ethernet(above: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], above].concat()
}

/// Frames with the datagram, by link type: name, link type, frame.
fn frames() -> Vec<(&'static str, u32, Vec<u8>)> {
    let plain = |header: &[u8]| [header, &DATAGRAM].concat();
    let snapped = snap(&DATAGRAM);
    let of_ethernet = |header: &[u8]| ethernet(&plain(header));
    let pflog = {
        // `net/if_pflog.h` of OpenBSD: length 61 without padding, family, action, reason, interface, …
        let mut header = vec![61, 2, 0, 0];
        header.resize(64, 0);
        plain(&header)
    };
    let prism = {
        let mut header = [0x44u32, 144].map(u32::to_le_bytes).concat();
        header.resize(144, 0);
        [header, wifi(DATA, FROM_SYSTEM, &[], &snapped)].concat()
    };
    let avs = {
        let mut header = [0x8021_1001u32, 64].map(u32::to_be_bytes).concat();
        header.resize(64, 0);
        [header, wifi(DATA, FROM_SYSTEM, &[], &snapped)].concat()
    };
    let checked = |frame: Vec<u8>| [&frame[..], &[1, 2, 3, 4]].concat();
    let padded = {
        // 26 bytes of header, then two of padding (flag 0x20).
        wifi(QOS_DATA, TO_SYSTEM, &[0, 0, 0xee, 0xee], &snapped)
    };
    vec![
        ("Wi-Fi between stations", 105, wifi(DATA, 0, &[], &snapped)),
        ("Wi-Fi to the access point", 105, wifi(DATA, TO_SYSTEM, &[], &snapped)),
        ("Wi-Fi sent again", 105, wifi(DATA, FROM_SYSTEM | RETRY, &[], &snapped)),
        ("Wi-Fi between access points", 105, wifi(DATA, TO_SYSTEM | FROM_SYSTEM, &[], &snapped)),
        ("Wi-Fi with QoS", 105, wifi(QOS_DATA, TO_SYSTEM, &[5, 0], &snapped)),
        ("Wi-Fi with QoS between access points", 105, wifi(QOS_DATA, 3, &[5, 0], &snapped)),
        ("Wi-Fi with HT control", 105, wifi(QOS_DATA, TO_SYSTEM | ORDER, &[5, 0, 1, 2, 3, 4], &snapped)),
        ("Wi-Fi in strict order", 105, wifi(DATA, TO_SYSTEM | ORDER, &[], &snapped)),
        (
            "Wi-Fi aggregate",
            105,
            wifi(QOS_DATA, TO_SYSTEM, &[0x80, 0], &aggregate(std::slice::from_ref(&snapped))),
        ),
        ("radiotap", 127, radiotap(0, &wifi(DATA, TO_SYSTEM, &[], &snapped))),
        ("radiotap with check sequence", 127, radiotap(0x10, &checked(wifi(DATA, TO_SYSTEM, &[], &snapped)))),
        ("radiotap with padding", 127, radiotap(0x20, &padded)),
        (
            "radiotap with several present words",
            127,
            radiotap_of_two_antennas(0x10, &checked(wifi(QOS_DATA, TO_SYSTEM, &[0, 0], &snapped))),
        ),
        ("Prism", 119, prism),
        ("AVS in Prism's link type", 119, avs.clone()),
        ("AVS", 163, avs),
        ("netfilter's log, little-endian", 239, nflog(1, false, &DATAGRAM)),
        ("PKTAP of Ethernet", 258, pktap(1, 2, &of_ethernet(&[8, 0]))),
        ("PKTAP of raw IP", 258, pktap(12, 1, &DATAGRAM)),
        ("PKTAP of macOS 10.9", 149, pktap(1, 2, &of_ethernet(&[8, 0]))),
        ("PF's log", 117, pflog),
        // pcap-linktype(7), LINKTYPE_PPP_HDLC and LINKTYPE_C_HDLC.
        ("PPP in HDLC", 50, plain(&[0xff, 3, 0, 0x21])),
        ("Cisco HDLC as PPP", 50, plain(&[0x0f, 0, 8, 0])),
        ("Cisco HDLC", 104, plain(&[0x8f, 0, 8, 0])),
        ("PPP with direction", 204, plain(&[1, 0xff, 3, 0, 0x21])),
        ("LLC over ATM", 100, snapped.clone()),
        // RFC 3032: labels 16 and 32, the last with the bottom of the stack, TTL 64.
        ("MPLS over Ethernet", 1, of_ethernet(&[0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64])),
        ("MPLS over a VLAN", 1, of_ethernet(&[0x81, 0, 0, 7, 0x88, 0x48, 0, 1, 1, 64])),
        ("MPLS over PPP", 9, plain(&[0xff, 3, 2, 0x81, 0, 1, 1, 64])),
        ("802.3 with LLC and SNAP", 1, ethernet(&[&[0, 40][..], &snapped].concat())),
        ("Linux cooked with LLC", 113, [&[0; 14][..], &[0, 4], &snapped].concat()),
        ("Linux cooked 2 with LLC", 276, [&[0, 4][..], &[0; 18], &snapped].concat()),
        // net/dsa/tag_brcm.c and tag_dsa.c of Linux.
        ("Broadcom tag", 281, of_ethernet(&[0x20, 0, 0, 4, 8, 0])),
        ("Broadcom tag first", 282, [&[0x20, 0, 0, 4][..], &of_ethernet(&[8, 0])].concat()),
        ("Broadcom tag and VLAN", 281, of_ethernet(&[0x20, 0, 0, 4, 0x81, 0, 0, 7, 8, 0])),
        ("Marvell DSA", 284, of_ethernet(&[0x40, 8, 0, 1, 8, 0])),
        ("Marvell EDSA", 285, of_ethernet(&[0xda, 0xda, 0, 0, 0x40, 8, 0, 1, 8, 0])),
    ]
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

#[test]
fn a_check_sequence_told_twice_is_removed_once() {
    let frame = [&wifi(DATA, TO_SYSTEM, &[], &snap(&DATAGRAM))[..], &[1, 2, 3, 4]].concat();
    let mut file = pcap_of(127, &[radiotap(0x10, &frame)]);
    file[23] = 0x24;
    let packet = open(file).unwrap().next().unwrap().unwrap();
    assert_eq!((packet.ip_len.0, packet.payload_len), (32, 4));
}

#[test]
fn every_subframe_of_a_wifi_aggregate_is_a_packet() {
    let ports = |payloads: &[Vec<u8>]| -> Vec<u16> {
        let frame = wifi(QOS_DATA, TO_SYSTEM, &[0x80, 0], &aggregate(payloads));
        let after = wifi(DATA, TO_SYSTEM, &[], &snap(&datagram(9)));
        read(105, &[frame, after]).iter().map(|packet| packet.key.source.port()).collect()
    };
    assert_eq!(ports(&[snap(&datagram(1)), snap(&datagram(2)), snap(&datagram(3))]), [1, 2, 3, 9]);
    // Lengths that need padding; ARP in the middle is skipped.
    let mut arp = snap(&[0; 29]);
    arp[7] = 6;
    let odd = |port| [datagram(port), vec![0]].concat();
    assert_eq!(ports(&[snap(&odd(1)), arp, snap(&datagram(3))]), [1, 3, 9]);

    let frame =
        wifi(QOS_DATA, TO_SYSTEM, &[0x80, 0], &aggregate(&[snap(&datagram(1)), snap(&[]), snap(&[])]));
    let mut capture = open(pcap_of(127, &[radiotap(0, &frame)])).unwrap();
    let first = capture.next_packet().unwrap().unwrap();
    assert_eq!((first.at_ns, first.payload_len), (0, 4));
    assert_eq!(capture.next_packet().unwrap(), None);
    assert_eq!((capture.packets_read(), capture.skipped().not_ip), (3, 2));
}

#[test]
fn fragments_of_wifi_count_with_the_first_one() {
    let whole = snap(&DATAGRAM);
    let first = wifi(DATA, TO_SYSTEM | MORE_FRAGMENTS, &[], &whole[..36]);
    let mut second = wifi(DATA, TO_SYSTEM, &[], &whole[36..]);
    second[22] |= 1;
    let mut capture = open(pcap_of(105, &[first, second])).unwrap();
    let packets: Vec<_> = capture.by_ref().map(Result::unwrap).collect();
    assert_eq!(packets.iter().map(|packet| packet.payload_len).collect::<Vec<_>>(), [4]);
    assert_eq!(capture.skipped().not_ip, 1);
}

#[test]
fn other_wifi_frames_are_counted_by_reason() {
    let data = wifi(DATA, TO_SYSTEM, &[], &snap(&DATAGRAM));
    let beacon = wifi(0x80, 0, &[], &[0; 40]);
    let null = wifi(0x48, TO_SYSTEM, &[], &[]);
    // CCMP: packet number and key (section 12.5.2.2), then ciphertext.
    let vector = [1, 0, 0, 0x20, 0, 0, 0, 0];
    let secret = wifi(QOS_DATA, TO_SYSTEM | PROTECTED, &[0, 0], &[&vector[..], &[0x5a; 60]].concat());
    let damaged = radiotap(0x50, &[&data[..], &[0; 4]].concat());
    let frames =
        [radiotap(0, &data), radiotap(0, &beacon), radiotap(0, &null), radiotap(0, &secret), damaged];
    let mut capture = open(pcap_of(127, &frames)).unwrap();
    assert_eq!(capture.by_ref().map(Result::unwrap).count(), 1);
    let skipped = *capture.skipped();
    assert_eq!((skipped.not_ip, skipped.encrypted, skipped.cut_header, skipped.total()), (2, 1, 1, 4));

    let error = open(pcap_of(127, &frames[1..4])).unwrap().next().unwrap().unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, CaptureError::Encrypted { packets: 1, packets_read: 3, .. }), "{text}");
    assert!(
        text.contains("1 of its 3 packets are encrypted Wi-Fi frames, and no other can be read\nhint: "),
        "{text}"
    );
}

/// A network card that decrypts leaves the Protected bit, and may leave the initialisation vector.
#[test]
fn decrypted_wifi_frames_are_read() {
    for vector in [&[][..], &[1, 0, 0, 0], &[1, 0, 0, 0x20, 0, 0, 0, 0]] {
        let one = [vector, &snap(&DATAGRAM)].concat();
        let frame = wifi(QOS_DATA, TO_SYSTEM | PROTECTED, &[0, 0], &one);
        assert_eq!(read(105, &[frame]).len(), 1, "{vector:?}");
        let two = [vector, &aggregate(&[snap(&datagram(1)), snap(&datagram(2))])].concat();
        let frame = wifi(QOS_DATA, TO_SYSTEM | PROTECTED, &[0x80, 0], &two);
        assert_eq!(read(105, &[frame]).len(), 2, "{vector:?}");
    }
}

/// A file of one frame, padded to this length.
fn padded(link_type: u32, mut frame: Vec<u8>, len: usize) -> Vec<u8> {
    frame.resize(len, 0);
    pcap_of(link_type, &[frame])
}

/// Files of one packet, each with the length of the IP packet and of its payload.
fn files_with_lengths() -> Vec<(&'static str, Vec<u8>, (u32, u32))> {
    let mut long = DATAGRAM;
    // IPv4 says 100 bytes, UDP 80, but the frame has 32 of IP.
    (long[3], long[25]) = (100, 80);
    let mut short = DATAGRAM;
    (short[3], short[25]) = (100, 20);
    let pppoe = |len: u8| ethernet(&[&[0x88, 0x64, 0x11, 0, 0, 1, 0, len, 0, 0x21][..], &long].concat());
    let ieee_802_3 = ethernet(&[&[0, 40][..], &snap(&long)].concat());
    let checked = pcap_of(1, &[ethernet(&[&[8, 0][..], &long, &[9; 4]].concat())]);
    let mut checked_and_told = checked.clone();
    // Bit 26, and two words of 16 bits.
    checked_and_told[23] = 0x24;
    let mut fragment = long;
    fragment[6] = 0x20;
    let tcp = |len: u8| {
        [
            0x45, 0, 0, len, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x03, 0xe8, 0x07, 0xd0, 0,
            0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0,
        ]
    };
    vec![
        ("the frame limits IP and UDP", padded(101, long.to_vec(), 32), (32, 4)),
        ("the frame limits IP more than UDP", padded(101, long.to_vec(), 90), (90, 62)),
        ("IP ends before the frame", padded(101, long.to_vec(), 200), (100, 72)),
        ("UDP ends before IP", padded(101, short.to_vec(), 200), (100, 12)),
        // Two bytes of PPP, 32 of IP.
        ("PPPoE limits IP", padded(1, pppoe(34), 1000), (32, 4)),
        ("PPPoE has padding", padded(1, pppoe(44), 1000), (42, 14)),
        // Eight bytes of LLC and SNAP, 32 of IP.
        ("802.3 limits IP", padded(1, ieee_802_3, 1000), (32, 4)),
        ("a check sequence that no header tells", checked, (36, 8)),
        ("a check sequence in the file's header", checked_and_told, (32, 4)),
        ("segmentation offload of TCP", padded(101, tcp(0).to_vec(), 1000), (1000, 960)),
        ("the first fragment has the length of all", padded(101, fragment.to_vec(), 32), (32, 72)),
        ("the frame limits TCP", padded(101, tcp(60).to_vec(), 40), (40, 0)),
    ]
}

/// As Wireshark's `set_actual_length`: a length in a header shortens what it describes, and never makes it longer.
#[test]
fn lengths_are_limited_by_the_headers_around_them() {
    for (name, file, lengths) in files_with_lengths() {
        let packet = open(file).unwrap().next().unwrap().unwrap();
        assert_eq!((packet.ip_len.0, packet.payload_len), lengths, "{name}");
    }
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

/// A file that is removed on drop.
struct File(PathBuf);

impl File {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("gamelane-links-{name}-{}.pcap", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Values that tshark finds, one row for each packet; `None` without tshark. A frame may have several packets.
fn tshark(bytes: &[u8], test: &str, fields: &[&str]) -> Option<Vec<String>> {
    let file = File::new(test, bytes);
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&file.0).args(["-T", "fields", "-E", "separator=/t", "-E", "occurrence=a"]);
    // Wireshark takes length 0 for an error unless it is told that it stands for offload, as it is here.
    command.args(["-o", "ip.tso_support:TRUE"]);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let output = command.output().ok()?;
    let mut rows = vec![];
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let columns: Vec<Vec<&str>> = line.split('\t').map(|column| column.split(',').collect()).collect();
        for n in 0..columns[0].len() {
            let row = columns.iter().map(|column| column.get(n).copied().unwrap_or_default());
            rows.push(row.collect::<Vec<_>>().join(" "));
        }
    }
    Some(rows)
}

#[test]
fn tshark_finds_the_same_datagrams() {
    let mut by_link: BTreeMap<u32, Vec<Vec<u8>>> = BTreeMap::new();
    for (_, link_type, frame) in frames() {
        // Wireshark 4.0 shows link type 149 as private data, and does not know switch tags.
        if !matches!(link_type, 149 | 281..=285) {
            by_link.entry(link_type).or_default().push(frame);
        }
    }
    let three = aggregate(&[snap(&datagram(1)), snap(&datagram(2)), snap(&datagram(3))]);
    by_link.entry(105).or_default().push(wifi(QOS_DATA, TO_SYSTEM, &[0x80, 0], &three));
    for (link_type, frames) in by_link {
        let fields = ["ip.src", "udp.srcport", "udp.dstport", "data.len"];
        let theirs = tshark(&pcap_of(link_type, &frames), "datagrams", &fields);
        let Some(theirs) = theirs else { return support::skipped("tshark") };
        let ours = read(link_type, &frames).into_iter().map(|packet| {
            let FlowKey { source, destination, .. } = packet.key;
            format!("{} {} {} {}", source.ip(), source.port(), destination.port(), packet.payload_len)
        });
        assert_eq!(ours.collect::<Vec<_>>(), theirs, "link type {link_type}");
    }
}

#[test]
fn tshark_finds_the_same_interfaces_and_directions() {
    let frames = [cooked_2(2, TO_US), cooked_2(70_000, FROM_US), cooked_2(3, TO_OTHERS)];
    let theirs = tshark(&pcap_of(276, &frames), "interfaces", &["sll.ifindex", "sll.pkttype"]);
    let Some(theirs) = theirs else { return support::skipped("tshark") };
    let ours = read(276, &frames);
    assert_eq!(theirs, ["2 0", "70000 4", "3 3"]);
    assert_eq!(ours.iter().map(|packet| packet.interface).collect::<Vec<_>>(), [2, 70_000, 3]);
    assert_eq!(
        ours.iter().map(|packet| packet.outgoing).collect::<Vec<_>>(),
        [Some(false), Some(true), Some(false)]
    );
}

#[test]
fn tcpdump_reads_the_switch_tags_alike() {
    for (name, link_type, frame) in
        frames().into_iter().filter(|(_, link_type, _)| (281..=285).contains(link_type))
    {
        let file = File::new("tags", &pcap_of(link_type, &[frame]));
        let output = Command::new("tcpdump").arg("-nr").arg(&file.0).output();
        let Ok(output) = output else { return support::skipped("tcpdump") };
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.ends_with("IP 10.0.0.1.1000 > 10.0.0.2.2000: UDP, length 4\n"), "{name}: {text}");
    }
}

#[test]
fn tshark_finds_the_same_lengths() {
    // Wireshark does not show the length of a datagram that it cannot put together.
    let whole = files_with_lengths().into_iter().filter(|(name, ..)| !name.contains("fragment"));
    for (name, file, (_, payload_len)) in whole {
        let theirs = tshark(&file, "lengths", &[if name.contains("TCP") { "tcp.len" } else { "data.len" }]);
        let Some(theirs) = theirs else { return support::skipped("tshark") };
        assert_eq!(theirs[0].trim(), payload_len.to_string(), "{name}");
    }
}

/// A program that forwards frames changes only what is certain.
#[test]
fn headers_in_a_frame_are_found_only_if_they_are_certain() {
    let found = |above: &[u8]| {
        let of = FrameHeaders::of_ethernet(&ethernet(above))?;
        Some((of.ip_at, of.transport_at, of.end))
    };
    let with = |header: &[u8]| [header, &DATAGRAM, &[0; 6]].concat();
    assert_eq!(found(&with(&[8, 0])), Some((14, 34, 46)));
    assert_eq!(found(&with(&[&[0, 40][..], &SNAP].concat())), Some((22, 42, 54)));
    let pppoe = |len| with(&[0x88, 0x64, 0x11, 0, 0, 1, 0, len, 0, 0x21]);
    assert_eq!(found(&pppoe(34)), Some((22, 42, 54)));
    assert_eq!(found(&pppoe(33)), None, "PPPoE says that it ends before IP");
    assert_eq!(found(&with(&[0x88, 0x47, 0, 1, 1, 64])), None, "MPLS does not say that IP follows");
}
