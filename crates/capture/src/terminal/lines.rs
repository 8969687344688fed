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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// As other text.
    #[default]
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
        self.lines.push(Line { text: text.into(), style });
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
        for part in textwrap::wrap(text, options) {
            self.line(part, style);
        }
    }
}
