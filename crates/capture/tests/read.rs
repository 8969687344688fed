//! Reading captures: both formats in every byte order and resolution, every link type, and random bytes.

use std::path::Path;

use crate::support::{header, key, match_capture, open, read_all};
use gamelane_capture::{Capture, CaptureError, PcapngWriter, WriteOptions};
use gamelane_core::{IpLen, Protocol};
use proptest::prelude::*;

/// UDP from 10.0.0.1:1000 to 10.0.0.2:2000 with 4 bytes, ECT(0), DSCP 46.
const DATAGRAM: [u8; 32] = [
    0x45, 0xba, 0, 32, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x03, 0xe8, 0x07, 0xd0, 0, 12,
    0, 0, 1, 2, 3, 4,
];

/// A pcap with one packet at 1.5 s after the start of 1970.
fn pcap(magic: [u8; 4], big: bool, fraction: u32, link_type: u32, frame: &[u8]) -> Vec<u8> {
    let u32 = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let version = if big { [0, 2, 0, 4] } else { [2, 0, 4, 0] };
    let len = frame.len() as u32;
    let fields = [
        magic,
        version,
        u32(0),
        u32(0),
        u32(65_535),
        u32(link_type),
        u32(1),
        u32(fraction),
        u32(len),
        u32(len),
    ];
    [fields.concat(), frame.to_vec()].concat()
}

const MICROSECONDS: [u8; 4] = [0xd4, 0xc3, 0xb2, 0xa1];

#[test]
fn pcap_comes_in_two_byte_orders_and_two_resolutions() {
    for (magic, big, fraction) in [
        ([0xd4, 0xc3, 0xb2, 0xa1], false, 500_000),
        ([0xa1, 0xb2, 0xc3, 0xd4], true, 500_000),
        ([0x4d, 0x3c, 0xb2, 0xa1], false, 500_000_000),
        ([0xa1, 0xb2, 0x3c, 0x4d], true, 500_000_000),
    ] {
        let packets = read_all(pcap(magic, big, fraction, 101, &DATAGRAM)).unwrap();
        assert_eq!(packets.len(), 1);
        assert_eq!(packets[0].at_ns, 1_500_000_000);
        assert_eq!(packets[0].key, key("10.0.0.1:1000", "10.0.0.2:2000", Protocol::Udp));
        assert_eq!((packets[0].ip_len, packets[0].payload_len), (IpLen(32), 4));
        assert_eq!((packets[0].ecn, packets[0].dscp), (gamelane_core::Ecn::Ect0, 46));
    }
}

#[test]
fn every_link_type_leads_to_the_ip_packet() {
    let ethernet = [0; 12];
    let frames: [(u32, Vec<u8>); 15] = [
        (101, vec![]),
        (12, vec![]),
        (14, vec![]),
        (0, vec![2, 0, 0, 0]),
        (1, [&ethernet[..], &[8, 0]].concat()),
        (1, [&ethernet[..], &[0x81, 0, 0, 7, 8, 0]].concat()),
        (1, [&ethernet[..], &[0x88, 0xa8, 0, 9, 0x81, 0, 0, 7, 8, 0]].concat()),
        (1, [&ethernet[..], &[0x88, 0x64, 0x11, 0, 0, 1, 0, 34, 0, 0x21]].concat()),
        (1, [&ethernet[..], &[0x81, 0, 0, 7, 0x88, 0x64, 0x11, 0, 0, 1, 0, 34, 0, 0x21]].concat()),
        (9, vec![0xff, 3, 0, 0x21]),
        (9, vec![0x21]),
        (51, vec![0x11, 0, 0, 1, 0, 34, 0, 0x21]),
        (108, vec![0, 0, 0, 2]),
        (113, [&[0; 14][..], &[8, 0]].concat()),
        (276, [&[8, 0][..], &[0; 18]].concat()),
    ];
    for (link_type, mut frame) in frames {
        frame.extend(DATAGRAM);
        let packets = read_all(pcap(MICROSECONDS, false, 0, link_type, &frame)).unwrap();
        assert_eq!(packets.len(), 1, "link type {link_type}");
        assert_eq!(packets[0].payload_len, 4, "link type {link_type}");
    }
}

#[test]
fn an_unknown_link_type_is_an_error_that_names_it() {
    for (link_type, name, hint) in [
        (
            187,
            "187 (Bluetooth HCI)",
            "Bluetooth HCI is no network interface; record the one that the game uses",
        ),
        (192, "192 (PPI)", "if Wireshark shows IP packets in the file, `tshark -r FILE -U IP -w OUT.pcapng`"),
        (147, "147 (private use)", "`editcap -L -C N -T ether FILE OUT.pcapng`"),
        (9_999, "9999", "`editcap -L -C N -T ether FILE OUT.pcapng`"),
    ] {
        let error = read_all(pcap(MICROSECONDS, false, 0, link_type, &DATAGRAM)).unwrap_err();
        assert!(
            matches!(error, CaptureError::UnsupportedLinkType { link_type: of, .. } if of == link_type),
            "{error}"
        );
        let text = error.to_string();
        let start = format!("memory.pcapng: link type {name} is not supported; supported are Ethernet");
        assert!(text.starts_with(&start) && text.contains(hint), "{text}");
    }
}

