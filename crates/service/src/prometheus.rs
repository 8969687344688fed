//! Metrics in Prometheus' text format 0.0.4 (prometheus.io, "Exposition formats"): families with help and type, labels, samples.
//! Values are read from the program's own counters when somebody asks; nothing is registered beforehand.

use std::fmt::{self, Write as _};

use crate::histogram::{Counter, Histogram};

/// Value of the header `Content-Type`.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4";

/// A label's name and its value. The value may hold any character.
pub type Label<'a> = (&'a str, &'a str);

/// The text so far. A family's samples must follow each other, so add all of them before the next family.
#[derive(Clone, Debug, Default)]
pub struct Exposition(String);

/// A counter or a gauge, to which samples are added.
#[derive(Debug)]
pub struct Family<'a> {
    out: &'a mut String,
    name: &'a str,
}

/// A histogram, to which one series for each set of labels is added.
#[derive(Debug)]
pub struct Histograms<'a>(Family<'a>);

/// A sample's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A count, exactly.
    Count(u64),
    /// A measured number.
    Number(f64),
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Number(number) if number.is_infinite() && *number > 0.0 => f.write_str("+Inf"),
            Self::Number(number) if number.is_infinite() => f.write_str("-Inf"),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}

impl Exposition {
    /// Begins a counter. By convention its name ends in `_total`.
    pub fn counter<'a>(&'a mut self, name: &'a str, help: &str) -> Family<'a> {
        self.family(name, "counter", help)
    }

    /// Begins a gauge.
    pub fn gauge<'a>(&'a mut self, name: &'a str, help: &str) -> Family<'a> {
        self.family(name, "gauge", help)
    }

    /// Begins a histogram of delays. Its name ends in `_seconds`.
    pub fn histogram<'a>(&'a mut self, name: &'a str, help: &str) -> Histograms<'a> {
        Histograms(self.family(name, "histogram", help))
    }

    /// The whole text.
    pub fn into_text(self) -> String {
        self.0
    }

    fn family<'a>(&'a mut self, name: &'a str, kind: &str, help: &str) -> Family<'a> {
        let out = &mut self.0;
        let _ = write!(out, "# HELP {name} ");
        escape(out, help, false);
        let _ = writeln!(out, "\n# TYPE {name} {kind}");
        Family { out, name }
    }
}

