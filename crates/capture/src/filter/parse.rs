//! Parses a filter by the grammar of pcap-filter(7). A value without words of its own takes those of the value before
//! it: `port 53 or 80`, `src net (10 or 172.16/12)`. There are three differences to libpcap 1.10: an address needs no
//! `host` before it, as the manual says; `net 10/8` is allowed; and a host is always a whole address.

mod values;

use gamelane_core::Protocol;

use super::error::FilterError;
use super::test::{Comparison, Direction, Test, Version};
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
            Some(_) => Err(self.goes_on()),
        }
    }

    /// Refuses what follows a complete test.
    fn goes_on(&self) -> FilterError {
        match self.text() {
            "[" => self.refuse(
                "bytes of headers cannot be tested",
                "make a smaller file first with `tcpdump -r IN -w OUT EXPR`",
            ),
            _ => self.refuse(
                "a test has ended before this word",
                "write `and` or `or` between two tests, for example `udp and port 53`",
            ),
        }
    }

    /// Parses terms joined by `and` and `or`. `head` has the words that a value without words of its own takes
    /// over. With `values`, only values are allowed.
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
            return Err(self.unknown());
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
            return Err(match self.peek() {
                Some(_) => self.goes_on(),
                None => self.refuse("a `)` is missing", format!("add `{}`", ")".repeat(self.depth))),
            });
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
            Some(word) => {
                let next = self.words.get(self.next + 1).map_or("", |next| next.text);
                FilterError::unknown(self.expression, word, next)
            }
            None => self.refuse("a test is missing", "end with a test, for example `udp and port 53`"),
        }
    }
}

/// Whether a word is a number or an address.
pub(super) fn is_value(text: &str) -> bool {
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

/// Maximum number of words, for bounded work.
const MAX_WORDS: usize = 10_000;
/// Maximum depth of parentheses, because the parser and the filter call themselves.
const MAX_DEPTH: usize = 64;
