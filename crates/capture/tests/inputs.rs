//! Input formats and packets: compression, fragments, extension headers, short snap lengths, mixed link types. Also,
//! our parsers read the same fields as etherparse.

use std::io::{Cursor, Write};
use std::path::Path;

use crate::support::{match_capture, open, pcap_of};
use etherparse::{LaxSlicedPacket, TransportSlice};
use gamelane_capture::{Capture, CaptureError, CapturedTransport, Input};
use gamelane_core::IpLen;
use proptest::prelude::*;

/// The bytes `from` to `to` of a UDP datagram from port 1000 to 2000 with `payload` bytes, behind an IPv4 header.
fn v4_fragment(payload: u16, from: u16, to: u16) -> Vec<u8> {
    let datagram = datagram(payload);
    let more = if to < datagram.len() as u16 { 0x2000 } else { 0 };
    let (len, offset) = ((20 + to - from).to_be_bytes(), (more | (from / 8)).to_be_bytes());
    let header =
        [0x45, 0, len[0], len[1], 0x12, 0x34, offset[0], offset[1], 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    [&header[..], &datagram[from as usize..to as usize]].concat()
}

fn datagram(payload: u16) -> Vec<u8> {
    let len = (payload + 8).to_be_bytes();
    let mut datagram = vec![0x03, 0xe8, 0x07, 0xd0, len[0], len[1], 0, 0];
    datagram.resize(8 + payload as usize, 7);
    datagram
}

#[test]
fn later_fragments_belong_to_the_conversation_of_the_first() {
    let parts = [v4_fragment(3000, 0, 1480), v4_fragment(3000, 1480, 2960), v4_fragment(3000, 2960, 3008)];
    let packets: Vec<_> = open(pcap_of(101, &parts)).unwrap().map(Result::unwrap).collect();
    assert_eq!(packets.len(), 3);
    assert_eq!(packets[0].payload_len, 3000);
    assert_eq!(packets.iter().map(|packet| packet.ip_len.0).sum::<u32>(), 3008 + 3 * 20);
    assert!(packets.iter().all(|packet| packet.key == packets[0].key));
    assert_eq!(packets[2].transport, CapturedTransport::LaterFragment);
    // The packet is complete, so a fragment with the same identification is a stray one now.
    let again = [parts.to_vec(), vec![parts[1].clone()]].concat();
    let mut capture = open(pcap_of(101, &again)).unwrap();
    while capture.next_packet().unwrap().is_some() {}
    assert_eq!(capture.skipped().stray_fragments, 1);
}

#[test]
fn extension_headers_are_walked() {
    let v6 = |next: u8, above: &[u8]| {
        let len = (above.len() as u16).to_be_bytes();
        [&[0x60, 0, 0, 0, len[0], len[1], next, 64][..], &[1; 16], &[2; 16], above].concat()
    };
    let udp = datagram(4);
    let options = |next: u8| [next, 0, 1, 4, 0, 0, 0, 0];
    let fragment = |offset: u8, more: u8| [17, 0, 0, offset << 3 | more, 0, 1, 2, 3];
    let packets = [
        v6(17, &udp),
        v6(0, &[&options(17)[..], &udp].concat()),
        v6(0, &[&options(60)[..], &options(43), &options(17), &udp].concat()),
        // An authentication header of 16 bytes, then UDP.
        v6(51, &[&[17, 2][..], &[0; 14], &udp].concat()),
        v6(44, &[&fragment(0, 1)[..], &udp[..8]].concat()),
        v6(44, &[&fragment(1, 0)[..], &udp[8..]].concat()),
    ];
    let read: Vec<_> = open(pcap_of(101, &packets)).unwrap().map(Result::unwrap).collect();
    assert_eq!(read.len(), packets.len());
    for (packet, bytes) in read.iter().zip(&packets).take(5) {
        assert_eq!((packet.payload_len, packet.key.source.port()), (4, 1000));
        assert_eq!(packet.ip_len, IpLen(bytes.len() as u32));
    }
    assert_eq!(read[5].key, read[4].key);
    // An endless chain of headers is no packet, and does not cause an endless loop.
    let endless: Vec<u8> = std::iter::repeat_n(options(0), 40).flatten().collect();
    assert_eq!(open(pcap_of(101, &[v6(0, &endless)])).unwrap().count(), 0);
}

#[test]
fn tcp_cut_to_its_ports_numbers_and_window_is_read_with_its_length() {
    let header = [0x45, 0, 5, 0xdc, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    let tcp = [0x9c, 0x40, 0, 80, 0, 0, 0, 9, 0, 0, 0, 7, 0x80, 0x18, 1, 0xf6, 0, 0, 0, 0, 1, 1, 8, 10];
    let frame = [&header[..], &tcp].concat();
    let mut file = pcap_of(101, &[frame]);
    // The frame had 1500 B before it was cut.
    file[24 + 12..24 + 16].copy_from_slice(&1500u32.to_le_bytes());
    let packet = open(file).unwrap().next().unwrap().unwrap();
    assert_eq!((packet.ip_len, packet.payload_len), (IpLen(1500), 1500 - 20 - 32));
    let fields = packet.tcp().unwrap();
    assert_eq!((fields.sequence, fields.window, fields.timestamps), (9, 502, None));
}

#[test]
fn interfaces_of_other_media_are_skipped_unless_there_is_no_other() {
    let good = v4_fragment(4, 0, 12);
    let block = |kind: u32, body: &[u8]| {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let len = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &len, &body, &len].concat()
    };
    let interface = |link: u16| block(1, &[&link.to_le_bytes()[..], &[0; 6]].concat());
    let packet = |interface: u32, data: &[u8]| {
        let len = (data.len() as u32).to_le_bytes();
        block(6, &[&interface.to_le_bytes()[..], &[0; 8], &len, &len, data].concat())
    };
    let section = block(0x0a0d_0d0a, &[&[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..], &[0xff; 8]].concat());
    let lost = block(5, &[&[0u8; 12][..], &[5, 0, 8, 0, 42, 0, 0, 0, 0, 0, 0, 0], &[0; 4]].concat());
    let head = [section, interface(187), interface(101)].concat();
    let mixed = [head.clone(), packet(0, &good), packet(1, &good), block(3, &[0; 8]), lost].concat();
    let mut capture = open(mixed).unwrap();
    assert_eq!(capture.next_packet().unwrap().unwrap().interface, 1);
    assert_eq!(capture.next_packet().unwrap(), None);
    assert_eq!(capture.skipped().unsupported_link, 1);
    assert_eq!((capture.untimed(), capture.dropped_by_capture()), (1, Some(42)));
    let error = open([head, packet(0, &good)].concat()).unwrap().next().unwrap().unwrap_err();
    assert!(matches!(error, CaptureError::UnsupportedLinkType { link_type: 187, .. }), "{error}");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

fn unpack(bytes: Vec<u8>) -> Result<Capture<Input>, CaptureError> {
    Capture::from_reader(Input::unpacked(Cursor::new(bytes)).unwrap(), Path::new("packed"))
}

#[test]
fn packed_captures_are_unpacked_also_in_several_members_and_cut_ones_say_where() {
    let whole = std::fs::read(match_capture()).unwrap();
    let (head, tail) = whole.split_at(100_000);
    let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3][..], &zstd(&whole)].concat();
    let packings = [
        gzip(&whole),
        [gzip(head), gzip(tail)].concat(),
        zstd(&whole),
        [zstd(head), zstd(tail)].concat(),
        skippable,
    ];
    for (n, packed) in packings.into_iter().enumerate() {
        assert_eq!(unpack(packed.clone()).unwrap().map(Result::unwrap).count(), 6026, "packing {n}");
        let half = packed[..packed.len() / 2].to_vec();
        let read: Result<Vec<_>, _> = unpack(half).unwrap().collect();
        match read.unwrap_err() {
            CaptureError::Truncated { packets_read, offset, .. } => {
                assert!(packets_read > 100 && offset > 10_000, "packing {n}: {packets_read} {offset}");
            }
            other => panic!("packing {n}: {other}"),
        }
    }
    let mut damaged = gzip(&whole);
    let middle = damaged.len() / 2;
    damaged[middle..middle + 64].fill(0xff);
    let error = unpack(damaged).unwrap().find_map(Result::err).unwrap();
    assert!(error.is_partial(), "{error}");
}