impl Family<'_> {
    /// Adds a sample.
    pub fn add(&mut self, labels: &[Label<'_>], value: impl Into<Value>) {
        self.sample("", labels, None, value.into());
    }

    fn sample(&mut self, suffix: &str, labels: &[Label<'_>], bound: Option<&str>, value: Value) {
        let _ = write!(self.out, "{}{suffix}", self.name);
        let mut opening = '{';
        for (name, value) in labels.iter().copied().chain(bound.map(|bound| ("le", bound))) {
            let _ = write!(self.out, "{opening}{name}=\"");
            escape(self.out, value, true);
            self.out.push('"');
            opening = ',';
        }
        if opening == ',' {
            self.out.push('}');
        }
        let _ = writeln!(self.out, " {value}");
    }
}

impl Histograms<'_> {
    /// Adds one histogram: a bucket for each power of two, the sum and the count.
    pub fn add<C: Counter, const N: usize>(&mut self, labels: &[Label<'_>], histogram: &Histogram<C, N>) {
        let mut total = 0;
        for (bound, count) in histogram.cumulative() {
            let bound = bound.map_or("+Inf".into(), |bound| bound.as_secs_f64().to_string());
            self.0.sample("_bucket", labels, Some(&bound), count.into());
            total = count;
        }
        self.0.sample("_sum", labels, None, histogram.sum_seconds().into());
        self.0.sample("_count", labels, None, total.into());
    }
}

/// Writes `text` with `\` and line feeds escaped, and within a label value `"` too.
fn escape(out: &mut String, text: &str, quotes: bool) {
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '"' if quotes => out.push_str("\\\""),
            _ => out.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::{Coarse, Fine};
    use gamelane_core::Duration;
    use proptest::prelude::*;

    #[derive(Debug, Default, PartialEq)]
    struct Parsed {
        families: Vec<(String, String, String)>,
        samples: Vec<Sample>,
    }

    #[derive(Debug, PartialEq)]
    struct Sample {
        name: String,
        labels: Vec<(String, String)>,
        value: String,
    }

    /// Reads back what the format's definition allows.
    fn parse(text: &str) -> Parsed {
        let mut parsed = Parsed::default();
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, help) = help.split_once(' ').expect("a name and its help");
                parsed.families.push((name.into(), unescape(&mut help.chars(), None), String::new()));
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').expect("a name and its type");
                let family = parsed.families.last_mut().expect("the help comes first");
                assert_eq!(family.0, name);
                family.2 = kind.into();
            } else {
                let mut rest = line.chars();
                let name: String =
                    rest.clone().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
                rest.nth(name.len() - 1);
                let mut labels = Vec::new();
                let mut next = rest.next();
                while matches!(next, Some('{' | ',')) {
                    let label: String = rest.by_ref().take_while(|letter| *letter != '=').collect();
                    assert_eq!(rest.next(), Some('"'));
                    labels.push((label, unescape(&mut rest, Some('"'))));
                    next = rest.next();
                }
                if next == Some('}') {
                    next = rest.next();
                }
                assert_eq!(next, Some(' '), "{line}");
                parsed.samples.push(Sample { name, labels, value: rest.collect() });
            }
        }
        parsed
    }

    fn unescape(letters: &mut std::str::Chars<'_>, end: Option<char>) -> String {
        let mut out = String::new();
        while let Some(letter) = letters.next() {
            match letter {
                '\\' => out.push(match letters.next().expect("a letter behind a backslash") {
                    'n' => '\n',
                    letter @ ('\\' | '"') => letter,
                    letter => panic!("\\{letter} means nothing"),
                }),
                _ if Some(letter) == end => return out,
                _ => out.push(letter),
            }
        }
        assert_eq!(end, None, "a value ends");
        out
    }

    #[test]
    fn families_samples_and_numbers_are_written_as_the_format_says() {
        let mut out = Exposition::default();
        out.counter("drops_total", "Packets dropped.").add(&[("direction", "up"), ("reason", "tail")], 3);
        let mut gauge = out.gauge("rate", "A \\ and a\nline feed.");
        gauge.add(&[], f64::INFINITY);
        gauge.add(&[("policy", "the \"new\" one\\\n")], 0.25);
        let text = "# HELP drops_total Packets dropped.\n# TYPE drops_total counter\n\
                    drops_total{direction=\"up\",reason=\"tail\"} 3\n\
                    # HELP rate A \\\\ and a\\nline feed.\n# TYPE rate gauge\nrate +Inf\n\
                    rate{policy=\"the \\\"new\\\" one\\\\\\n\"} 0.25\n";
        assert_eq!(out.into_text(), text);
    }

    #[test]
    fn buckets_are_cumulative_and_keep_their_labels() {
        let mut own = Coarse::<u32>::default();
        own.record(Duration::from_micros(1));
        own.record(Duration::from_micros(3));
        let mut out = Exposition::default();
        out.histogram("d", "Delay.").add(&[("client", "a")], &own);
        let text = out.into_text();
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(lines[0], "d_bucket{client=\"a\",le=\"0.000001024\"} 1");
        assert_eq!(lines[1], "d_bucket{client=\"a\",le=\"0.000002048\"} 1");
        assert_eq!(lines[2], "d_bucket{client=\"a\",le=\"0.000004096\"} 2");
        assert_eq!(lines[26], "d_bucket{client=\"a\",le=\"+Inf\"} 2");
        assert_eq!(lines[27..], ["d_sum{client=\"a\"} 0.000004", "d_count{client=\"a\"} 2"]);
    }

    #[test]
    fn both_resolutions_have_the_same_bounds() {
        let (mut coarse, mut fine) = (Coarse::<u64>::default(), Fine::<u32>::default());
        for micros in [0, 1, 7, 900, 50_000, 40_000_000] {
            coarse.record(Duration::from_micros(micros));
            fine.record(Duration::from_micros(micros));
        }
        let text = |add: &dyn Fn(&mut Histograms<'_>)| {
            let mut out = Exposition::default();
            add(&mut out.histogram("d", "Delay."));
            out.into_text()
        };
        assert_eq!(text(&|out| out.add(&[], &coarse)), text(&|out| out.add(&[], &fine)));
    }

    proptest! {
        #[test]
        fn any_help_and_label_comes_back(
            help in "[ -~\n\\\\äß]{0,20}",
            labels in prop::collection::vec(("[a-z_]{1,8}", "[ -~\n\r\t\"\\\\äß{},=]{0,20}"), 0..4),
            count: u64,
        ) {
            let mut out = Exposition::default();
            let given: Vec<Label<'_>> = labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let mut family = out.counter("a_total", &help);
            family.add(&given, count);
            family.add(&[], 1);
            let text = out.into_text();
            // `lines` would also split at a carriage return.
            prop_assume!(!text.contains("\r\n"));
            let parsed = parse(&text);
            prop_assert_eq!(parsed.families, vec![("a_total".to_owned(), help, "counter".to_owned())]);
            prop_assert_eq!(parsed.samples.len(), 2);
            let sample = Sample { name: "a_total".into(), labels, value: count.to_string() };
            prop_assert_eq!(&parsed.samples[0], &sample);
        }
    }
}
