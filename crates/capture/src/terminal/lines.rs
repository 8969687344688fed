//! Lines of text for a terminal. No line is wider than it.

use textwrap::core::display_width;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// A line, and how it looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Without a newline.
    pub text: String,
    /// How it looks.
    pub style: Style,
}

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// As other text.
    Plain,
    /// What matters most.
    Bold,
    /// What explains the rest.
    Dim,
}

impl Style {
    /// The style's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bold => "bold",
            Self::Dim => "dim",
        }
    }
}

/// Lines so far, for a terminal of `width` columns.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) width: usize,
    pub(super) is_ascii: bool,
    pub(super) lines: Vec<Line>,
}

impl Page {
    /// Adds an empty line.
    pub(super) fn space(&mut self) {
        self.line("", Style::Plain);
    }

    /// Adds a line as it is.
    pub(super) fn line(&mut self, text: impl Into<String>, style: Style) {
        self.lines.push(Line { text: printable(text.into()), style });
    }

    /// Adds a sentence in the width of the terminal.
    pub(super) fn say(&mut self, text: &str, style: Style) {
        self.item("", text, style);
    }

    /// Adds a sentence that begins with `first`. Its further lines are indented by as much.
    pub(super) fn item(&mut self, first: &str, text: &str, style: Style) {
        let indent = " ".repeat(display_width(first));
        let options = Options::new(self.width)
            .initial_indent(first)
            .subsequent_indent(&indent)
            .word_separator(WordSeparator::AsciiSpace)
            .word_splitter(WordSplitter::NoHyphenation)
            .wrap_algorithm(WrapAlgorithm::FirstFit);
        for part in textwrap::wrap(&printable(text.to_owned()), options) {
            self.line(part, style);
        }
    }
}

/// A file may have any name. What would change the terminal, or the order of letters, becomes a question mark.
fn printable(text: String) -> String {
    let is_hidden = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if text.contains(is_hidden) { text.replace(is_hidden, "?") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_command_the_terminal() {
        let mut page = Page { width: 20, is_ascii: false, lines: Vec::new() };
        page.say("\x1b]0;title\x07 and \u{202e}txt.exe", Style::Plain);
        let text: Vec<_> = page.lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(text, ["?]0;title? and", "?txt.exe"]);
    }
}
