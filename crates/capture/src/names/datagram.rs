//! Signatures of UDP payloads. RFC 7983 says how STUN, DTLS and RTP are told apart in one flow. Encrypted QUIC packets
//! (short headers) have no signature, and neither have Steam Datagram Relay and Photon.

use super::said::Said;
use super::signature::Signature;

/// What a payload says. `payload` are its captured bytes, `len` its length in the packet. `ports` are those of both ends:
/// a few old protocols have no magic bytes, so their port is a part of the signature.
#[inline]
pub(crate) fn datagram(payload: &[u8], len: u32, ports: [u16; 2]) -> Said {
    let Some(start) = payload.first_chunk::<8>() else { return Said::Nothing };
    if may_be_signed(start) || ports[0].min(ports[1]) <= MDNS {
        let payload = payload.get(..len as usize).unwrap_or(payload);
        if let Some(signature) = signature(payload, start, len, ports) {
            return Said::Signed(signature);
        }
    }
    let next = [start[4], start[5], start[6], start[7]];
    Said::Unsigned { next, source: if start[0] >> 6 == 2 { rtp(payload, len) } else { None } }
}

/// False for most messages of games: they have no signature, and a long look would slow the analysis.
#[inline]
fn may_be_signed(start: &[u8; 8]) -> bool {
    let second = start[1];
    let by_first = match start[0] {
        0..=8 | 0x13 | 0x1c | 0x20 | b'A' | b'H' | b'M' | b'N' | b'T' | b'V' | b'd' => true,
        20..=25 => second == 0xfe,
        0x40..=0x4f => start[2] < 6,
        0x80..=0xbf => second >= 192,
        0xc0..=0xff => matches!(second, 0 | 0x6b | 0xfa | 0xff | b'Q' | b'T'),
        _ => false,
    };
    // A comparison of slices would be a call.
    let [.., a, b, c, d] = *start;
    by_first || u32::from_be_bytes([a, b, c, d]) == STUN_COOKIE
}

#[inline(never)]
fn signature(payload: &[u8], start: &[u8; 8], len: u32, ports: [u16; 2]) -> Option<Signature> {
    let has = |wanted: &[u8]| payload.starts_with(wanted);
    let on = |port: u16| ports.contains(&port);
    let found = match *start {
        [0xff, 0xff, 0xff, 0xff, ..] => return out_of_band(payload, len),
        [0..=0x3f, _, high, low, cookie @ ..]
            if u32::from_be_bytes(cookie) == STUN_COOKIE
                && low % 4 == 0
                && 20 + u32::from(u16::from_be_bytes([high, low])) == len =>
        {
            Signature::Stun
        }
        [0, 1 | 2, 0, 70, ..] if len == 74 => Signature::DiscordVoice,
        [0x13, 0x37, 0xca, 0xfe, ..] if len == 8 => Signature::DiscordVoice,
        [1 | 2, ..] if raknet(payload, 9) => Signature::RakNet,
        [5..=8, ..] if raknet(payload, 1) => Signature::RakNet,
        [0x1c, ..] if raknet(payload, 17) => pong(payload),
        [1, 0, 0, 0, ..] if len == 148 => Signature::WireGuard,
        [2, 0, 0, 0, ..] if len == 92 => Signature::WireGuard,
        [3, 0, 0, 0, ..] if len == 64 => Signature::WireGuard,
        [4, 0, 0, 0, ..] if len >= 32 && len.is_multiple_of(16) => Signature::WireGuard,
        // Content types of DTLS; versions 1.0 and 1.2, which 1.3 writes, too.
        [20..=25, 0xfe, 0xfd | 0xff, ..] if dtls_record(payload, len) => Signature::Dtls,
        [0x20, _, _, 0x0d, ..] if len >= 512 && payload.get(8) == Some(&0x19) => Signature::Steam,
        [b'V', b'S', b'0', b'1', ..] => Signature::Steam,
        [0x8f, 0xff, _, _, 0x82, 0xff, 0, 1] if (48..=60).contains(&len) => Signature::Enet,
        [0x41, 0 | 2, ..] if matches!(len, 20 | 30) && utp_syn(payload) => Signature::BitTorrent,
        [b'd', ..] if has(b"d1:ad2:id20:") || has(b"d1:rd2:id20:") || has(b"d2:ip6:") => {
            Signature::BitTorrent
        }
        [b'T', ..] if has(b"TS3INIT1") => Signature::TeamSpeak,
        [b'M' | b'N', ..] if has(b"M-SEARCH * HTTP/1.1") || has(b"NOTIFY * HTTP/1.1") => Signature::Ssdp,
        [b'H', ..] if on(SSDP) && has(b"HTTP/1.1 200 OK") => Signature::Ssdp,
        [0xc0..=0xff, ..] if quic(payload) => Signature::Quic,
        [0x40..=0x4f, _, high, low, ..] if is_relayed(high, low, len) => Signature::Turn,
        [0x80..=0xbf, 192..=223, high, low, ..] if rtcp_fits(high, low, len) => Signature::Rtcp,
        [_, _, flags, code, 0, ..] if on(DNS) && is_dns(flags, code) => Signature::Dns,
        [_, _, flags, code, ..] if ports == [MDNS; 2] && is_dns(flags, code) => Signature::Mdns,
        // Versions 1 to 4 and modes 1 to 5.
        [first, ..]
            if on(NTP) && len >= 48 && matches!(first >> 3 & 7, 1..=4) && matches!(first & 7, 1..=5) =>
        {
            Signature::Ntp
        }
        [1 | 2, 1, 6, ..] if on(DHCP) && len >= 236 => Signature::Dhcp,
        _ => return None,
    };
    Some(found)
}

