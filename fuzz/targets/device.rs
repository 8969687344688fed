//! Frames of an interface, and what the kernel hands over with them: nothing may panic, positions are inside of the frame, and
//! what is rewritten has a right checksum and changes nothing else.

use gamelane_capture::FrameHeaders;
use gamelane_core::{Direction, Ecn, Instant, Protocol};
use gamelane_device::Headers;
use gamelane_device::checksum::{complete, complete_if_missing};
use gamelane_device::packet::Packets;

/// An Ethernet frame after two bytes that choose the new window.
pub(crate) fn frame(bytes: &[u8]) {
    let Some((window, frame)) = bytes.split_first_chunk::<2>() else { return };
    let headers = Headers::parse(frame);
    let meta = headers.meta(frame, Instant::ZERO);
    let Some(ip) = headers.ip else {
        unchanged(&headers, frame);
        return;
    };
    assert!(
        14 <= ip.ip_at && ip.ip_at < ip.transport_at && ip.transport_at <= ip.end && ip.end <= frame.len()
    );
    assert_eq!((ip.len.0 as usize, meta.len), (ip.end - ip.ip_at, ip.len));
    assert_eq!((meta.ecn, meta.dscp, meta.protocol), (ip.ecn, ip.dscp, ip.key.protocol));
    set_class(&headers, &ip, frame, ip.dscp, Ecn::Ce);
    set_class(&headers, &ip, frame, window[0] >> 2, Ecn::Ect0);
    set_window(&headers, &ip, frame, u16::from_be_bytes(*window));
    fill_in(&ip, frame);
}

fn unchanged(headers: &Headers, frame: &[u8]) {
    let mut after = frame.to_vec();
    headers.write_traffic_class(&mut after, 9, Ecn::Ce);
    headers.write_window(&mut after, 7);
    complete(&mut after);
    complete_if_missing(&mut after);
    assert_eq!(after, frame);
    assert_eq!(headers.tcp_facts(frame, Direction::Up), None);
}

fn set_class(headers: &Headers, ip: &FrameHeaders, frame: &[u8], dscp: u8, ecn: Ecn) {
    let mut after = frame.to_vec();
    headers.write_traffic_class(&mut after, dscp, ecn);
    assert_eq!(Headers::parse(&after).ip, Some(FrameHeaders { dscp, ecn, ..*ip }));
    let is_v4 = frame[ip.ip_at] >> 4 == 4;
    let header = |frame: &[u8]| {
        let len = usize::from(frame[ip.ip_at] & 15) * 4;
        // All ones and all zeros are the same number in one's complement.
        sum(&frame[ip.ip_at..ip.ip_at + len]) % 0xffff
    };
    if is_v4 {
        assert_eq!(header(&after), header(frame), "the header's sum stays, right or wrong");
    }
    for (at, (before, after)) in frame.iter().zip(&after).enumerate() {
        let allowed = match at.wrapping_sub(ip.ip_at) {
            0 => !is_v4,
            1 => true,
            10 | 11 => is_v4,
            _ => false,
        };
        assert!(before == after || allowed, "byte {at}");
    }
}

fn set_window(headers: &Headers, ip: &FrameHeaders, frame: &[u8], window: u16) {
    let facts = [Direction::Up, Direction::Down].map(|direction| headers.tcp_facts(frame, direction));
    assert_eq!(facts.map(|facts| facts.is_some()), [ip.tcp.is_some(); 2]);
    let [Some(before), Some(down)] = facts else { return };
    assert_eq!(down.connection, before.connection.reverse());
    assert!(before.payload as usize + 20 <= ip.end - ip.transport_at);
    let mut after = frame.to_vec();
    headers.write_window(&mut after, window);
    let again = Headers::parse(&after).tcp_facts(&after, Direction::Up).expect("it is TCP still");
    assert_eq!(again.window, window);
    assert_eq!(gamelane_stage::TcpFacts { window: before.window, ..again }, before);
    let transport = |frame: &[u8]| sum(&frame[ip.transport_at..ip.end]);
    // All ones and all zeros are the same number in one's complement.
    assert_eq!(transport(&after) % 0xffff, transport(frame) % 0xffff);
    for (at, (before, after)) in frame.iter().zip(&after).enumerate() {
        assert!(before == after || (14..18).contains(&at.wrapping_sub(ip.transport_at)), "byte {at}");
    }
}

fn fill_in(ip: &FrameHeaders, frame: &[u8]) {
    let mut after = frame.to_vec();
    complete(&mut after);
    let (place, number) = match ip.key.protocol {
        Protocol::Tcp => (16, 6),
        Protocol::Udp => (6, 17),
        Protocol::Other(_) => (usize::MAX, 0),
    };
    let transport = &after[ip.transport_at..ip.end];
    if place.saturating_add(2) > transport.len() || ip.is_fragment {
        assert_eq!(after, frame);
        return;
    }
    let addresses = if frame[ip.ip_at] >> 4 == 4 { 12..20 } else { 8..40 };
    let pseudo = sum(&frame[ip.ip_at + addresses.start..ip.ip_at + addresses.end]);
    let len = transport.len() as u32;
    assert_eq!(fold(pseudo + fold(len) + number + sum(transport)), 0xffff, "RFC 1071: all bits are set");
    let place = ip.transport_at + place;
    for (at, (before, after)) in frame.iter().zip(&after).enumerate() {
        assert!(before == after || (place..place + 2).contains(&at), "byte {at}");
    }
    // Left to hardware: the sum of the pseudo header.
    let mut missing = after.clone();
    missing[place..place + 2].copy_from_slice(&(fold(pseudo + fold(len) + number) as u16).to_be_bytes());
    complete_if_missing(&mut missing);
    assert_eq!(missing, after);
    complete_if_missing(&mut missing);
    assert_eq!(missing, after, "a right checksum stays");
}

/// The sum of RFC 1071, folded. Written word by word, unlike that of the crate.
fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks(2).fold(0, |sum, pair| {
        fold(sum + (u32::from(pair[0]) << 8) + u32::from(pair.get(1).copied().unwrap_or(0)))
    })
}

fn fold(sum: u32) -> u32 {
    if sum > 0xffff { fold((sum & 0xffff) + (sum >> 16)) } else { sum }
}

/// A block of the kernel's ring (TPACKET_V3): each packet is inside of it, and there are no more than fit.
pub(crate) fn block(bytes: &[u8]) {
    let whole = bytes.as_ptr_range();
    let mut packets = 0;
    for packet in Packets::of(bytes) {
        let part = packet.bytes.as_ptr_range();
        assert!(whole.start <= part.start && part.end <= whole.end);
        packets += 1;
        assert!(packets * 48 <= bytes.len(), "each has a header of 48 B");
    }
}
