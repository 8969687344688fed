//! Control messages, which begin and end a session. No message of the server is longer than the client's message that it answers, so
//! a forged source address gains nothing. Integers are big-endian.

/// A client's request for a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Index of the flow in the scenario.
    pub flow: u16,
    /// Fingerprint of the scenario, which must be the same at both ends.
    pub fingerprint: u128,
    /// Seed of the run.
    pub seed: u64,
    /// Id of the session, drawn by the client.
    pub session: u64,
    /// The client's [`crate::clock::boot`], which tells whether both ends share a clock.
    pub boot: u64,
}

/// A cookie or proof: sixteen bytes that cannot be made without a secret.
pub type Seal = [u8; 16];

/// Messages that open and end a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Client: asks for a session.
    Hello(Wish),
    /// Server: asks the client to return a cookie, which proves its address.
    Challenge {
        /// Session of the hello.
        session: u64,
        /// The cookie to return.
        cookie: Seal,
    },
    /// Client: returns the cookie, and proves that it knows the token.
    Start {
        /// The request, as in the hello.
        wish: Wish,
        /// The cookie, as in the challenge.
        cookie: Seal,
        /// Proof over both.
        proof: Seal,
    },
    /// Server: starts the session.
    Accept {
        /// Session of the start.
        session: u64,
        /// The server's [`crate::clock::boot`].
        boot: u64,
        /// Proof that the server knows the token.
        proof: Seal,
    },
    /// Server: refuses the session.
    Refuse {
        /// Session of the start.
        session: u64,
        /// The reason.
        why: Refusal,
    },
    /// Client: keep-alive of a session without packets.
    Alive {
        /// The session.
        session: u64,
    },
    /// Client: ends the session and asks for the server's counters.
    Bye {
        /// The session.
        session: u64,
    },
    /// Server: answers a bye.
    Report {
        /// The session.
        session: u64,
        /// Counters of the server.
        seen: Seen,
    },
}

/// Counters of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Packets sent.
    pub sent: u64,
    /// Packets received, without duplicates.
    pub received: u64,
    /// Packets received again.
    pub duplicates: u64,
    /// UDP payload bytes received, without duplicates.
    pub bytes: u64,
}

/// Why a server refuses a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The server has another scenario, or the flow is not over UDP.
    OtherScenario,
    /// The proof was made with another token.
    Token,
    /// The server is at its limit of sessions.
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

/// Length of every client's message, after padding. No answer is longer.
const CLIENTS: usize = 96;

impl Control {
    /// Encodes the message.
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

    /// Decodes a message. `None` if the bytes are not a valid one.
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

/// The bytes over which a client makes its proof.
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
    use super::super::Header;
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
            assert_eq!(Header::read(&bytes, 0), None, "no data packet");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            let _ = Control::read(&bytes);
        }
    }
}
