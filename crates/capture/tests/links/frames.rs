//! Frames of every link layer, byte by byte, with the source of their layout.

use crate::support::{open, pcap_of};
use gamelane_capture::CapturedPacket;

/// UDP from 10.0.0.1:1000 to 10.0.0.2:2000 with 4 bytes.
pub(super) const DATAGRAM: [u8; 32] = [
    0x45, 0, 0, 32, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x03, 0xe8, 0x07, 0xd0, 0, 12, 0,
    0, 1, 2, 3, 4,
];

pub(super) const TO_US: u8 = 0;
pub(super) const TO_OTHERS: u8 = 3;
pub(super) const FROM_US: u8 = 4;

pub(super) fn read(link_type: u32, frames: &[Vec<u8>]) -> Vec<CapturedPacket> {
    open(pcap_of(link_type, frames)).unwrap().map(Result::unwrap).collect()
}

/// pcap-linktype(7), LINKTYPE_LINUX_SLL: packet type, ARPHRD type, length and bytes of the address, protocol.
pub(super) fn cooked(packet_type: u8) -> Vec<u8> {
    [&[0, packet_type, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0][..], &DATAGRAM].concat()
}

/// pcap-linktype(7), LINKTYPE_LINUX_SLL2: protocol, reserved, interface index, ARPHRD type, packet type, length and
/// bytes of the address.
pub(super) fn cooked_2(interface: u32, packet_type: u8) -> Vec<u8> {
    let index = interface.to_be_bytes();
    [&[8, 0, 0, 0][..], &index, &[0, 1, packet_type, 6, 2, 0, 0, 0, 0, 1, 0, 0], &DATAGRAM].concat()
}

/// A block of pcapng, little-endian.
pub(super) fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let len = (body.len() as u32 + 12).to_le_bytes();
    [&kind.to_le_bytes()[..], &len, &body, &len].concat()
}

/// A pcapng with one interface for each link type, and frames by interface.
pub(super) fn pcapng(links: &[u16], frames: &[(u32, Vec<u8>)]) -> Vec<u8> {
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

/// A frame control field of 802.11: data with these flags.
pub(super) const DATA: u8 = 0x08;
pub(super) const QOS_DATA: u8 = 0x88;
pub(super) const TO_SYSTEM: u8 = 1;
pub(super) const FROM_SYSTEM: u8 = 2;
pub(super) const MORE_FRAGMENTS: u8 = 4;
pub(super) const RETRY: u8 = 8;
pub(super) const PROTECTED: u8 = 0x40;
pub(super) const ORDER: u8 = 0x80;

/// RFC 1042: LLC and SNAP with an EtherType.
pub(super) const SNAP: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

/// IEEE 802.11-2020 section 9.3.2.1: frame control, duration, three addresses, sequence control, a fourth address
/// between access points; then `more` (QoS and HT control) and the payload.
pub(super) fn wifi(control: u8, flags: u8, more: &[u8], payload: &[u8]) -> Vec<u8> {
    let fourth: &[u8] = if flags & 3 == 3 { &[2, 0, 0, 0, 0, 4] } else { &[] };
    let addresses = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 3];
    [&[control, flags, 0, 0][..], &addresses, &[0x10, 0], fourth, more, payload].concat()
}

pub(super) fn snap(payload: &[u8]) -> Vec<u8> {
    [&SNAP[..], payload].concat()
}

/// Section 9.3.2.2: destination, source, length, payload, padding to four bytes.
pub(super) fn subframe(payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u16).to_be_bytes();
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], &len, payload].concat()
}

pub(super) fn aggregate(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![];
    for payload in payloads {
        bytes.resize(usize::next_multiple_of(bytes.len(), 4), 0);
        bytes.extend(subframe(payload));
    }
    bytes
}

/// The datagram with another source port.
pub(super) fn datagram(port: u16) -> Vec<u8> {
    let mut bytes = DATAGRAM.to_vec();
    bytes[20..22].copy_from_slice(&port.to_be_bytes());
    bytes
}

/// radiotap.org: version, padding, length, present words, fields. Here: timer (aligned to 8), flags, rate.
pub(super) fn radiotap(flags: u8, frame: &[u8]) -> Vec<u8> {
    [&[0, 0, 18, 0, 7, 0, 0, 0][..], &[9; 8], &[flags, 2], frame].concat()
}

/// The same with three present words: the timer starts at 24, because it is aligned to 8 from the header's start.
pub(super) fn radiotap_of_two_antennas(flags: u8, frame: &[u8]) -> Vec<u8> {
    let present = [0xa000_0003u32, 0xa000_0020, 0x20].map(u32::to_le_bytes).concat();
    [&[0, 0, 36, 0][..], &present, &[9; 8], &[flags, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8], frame].concat()
}

/// LINKTYPE_NFLOG: family, version, resource; then attributes with length, type, value and padding to four bytes.
pub(super) fn nflog(hook: u8, big: bool, payload: &[u8]) -> Vec<u8> {
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
pub(super) fn pktap(link_type: u32, flags: u32, frame: &[u8]) -> Vec<u8> {
    let mut header = [108u32, 1, link_type].map(u32::to_le_bytes).concat();
    header.extend(b"en0\0");
    header.resize(36, 0);
    header.extend(flags.to_le_bytes());
    header.resize(108, 0);
    [header, frame.to_vec()].concat()
}

pub(super) fn ethernet(above: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], above].concat()
}

/// Frames with the datagram, by link type: name, link type, frame.
pub(super) fn frames() -> Vec<(&'static str, u32, Vec<u8>)> {
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
        // First: the frames after it have the same number, and would be its first transmission.
        ("Wi-Fi sent again", 105, wifi(DATA, FROM_SYSTEM | RETRY, &[], &snapped)),
        ("Wi-Fi between stations", 105, wifi(DATA, 0, &[], &snapped)),
        ("Wi-Fi to the access point", 105, wifi(DATA, TO_SYSTEM, &[], &snapped)),
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
