//! Splits a filter into words and symbols.

/// A word or a symbol, and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    /// Index of its first byte in the filter.
    pub(super) at: usize,
}

/// Returns the words and symbols in order. White space separates words; symbols need none.
pub(super) fn words(filter: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(next) = filter[at..].chars().next() {
        let rest = &filter[at..];
        let len = if next.is_whitespace() {
            at += next.len_utf8();
            continue;
        } else if PAIRS.iter().any(|pair| rest.starts_with(pair)) {
            2
        } else if SYMBOLS.contains(next) {
            1
        } else {
            rest.find(|c: char| c.is_whitespace() || SYMBOLS.contains(c)).unwrap_or(rest.len())
        };
        words.push(Word { text: &rest[..len], at });
        at += len;
    }
    words
}

const PAIRS: [&str; 6] = ["&&", "||", "<=", ">=", "==", "!="];
const SYMBOLS: &str = "()!&|<>=/[]";
