//! Messages over TCP before a measurement, of fixed lengths. The client sends [`Opening::Control`]; the server answers with a nonce;
//! the client sends its plan with a proof over both nonces; the server sends an [`Answer`] with its own proof. A fresh nonce of each end
//! makes a recorded exchange useless. A connection of a load sends [`Opening::Load`] only.

use crate::cookie::Token;
use crate::measure::plan::{PLAN_BYTES, Plan};
use crate::wire::Seal;

/// A number that is used once.
pub type Nonce = [u8; 32];

/// First message of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opening {
    /// A client asks for a measurement.
    Control {
        /// The client's nonce.
        nonce: Nonce,
    },
    /// A stream of a load.
    Load(Load),
}

/// A stream of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Id of the plan.
    pub id: u64,
    /// Flow of the scenario.
    pub flow: u16,
    /// Number of the stream within its flow.
    pub stream: u8,
    /// Proof over id, flow and stream.
    pub proof: Seal,
}

/// Bytes of an [`Opening`].
pub const OPENING_BYTES: usize = 37;
/// Bytes of a plan with its proof.
pub const ASKING_BYTES: usize = PLAN_BYTES + 16;
/// Bytes of an [`Answer`].
pub const ANSWER_BYTES: usize = 32;

const MAGIC: [u8; 4] = *b"GLM3";

impl Load {
    /// Makes the message of a stream.
    pub fn new(token: &Token, id: u64, flow: u16, stream: u8) -> Self {
        let proof = token.prove(&Self::sealed(id, flow, stream));
        Self { id, flow, stream, proof }
    }

    /// True if it was made with this token.
    pub fn is_proved(&self, token: &Token) -> bool {
        token.accepts(&Self::sealed(self.id, self.flow, self.stream), &self.proof)
    }

    fn sealed(id: u64, flow: u16, stream: u8) -> Vec<u8> {
        [b"load".as_slice(), &id.to_be_bytes(), &flow.to_be_bytes(), &[stream]].concat()
    }
}

impl Opening {
    /// The bytes of the message.
    pub fn bytes(&self) -> [u8; OPENING_BYTES] {
        let mut bytes = [0; OPENING_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        match self {
            Self::Control { nonce } => bytes[5..].copy_from_slice(nonce),
            Self::Load(load) => {
                bytes[4] = 1;
                bytes[5..13].copy_from_slice(&load.id.to_be_bytes());
                bytes[13..15].copy_from_slice(&load.flow.to_be_bytes());
                bytes[15] = load.stream;
                bytes[16..32].copy_from_slice(&load.proof);
            }
        }
        bytes
    }

    /// Reads a message. `None` if the bytes are not a valid one.
    pub fn read(bytes: &[u8; OPENING_BYTES]) -> Option<Self> {
        let rest = bytes.strip_prefix(&MAGIC)?;
        match rest.split_first()? {
            (0, nonce) => Some(Self::Control { nonce: nonce.try_into().ok()? }),
            (1, rest) if rest[27..].iter().all(|byte| *byte == 0) => Some(Self::Load(Load {
                id: u64::from_be_bytes(*rest.first_chunk()?),
                flow: u16::from_be_bytes([rest[8], rest[9]]),
                stream: rest[10],
                proof: *rest[11..].first_chunk()?,
            })),
            _ => None,
        }
    }
}

/// The nonces that each proof covers. Each kind of proof has a label of its own, so that none can replace another.
pub struct Exchange {
    /// The client's nonce.
    pub client: Nonce,
    /// The server's nonce.
    pub server: Nonce,
}

impl Exchange {
    fn sealed(&self, label: &[u8], more: &[u8]) -> Vec<u8> {
        [label, &self.client, &self.server, more].concat()
    }

    /// The client's message: its plan and proof.
    pub fn ask(&self, key: &Token, plan: &Plan) -> [u8; ASKING_BYTES] {
        let mut bytes = [0; ASKING_BYTES];
        bytes[..PLAN_BYTES].copy_from_slice(&plan.bytes());
        let proof = key.prove(&self.sealed(b"ask", &plan.bytes()));
        bytes[PLAN_BYTES..].copy_from_slice(&proof);
        bytes
    }

    /// Reads the client's message, or refuses a wrong proof or a plan that is out of range.
    pub fn asked(&self, key: &Token, bytes: &[u8; ASKING_BYTES]) -> Result<Plan, Refusal> {
        let (plan, proof) = bytes.split_first_chunk::<PLAN_BYTES>().expect("longer than a plan");
        let proof = proof.first_chunk().expect("a proof follows");
        if !key.accepts(&self.sealed(b"ask", plan), proof) {
            return Err(Refusal::Key);
        }
        Plan::read(plan).ok_or(Refusal::Plan)
    }

