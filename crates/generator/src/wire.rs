//! What stands in the datagrams. A data packet has the size its model says; its header takes what room there is: a number of
//! up to four bytes, then the time it was sent, then an echo of the last packet heard (its number and how long ago it came,
//! as RTP's reports have it, RFC 3550 section 6.4.1). What is left is zero.
//!
//! Control messages open and end a session. None from the server is longer than what it answers, so that a forged source
//! address gains nothing. Integers are big-endian.

/// Longest datagram of a scenario: what Ethernet takes without fragments over IPv4.
pub const LONGEST: usize = 1472;

/// Says that the packet is of the application; the bits below say what its header holds.
const DATA: u8 = 0x80;
const HAS_STAMP: u8 = 0x08;
const HAS_ECHO: u8 = 0x10;
const NUMBER_BYTES: u8 = 0x07;

/// Header of a data packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Counts the packets of this direction from zero.
    pub number: u32,
    /// When it left, in nanoseconds of the sender's clock.
    pub stamp_ns: Option<u64>,
    /// What the sender last heard.
    pub echo: Option<Echo>,
}

/// The last packet heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Its number.
    pub number: u32,
    /// From its arrival to the packet that carries the echo, in nanoseconds.
    pub held_ns: u32,
}

impl Header {
    /// Fills `packet`, whose length is the application's, with as much of the header as it holds. Says whether the echo
    /// found room. An empty packet stays empty.
    pub fn write(&self, packet: &mut [u8]) -> bool {
        packet.fill(0);
        let Some((kind, rest)) = packet.split_first_mut() else { return false };
        let bytes = rest.len().min(4);
        *kind = DATA | bytes as u8;
        let (number, rest) = rest.split_at_mut(bytes);
        number.copy_from_slice(&self.number.to_be_bytes()[4 - bytes..]);
        let (Some(stamp_ns), Some((stamp, rest))) = (self.stamp_ns, rest.split_first_chunk_mut::<8>()) else {
            return false;
        };
        *kind |= HAS_STAMP;
        *stamp = stamp_ns.to_be_bytes();
        let (Some(echo), Some((number, rest))) = (self.echo, rest.split_first_chunk_mut::<4>()) else {
            return false;
        };
        let Some((held, _)) = rest.split_first_chunk_mut::<4>() else { return false };
        *kind |= HAS_ECHO;
        *number = echo.number.to_be_bytes();
        *held = echo.held_ns.to_be_bytes();
        true
    }

    /// Reads a data packet; `expected` is the number that would come next, from which the digits that found no room are
    /// restored (RFC 9000 appendix A.3).
    pub fn read(packet: &[u8], expected: u32) -> Option<Self> {
        let (kind, rest) = packet.split_first()?;
        if kind & DATA == 0 || kind & !(DATA | HAS_STAMP | HAS_ECHO | NUMBER_BYTES) != 0 {
            return None;
        }
        let bytes = usize::from(kind & NUMBER_BYTES);
        if bytes > 4 {
            return None;
        }
        let (digits, mut rest) = rest.split_at_checked(bytes)?;
        let low = digits.iter().fold(0, |number, digit| number << 8 | u32::from(*digit));
        let mut header = Self { number: restore(low, bytes, expected), ..Self::default() };
        if kind & HAS_STAMP != 0 {
            let (stamp, after) = rest.split_first_chunk::<8>()?;
            header.stamp_ns = Some(u64::from_be_bytes(*stamp));
            rest = after;
        }
        if kind & HAS_ECHO != 0 {
            let (number, after) = rest.split_first_chunk::<4>()?;
            let (held, _) = after.split_first_chunk::<4>()?;
            header.echo =
                Some(Echo { number: u32::from_be_bytes(*number), held_ns: u32::from_be_bytes(*held) });
        }
        Some(header)
    }
}

/// The number nearest to `expected` whose lowest `bytes` are `low`.
fn restore(low: u32, bytes: usize, expected: u32) -> u32 {
    if bytes >= 4 {
        return low;
    }
    let window = 1u32 << (8 * bytes);
    let candidate = expected & !(window - 1) | low;
    let ahead = candidate.wrapping_sub(expected) as i32;
    if ahead > (window / 2) as i32 && candidate >= window {
        candidate - window
    } else if ahead <= -((window / 2) as i32) && bytes > 0 {
        candidate.wrapping_add(window)
    } else {
        candidate
    }
}

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Which flow of the scenario, by its place in the file.
    pub flow: u16,
    /// The scenario both ends must have read.
    pub fingerprint: u128,
    /// Seed of the run.
    pub seed: u64,
    /// Names the session; the client draws it.
    pub session: u64,
    /// The client's boot, to know whether both share a clock.
    pub boot: u64,
}