#[test]
fn a_cut_payload_keeps_its_length_and_a_cut_header_is_skipped() {
    let cut = |len: usize| {
        let mut file = pcap(MICROSECONDS, false, 0, 101, &DATAGRAM[..len]);
        file[36..40].copy_from_slice(&32u32.to_le_bytes());
        open(file).unwrap()
    };
    assert_eq!(cut(28).next_packet().unwrap().unwrap().payload_len, 4);
    let mut capture = cut(27);
    assert_eq!(capture.next_packet().unwrap(), None);
    assert_eq!((capture.packets_read(), capture.skipped().total()), (1, 1));
}

#[test]
fn stray_fragments_and_other_protocols_are_skipped() {
    let mut fragment = DATAGRAM;
    fragment[7] = 1;
    let mut icmp = DATAGRAM;
    icmp[9] = 1;
    for frame in [fragment, icmp] {
        let mut capture = open(pcap(MICROSECONDS, false, 0, 101, &frame)).unwrap();
        assert_eq!(capture.next_packet().unwrap(), None);
        assert_eq!(capture.skipped().total(), 1);
    }
}

/// A big-endian pcapng with two interfaces and one packet each: microseconds with an offset, and 2^-10 s.
#[test]
fn pcapng_interfaces_have_their_own_link_types_and_resolutions() {
    fn block(block_type: u32, body: &[u8]) -> Vec<u8> {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let length = (body.len() as u32 + 12).to_be_bytes();
        [&block_type.to_be_bytes()[..], &length, &body, &length].concat()
    }
    fn packet(interface: u32, ticks: u64, frame: &[u8]) -> Vec<u8> {
        let len = (frame.len() as u32).to_be_bytes();
        block(6, &[&interface.to_be_bytes()[..], &ticks.to_be_bytes(), &len, &len, frame].concat())
    }
    let section = block(0x0a0d_0d0a, &[&[0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0][..], &[0xff; 8]].concat());
    let offset = [&[0, 14, 0, 8][..], &100i64.to_be_bytes(), &[0; 4]].concat();
    let ethernet = block(1, &[&[0, 1, 0, 0, 0, 0, 0, 0][..], &offset].concat());
    let raw = block(1, &[0, 101, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0x8a, 0, 0, 0, 0, 0, 0, 0]);
    let frame = [&[0; 12][..], &[8, 0], &DATAGRAM].concat();
    let file = [
        section.clone(),
        ethernet.clone(),
        raw,
        packet(1, 512, &DATAGRAM),
        block(0x0bad_cafe, &[1, 2, 3]),
        packet(0, 7, &frame),
        section,
        ethernet,
        packet(0, 8, &frame),
    ]
    .concat();
    let seen: Vec<(u32, u64)> =
        read_all(file).unwrap().iter().map(|packet| (packet.interface, packet.at_ns)).collect();
    assert_eq!(seen, [(1, 500_000_000), (0, 100_000_007_000), (2, 100_000_008_000)]);
}

#[test]
fn what_is_not_a_capture_says_first_what_it_is() {
    for (bytes, problem, hint) in [
        (&b""[..], "it is empty\n  allowed: ", "record again"),
        (b"12:00:00.1 IP 10.0.0.1 > 10.0.0.2", "not a packet capture: it is text\n", "`tcpdump -w FILE`"),
        ("\u{feff}Zeit, Größe".as_bytes(), "not a packet capture: it is text\n", "`tcpdump -w FILE`"),
        (b"\xff\xfe", "not a packet capture: it begins with ff fe\n", "editcap"),
        (b"ab\n", "not a packet capture: it is text\n", "`tcpdump -w FILE`"),
        (b"PK\x03\x04 and so on", "not a packet capture: it is a zip archive\n", "unpack it"),
        (b"\xfd7zXZ\0\0\x04", "not a packet capture: it is packed with xz\n", "unpack it"),
        (b"BZh91AY&SY", "not a packet capture: it is packed with bzip2\n", "unpack it"),
        (
            b"\x7fELF\x02\x01\x01\0\0",
            "not a packet capture: it begins with 7f 45 4c 46 02 01 01 00\n",
            "`editcap -F pcapng IN OUT`",
        ),
    ] {
        let error = read_all(bytes.to_vec()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("memory.pcapng: {problem}")), "{error}");
        let (_, rest) = error.split_once("\n  allowed: pcap and pcapng").unwrap_or_else(|| panic!("{error}"));
        assert!(rest.contains("\nhint: ") && rest.contains(hint), "{error}");
    }
    let error = Capture::open(Path::new("/nowhere/match.pcap")).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("/nowhere/match.pcap: cannot be read: No such file or directory\nhint: "),
        "{error}"
    );
}