/// Messages after four bytes 0xff: Quake III and its relatives, and Steam.
#[cold]
fn out_of_band(payload: &[u8], len: u32) -> Option<Signature> {
    let message = payload.get(4..)?;
    // QuakeWorld, Quake II and GoldSrc share `connect` and `getchallenge`, so these are left out.
    const WORDS: [&[u8]; 9] = [
        b"getstatus",
        b"statusResponse",
        b"getinfo",
        b"infoResponse",
        b"challengeResponse",
        b"connectResponse",
        b"getservers",
        b"getKeyAuthorize",
        b"keyAuthorize",
    ];
    if WORDS.iter().any(|word| message.starts_with(word)) {
        return Some(Signature::QuakeThree);
    }
    match message {
        [b'T', rest @ ..] if rest.starts_with(b"Source Engine Query\0") => Some(Signature::SteamQuery),
        // Requests of players and rules, and the challenge: a number of four bytes.
        [b'U' | b'V' | b'A', ..] if len == 9 => Some(Signature::SteamQuery),
        // Information in version 17, players, rules.
        [b'I', 0x11, ..] => Some(Signature::SteamQuery),
        // Discovery of Remote Play in the home.
        [0x21, 0x4c, 0x5f, 0xa0, ..] => Some(Signature::Steam),
        _ => None,
    }
}

/// Magic bytes of RakNet's messages outside of a connection.
fn raknet(payload: &[u8], at: usize) -> bool {
    const MAGIC: [u8; 16] =
        [0, 0xff, 0xff, 0, 0xfe, 0xfe, 0xfe, 0xfe, 0xfd, 0xfd, 0xfd, 0xfd, 0x12, 0x34, 0x56, 0x78];
    payload.get(at..).is_some_and(|rest| rest.starts_with(&MAGIC))
}

fn pong(payload: &[u8]) -> Signature {
    // Identifier, time, server, magic bytes, and the length of the text.
    let text = payload.get(35..).unwrap_or_default();
    let is_minecraft = text.starts_with(b"MCPE;") || text.starts_with(b"MCEE;");
    if is_minecraft { Signature::MinecraftBedrock } else { Signature::RakNet }
}

fn dtls_record(payload: &[u8], len: u32) -> bool {
    let fits = |field: &[u8; 2]| 13 + u32::from(u16::from_be_bytes(*field)) <= len;
    payload.get(11..).and_then(<[u8]>::first_chunk).is_some_and(fits)
}

/// The first packet of a uTP connection: no time difference yet, and nothing to acknowledge. One extension has 10 bytes.
fn utp_syn(payload: &[u8]) -> bool {
    payload.get(8..12) == Some(&[0; 4]) && payload.get(18..20) == Some(&[0; 2])
}

/// A long header with a version that is in use, and lengths of connection identifiers that are allowed.
fn quic(payload: &[u8]) -> bool {
    let [_, version @ .., destination] = payload.first_chunk::<6>().copied().unwrap_or_default();
    let is_known = match u32::from_be_bytes(version) {
        1 | 0x6b33_43cf => true,
        // Drafts, and those of Facebook.
        0xff00_0011..=0xff00_0022 | 0xface_b000..=0xface_b00f => true,
        // Google's last versions before the standard have these lengths as well.
        _ => matches!(version, [b'Q' | b'T', b'0', b'5', _]),
    };
    let source = payload.get(6 + usize::from(destination));
    is_known && destination <= 20 && source.is_some_and(|&source| source <= 20)
}

