//! Parses a filter by the grammar of pcap-filter(7). A value without words of its own takes those of the value before
//! it: `port 53 or 80`, `src net (10 or 172.16/12)`. There are two differences to libpcap: an address needs no `host`
//! in front, as the manual says, and a host is always a whole address.

use std::net::{IpAddr, Ipv4Addr};

use gamelane_core::Protocol;

use super::error::{FilterError, NAMES};
use super::test::{Comparison, Direction, Network, Test, Version};
use super::words::{Word, words};
use super::{Chain, Joint, Term, What};

pub(super) struct Parser<'a> {
    expression: &'a str,
    words: Vec<Word<'a>>,
    next: usize,
    /// Open parentheses.
    depth: usize,
}

/// Words before a value, which say what it is.
#[derive(Clone, Copy)]
struct Head {
    family: Option<Family>,
    direction: Direction,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Ip(Version),
    Transport(Protocol),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Host,
    Net,
    Port,
    PortRange,
    Protocol,
}

type Result<T> = std::result::Result<T, FilterError>;

impl<'a> Parser<'a> {
    pub(super) fn new(expression: &'a str) -> Result<Self> {
        let words = words(expression);
        if let Some(&word) = words.get(MAX_WORDS) {
            let problem = format!("a filter has at most {MAX_WORDS} words");
            return Err(FilterError::new(
                expression,
                Some(word),
                problem,
                "use `net` or `portrange` for many values",
            ));
        }
        Ok(Self { expression, words, next: 0, depth: 0 })
    }

    /// Parses the whole expression; `None` if it is empty.
    pub(super) fn filter(&mut self) -> Result<Option<Chain>> {
        if self.words.is_empty() {
            return Ok(None);
        }
        let chain = self.chain(None, false)?;
        match self.peek() {
            None => Ok(Some(chain)),
            Some(Word { text: "[", .. }) => Err(self.refuse(
                "bytes of headers cannot be tested",
                "make a smaller file first with `tcpdump -r IN -w OUT EXPR`",
            )),
            Some(_) => Err(self.refuse(
                "a test has ended before this word",
                "write `and` or `or` between two tests, for example `udp and port 53`",
            )),
        }
    }

    /// Parses terms joined by `and` and `or`. `head` is what applies to values without words of their own. With
    /// `values`, nothing else is allowed.
    fn chain(&mut self, mut head: Option<Head>, values: bool) -> Result<Chain> {
        let first = self.term(&mut head, values)?;
        let mut rest = Vec::new();
        loop {
            let joint = match self.text() {
                "and" | "&&" => Joint::And,
                "or" | "||" => Joint::Or,
                _ => return Ok(Chain { first, rest }),
            };
            self.next += 1;
            rest.push((joint, self.term(&mut head, values)?));
        }
    }

    /// Parses one term, which becomes the `head` for values after it.
    fn term(&mut self, head: &mut Option<Head>, values: bool) -> Result<Term> {
        let mut negated = self.negations();
        let Some(word) = self.peek() else {
            return Err(
                self.refuse("a test or a value is missing", "end with a test, for example `udp and port 53`")
            );
        };
        let what = if word.text == "(" {
            self.group(*head, values)?
        } else if is_value(word.text) {
            match self.words.get(self.next + 1).and_then(|next| comparison(next.text)) {
                Some(comparison) if !values => {
                    *head = None;
                    What::Test(self.number_before_len(comparison)?)
                }
                _ => {
                    let own = head.get_or_insert(Head {
                        family: None,
                        direction: Direction::Either,
                        kind: Kind::Host,
                    });
                    What::Test(self.value(*own)?)
                }
            }
        } else if values {
            return Err(FilterError::unknown(self.expression, word));
        } else {
            let term = self.test(head)?;
            negated ^= term.negated;
            term.what
        };
        Ok(Term { negated, what })
    }

    /// Parses what parentheses enclose.
    fn group(&mut self, head: Option<Head>, values: bool) -> Result<What> {
        if self.depth == MAX_DEPTH {
            let problem = format!("there are more than {MAX_DEPTH} parentheses inside each other");
            return Err(self.refuse(problem, "remove parentheses"));
        }
        self.depth += 1;
        self.next += 1;
        let chain = self.chain(head, values)?;
        if !self.take(&[")"]) {
            return Err(self
                .refuse("`)` is missing before this", "close each parenthesis: `udp and (port 53 or 80)`"));
        }
        self.depth -= 1;
        Ok(What::Group(Box::new(chain)))
    }

