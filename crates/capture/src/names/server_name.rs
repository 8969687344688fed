//! Name of the server that a client asks for: the server name indication of TLS (RFC 6066 section 3) and the Host header
//! of HTTP (RFC 9112 section 3.2). Only the last labels are kept, as many as fit.

use std::fmt;

/// The last labels of a server's name, in lower case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ServerName {
    bytes: [u8; KEPT],
    len: u8,
    /// There are labels before.
    is_cut: bool,
}

impl ServerName {
    /// Takes a name. Returns `None` if it is no name of the DNS, for example an address.
    pub(super) fn new(name: &[u8]) -> Option<Self> {
        let name = name.strip_suffix(b".").unwrap_or(name);
        let is_sound = name.len() <= LONGEST
            && name.iter().all(|&byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
        let top = name.rsplit(|&byte| byte == b'.').next()?;
        let is_name = is_sound && name.contains(&b'.') && top.iter().any(u8::is_ascii_alphabetic);
        if !is_name {
            return None;
        }
        let mut kept = name.get(name.len().saturating_sub(KEPT)..)?;
        let is_cut = kept.len() < name.len();
        if is_cut {
            let at = kept.iter().position(|&byte| byte == b'.')?;
            kept = kept.get(at + 1..)?;
        }
        let mut bytes = [0; KEPT];
        for (place, &byte) in bytes.iter_mut().zip(kept) {
            *place = byte.to_ascii_lowercase();
        }
        Some(Self { bytes, len: kept.len() as u8, is_cut })
    }

    /// The labels that were kept.
    pub fn labels(&self) -> &str {
        let kept = self.bytes.get(..self.len.into()).unwrap_or_default();
        str::from_utf8(kept).unwrap_or_default()
    }

    /// True for the domain itself and for names below it.
    pub fn is_in(&self, domain: &str) -> bool {
        self.labels().strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_cut { "*." } else { "" }, self.labels())
    }
}

impl fmt::Debug for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Server name of a `ClientHello` in a TLS record, as far as it was captured.
pub(super) fn of_client_hello(record: &[u8]) -> Option<ServerName> {
    // Record header, handshake header, version and random value.
    let mut hello = Fields(record.get(5 + 4 + 2 + 32..)?);
    hello.vector(1)?;
    hello.vector(2)?;
    hello.vector(1)?;
    // A hello that spans several segments is cut: what is there counts.
    hello.take(2)?;
    while let Some(kind) = hello.number(2) {
        let mut extension = Fields(hello.vector(2)?);
        if kind == SERVER_NAME {
            let mut names = Fields(extension.vector(2)?);
            let is_host = names.number(1)? == 0;
            return names.vector(2).filter(|_| is_host).and_then(ServerName::new);
        }
    }
    None
}

/// Server of an HTTP request.
pub(super) fn of_request(request: &[u8]) -> Option<ServerName> {
    let lines = request.split(|&byte| byte == b'\n').take(HEADERS);
    let host = lines.skip(1).find_map(|line| {
        let (name, value) = line.split_at_checked(HOST.len())?;
        name.eq_ignore_ascii_case(HOST).then_some(value)
    })?;
    let host = host.trim_ascii();
    ServerName::new(host.split(|&byte| byte == b':').next()?)
}

/// Bytes that are read from the front.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    /// A big-endian number of up to four bytes.
    fn number(&mut self, len: usize) -> Option<usize> {
        Some(self.take(len)?.iter().fold(0, |number, &byte| number << 8 | usize::from(byte)))
    }

    /// Bytes after their length, which has `len` bytes.
    fn vector(&mut self, len: usize) -> Option<&'a [u8]> {
        let len = self.number(len)?;
        self.take(len)
    }
}

/// Number of bytes that are kept.
const KEPT: usize = 30;
/// Maximum length of a name (RFC 1035 section 2.3.4).
const LONGEST: usize = 253;
const SERVER_NAME: usize = 0;
const HOST: &[u8] = b"host:";
/// Number of lines that are searched for the Host header.
const HEADERS: usize = 32;

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn name(text: &str) -> Option<String> {
        ServerName::new(text.as_bytes()).map(|name| name.to_string())
    }

    #[test]
    fn the_last_labels_are_kept() {
        assert_eq!(name("Example.COM."), Some("example.com".into()));
        assert_eq!(name("ipv4-c012-fra001-ix.1.oca.nflxvideo.net"), Some("*.1.oca.nflxvideo.net".into()));
        let refused =
            ["10.0.0.1", "localhost", "[2001:db8::1]", "a b.example", "", ".", "..", &"a".repeat(300)];
        assert_eq!(refused.map(name), [const { None }; 8]);
        // One long label.
        assert_eq!(name(&format!("x.{}", "a".repeat(60))), None);
    }

    #[test]
    fn a_domain_has_the_names_below_it() {
        let name = ServerName::new(b"occ-0.1.nflxso.net").unwrap();
        assert!(name.is_in("nflxso.net") && name.is_in("1.nflxso.net"));
        assert!(!name.is_in("flxso.net") && !name.is_in("nflxso.com") && !name.is_in("a.occ-0.1.nflxso.net"));
        assert!(ServerName::new(b"nflxso.net").unwrap().is_in("nflxso.net"));
    }

    #[test]
    fn the_host_header_names_the_server() {
        let of = |text: &str| of_request(text.as_bytes()).map(|name| name.to_string());
        let request = "GET /a HTTP/1.1\r\nAccept: */*\r\nHOST: dl.delivery.mp.microsoft.com:80\r\n\r\n";
        assert_eq!(of(request), Some("dl.delivery.mp.microsoft.com".into()));
        assert_eq!(of("GET /a HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n"), None);
        assert_eq!(of("GET /a HTTP/1.1\r\n"), None);
    }

    /// A `ClientHello` with two cipher suites, an extension, and the name of a server (RFC 8446 section 4.1.2).
    pub(in super::super) fn client_hello(server: &str) -> Vec<u8> {
        let name = server.as_bytes();
        let len = name.len() as u16;
        let mut extensions = vec![0, 23, 0, 0, 0, 0];
        extensions.extend([(len + 5).to_be_bytes(), (len + 3).to_be_bytes()].concat());
        extensions.push(0);
        extensions.extend(len.to_be_bytes());
        extensions.extend(name);
        let mut body = [&[3, 3][..], &[7; 32], &[0], &[0, 4, 0x13, 1, 0x13, 2], &[1, 0]].concat();
        body.extend((extensions.len() as u16).to_be_bytes());
        body.extend(extensions);
        let len = body.len() as u16;
        let mut record = vec![22, 3, 1];
        record.extend((len + 4).to_be_bytes());
        record.extend([1, 0]);
        record.extend(len.to_be_bytes());
        record.extend(body);
        record
    }

    #[test]
    fn a_hello_names_the_server_however_it_is_cut() {
        let hello = client_hello("www.netflix.com");
        assert_eq!(of_client_hello(&hello).map(|name| name.to_string()), Some("www.netflix.com".into()));
        for cut in 0..hello.len() {
            assert_eq!(of_client_hello(&hello[..cut]), None, "{cut}");
        }
    }
}
