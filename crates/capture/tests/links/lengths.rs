//! Lengths in headers that contradict each other.

use super::frames::*;
use crate::support::{open, pcap_of};
use gamelane_capture::FrameHeaders;

/// A file of one frame, padded to this length.
fn padded(link_type: u32, mut frame: Vec<u8>, len: usize) -> Vec<u8> {
    frame.resize(len, 0);
    pcap_of(link_type, &[frame])
}

/// Files of one packet, each with the length of the IP packet and of its payload.
pub(super) fn files_with_lengths() -> Vec<(&'static str, Vec<u8>, (u32, u32))> {
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