/// Sixteen bytes that only who knows a secret can make.
pub type Seal = [u8; 16];

/// Messages that open and end a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Client: I would like that.
    Hello(Wish),
    /// Server: come again with this cookie, so that I know you are where you say.
    Challenge {
        /// Whom it answers.
        session: u64,
        /// To be sent back.
        cookie: Seal,
    },
    /// Client: here it is, and this proves that I know the token.
    Start {
        /// As in the hello.
        wish: Wish,
        /// As in the challenge.
        cookie: Seal,
        /// Over both.
        proof: Seal,
    },
    /// Server: the stream starts now.
    Accept {
        /// Whom it answers.
        session: u64,
        /// The server's boot.
        boot: u64,
        /// The server knows the token too.
        proof: Seal,
    },
    /// Server: no.
    Refuse {
        /// Whom it answers.
        session: u64,
        /// Why.
        why: Refusal,
    },
    /// Client: still here, with nothing to send.
    Alive {
        /// Which session.
        session: u64,
    },
    /// Client: that is all; what did you see?
    Bye {
        /// Which session.
        session: u64,
    },
    /// Server: this.
    Report {
        /// Which session.
        session: u64,
        /// Counters of the server.
        seen: Seen,
    },
}

/// What one end counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Packets it sent.
    pub sent: u64,
    /// Different packets it received.
    pub received: u64,
    /// Packets it received again.
    pub duplicates: u64,
    /// UDP payload bytes of different packets it received.
    pub bytes: u64,
}

/// Why a server says no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It has read another scenario, or there is no such flow over UDP.
    OtherScenario,
    /// The proof does not fit its token.
    Token,
    /// It serves as many as it may.
    Full,
}

const VERSION: u8 = 1;
const HELLO: u8 = 1;
const CHALLENGE: u8 = 2;
const START: u8 = 3;
const ACCEPT: u8 = 4;
const REFUSE: u8 = 5;
const ALIVE: u8 = 6;
const BYE: u8 = 7;
const REPORT: u8 = 8;

/// A client's messages are padded to this, longer than any answer.
const CLIENTS: usize = 96;

impl Control {
    /// As bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = vec![0, VERSION];
        let client =
            matches!(self, Self::Hello(_) | Self::Start { .. } | Self::Alive { .. } | Self::Bye { .. });
        match self {
            Self::Hello(wish) => {
                out[0] = HELLO;
                put_wish(&mut out, wish);
            }
            Self::Challenge { session, cookie } => {
                out[0] = CHALLENGE;
                out.extend(session.to_be_bytes());
                out.extend(cookie);
            }
            Self::Start { wish, cookie, proof } => {
                out[0] = START;
                put_wish(&mut out, wish);
                out.extend(cookie);
                out.extend(proof);
            }
            Self::Accept { session, boot, proof } => {
                out[0] = ACCEPT;
                out.extend(session.to_be_bytes());
                out.extend(boot.to_be_bytes());
                out.extend(proof);
            }
            Self::Refuse { session, why } => {
                out[0] = REFUSE;
                out.extend(session.to_be_bytes());
                out.push(*why as u8);
            }
            Self::Alive { session } => {
                out[0] = ALIVE;
                out.extend(session.to_be_bytes());
            }
            Self::Bye { session } => {
                out[0] = BYE;
                out.extend(session.to_be_bytes());
            }
            Self::Report { session, seen } => {
                out[0] = REPORT;
                out.extend(session.to_be_bytes());
                for count in [seen.sent, seen.received, seen.duplicates, seen.bytes] {
                    out.extend(count.to_be_bytes());
                }
            }
        }
        if client {
            out.resize(CLIENTS, 0);
        }
        out
    }

    /// From bytes of anyone.
    pub fn read(packet: &[u8]) -> Option<Self> {
        let ([kind, version], rest) = packet.split_first_chunk::<2>()?;
        if *version != VERSION {
            return None;
        }
        let from = &mut Reader(rest);
        let client = matches!(*kind, HELLO | START | ALIVE | BYE);
        if client && packet.len() != CLIENTS {
            return None;
        }
        Some(match *kind {
            HELLO => Self::Hello(wish(from)?),
            CHALLENGE => Self::Challenge { session: from.u64()?, cookie: from.take()? },
            START => Self::Start { wish: wish(from)?, cookie: from.take()?, proof: from.take()? },
            ACCEPT => Self::Accept { session: from.u64()?, boot: from.u64()?, proof: from.take()? },
            REFUSE => Self::Refuse {
                session: from.u64()?,
                why: match from.take::<1>()? {
                    [0] => Refusal::OtherScenario,
                    [1] => Refusal::Token,
                    [2] => Refusal::Full,
                    _ => return None,
                },
            },
            ALIVE => Self::Alive { session: from.u64()? },
            BYE => Self::Bye { session: from.u64()? },
            REPORT => Self::Report {
                session: from.u64()?,
                seen: Seen {
                    sent: from.u64()?,
                    received: from.u64()?,
                    duplicates: from.u64()?,
                    bytes: from.u64()?,
                },
            },
            _ => return None,
        })
    }
}