    /// Parses a test that begins with a word.
    fn test(&mut self, head: &mut Option<Head>) -> Result<Term> {
        let start = self.peek();
        *head = None;
        let lengths = [("less", Comparison::AtMost), ("greater", Comparison::AtLeast)];
        for (word, comparison) in lengths {
            if self.take(&[word]) {
                return Ok(Test::Length { comparison, bytes: self.number("bytes")? }.into());
            }
        }
        if self.take(&["len"]) {
            let Some(comparison) = comparison(self.text()) else {
                return Err(self.refuse(
                    "`len` needs a comparison and a number",
                    "compare it with <, <=, ==, !=, >= or >: `len > 100`",
                ));
            };
            self.next += 1;
            return Ok(Test::Length { comparison, bytes: self.number("bytes")? }.into());
        }
        let family = self.family();
        let direction = self.direction();
        let kind = self.kind();
        if direction.is_none() && kind.is_none() {
            let number = match family {
                None => return Err(self.unknown()),
                Some(Family::Ip(version)) => {
                    return Ok(Test::Protocol { version: Some(version), number: None }.into());
                }
                Some(Family::Transport(protocol)) => protocol.number(),
            };
            return Ok(Test::Protocol { version: None, number: Some(number) }.into());
        }
        let own = Head {
            family,
            direction: direction.unwrap_or(Direction::Either),
            kind: kind.unwrap_or(Kind::Host),
        };
        self.check(own, direction.is_some(), start)?;
        *head = Some(own);
        let negated = self.negations();
        let what = match self.text() {
            "(" => self.group(Some(own), true)?,
            _ => What::Test(self.value(own)?),
        };
        Ok(Term { negated, what })
    }

    /// Skips each `not`, and returns whether their number is odd.
    fn negations(&mut self) -> bool {
        let mut negated = false;
        while self.take(&["not", "!"]) {
            negated = !negated;
        }
        negated
    }

    /// Refuses words that do not belong together.
    fn check(&self, head: Head, has_direction: bool, start: Option<Word<'_>>) -> Result<()> {
        let (problem, hint) = match (head.kind, head.family) {
            (Kind::Host | Kind::Net, Some(Family::Transport(_))) => {
                ("a host or a net has no transport protocol", "join two tests: `udp and host 10.0.0.1`")
            }
            (Kind::Port | Kind::PortRange, Some(Family::Ip(_))) => {
                ("a port belongs to tcp or udp", "join two tests: `ip6 and port 53`")
            }
            (Kind::Protocol, Some(Family::Transport(_))) => {
                ("only ip and ip6 have a `proto`", "write `tcp` or `udp` alone")
            }
            (Kind::Protocol, _) if has_direction => {
                ("`proto` has no direction", "join two tests: `src 10.0.0.1 and proto 17`")
            }
            _ => return Ok(()),
        };
        Err(FilterError::new(self.expression, start, problem, hint))
    }

    fn family(&mut self) -> Option<Family> {
        let family = match self.text() {
            "ip" => Family::Ip(Version::Four),
            "ip6" => Family::Ip(Version::Six),
            "tcp" => Family::Transport(Protocol::Tcp),
            "udp" => Family::Transport(Protocol::Udp),
            _ => return None,
        };
        self.next += 1;
        Some(family)
    }

    fn direction(&mut self) -> Option<Direction> {
        let other = match self.text() {
            "src" => "dst",
            "dst" => "src",
            _ => return None,
        };
        let first = self.text();
        self.next += 1;
        let after = |n: usize| self.words.get(self.next + n).map_or("", |word| word.text);
        let both = match (after(0), after(1)) {
            ("or" | "||", second) if second == other => Some(Direction::Either),
            ("and" | "&&", second) if second == other => Some(Direction::Both),
            _ => None,
        };
        if both.is_some() {
            self.next += 2;
        }
        Some(both.unwrap_or(if first == "src" { Direction::Source } else { Direction::Destination }))
    }

