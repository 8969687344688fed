//! Packet filters in the words of tcpdump (pcap-filter(7)), for example `udp and not port 53`. A filter is tested on
//! decoded packets, so it works for every link type, and inside VLAN tags, PPPoE and Wi-Fi frames. Neither tcpdump nor
//! libpcap is needed. Words about link layers, protocols other than TCP and UDP, and bytes of headers are left out, and
//! so are names of hosts and ports.

mod error;
mod parse;
mod print;
mod test;
mod words;

use std::fmt;
use std::str::FromStr;

use crate::packet::CapturedPacket;
use parse::Parser;
use test::Test;

pub use error::FilterError;

/// A filter. It is parsed from text and prints the same filter in full words.
///
/// ```
/// let filter: gamelane_capture::Filter = "port 53 or 80".parse().unwrap();
/// assert_eq!(filter.to_string(), "port 53 or port 80");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter(Option<Chain>);

impl Filter {
    /// Whether the filter keeps a packet of a frame of `frame_len` bytes, which is what `len` means to tcpdump. An empty
    /// filter keeps everything.
    pub fn keeps(&self, packet: &CapturedPacket, frame_len: u32) -> bool {
        self.0.as_ref().is_none_or(|chain| chain.holds(packet, frame_len))
    }

    /// True if no test asks for a direction or a length, so that all packets of a flow are kept or none. Of other filters,
    /// an analysis may take the packets left out for lost.
    pub fn keeps_whole_flows(&self) -> bool {
        self.0.as_ref().is_none_or(Chain::keeps_whole_flows)
    }
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(expression: &str) -> Result<Self, FilterError> {
        Parser::new(expression)?.filter().map(Self)
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |chain| chain.fmt(f))
    }
}

/// Terms joined by `and` and `or`. Both bind equally, from left to right: `a or b and c` is `(a or b) and c`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Chain {
    first: Term,
    rest: Vec<(Joint, Term)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joint {
    And,
    Or,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    negated: bool,
    what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Test(Test),
    /// A chain in parentheses.
    Group(Box<Chain>),
}

impl Chain {
    fn holds(&self, packet: &CapturedPacket, frame_len: u32) -> bool {
        let first = self.first.holds(packet, frame_len);
        self.rest.iter().fold(first, |so_far, (joint, term)| match joint {
            Joint::And => so_far && term.holds(packet, frame_len),
            Joint::Or => so_far || term.holds(packet, frame_len),
        })
    }

    fn keeps_whole_flows(&self) -> bool {
        let rest = self.rest.iter().map(|(_, term)| term);
        std::iter::once(&self.first).chain(rest).all(|term| match &term.what {
            What::Test(test) => test.keeps_whole_flows(),
            What::Group(chain) => chain.keeps_whole_flows(),
        })
    }
}

impl From<Test> for Term {
    fn from(test: Test) -> Self {
        Self { negated: false, what: What::Test(test) }
    }
}

impl Term {
    fn holds(&self, packet: &CapturedPacket, frame_len: u32) -> bool {
        let holds = match &self.what {
            What::Test(test) => test.holds(packet, frame_len),
            What::Group(chain) => chain.holds(packet, frame_len),
        };
        holds != self.negated
    }
}
