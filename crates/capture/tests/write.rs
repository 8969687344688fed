//! Writing captures: our reader gets the same fields back, and tshark agrees.

use crate::support;
use std::process::Command;

use crate::support::{header, key, open, read_all};
use gamelane_capture::write::HEADERS_ONLY;
use gamelane_capture::{
    CapturedPacket, CapturedTransport, PacketHeader, PcapngWriter, TcpFields, TcpNumbers, WriteOptions,
};
use gamelane_core::{Ecn, FlowKey, IpLen, Protocol};
use gamelane_tcp::{Flags, SackBlock, SackBlocks, Segment};
use proptest::prelude::*;

const NUMBERS: TcpNumbers =
    TcpNumbers { initial_sequence: 0xffff_ff00, peer_initial_sequence: 7000, maximum_segment_size: 1460 };

fn tcp_key() -> FlowKey {
    key("192.168.1.2:40000", "203.0.113.5:80", Protocol::Tcp)
}

/// A handshake, data, an ACK with holes, and the end.
fn segments() -> Vec<Segment> {
    let ack = Flags { ack: true, ..Flags::default() };
    let syn = Segment {
        window: 64_240,
        flags: Flags { syn: true, ece: true, cwr: true, ..Flags::default() }.into(),
        window_scale: Some(7),
        timestamps: Some((1000, 0)),
        ..Segment::default()
    };
    let plain_syn = Segment { timestamps: None, window_scale: None, ..syn };
    let data = Segment {
        seq: 1,
        ack: 1,
        len: 1448,
        window: 502,
        flags: Flags { psh: true, ..ack }.into(),
        timestamps: Some((1040, 950)),
        ..Segment::default()
    };
    let blocks = [
        SackBlock { start: 5793, end: 7241 },
        SackBlock { start: 2897, end: 4345 },
        SackBlock { start: 1449, end: 1500 },
    ];
    let holes = Segment {
        seq: 1449,
        ack: 1,
        window: 502,
        flags: Flags { ece: true, ..ack }.into(),
        timestamps: Some((1080, 990)),
        sack: SackBlocks::new(1, &blocks),
        ..Segment::default()
    };
    let one_hole = Segment { sack: SackBlocks::new(1, &blocks[..1]), timestamps: None, ..holes };
    let fin =
        Segment { seq: 1449, ack: 9000, flags: Flags { fin: true, ..ack }.into(), ..Segment::default() };
    let reset =
        Segment { seq: 1450, flags: Flags { rst: true, ..Flags::default() }.into(), ..Segment::default() };
    vec![syn, plain_syn, data, holes, one_hole, fin, reset]
}

fn written(packets: &[(PacketHeader, Segment)], options: WriteOptions) -> Vec<u8> {
    let mut writer = PcapngWriter::new(Vec::new(), options).unwrap();
    let lan = writer.add_interface("lan").unwrap();
    for (header, segment) in packets {
        writer.write_tcp(lan, header, segment, &NUMBERS).unwrap();
    }
    writer.finish_file().unwrap()
}

/// Fields that a reader should get from a segment.
fn expected(segment: &Segment) -> TcpFields {
    let own = |offset: u64| NUMBERS.initial_sequence.wrapping_add(offset as u32);
    let peer = |offset: u64| NUMBERS.peer_initial_sequence.wrapping_add(offset as u32);
    let mut sack = [None; 4];
    for (place, block) in sack.iter_mut().zip(segment.sack_blocks()) {
        *place = Some((peer(block.start), peer(block.end)));
    }
    TcpFields {
        sequence: own(segment.seq),
        acknowledgment: if segment.flags.ack() { peer(segment.ack) } else { 0 },
        window: segment.window,
        flags: segment.flags.get(),
        maximum_segment_size: segment.flags.syn().then_some(1460),
        window_scale: segment.window_scale,
        sack_permitted: segment.flags.syn(),
        timestamps: segment.timestamps,
        sack,
    }
}