/// What a proof is made over.
pub fn sealed(wish: &Wish, cookie: &Seal) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_wish(&mut bytes, wish);
    bytes.extend(cookie);
    bytes
}

fn put_wish(out: &mut Vec<u8>, wish: &Wish) {
    out.extend(wish.flow.to_be_bytes());
    out.extend(wish.fingerprint.to_be_bytes());
    for number in [wish.seed, wish.session, wish.boot] {
        out.extend(number.to_be_bytes());
    }
}

fn wish(from: &mut Reader<'_>) -> Option<Wish> {
    Some(Wish {
        flow: u16::from_be_bytes(from.take()?),
        fingerprint: u128::from_be_bytes(from.take()?),
        seed: from.u64()?,
        session: from.u64()?,
        boot: from.u64()?,
    })
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WISH: Wish = Wish { flow: 3, fingerprint: 1 << 100, seed: 5, session: 6, boot: 7 };

    fn controls() -> [Control; 8] {
        let seen = Seen { sent: 1, received: 2, duplicates: 3, bytes: 4 };
        [
            Control::Hello(WISH),
            Control::Challenge { session: 6, cookie: [1; 16] },
            Control::Start { wish: WISH, cookie: [1; 16], proof: [2; 16] },
            Control::Accept { session: 6, boot: 8, proof: [3; 16] },
            Control::Refuse { session: 6, why: Refusal::Token },
            Control::Alive { session: 6 },
            Control::Bye { session: 6 },
            Control::Report { session: 6, seen },
        ]
    }

    #[test]
    fn control_messages_come_back_and_answers_are_shorter_than_questions() {
        for control in controls() {
            let bytes = control.bytes();
            assert_eq!(Control::read(&bytes), Some(control));
            assert!(bytes.len() <= CLIENTS, "{control:?}");
            for short in 0..bytes.len() {
                assert_eq!(Control::read(&bytes[..short]), None, "{short} B of {control:?}");
            }
            assert_eq!(Header::read(&bytes, 0), None);
        }
    }

    #[test]
    fn small_packets_get_shorter_headers() {
        let full =
            Header { number: 0x0102_0304, stamp_ns: Some(99), echo: Some(Echo { number: 7, held_ns: 8 }) };
        let read = |len: usize| {
            let mut packet = vec![0xff; len];
            full.write(&mut packet);
            Header::read(&packet, 0x0102_0300)
        };
        assert_eq!(read(0), None);
        for len in 2..13 {
            assert_eq!(read(len), Some(Header { stamp_ns: None, echo: None, ..full }), "{len}");
        }
        for len in 13..21 {
            assert_eq!(read(len), Some(Header { echo: None, ..full }), "{len}");
        }
        for len in [21, 30, LONGEST] {
            assert_eq!(read(len), Some(full), "{len}");
        }
    }

    proptest! {
        #[test]
        fn numbers_are_restored_near_the_expected_one(expected in any::<u32>(), off in -127i64..=127, len in 2usize..6) {
            let number = i64::from(expected) + off;
            prop_assume!((0..=i64::from(u32::MAX)).contains(&number));
            let header = Header { number: number as u32, ..Header::default() };
            let mut packet = vec![0; len];
            header.write(&mut packet);
            prop_assert_eq!(Header::read(&packet, expected).map(|header| header.number), Some(number as u32));
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..120), expected in any::<u32>()) {
            let _ = Header::read(&bytes, expected);
            let _ = Control::read(&bytes);
        }
    }
}