#[test]
fn a_capture_cut_anywhere_says_how_many_packets_were_whole() {
    let mut writer = PcapngWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    let lan = writer.add_interface("lan").unwrap();
    let mut ends = vec![];
    let start = 28 + 40;
    for n in 0..4 {
        let flow = key("10.0.0.1:1000", "10.0.0.2:2000", Protocol::Udp);
        writer.write_udp(lan, &header(flow, n), 10 + n as u32).unwrap();
        // 32 B of block, 28 B of headers, payload, padding.
        ends.push(ends.last().unwrap_or(&start) + 32 + (38 + n as usize).next_multiple_of(4));
    }
    let whole = writer.finish_file().unwrap();
    assert_eq!(ends[3], whole.len());
    for cut in 8..whole.len() {
        let expected = ends.iter().filter(|&&end| end <= cut).count();
        let result = read_all(whole[..cut].to_vec());
        // A file may end between two blocks.
        if cut == 28 || cut == start || ends.contains(&cut) {
            assert_eq!(result.unwrap().len(), expected, "cut at {cut}");
            continue;
        }
        match result.unwrap_err() {
            CaptureError::Truncated { packets_read, offset, .. } => {
                assert_eq!(packets_read, expected as u64);
                let records = [28, start].into_iter().chain(ends.iter().copied());
                let whole_before = records.filter(|&end| end <= cut).max().unwrap_or(0);
                assert_eq!(offset, whole_before as u64, "cut at {cut}");
            }
            other => panic!("cut at {cut}: {other}"),
        }
    }
}

#[test]
fn the_match_capture_is_read_whole() {
    let packets: Vec<_> = Capture::open(&match_capture()).unwrap().map(Result::unwrap).collect();
    // 3627 from the client, 2399 from the server.
    assert_eq!(packets.len(), 3627 + 2399);
    assert!(packets.iter().all(|packet| packet.key.protocol == Protocol::Udp));
    assert!(packets.iter().all(|packet| packet.ip_len.0 == packet.payload_len + 28));
}

fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let whole = std::fs::read(match_capture()).expect("the capture ships with the repository");
    let head = whole[..4096].to_vec();
    let edits = proptest::collection::vec((0..4096usize, any::<u8>()), 0..20);
    (edits, 0..=4096usize).prop_map(move |(edits, len)| {
        let mut bytes = head.clone();
        for (at, value) in edits {
            bytes[at] = value;
        }
        bytes.truncate(len);
        bytes
    })
}

/// Bytes that pass the check of the magic number.
fn with_magic() -> impl Strategy<Value = Vec<u8>> {
    let magic = prop_oneof![
        Just(vec![0xd4, 0xc3, 0xb2, 0xa1]),
        Just(vec![0xa1, 0xb2, 0x3c, 0x4d]),
        Just(vec![0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a]),
    ];
    (magic, proptest::collection::vec(any::<u8>(), 0..600)).prop_map(|(magic, rest)| [magic, rest].concat())
}

/// Every link type that is read.
const LINKS: [u32; 28] = [
    0, 1, 9, 12, 14, 50, 51, 100, 101, 104, 105, 108, 113, 117, 119, 127, 149, 163, 204, 228, 229, 239, 258,
    276, 281, 282, 284, 285,
];

/// One frame of any link type: a plausible start, then random bytes.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let link_type = proptest::sample::select(&LINKS[..]);
    // Starts of IP, and of headers whose first bytes state a length.
    let start = prop_oneof![
        Just(vec![]),
        Just(vec![0x45]),
        Just(vec![0x60]),
        Just(DATAGRAM.to_vec()),
        Just(vec![0, 0, 24, 0, 7, 0, 0, 0x80]),
        Just(vec![0x88, 1, 0, 0]),
        Just(
            [&[0x88, 1][..], &[0; 22], &[0x80, 0], &[0; 12], &[0, 40, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0]].concat()
        ),
        Just(vec![2, 0, 0, 0, 8, 0, 1, 0]),
        Just([108, 1, 1].map(u32::to_le_bytes).concat()),
    ];
    (link_type, start, proptest::collection::vec(any::<u8>(), 0..120))
        .prop_map(|(link_type, start, rest)| pcap(MICROSECONDS, false, 0, link_type, &[start, rest].concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_bytes_make_the_reader_panic(
        bytes in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..600), with_magic(), mutated(), frames()
        ],
    ) {
        if let Ok(mut capture) = open(bytes) {
            let mut packets = 0;
            while let Ok(Some(_)) = capture.next_packet() {
                packets += 1;
            }
            prop_assert!(packets + capture.skipped().total() == capture.packets_read());
            prop_assert!(matches!(capture.next_packet(), Ok(None) | Err(_)));
        }
    }
}
