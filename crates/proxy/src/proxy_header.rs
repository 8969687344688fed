//! PROXY protocol version 2 (HAProxy's specification of 2020, section 2.2): a header before the client's first byte that names its
//! address. Extensions (TLVs) are accepted and passed on unchanged.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Longest header accepted, with extensions, in bytes.
pub const MAX_LEN: usize = 536;
/// Length of the header's fixed part, which holds the length of the rest.
pub const FIXED_LEN: usize = 16;

const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
const PROXY: u8 = 0x21;
const LOCAL: u8 = 0x20;
const TCP4: u8 = 0x11;
const TCP6: u8 = 0x21;

/// Makes the header for a client at `source` that connected to `destination`.
pub fn write(source: SocketAddr, destination: SocketAddr) -> Vec<u8> {
    let mut header = SIGNATURE.to_vec();
    header.push(PROXY);
    match (source.ip().to_canonical(), destination.ip().to_canonical()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            header.extend([TCP4, 0, 12]);
            header.extend(from.octets());
            header.extend(to.octets());
        }
        (from, to) => {
            header.extend([TCP6, 0, 36]);
            header.extend(as_v6(from).octets());
            header.extend(as_v6(to).octets());
        }
    }
    header.extend(source.port().to_be_bytes());
    header.extend(destination.port().to_be_bytes());
    header
}

/// Returns the total length of the header that begins with `fixed`. `None` if this is no header, or it is longer than [`MAX_LEN`].
pub fn whole_len(fixed: &[u8; FIXED_LEN]) -> Option<usize> {
    let len = FIXED_LEN + usize::from(u16::from_be_bytes([fixed[14], fixed[15]]));
    (fixed.starts_with(&SIGNATURE) && len <= MAX_LEN).then_some(len)
}

/// Reads the client's address from a complete header. `Some(None)` if the header names no client (a health check); `None` if it is
/// not valid.
pub fn client(header: &[u8]) -> Option<Option<SocketAddr>> {
    let (fixed, rest) = header.split_first_chunk::<FIXED_LEN>()?;
    if whole_len(fixed)? != header.len() {
        return None;
    }
    let port = |at: usize| Some(u16::from_be_bytes([*rest.get(at)?, *rest.get(at + 1)?]));
    match (fixed[12], fixed[13]) {
        (LOCAL, _) => Some(None),
        (PROXY, TCP4) => {
            let address: [u8; 4] = rest.get(..4)?.try_into().ok()?;
            Some(Some((Ipv4Addr::from(address), port(8)?).into()))
        }
        (PROXY, TCP6) => {
            let address: [u8; 16] = rest.get(..16)?.try_into().ok()?;
            Some(Some((Ipv6Addr::from(address), port(32)?).into()))
        }
        (PROXY, _) => Some(None),
        _ => None,
    }
}

fn as_v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_header_is_read_back() {
        for (from, to) in [("192.0.2.7:4000", "198.51.100.1:80"), ("[2001:db8::1]:4000", "[2001:db8::2]:80")]
        {
            let (from, to): (SocketAddr, SocketAddr) = (from.parse().unwrap(), to.parse().unwrap());
            assert_eq!(client(&write(from, to)), Some(Some(from)));
        }
    }

    #[test]
    fn a_header_has_the_bytes_of_the_specification() {
        let header = write("192.0.2.7:4000".parse().unwrap(), "198.51.100.1:80".parse().unwrap());
        assert_eq!(header[12..], [0x21, 0x11, 0, 12, 192, 0, 2, 7, 198, 51, 100, 1, 0x0f, 0xa0, 0, 80]);
    }

    #[test]
    fn bytes_that_are_no_header_are_refused() {
        let good = write("192.0.2.7:4000".parse().unwrap(), "198.51.100.1:80".parse().unwrap());
        for cut in 0..good.len() {
            assert_eq!(client(&good[..cut]), None);
        }
        for index in 0..good.len() {
            let mut bad = good.clone();
            bad[index] ^= 0xff;
            let _ = client(&bad);
        }
        assert_eq!(client(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"), None);
    }
}
