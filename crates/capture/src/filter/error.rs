//! Refusal of a filter: which word, where, what is allowed, and what to write instead.

use super::words::Word;

/// Reason why an expression is not a filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{expression}: {place}: {problem}\n  allowed: {ALLOWED}\nhint: {hint}")]
pub struct FilterError {
    expression: String,
    /// The word and its position.
    place: String,
    problem: String,
    hint: String,
}

impl FilterError {
    /// `word` cannot stand where it is; `None` for the end of the expression.
    pub(super) fn new(
        expression: &str,
        word: Option<Word<'_>>,
        problem: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        let place = match word {
            Some(Word { text, at }) => {
                format!("`{text}` at character {}", expression[..at].chars().count() + 1)
            }
            None => "at its end".into(),
        };
        Self { expression: expression.into(), place, problem: problem.into(), hint: hint.into() }
    }

    /// A word that begins no test.
    pub(super) fn unknown(expression: &str, word: Word<'_>) -> Self {
        let (_, problem, hint) = ELSEWHERE
            .into_iter()
            .find(|(words, ..)| words.split(' ').any(|known| known == word.text))
            .unwrap_or(("", "this word begins no test, and it is no address", NAMES));
        Self::new(expression, Some(word), problem, hint)
    }
}

/// Remedy for names of hosts.
pub(super) const NAMES: &str =
    "names of hosts are not looked up: write the address, which `getent hosts NAME` prints";

const ALLOWED: &str = "host, net, port, portrange, proto, src, dst, tcp, udp, ip, ip6, less, greater, len, joined by and, \
                       or, not, ( ): `udp and not port 53`";

/// Words that tcpdump knows and this filter does not, with the reason and a remedy.
const ELSEWHERE: [(&str, &str, &str); 4] = [
    (
        "ether wlan fddi tr link addr1 addr2 addr3 addr4 ra ta type subtype dir broadcast multicast gateway llc",
        "link layers cannot be tested",
        "write the IP address instead, or make a smaller file first with `tcpdump -r IN -w OUT EXPR`",
    ),
    (
        "vlan mpls pppoed pppoes geneve vxlan",
        "it is not needed: packets inside VLAN tags, MPLS and PPPoE are tested as if they were not",
        "omit this word, and write only what is inside",
    ),
    (
        "arp rarp icmp icmp6 igmp igrp pim ah esp vrrp carp sctp decnet atalk aarp iso stp ipx netbeui",
        "only packets of TCP and UDP are analysed, all others are left out anyway",
        "omit this word",
    ),
    (
        "inbound outbound ifname on ifindex ifn rnr rulenum reason rset ruleset srnr subrulenum action protochain lat \
         moprc mopdl",
        "this word of tcpdump is not supported",
        "make a smaller file first with `tcpdump -r IN -w OUT EXPR`",
    ),
];