    /// The token of this measurement's UDP sessions and loads.
    pub fn token(&self, key: &Token) -> Token {
        let secret = key.prove(&self.sealed(b"token", b""));
        Token::new(&secret.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    }

    /// The server's message, if it accepts.
    pub fn accept(&self, key: &Token, boot: u64, port: u16, mbit: u32) -> [u8; ANSWER_BYTES] {
        let mut bytes = [0; ANSWER_BYTES];
        bytes[1..9].copy_from_slice(&boot.to_be_bytes());
        bytes[9..11].copy_from_slice(&port.to_be_bytes());
        bytes[11..15].copy_from_slice(&mbit.to_be_bytes());
        let proof = key.prove(&self.sealed(b"accept", &bytes[..15]));
        bytes[15..31].copy_from_slice(&proof);
        bytes
    }

    /// Reads the server's message. `None` if it is not valid, or the server does not know the key.
    pub fn answer(&self, key: &Token, bytes: &[u8; ANSWER_BYTES]) -> Option<Answer> {
        if let Some(why) = Refusal::read(bytes) {
            return Some(Answer::Refused(why));
        }
        let proof = bytes[15..].first_chunk()?;
        let is_proved = bytes[0] == 0 && key.accepts(&self.sealed(b"accept", &bytes[..15]), proof);
        is_proved.then(|| Answer::Accepted {
            boot: u64::from_be_bytes(*bytes[1..].first_chunk().expect("eight bytes")),
            port: u16::from_be_bytes([bytes[9], bytes[10]]),
            mbit: u32::from_be_bytes(*bytes[11..].first_chunk().expect("four bytes")),
        })
    }
}

/// The server's answer to a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The measurement may begin.
    Accepted {
        /// The server's [`crate::clock::boot`].
        boot: u64,
        /// Its UDP port for this measurement.
        port: u16,
        /// Its limit of the rate of all loads together in each direction, in Mbit/s.
        mbit: u32,
    },
    /// The server refuses.
    Refused(Refusal),
}

/// Why a server refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The proof is wrong.
    #[error("the server has another key\n  hint:    give both ends the same file with --key")]
    Key,
    /// A value of the plan is out of range.
    #[error("the server does not understand the request: its version of gamelane differs")]
    Plan,
    /// At the limit of clients.
    #[error("the server is busy: {0} measurements at a time are allowed\n  hint:    try again in a minute")]
    Busy(u16),
    /// At the limit of one address.
    #[error(
        "the server allows {0} measurements at a time from one address\n  hint:    wait until the other has ended"
    )]
    Address(u16),
    /// Longer than allowed.
    #[error("the server allows measurements of up to {0} s\n  hint:    --duration {0}s")]
    Seconds(u16),
    /// The server cannot use this congestion control.
    #[error(
        "the server cannot use this congestion control\n  hint:    choose another with --congestion; or on the server, load its \
         module and add its name to the sysctl net.ipv4.tcp_allowed_congestion_control"
    )]
    Congestion,
    /// The server has no free UDP port.
    #[error("the server cannot open its UDP port")]
    Port,
}

impl Refusal {
    /// The bytes of the answer.
    pub fn bytes(self) -> [u8; ANSWER_BYTES] {
        let (kind, limit) = match self {
            Self::Key => (1, 0),
            Self::Plan => (2, 0),
            Self::Busy(limit) => (3, limit),
            Self::Address(limit) => (4, limit),
            Self::Seconds(limit) => (5, limit),
            Self::Congestion => (6, 0),
            Self::Port => (7, 0),
        };
        let mut bytes = [0; ANSWER_BYTES];
        bytes[0] = kind;
        bytes[1..3].copy_from_slice(&limit.to_be_bytes());
        bytes
    }

    fn read(bytes: &[u8; ANSWER_BYTES]) -> Option<Self> {
        let limit = u16::from_be_bytes([bytes[1], bytes[2]]);
        Some(match bytes[0] {
            1 => Self::Key,
            2 => Self::Plan,
            3 => Self::Busy(limit),
            4 => Self::Address(limit),
            5 => Self::Seconds(limit),
            6 => Self::Congestion,
            7 => Self::Port,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXCHANGE: Exchange = Exchange { client: [1; 32], server: [2; 32] };

    fn plan() -> Plan {
        Plan { id: 7, seed: 1, seconds: 30, streams: 4, congestion: String::new() }
    }

    #[test]
    fn openings_come_back() {
        let token = Token::new("a");
        let load = Load::new(&token, 1, 2, 3);
        assert!(load.is_proved(&token) && !load.is_proved(&Token::new("b")));
        assert!(!Load { stream: 4, ..load.clone() }.is_proved(&token), "a proof is for one stream");
        for opening in [Opening::Control { nonce: [9; 32] }, Opening::Load(load)] {
            assert_eq!(Opening::read(&opening.bytes()), Some(opening));
        }
        assert_eq!(Opening::read(&[0; OPENING_BYTES]), None);
    }

    #[test]
    fn a_plan_needs_the_key_and_this_exchange() {
        let (key, other) = (Token::new("key"), Token::new("other"));
        let asked = EXCHANGE.ask(&key, &plan());
        assert_eq!(EXCHANGE.asked(&key, &asked), Ok(plan()));
        assert_eq!(EXCHANGE.asked(&other, &asked), Err(Refusal::Key));
        let later = Exchange { server: [3; 32], ..EXCHANGE };
        assert_eq!(later.asked(&key, &asked), Err(Refusal::Key), "a recorded message is useless later");
    }

    #[test]
    fn an_answer_needs_the_key() {
        let key = Token::new("key");
        let bytes = EXCHANGE.accept(&key, 5, 6, 1000);
        assert_eq!(EXCHANGE.answer(&key, &bytes), Some(Answer::Accepted { boot: 5, port: 6, mbit: 1000 }));
        assert_eq!(EXCHANGE.answer(&Token::new("other"), &bytes), None);
        let refused = Refusal::Seconds(60).bytes();
        assert_eq!(EXCHANGE.answer(&key, &refused), Some(Answer::Refused(Refusal::Seconds(60))));
    }
}