    fn kind(&mut self) -> Option<Kind> {
        let kind = match self.text() {
            "host" => Kind::Host,
            "net" => Kind::Net,
            "port" => Kind::Port,
            "portrange" => Kind::PortRange,
            "proto" => Kind::Protocol,
            _ => return None,
        };
        self.next += 1;
        Some(kind)
    }

    /// Parses a value that is what `head` says.
    fn value(&mut self, head: Head) -> Result<Test> {
        match head.kind {
            Kind::Host => self.host(head),
            Kind::Net => self.net(head),
            Kind::Port => {
                let port = self.port(self.text(), "a port is a number from 0 to 65535")?;
                self.next += 1;
                Ok(ports(head, port, port))
            }
            Kind::PortRange => {
                let text = self.text();
                let (first, second) = text.split_once('-').unwrap_or((text, text));
                let problem = "a range of ports is two numbers from 0 to 65535, as in 6000-6008";
                let (first, second) = (self.port(first, problem)?, self.port(second, problem)?);
                self.next += 1;
                Ok(ports(head, first.min(second), first.max(second)))
            }
            Kind::Protocol => {
                let number = match self.text().trim_start_matches('\\') {
                    "tcp" => Some(6),
                    "udp" => Some(17),
                    text => number(text).and_then(|number| u8::try_from(number).ok()),
                };
                let Some(number) = number else {
                    return Err(
                        self.refuse("a protocol is a number from 0 to 255, tcp or udp", "write `proto 17`")
                    );
                };
                self.next += 1;
                let version = match head.family {
                    Some(Family::Ip(version)) => Some(version),
                    _ => None,
                };
                Ok(Test::Protocol { version, number: Some(number) })
            }
        }
    }

    fn port(&self, text: &str, problem: &str) -> Result<u16> {
        number(text).and_then(|number| u16::try_from(number).ok()).ok_or_else(|| {
            let hint = match text.parse::<IpAddr>() {
                Ok(_) => "write `host` before an address",
                Err(_) => "names of ports are not looked up: `getent services NAME` prints the number",
            };
            self.refuse(problem, hint)
        })
    }

    fn host(&mut self, head: Head) -> Result<Test> {
        let text = self.text();
        let Ok(address) = text.parse::<IpAddr>() else {
            return Err(match text.chars().all(|c| c.is_ascii_digit() || c == '.') && !text.is_empty() {
                true => self.refuse(
                    "a host is a whole address",
                    "write `net` for a part of an address, `port` for a port",
                ),
                false => self.refuse("a host is an IPv4 or IPv6 address", NAMES),
            });
        };
        self.fits(head, Version::of(address))?;
        self.next += 1;
        if self.text() == "/" {
            return Err(self.refuse("a host has no mask", "write `net` instead of `host`"));
        }
        Ok(Test::Network { direction: head.direction, network: Network::host(address) })
    }

    fn net(&mut self, head: Head) -> Result<Test> {
        let start = self.peek();
        let text = self.text();
        let network = if let Ok(IpAddr::V6(address)) = text.parse::<IpAddr>() {
            self.fits(head, Version::Six)?;
            self.next += 1;
            let mask = self.bits(128)?.map_or(u128::MAX, |bits| ones(bits, 128));
            Network::Six { address: address.to_bits(), mask }
        } else {
            let Some((address, bytes)) = some_bytes(text) else {
                return Err(self
                    .refuse("a net is an address, or the first bytes of one", "write `net 192.168.1.0/24`"));
            };
            self.fits(head, Version::Four)?;
            self.next += 1;
            let mask = match self.bits(32)? {
                Some(bits) => ones(bits, 32) as u32,
                None if self.take(&["mask"]) => {
                    let Some((mask, 4)) = some_bytes(self.text()) else {
                        return Err(self.refuse("a mask is four numbers", "write `mask 255.255.255.0`"));
                    };
                    self.next += 1;
                    mask
                }
                None => ones(8 * bytes, 32) as u32,
            };
            Network::Four { address, mask }
        };
        let outside = match network {
            Network::Four { address, mask } => address & !mask != 0,
            Network::Six { address, mask } => address & !mask != 0,
        };
        if outside {
            return Err(FilterError::new(
                self.expression,
                start,
                "the address has bits outside of the mask",
                "write zeros there, as in 10.0.0.0/8, or `host` for one address",
            ));
        }
        Ok(Test::Network { direction: head.direction, network })
    }