fn tcp_of(packet: &CapturedPacket) -> TcpFields {
    match packet.transport {
        CapturedTransport::Tcp(fields) => fields,
        other => panic!("a segment was read as {other:?}"),
    }
}

#[test]
fn segments_come_back_as_they_were() {
    let packets: Vec<_> =
        segments().into_iter().zip(0..).map(|(segment, n)| (header(tcp_key(), n * 1000), segment)).collect();
    for snap_len in [None, Some(HEADERS_ONLY)] {
        let read = read_all(written(&packets, WriteOptions { snap_len, epoch_ns: 5 })).unwrap();
        assert_eq!(read.len(), packets.len());
        for (packet, (header, segment)) in read.iter().zip(&packets) {
            assert_eq!(packet.at_ns, header.at.as_nanos() + 5);
            assert_eq!(packet.key, header.key);
            assert_eq!(packet.ip_len, segment.ip_len());
            assert_eq!(packet.payload_len, segment.len);
            assert_eq!(tcp_of(packet), expected(segment));
        }
    }
}

#[test]
fn ipv6_takes_twenty_bytes_more() {
    let key = key("[2001:db8::2]:40000", "[2001:db8:1::5]:80", Protocol::Tcp);
    let packets: Vec<_> = segments().into_iter().map(|segment| (header(key, 0), segment)).collect();
    let read = read_all(written(&packets, WriteOptions::default())).unwrap();
    for (packet, (_, segment)) in read.iter().zip(&packets) {
        assert_eq!((packet.key, packet.ip_len), (key, IpLen(segment.ip_len().0 + 20)));
        assert_eq!((packet.payload_len, tcp_of(packet)), (segment.len, expected(segment)));
    }
}

#[test]
fn headers_only_makes_a_small_file() {
    let data = segments()[2];
    let packets: Vec<_> = (0..100).map(|n| (header(tcp_key(), n), data)).collect();
    let whole = written(&packets, WriteOptions::default()).len();
    let cut = written(&packets, WriteOptions { snap_len: Some(HEADERS_ONLY), epoch_ns: 0 }).len();
    assert_eq!(whole - cut, 100 * (1500 - 120));
}

#[test]
fn what_cannot_be_a_packet_is_refused_and_leaves_the_file_whole() {
    let mut writer = PcapngWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    let lan = writer.add_interface("lan").unwrap();
    let udp = key("10.0.0.1:1", "10.0.0.2:2", Protocol::Udp);
    let mixed = FlowKey { destination: "[::1]:2".parse().unwrap(), ..udp };
    for (header, payload) in [
        (header(udp, 0), 65_508),
        (header(udp, 0), 70_000),
        (header(mixed, 0), 10),
        (PacketHeader { dscp: 64, ..header(udp, 0) }, 10),
    ] {
        let error = writer.write_udp(lan, &header, payload).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    }
    writer.write_udp(lan, &header(udp, 0), 65_507).unwrap();
    assert_eq!(read_all(writer.finish_file().unwrap()).unwrap()[0].ip_len, IpLen(65_535));
}

proptest! {
    #[test]
    fn datagrams_come_back_as_they_were(
        at_ns in 0..u64::MAX / 2,
        v6: bool,
        ports: (u16, u16),
        payload in 0..2000u32,
        ecn in prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)],
        dscp in 0..64u8,
        id: u16,
        snap_len in proptest::option::of(60..200u32),
    ) {
        let hosts = if v6 { ["[2001:db8::1]", "[2001:db8::2]"] } else { ["10.0.0.1", "10.0.0.2"] };
        let key =
            key(&format!("{}:{}", hosts[0], ports.0), &format!("{}:{}", hosts[1], ports.1), Protocol::Udp);
        let header = PacketHeader { ecn, dscp, id, ..header(key, at_ns) };
        let mut writer = PcapngWriter::new(Vec::new(), WriteOptions { snap_len, epoch_ns: 0 }).unwrap();
        writer.add_interface("lan").unwrap();
        let wan = writer.add_interface("wide area").unwrap();
        writer.write_udp(wan, &header, payload).unwrap();
        let read = read_all(writer.finish_file().unwrap()).unwrap();
        let ip_len = IpLen(payload + if v6 { 48 } else { 28 });
        prop_assert_eq!(
            &read[..],
            &[CapturedPacket {
                at_ns, identification: if v6 { 0 } else { id }, content: read[0].content, said: read[0].said,
                start: read[0].start, interface: 1, outgoing: None, key, ip_len, payload_len: payload, ecn, dscp, hop_limit: 64, transport: CapturedTransport::Udp,
            }]
        );
    }
}

