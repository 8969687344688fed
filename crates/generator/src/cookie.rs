//! Cookies that prove a client's address before the server keeps any state for it, and proofs that both ends know a token. Both are
//! HMAC-SHA-256 (RFC 2104), truncated to 16 bytes.

use std::net::{IpAddr, SocketAddr};

use gamelane_core::Instant;
use ring::hmac::{HMAC_SHA256, Key, sign};

use crate::wire::Seal;

/// Makes and checks cookies, with a secret that lives as long as the process.
pub struct Cookies(Key);

/// A secret that both ends share.
#[derive(Clone)]
pub struct Token(Key);

impl Cookies {
    /// Draws a new secret.
    pub fn new() -> Result<Self, getrandom::Error> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret)?;
        Ok(Self(Key::new(HMAC_SHA256, &secret)))
    }

    /// Makes the cookie of a session at an address. It is valid for one to two minutes.
    pub fn bake(&self, to: SocketAddr, session: u64, now: Instant) -> Seal {
        self.at(to, session, minute(now))
    }

    /// True if the cookie belongs to this address and session and is still valid.
    pub fn is_fresh(&self, cookie: &Seal, from: SocketAddr, session: u64, now: Instant) -> bool {
        let minute = minute(now);
        [minute, minute.wrapping_sub(1)].iter().any(|minute| same(&self.at(from, session, *minute), cookie))
    }

    fn at(&self, address: SocketAddr, session: u64, minute: u64) -> Seal {
        let ip = match address.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let mut bytes = ip.octets().to_vec();
        bytes.extend(address.port().to_be_bytes());
        bytes.extend(session.to_be_bytes());
        bytes.extend(minute.to_be_bytes());
        seal(&self.0, &bytes)
    }
}

impl Token {
    /// Makes a token from its text, without white space around it. An empty token is no secret.
    pub fn new(text: &str) -> Self {
        Self(Key::new(HMAC_SHA256, text.trim().as_bytes()))
    }

    /// Makes a proof over `bytes` that this end knows the token.
    pub fn prove(&self, bytes: &[u8]) -> Seal {
        seal(&self.0, bytes)
    }

    /// True if `proof` was made over `bytes` with this token.
    pub fn accepts(&self, bytes: &[u8], proof: &Seal) -> bool {
        same(&self.prove(bytes), proof)
    }
}

fn minute(now: Instant) -> u64 {
    now.as_nanos() / 60_000_000_000
}

fn seal(key: &Key, bytes: &[u8]) -> Seal {
    let tag = sign(key, bytes);
    *tag.as_ref().first_chunk().expect("SHA-256 has 32 bytes")
}

/// Compares in constant time, so that the time does not tell where the difference is.
fn same(a: &Seal, b: &Seal) -> bool {
    a.iter().zip(b).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use gamelane_core::Duration;

    #[test]
    fn a_cookie_belongs_to_one_address_session_and_time() {
        let cookies = Cookies::new().unwrap();
        let here: SocketAddr = "192.0.2.1:4000".parse().unwrap();
        let now = Instant::from_secs(1_000_000);
        let cookie = cookies.bake(here, 7, now);
        assert!(cookies.is_fresh(&cookie, here, 7, now + Duration::from_secs(59)));
        assert!(!cookies.is_fresh(&cookie, here, 7, now + Duration::from_secs(121)));
        assert!(!cookies.is_fresh(&cookie, here, 8, now));
        assert!(!cookies.is_fresh(&cookie, "192.0.2.1:4001".parse().unwrap(), 7, now));
        assert!(!cookies.is_fresh(&cookie, "192.0.2.2:4000".parse().unwrap(), 7, now));
        assert!(!Cookies::new().unwrap().is_fresh(&cookie, here, 7, now));
    }

    #[test]
    fn a_proof_needs_the_token() {
        let (ours, theirs) = (Token::new("secret\n"), Token::new(""));
        assert!(Token::new(" secret").accepts(b"wish", &ours.prove(b"wish")));
        assert!(!ours.accepts(b"wish", &theirs.prove(b"wish")));
        assert!(!ours.accepts(b"other", &ours.prove(b"wish")));
    }
}