    /// Parses the length of a mask after `/`; `None` if there is no `/`.
    fn bits(&mut self, most: u32) -> Result<Option<u32>> {
        if !self.take(&["/"]) {
            return Ok(None);
        }
        match number(self.text()) {
            Some(bits) if bits <= most => {
                self.next += 1;
                Ok(Some(bits))
            }
            _ => Err(self.refuse(
                format!("the length of a mask is a number from 0 to {most}"),
                "write `net 192.168.1.0/24`",
            )),
        }
    }

    /// Refuses an address of the other version than `ip` or `ip6` before it says.
    fn fits(&self, head: Head, version: Version) -> Result<()> {
        match head.family {
            Some(Family::Ip(stated)) if stated != version => {
                Err(self.refuse("this address is of the other version of IP", "omit `ip` or `ip6` before it"))
            }
            _ => Ok(()),
        }
    }

    /// Parses `100 < len`.
    fn number_before_len(&mut self, comparison: Comparison) -> Result<Test> {
        let bytes = self.number("bytes")?;
        self.next += 1;
        match self.take(&["len"]) {
            true => Ok(Test::Length { comparison: comparison.mirrored(), bytes }),
            false => Err(self.refuse("only `len` can be compared", "write `len > 100`")),
        }
    }

    fn number(&mut self, of: &str) -> Result<u32> {
        let Some(number) = number(self.text()) else {
            return Err(
                self.refuse(format!("a number of {of} belongs here"), "write for example `len > 100`")
            );
        };
        self.next += 1;
        Ok(number)
    }

    fn peek(&self) -> Option<Word<'a>> {
        self.words.get(self.next).copied()
    }

    /// The next word, or an empty one at the end.
    fn text(&self) -> &'a str {
        self.peek().map_or("", |word| word.text)
    }

    /// Skips the next word if it is one of these.
    fn take(&mut self, texts: &[&str]) -> bool {
        let is_it = texts.contains(&self.text());
        self.next += usize::from(is_it);
        is_it
    }

    fn refuse(&self, problem: impl Into<String>, hint: impl Into<String>) -> FilterError {
        FilterError::new(self.expression, self.peek(), problem, hint)
    }

    fn unknown(&self) -> FilterError {
        match self.peek() {
            Some(word) => FilterError::unknown(self.expression, word),
            None => self.refuse("a test is missing", "end with a test, for example `udp and port 53`"),
        }
    }
}

fn ports(head: Head, low: u16, high: u16) -> Test {
    let protocol = match head.family {
        Some(Family::Transport(protocol)) => Some(protocol),
        _ => None,
    };
    Test::Port { direction: head.direction, protocol, low, high }
}

/// Whether a word is a number or an address.
fn is_value(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit()) || text.contains(':')
}

fn comparison(text: &str) -> Option<Comparison> {
    Some(match text {
        "<" => Comparison::Less,
        "<=" => Comparison::AtMost,
        "=" | "==" => Comparison::Equal,
        "!=" => Comparison::Different,
        ">=" => Comparison::AtLeast,
        ">" => Comparison::Greater,
        _ => return None,
    })
}

/// A decimal number, or a hexadecimal one after `0x`.
fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
            u32::from_str_radix(digits, 16).ok()
        }
        None if text.bytes().all(|digit| digit.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    }
}

/// The first one to four bytes of an IPv4 address, and their number.
fn some_bytes(text: &str) -> Option<(u32, u32)> {
    let bytes: Vec<u8> = text.split('.').map(|byte| byte.parse().ok()).collect::<Option<_>>()?;
    let mut address = [0; 4];
    address.get_mut(..bytes.len())?.copy_from_slice(&bytes);
    Some((Ipv4Addr::from(address).to_bits(), bytes.len() as u32))
}

/// A mask of `count` ones at the start of `of` bits.
const fn ones(count: u32, of: u32) -> u128 {
    match count {
        0 => 0,
        _ => (u128::MAX >> (128 - count)) << (of - count),
    }
}

/// Maximum number of words, for bounded work.
const MAX_WORDS: usize = 10_000;
/// Maximum depth of parentheses, because the parser and the filter call themselves.
const MAX_DEPTH: usize = 64;