/// Runs tshark with all checksums verified. Returns `None` if it is not installed.
fn tshark(file: &std::path::Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("tshark");
    for option in ["ip.check_checksum:TRUE", "tcp.check_checksum:TRUE", "udp.check_checksum:TRUE"] {
        command.args(["-o", option]);
    }
    command.args(["-o", "tcp.relative_sequence_numbers:FALSE", "-o", "tcp.analyze_sequence_numbers:FALSE"]);
    match command.arg("-r").arg(file).args(arguments).output() {
        Ok(output) => {
            assert!(output.status.success(), "tshark: {}", String::from_utf8_lossy(&output.stderr));
            Some(String::from_utf8(output.stdout).expect("tshark speaks UTF-8"))
        }
        Err(_) => None,
    }
}

#[test]
fn tshark_agrees_field_by_field() {
    let udp = key("10.0.0.2:40000", "9.9.9.9:27960", Protocol::Udp);
    let udp6 = key("[2001:db8::2]:40000", "[2001:db8::9]:27960", Protocol::Udp);
    let tcp6 = key("[2001:db8::2]:40000", "[2001:db8::9]:80", Protocol::Tcp);
    let mut writer = PcapngWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    let (lan, wan) = (writer.add_interface("lan").unwrap(), writer.add_interface("wan").unwrap());
    let marked = |key, at_ns| PacketHeader { ecn: Ecn::Ce, dscp: 46, id: 0x1234, ..header(key, at_ns) };
    writer.write_udp(lan, &marked(udp, 1_000_000_001), 53).unwrap();
    writer.write_udp(wan, &marked(udp6, 1_000_000_002), 54).unwrap();
    for key in [tcp_key(), tcp6] {
        for segment in segments() {
            writer.write_tcp(lan, &header(key, 2_000_000_000), &segment, &NUMBERS).unwrap();
        }
    }
    let bytes = writer.finish_file().unwrap();
    let file = std::env::temp_dir().join(format!("gamelane-write-{}.pcapng", std::process::id()));
    std::fs::write(&file, &bytes).unwrap();

    let fields = [
        "frame.interface_name",
        "frame.time_epoch",
        "frame.len",
        "ip.len",
        "ip.id",
        "ip.dsfield.dscp",
        "ip.dsfield.ecn",
        "ip.checksum.status",
        "udp.srcport",
        "udp.dstport",
        "udp.length",
        "udp.checksum.status",
        "tcp.seq_raw",
        "tcp.ack_raw",
        "tcp.flags",
        "tcp.window_size_value",
        "tcp.len",
        "tcp.checksum.status",
        "tcp.options.mss_val",
        "tcp.options.wscale.shift",
        "tcp.options.sack_perm",
        "tcp.options.timestamp.tsval",
        "tcp.options.timestamp.tsecr",
        "tcp.options.sack_le",
        "tcp.options.sack_re",
        "ipv6.plen",
        "ipv6.tclass.dscp",
        "_ws.malformed",
    ];
    let mut arguments = vec!["-T", "fields", "-E", "separator=|"];
    arguments.extend(fields.iter().flat_map(|field| ["-e", field]));
    let table = tshark(&file, &arguments);
    // Warnings, errors and notes about the packets. Resets and similar are "chat" or expected warnings.
    let complaints =
        tshark(&file, &["-Y", "_ws.expert.group == 0x07000000 || _ws.expert.group == 0x01000000"]);
    std::fs::remove_file(&file).unwrap();
    let (Some(table), Some(complaints)) = (table, complaints) else {
        support::skipped("tshark");
        return;
    };
    assert_eq!(complaints, "", "malformed packets or wrong checksums");

    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split('|').collect()).collect();
    let at = |row: usize, name: &str| {
        rows[row][fields.iter().position(|field| *field == name).expect("a field asked for")]
    };
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    };
    let read = open(bytes).unwrap().map(Result::unwrap).collect::<Vec<_>>();
    assert_eq!(rows.len(), read.len());
    assert_eq!((at(0, "frame.interface_name"), at(1, "frame.interface_name")), ("lan", "wan"));
    assert_eq!(at(0, "frame.time_epoch"), "1.000000001");
    assert_eq!(number(at(0, "ip.id")), Some(0x1234));
    assert_eq!((at(0, "ip.dsfield.dscp"), at(0, "ip.dsfield.ecn")), ("46", "3"));
    assert_eq!((at(1, "ipv6.tclass.dscp"), at(1, "ipv6.plen")), ("46", "62"));
    for (row, packet) in read.iter().enumerate() {
        assert_eq!(at(row, "_ws.malformed"), "", "row {row}");
        assert_eq!(number(at(row, "frame.len")), Some(u64::from(packet.ip_len.0)));
        if packet.key.source.is_ipv4() {
            assert_eq!(number(at(row, "ip.len")), Some(u64::from(packet.ip_len.0)));
            assert_eq!(at(row, "ip.checksum.status"), "1", "row {row}");
        }
        match packet.transport {
            CapturedTransport::Udp => {
                assert_eq!(number(at(row, "udp.srcport")), Some(u64::from(packet.key.source.port())));
                assert_eq!(number(at(row, "udp.dstport")), Some(u64::from(packet.key.destination.port())));
                assert_eq!(number(at(row, "udp.length")), Some(u64::from(packet.payload_len) + 8));
                assert_eq!(at(row, "udp.checksum.status"), "1", "row {row}");
            }
            CapturedTransport::LaterFragment => panic!("row {row}: nothing was fragmented"),
            CapturedTransport::Tcp(tcp) => {
                let value = |name| number(at(row, name));
                assert_eq!(at(row, "tcp.checksum.status"), "1", "row {row}");
                assert_eq!(value("tcp.seq_raw"), Some(u64::from(tcp.sequence)));
                assert_eq!(value("tcp.ack_raw"), Some(u64::from(tcp.acknowledgment)));
                assert_eq!(value("tcp.window_size_value"), Some(u64::from(tcp.window)));
                assert_eq!(value("tcp.len"), Some(u64::from(packet.payload_len)));
                let flags = [
                    tcp.flags.fin,
                    tcp.flags.syn,
                    tcp.flags.rst,
                    tcp.flags.psh,
                    tcp.flags.ack,
                    false,
                    tcp.flags.ece,
                    tcp.flags.cwr,
                ];
                let bits = flags.iter().enumerate().map(|(bit, &set)| u64::from(set) << bit).sum::<u64>();
                assert_eq!(value("tcp.flags"), Some(bits));
                assert_eq!(value("tcp.options.mss_val"), tcp.maximum_segment_size.map(u64::from));
                assert_eq!(value("tcp.options.wscale.shift"), tcp.window_scale.map(u64::from));
                assert_eq!(!at(row, "tcp.options.sack_perm").is_empty(), tcp.sack_permitted);
                assert_eq!(value("tcp.options.timestamp.tsval"), tcp.timestamps.map(|t| u64::from(t.0)));
                assert_eq!(value("tcp.options.timestamp.tsecr"), tcp.timestamps.map(|t| u64::from(t.1)));
                for (name, side) in [("tcp.options.sack_le", 0), ("tcp.options.sack_re", 1)] {
                    let edges: Vec<u64> = at(row, name).split(',').filter_map(number).collect();
                    let ours: Vec<u64> =
                        tcp.sack.iter().flatten().map(|block| u64::from([block.0, block.1][side])).collect();
                    assert_eq!(edges, ours, "row {row}");
                }
            }
        }
    }
}
