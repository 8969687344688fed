//! Refusal of a filter: which word, where, what is allowed, and what to write instead.

use super::parse::is_value;
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

    /// A word that begins no test. `next` is the word after it.
    pub(super) fn unknown(expression: &str, word: Word<'_>, next: &str) -> Self {
        let is_in = |words: &str| words.split(' ').any(|known| known == word.text);
        let (problem, hint) = if is_in(TAGS) {
            let hint = match next.starts_with(|c: char| c.is_ascii_digit()) {
                true => format!("omit `{} {next}`; a tag's number cannot be tested", word.text),
                false => format!("omit `{}`, and write only what is inside", word.text),
            };
            (
                "it is not needed: packets inside VLAN tags, MPLS and PPPoE are tested as if they were not",
                hint,
            )
        } else if let Some((_, problem, hint)) = ELSEWHERE.into_iter().find(|(words, ..)| is_in(words)) {
            (problem, hint.to_owned())
        } else {
            let alike = BEGINNINGS.split(' ').filter(|known| is_typo(word.text, known));
            let hint = alike.max_by_key(|known| same_start(word.text, known)).map(|known| {
                let value = if is_value(next) { format!(" {next}") } else { String::new() };
                format!("write `{known}{value}`")
            });
            ("this word begins no test, and it is no address", hint.unwrap_or_else(|| NAMES.to_owned()))
        };
        Self::new(expression, Some(word), problem, hint)
    }
}

/// Whether one letter too many, too few or wrong, or two exchanged, make a word of `known`. Case does not matter.
fn is_typo(word: &str, known: &str) -> bool {
    let same = same_start(word, known);
    let word = word.to_ascii_lowercase().into_bytes();
    let (word, known) = (&word[same..], &known.as_bytes()[same..]);
    let skip = |of: &[u8]| of.get(1..).unwrap_or_default().to_vec();
    match (word, known) {
        ([a, b, word @ ..], [c, d, known @ ..]) if a == d && b == c => word == known,
        _ => skip(word) == known || word == skip(known) || skip(word) == skip(known),
    }
}

/// Number of bytes at the start that are the same. Case does not matter.
fn same_start(word: &str, known: &str) -> usize {
    word.bytes().zip(known.bytes()).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count()
}

/// Remedy for names of hosts.
pub(super) const NAMES: &str =
    "names of hosts are not looked up: write the address, which `getent hosts NAME` prints";

/// Words that begin a test.
const BEGINNINGS: &str = "host port proto net src dst portrange tcp udp ip6 len less greater not";

const ALLOWED: &str = "host, net, port, portrange, proto, src, dst, tcp, udp, ip, ip6, less, greater, len, joined by and, \
                       or, not, ( ): `udp and not port 53`";

/// Words of tcpdump for what this filter looks into anyway.
const TAGS: &str = "vlan mpls pppoed pppoes geneve vxlan";

/// Words that tcpdump knows and this filter does not, with the reason and a remedy.
const ELSEWHERE: [(&str, &str, &str); 3] = [
    (
        "ether wlan fddi tr link addr1 addr2 addr3 addr4 ra ta type subtype dir broadcast multicast gateway llc",
        "link layers cannot be tested",
        "write the IP address instead, or make a smaller file first with `tcpdump -r IN -w OUT EXPR`",
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
