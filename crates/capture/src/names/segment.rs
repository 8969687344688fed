//! Signatures of TCP payloads at the start of a direction.

use super::said::Said;
use super::server_name;
use super::signature::Signature;

/// What a payload says; `None` if nothing. `payload` are its captured bytes, `len` its length in the packet. `ports` are
/// those of both ends.
#[inline]
pub(crate) fn segment(payload: &[u8], len: u32, ports: [u16; 2]) -> Option<Said> {
    // Most segments are in the middle of something encrypted.
    match *payload {
        [0x16, 3, ..]
        | [3 | 0x13, ..]
        | [b'G' | b'H' | b'O' | b'P' | b'S', b'A'..=b'Z', ..]
        | [5..=0x7f, 0, ..] => signed(payload.get(..len as usize).unwrap_or(payload), len, ports),
        _ => None,
    }
}

fn signed(payload: &[u8], len: u32, ports: [u16; 2]) -> Option<Said> {
    let signature = match *payload {
        // A handshake record with the hello of a client or of a server.
        [0x16, 3, 0..=4, _, _, 1, ..] => {
            return Some(named(Signature::Tls, server_name::of_client_hello(payload)));
        }
        [0x16, 3, 0..=4, _, _, 2, ..] => Signature::Tls,
        [0x13, ref rest @ ..] if rest.starts_with(b"BitTorrent protocol") => Signature::BitTorrent,
        // Version 3, any time, and four zeros.
        [3, _, _, _, _, 0, 0, 0, 0, ..] if ports.contains(&1935) => Signature::Rtmp,
        [b'S', b'S', b'H', b'-', b'1' | b'2', b'.', ..] => Signature::Ssh,
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', ..] => Signature::Http,
        [b'A'..=b'Z', ..] if is_request(payload) => {
            return Some(named(Signature::Http, server_name::of_request(payload)));
        }
        [5..=0x7f, 0, ..] if is_minecraft(payload, len) => Signature::MinecraftJava,
        _ => return None,
    };
    Some(Said::Signed(signature))
}

fn named(signature: Signature, name: Option<server_name::ServerName>) -> Said {
    name.map_or(Said::Signed(signature), |name| Said::Named(signature, name))
}

/// A method, a target, and the version at the end of the line, as far as it was captured.
fn is_request(payload: &[u8]) -> bool {
    const METHODS: [&[u8]; 6] = [b"GET /", b"POST /", b"HEAD /", b"PUT /", b"GET http://", b"OPTIONS /"];
    let line = payload.split(|&byte| byte == b'\r').next().unwrap_or_default();
    METHODS.iter().any(|method| line.starts_with(method))
        && line.len() < payload.len()
        && (line.ends_with(b" HTTP/1.1") || line.ends_with(b" HTTP/1.0"))
}

/// The first packet to a server of Minecraft Java (minecraft.wiki, "Java Edition protocol", Handshake): its length and
/// 0, the version, the server's address as text, its port, and 1 (status), 2 (login) or 3 (transfer). Numbers have seven
/// bits a byte, the lowest first.
fn is_minecraft(payload: &[u8], len: u32) -> bool {
    let Some((&own, packet)) = payload.split_first() else { return false };
    let Some(packet) = packet.get(..own.into()).filter(|_| u32::from(own) < len) else { return false };
    let version = packet.iter().skip(1).take(5).position(|&byte| byte < 0x80);
    let Some([text, rest @ ..]) = version.and_then(|last| packet.get(last + 2..)) else { return false };
    let Some((address, [_, _, 1..=3])) = rest.split_at_checked(usize::from(*text)) else { return false };
    !address.is_empty() && address.iter().all(|&byte| byte.is_ascii_graphic() || byte == 0)
}

#[cfg(test)]
mod tests {
    use super::super::server_name::tests::client_hello;
    use super::*;

    fn said(payload: &[u8], ports: [u16; 2]) -> Option<(Signature, String)> {
        Some(match segment(payload, payload.len() as u32, ports)? {
            Said::Signed(signature) => (signature, String::new()),
            Said::Named(signature, name) => (signature, name.to_string()),
            other => panic!("{other:?}"),
        })
    }

    /// A handshake of Minecraft Java: protocol 767, to log in.
    fn minecraft(address: &[u8]) -> Vec<u8> {
        let packet =
            [&[0, 0xff, 0x05, address.len() as u8][..], address, &25_565u16.to_be_bytes(), &[2]].concat();
        [&[packet.len() as u8][..], &packet].concat()
    }

    #[test]
    fn each_signature_is_found() {
        let ports = [50_000, 4000];
        let signed = |payload: &[u8]| said(payload, ports).map(|(signature, _)| signature);
        assert_eq!(
            said(&client_hello("www.twitch.tv"), ports),
            Some((Signature::Tls, "www.twitch.tv".into()))
        );
        assert_eq!(signed(&[0x16, 3, 3, 0, 90, 2, 0, 0, 86]), Some(Signature::Tls));
        let request = b"GET /depot/1 HTTP/1.1\r\nHost: cache1.steamcontent.com\r\n\r\n";
        assert_eq!(said(request, ports), Some((Signature::Http, "cache1.steamcontent.com".into())));
        assert_eq!(signed(b"HTTP/1.1 200 OK\r\n"), Some(Signature::Http));
        assert_eq!(signed(b"SSH-2.0-OpenSSH_9.2p1\r\n"), Some(Signature::Ssh));
        assert_eq!(signed(b"\x13BitTorrent protocol\0\0\0\0"), Some(Signature::BitTorrent));
        assert_eq!(signed(&minecraft(b"play.example.org")), Some(Signature::MinecraftJava));
        // Handshake of nDPI's rtmp.pcap.
        let rtmp = [3, 0, 7, 0xaa, 0x57, 0, 0, 0, 0, 0xc4];
        assert_eq!(said(&rtmp, [1177, 1935]).map(|(signature, _)| signature), Some(Signature::Rtmp));
        assert_eq!(signed(&rtmp), None);
    }

    #[test]
    fn what_almost_has_a_signature_has_none() {
        let mut other_state = minecraft(b"play.example.org");
        *other_state.last_mut().unwrap() = 4;
        let mut longer = minecraft(b"play.example.org");
        longer[0] += 1;
        let almost: [&[u8]; 8] = [
            &other_state,
            &longer,
            &minecraft(b""),
            // Application data of TLS, a version that does not exist, another handshake message.
            &[0x17, 3, 3, 0, 90, 1],
            &[0x16, 2, 0, 0, 90, 1],
            &[0x16, 3, 3, 0, 90, 11],
            b"GET a burger\r\n",
            b"GET /depot/1 HTTP/1.1",
        ];
        for payload in almost {
            assert_eq!(said(payload, [50_000, 443]), None, "{payload:x?}");
        }
    }

    #[test]
    fn a_payload_cut_anywhere_is_read_as_far_as_it_goes() {
        let whole = [
            client_hello("www.twitch.tv"),
            minecraft(b"play.example.org"),
            b"GET / HTTP/1.1\r\nHost: a.bc\r\n".to_vec(),
        ];
        for payload in whole {
            for captured in 0..payload.len() {
                segment(&payload[..captured], payload.len() as u32, [50_000, 1935]);
            }
        }
    }
}