proptest! {
    /// Random bytes after an IPv4 or IPv6 start: if both parsers read a TCP or UDP packet, they read the same.
    #[test]
    fn thin_views_read_what_etherparse_reads(
        start in prop_oneof![Just(0x45u8), Just(0x46), Just(0x60)],
        protocol in prop_oneof![Just(6u8), Just(17)],
        mut rest in proptest::collection::vec(any::<u8>(), 64..140),
    ) {
        rest[0] = start;
        if start == 0x60 { rest[6] = protocol } else { rest[9] = protocol; rest[6] = 0x40; rest[7] = 0; }
        let (at, len) = if start == 0x60 { (4, rest.len() - 40) } else { (2, rest.len()) };
        rest[at..at + 2].copy_from_slice(&(len as u16).to_be_bytes());
        let ours = open(pcap_of(101, &[rest.clone()])).unwrap().next().map(Result::unwrap);
        let theirs = LaxSlicedPacket::from_ip(&rest).ok();
        match (ours, theirs.as_ref().and_then(|packet| packet.transport.as_ref())) {
            (Some(ours), Some(TransportSlice::Tcp(theirs))) => {
                let fields = ours.tcp().expect("both say TCP");
                prop_assert_eq!(fields.sequence, theirs.sequence_number());
                prop_assert_eq!(fields.acknowledgment, theirs.acknowledgment_number());
                prop_assert_eq!(fields.window, theirs.window_size());
                prop_assert_eq!((fields.flags.syn, fields.flags.fin, fields.flags.ece), (theirs.syn(), theirs.fin(), theirs.ece()));
                prop_assert_eq!(ours.key.source.port(), theirs.source_port());
            }
            (Some(ours), Some(TransportSlice::Udp(theirs))) => {
                prop_assert_eq!(ours.key.destination.port(), theirs.destination_port());
            }
            // One of the parsers refuses a UDP length below 8, and a TCP header longer than the packet, earlier than
            // the other.
            (None, _) => {}
            (Some(_), other) => prop_assert!(false, "only we read a packet: {:?}", other),
        }
    }
}
