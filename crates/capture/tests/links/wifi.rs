//! Wi-Fi: aggregates, fragments, encrypted and damaged frames.

use super::frames::*;
use crate::support::{open, pcap_of};
use gamelane_capture::CaptureError;

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

/// A station repeats a frame that was not acknowledged, with the Retry bit. Both are in a capture if only the receiver
/// missed the first one.
#[test]
fn frames_repeated_on_the_air_are_one_packet() {
    let sent = |sequence: u16, flags: u8, tid: u8| {
        let mut frame = wifi(QOS_DATA, TO_SYSTEM | flags, &[tid, 0], &snap(&datagram(sequence)));
        frame[22..24].copy_from_slice(&(sequence << 4).to_le_bytes());
        frame
    };
    let from = |station: u8, mut frame: Vec<u8>| {
        frame[15] = station;
        frame
    };
    let counts = |frames: &[Vec<u8>]| {
        let mut capture = open(pcap_of(105, frames)).unwrap();
        let packets = capture.by_ref().map(Result::unwrap).count();
        assert_eq!(capture.skipped().total(), capture.skipped().wifi_retries);
        assert_eq!(capture.packets_read(), frames.len() as u64);
        (packets, capture.skipped().wifi_retries)
    };
    let (one, again) = (sent(1, 0, 0), sent(1, RETRY, 0));
    assert_eq!(counts(&[one.clone(), again.clone(), again.clone()]), (1, 2));
    // The capture missed the first one.
    assert_eq!(counts(&[again.clone(), sent(2, 0, 0)]), (2, 0));
    assert_eq!(counts(&[again.clone(), again.clone()]), (1, 1));
    // A block of frames, of which some are repeated after later ones; 3 is seen only with the Retry bit.
    let block =
        [sent(1, 0, 0), sent(2, 0, 0), sent(4, 0, 0), again.clone(), sent(3, RETRY, 0), sent(4, RETRY, 0)];
    assert_eq!(counts(&block), (4, 2));
    // Numbers wrap at 4096.
    assert_eq!(counts(&[sent(4095, 0, 0), sent(0, 0, 0), sent(4095, RETRY, 0)]), (2, 1));
    // Other frames with the same number: of another station, of another priority, to another station, without the bit.
    let mut to_another = again.clone();
    to_another[9] = 9;
    let others = [one.clone(), from(9, again.clone()), sent(1, RETRY, 5), to_another, one.clone()];
    assert_eq!(counts(&others), (5, 0));
    // Frames without QoS have numbers of their own.
    let mut plain = wifi(DATA, TO_SYSTEM | RETRY, &[], &snap(&datagram(1)));
    plain[22..24].copy_from_slice(&(1u16 << 4).to_le_bytes());
    assert_eq!(counts(&[one.clone(), plain.clone(), plain]), (2, 1));
    // An aggregate is repeated as a whole.
    let whole = |flags| {
        let packets = aggregate(&[snap(&datagram(1)), snap(&datagram(2))]);
        wifi(QOS_DATA, TO_SYSTEM | flags, &[0x80, 0], &packets)
    };
    let mut capture = open(pcap_of(105, &[whole(0), whole(RETRY)])).unwrap();
    assert_eq!(capture.by_ref().map(Result::unwrap).count(), 2);
    assert_eq!(capture.skipped().wifi_retries, 1);
    // More stations than are remembered.
    let many: Vec<Vec<u8>> = (0..2000u16)
        .map(|station| {
            let mut frame = one.clone();
            frame[14..16].copy_from_slice(&station.to_be_bytes());
            frame
        })
        .collect();
    let mut last = many[1999].clone();
    last[1] |= RETRY;
    let many = [many, vec![last]].concat();
    assert_eq!(counts(&many), (2000, 1));
}

/// The card that records found the first frame damaged, so the repeated one is the packet.
#[test]
fn a_repeated_frame_counts_if_the_first_was_damaged() {
    let frame = |flags| [&wifi(DATA, TO_SYSTEM | flags, &[], &snap(&DATAGRAM))[..], &[0; 4]].concat();
    let mut capture =
        open(pcap_of(127, &[radiotap(0x50, &frame(0)), radiotap(0x10, &frame(RETRY))])).unwrap();
    assert_eq!(capture.by_ref().map(Result::unwrap).count(), 1);
    assert_eq!((capture.skipped().cut_header, capture.skipped().wifi_retries), (1, 0));
}