/// Data through a relay: its length, and padding to four bytes (RFC 8656 section 12.4).
fn is_relayed(high: u8, low: u8, len: u32) -> bool {
    let own = 4 + u32::from(u16::from_be_bytes([high, low]));
    own == len || own.next_multiple_of(4) == len
}

/// RTCP's length counts words after the first; a report has at least one. Encryption appends to the packet.
fn rtcp_fits(high: u8, low: u8, len: u32) -> bool {
    let more = u32::from(u16::from_be_bytes([high, low]));
    more > 0 && (more + 1) * 4 <= len
}

/// A query or response with the reserved bits of DNS at zero.
const fn is_dns(flags: u8, code: u8) -> bool {
    flags >> 3 & 15 == 0 && code & 0x40 == 0
}

/// Source of a packet with the form of RTP: version 2, and a header that fits.
fn rtp(payload: &[u8], len: u32) -> Option<u32> {
    let header = payload.first_chunk::<12>()?;
    let fits = 12 + u32::from(header[0] & 15) * 4 <= len;
    let source = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
    (header[0] >> 6 == 2 && fits).then_some(source)
}

/// Magic cookie of STUN (RFC 8489 section 5).
const STUN_COOKIE: u32 = 0x2112_a442;
const DNS: u16 = 53;
const DHCP: u16 = 67;
const NTP: u16 = 123;
const SSDP: u16 = 1900;
const MDNS: u16 = 5353;

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes in hexadecimal digits, with zeros up to a length.
    fn bytes(digits: &str, len: usize) -> Vec<u8> {
        let digits: Vec<u8> = digits
            .bytes()
            .filter_map(|digit| char::from(digit).to_digit(16))
            .map(|digit| digit as u8)
            .collect();
        let mut bytes: Vec<u8> = digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
        bytes.resize(bytes.len().max(len), 0);
        bytes
    }

    fn said(payload: &[u8], ports: [u16; 2]) -> Option<Signature> {
        match datagram(payload, payload.len() as u32, ports) {
            Said::Signed(signature) => Some(signature),
            _ => None,
        }
    }

    /// First bytes of real packets, with their length and the ports. Where nothing else is said they are of the captures of
    /// nDPI (`tests/cfgs/default/pcap`).
    fn examples() -> Vec<(Signature, Vec<u8>, [u16; 2])> {
        let high = [50_000, 40_000];
        let text = |text: &[u8], len| {
            let mut text = text.to_vec();
            text.resize(len, 7);
            text
        };
        vec![
            // RFC 5769 section 2.1.
            (Signature::Stun, bytes("000100582112a442b7e7a701bc34d686fa87dfae", 108), [50_000, 3478]),
            (Signature::Turn, bytes("4000 0060 8061 0001", 100), [50_000, 3478]),
            (Signature::Dtls, bytes("16feff000000000000000000440100003800000000000000", 81), high),
            // A receiver report (RFC 3550 section 6.4.2).
            (Signature::Rtcp, bytes("81c90007 0000000a 0000000b", 32), high),
            // RFC 9001 section A.2, and version 2.
            (Signature::Quic, bytes("c000000001088394c8f03e5157080000449e", 1200), [50_000, 443]),
            (Signature::Quic, bytes("d66b3343cf0807262726 42fc2eb20811fffdea45", 1232), [42_086, 4443]),
            (Signature::QuakeThree, text(b"\xff\xff\xff\xffgetstatus", 14), [50_000, 27_960]),
            (
                Signature::QuakeThree,
                text(b"\xff\xff\xff\xffinfoResponse\n\\mapname\\q3dm17", 100),
                [27_960, 50_000],
            ),
            (Signature::SteamQuery, text(b"\xff\xff\xff\xffTSource Engine Query\0", 25), [20_595, 27_015]),
            (Signature::SteamQuery, bytes("ffffffff 41 4ba1d522", 9), [27_015, 20_595]),
            (Signature::Steam, bytes("ffffffff214c5fa01600000008fcd3f1e3b7", 184), [27_036; 2]),
            // A challenge request of GameNetworkingSockets, padded.
            (Signature::Steam, bytes("20 1200 0d 78563412 19 0102030405060708 20 0a", 512), [50_000, 27_020]),
            (Signature::RakNet, bytes("0500ffff00fefefefefdfdfdfd12345678 06", 1464), [44_501, 60_030]),
            (
                Signature::RakNet,
                bytes("01 0000000000001234 00ffff00fefefefefdfdfdfd12345678 0102030405060708", 33),
                high,
            ),
            (
                Signature::MinecraftBedrock,
                [
                    bytes("1c 0000000000001234 0102030405060708 00ffff00fefefefefdfdfdfd12345678 0014", 0),
                    b"MCPE;Dedicated;390;1".to_vec(),
                ]
                .concat(),
                [19_132, 50_000],
            ),
            (
                Signature::Enet,
                bytes("8fff000182ff00010000ffff000004b000010000000000ff", 52),
                [36_929, 20_021],
            ),
            (Signature::DiscordVoice, bytes("00010046 00001234", 74), [50_335, 50_004]),
            (Signature::DiscordVoice, bytes("1337cafe 0e000000", 8), [56_271, 50_004]),
            (
                Signature::TeamSpeak,
                bytes("545333494e4954310065000088 0dd05766005f5916e0ade76b61", 34),
                [53_187, 9987],
            ),
            (
                Signature::Dns,
                bytes("9a1f01000001000000000000 076578616d706c6503636f6d0000010001", 29),
                [50_000, 53],
            ),
            (Signature::Mdns, bytes("00000000000100000000 0000 055f68747470", 40), [5353; 2]),
            (Signature::Ntp, bytes("230006ec00000000", 48), [50_000, 123]),
            (Signature::Dhcp, bytes("01010600 3903f326", 300), [68, 67]),
            (
                Signature::Ssdp,
                text(b"M-SEARCH * HTTP/1.1\r\nHOST: 239.255.255.250:1900\r\n", 130),
                [50_000, 1900],
            ),
            (Signature::WireGuard, bytes("01000000d837d0305fcec7c8e5c8e2e3", 148), [43_462, 51_820]),
            (Signature::WireGuard, bytes("04000000 1db2a1f0 0000000000000000", 96), [43_462, 51_820]),
            (Signature::BitTorrent, bytes("41004567ed639296000000000010000023c60000", 20), [49_861, 33_333]),
            (
                Signature::BitTorrent,
                text(b"d1:ad2:id20:abcdefghij0123456789e1:q4:ping1:t2:aa1:y1:qe", 56),
                high,
            ),
        ]
    }

    #[test]
    fn each_signature_is_found() {
        for (signature, payload, ports) in examples() {
            assert_eq!(said(&payload, ports), Some(signature), "{payload:x?}");
        }
    }

    #[test]
    fn a_payload_cut_anywhere_is_read_as_far_as_it_goes() {
        for (signature, payload, ports) in examples() {
            for captured in 0..payload.len().min(80) {
                let found = datagram(&payload[..captured], payload.len() as u32, ports);
                let is_sound = match found {
                    Said::Signed(found) => found == signature || found == Signature::RakNet,
                    Said::Nothing => captured < 8,
                    _ => true,
                };
                assert!(is_sound, "{signature:?} after {captured} bytes: {found:?}");
            }
        }
    }

    #[test]
    fn what_almost_has_a_signature_has_none() {
        let almost = [
            // Lengths that contradict the packet: STUN, TURN, DTLS, RTCP, Discord, WireGuard.
            bytes("000100582112a442b7e7a701bc34d686fa87dfae", 112),
            bytes("4000 0060 8061 0001", 90),
            bytes("16feff00000000000000000044010000", 60),
            bytes("81c90007 0000000a 0000000b", 24),
            bytes("00010046 00001234", 80),
            bytes("01000000d837d030", 147),
            // Reserved version of QUIC, and a connection identifier that is too long.
            bytes("c01a2a3a4a088394c8f03e5157080000", 1200),
            bytes("c000000001158394c8f03e51570800008394c8f03e51570800008394c8f03e", 1200),
            // A counter of a game, whatever its first byte.
            bytes("84010000 6cf5a797", 45),
            bytes("04010000 6cf5a797", 48),
            // Other bytes beside the magic ones.
            bytes("0500ffff00fefefefefdfdfdfd12345679", 500),
            bytes("ffffffff 42 4ba1d522", 9),
        ];
        for payload in almost {
            assert_eq!(said(&payload, [50_000, 40_000]), None, "{payload:x?}");
        }
        // Without its port a DNS header is nothing.
        assert_eq!(said(&bytes("9a1f01000001000000000000", 29), [50_000, 5300]), None);
    }

    #[test]
    fn the_form_of_rtp_has_a_source() {
        let source = |digits, len| match datagram(&bytes(digits, len), len as u32, [6000; 2]) {
            Said::Unsigned { source, .. } => source,
            _ => None,
        };
        assert_eq!(source("802201100009e886 00001646", 1444), Some(0x1646));
        // Version 1, and contributing sources beyond the packet.
        assert_eq!(
            (source("402201100009e886 00001646", 1444), source("8f2201100009e886 00001646", 30)),
            (None, None)
        );
    }
}
