//! What `gamelane analyze` and `gamelane capture` print: who is to blame, lag over time, the verdict, then flows with trouble.
//!
//! No line is wider than the terminal, and no address or number is cut. Without enough width for addresses, hosts have
//! numbers and a legend; columns that still do not fit are left out, the least important first.

mod columns;
mod flows;
mod lines;
mod tables;
mod timeline;

use std::collections::BTreeMap;

use crate::document::{Captured, Document};
use crate::facts::Conversation;
use crate::numbers::grouped;
use columns::{Column, Hosts, fitting, width};
use flows::{bytes, counted, ranked};
use lines::Page;
pub use lines::{Line, Style};
use tables::{SHOWN, flow_columns, group_columns};

/// Maximum number of games with sentences: they take several lines each, and the table has all games with trouble.
const DESCRIBED: usize = 3;

impl Document {
    /// Returns the findings as text, in lines of at most `width` columns. `is_ascii` is for a terminal that cannot show blocks.
    pub fn lines(&self, width: usize, is_ascii: bool) -> Vec<Line> {
        let mut page = Page { width: width.max(1), is_ascii, lines: Vec::new() };
        let flows = ranked(self);
        let is_blamed = add_blame(&mut page, self);
        let alone = if let [alone] = &self.captures[..] { Some(alone) } else { None };
        if alone.is_some_and(|alone| timeline::add(&mut page, alone.timeline.as_ref())) {
            page.space();
        }
        page.say(&self.verdict.headline, if is_blamed { Style::Plain } else { Style::Bold });
        add_games(&mut page, self, &flows);
        for capture in self.captures.iter().filter(|capture| !capture.flows.is_empty()) {
            page.space();
            page.say(&about(capture), Style::Plain);
            if alone.is_none() {
                timeline::add(&mut page, capture.timeline.as_ref());
            }
        }
        add_tables(&mut page, self, &flows);
        page.lines
    }
}

fn add_blame(page: &mut Page, found: &Document) -> bool {
    let Some(blame) = &found.verdict.blame else { return false };
    page.say(&blame.text, Style::Bold);
    if let Some(sure) = &found.verdict.how_sure {
        page.say(sure, Style::Plain);
    }
    if !blame.because.is_empty() {
        page.say("Why:", Style::Plain);
    }
    for sentence in &blame.because {
        page.item("  - ", sentence, Style::Plain);
    }
    if !blame.advice.is_empty() {
        page.say("What to try:", Style::Plain);
    }
    for (number, sentence) in (1..).zip(&blame.advice) {
        page.item(&format!("  {number}. "), sentence, Style::Plain);
    }
    page.space();
    true
}

/// Adds sentences about the games with the most trouble; without trouble, about one game.
fn add_games(page: &mut Page, found: &Document, flows: &[Conversation<'_>]) {
    let described = &found.verdict.games;
    let texts: BTreeMap<_, _> =
        described.iter().map(|game| ((game.capture, game.flow), &game.text)).collect();
    let sentence = |flow: &Conversation<'_>| Some((flow.trouble().suffered, *texts.get(&flow.place())?));
    let sentences: Vec<_> = flows.iter().filter_map(sentence).collect();
    let mut worst: Vec<_> = sentences.iter().filter(|(suffered, _)| *suffered).take(DESCRIBED).collect();
    if worst.is_empty() {
        worst.extend(sentences.first());
    }
    for (_, text) in &worst {
        page.item("  ", text, Style::Plain);
    }
    let more = described.len().saturating_sub(worst.len()) as u64 + found.verdict.not_described;
    if more > 0 {
        let are = if more == 1 { "game is" } else { "games are" };
        page.item("  ", &format!("{} more {are} in the numbers above.", grouped(more)), Style::Plain);
    }
}

fn about(capture: &Captured) -> String {
    let mut parts = vec![format!(
        "{}: {} packets in {:.1} s",
        capture.file,
        grouped(capture.packets),
        capture.duration_s
    )];
    if capture.set_aside > 0 {
        let copies = grouped(capture.set_aside);
        parts.push(format!("{copies} of them copies from other interfaces or a mirror port, set aside"));
    }
    let skipped = capture.skipped.each().into_iter().filter(|(count, _)| *count > 0);
    parts.extend(skipped.map(|(count, what)| format!("{} {what}", grouped(count))));
    if let Some(dropped) = capture.dropped_by_capture.filter(|dropped| *dropped > 0) {
        parts.push(format!("{} dropped by the recording program", grouped(dropped)));
    }
    let back = &capture.time_went_back;
    if back.packets > 0 {
        let by = match back.packets {
            1 => "once, by".to_owned(),
            more => format!("{} times, by at most", grouped(more)),
        };
        parts.push(format!("time went back {by} {:.3} ms", back.furthest_ms));
    }
    let steps = &capture.clock_steps;
    if steps.count > 0 {
        let (by, without) = match steps.count {
            1 => ("once, by".to_owned(), "the step"),
            more => (format!("{} times, by up to", grouped(more)), "the steps"),
        };
        let seconds = steps.furthest_ms / 1e3;
        parts.push(format!("the clock was set {by} {seconds:.1} s; times continue without {without}"));
    }
    let ahead = &capture.stamps_ahead;
    if ahead.packets > 0 {
        let (which, were) = match ahead.packets {
            1 => ("1 timestamp".to_owned(), "was"),
            more => (format!("{} timestamps up to", grouped(more)), "were"),
        };
        parts.push(format!("{which} {:.1} s ahead of the others {were} corrected", ahead.furthest_ms / 1e3));
    }
    parts.join(", ")
}

/// Adds the flows with trouble, the number of the others, and groups that may share a path.
fn add_tables(page: &mut Page, found: &Document, flows: &[Conversation<'_>]) {
    let troubled = || flows.iter().copied().filter(|flow| flow.trouble().suffered);
    let mut tables: Vec<(String, Vec<Conversation<'_>>)> = vec![(
        "comparison of the two captures".to_owned(),
        troubled().filter(|flow| flow.pair.is_some()).take(SHOWN).collect(),
    )];
    for (number, capture) in found.captures.iter().enumerate() {
        let alone = troubled().filter(|flow| flow.pair.is_none() && flow.first.0 == number);
        tables.push((title(found, capture), alone.take(SHOWN).collect()));
    }
    tables.retain(|(_, flows)| !flows.is_empty());
    let shared = found.shared_paths.as_ref();
    let mut whole = Hosts::new(false);
    let too_wide = |columns: Vec<Column>| width(&columns) > page.width;
    let is_narrow = tables.iter().any(|(_, flows)| too_wide(flow_columns(flows, &mut whole)))
        || shared.is_some_and(|shared| too_wide(group_columns(shared, &mut whole, None)));
    let mut hosts = Hosts::new(is_narrow);
    let mut missing: Vec<String> = Vec::new();
    for (title, flows) in &tables {
        page.space();
        if !title.is_empty() {
            page.say(title, Style::Plain);
        }
        for column in add_table(page, flow_columns(flows, &mut hosts)) {
            if !missing.iter().any(|name| name == column.name()) {
                missing.push(column.name().to_owned());
            }
        }
    }
    if !missing.is_empty() {
        page.say(&format!("Wider terminals also show {}.", missing.join(", ")), Style::Dim);
    }
    let shown: Vec<_> = tables.into_iter().flat_map(|(_, flows)| flows).collect();
    add_rest(page, found, flows, &shown);
    if let Some(shared) = shared {
        page.space();
        let room = page.width;
        add_table(page, group_columns(shared, &mut hosts, Some(room)));
    }
    let legend = hosts.legend(page.width);
    if !legend.is_empty() {
        page.space();
    }
    for text in legend {
        page.line(text, Style::Dim);
    }
}

/// Adds the columns that fit, and returns the others.
fn add_table(page: &mut Page, columns: Vec<Column>) -> Vec<Column> {
    let (columns, left_out) = fitting(columns, page.width);
    let (head, rows) = columns::lines(&columns);
    head.into_iter().for_each(|text| page.line(text, Style::Bold));
    rows.into_iter().for_each(|text| page.line(text, Style::Plain));
    left_out
}

fn title(found: &Document, capture: &Captured) -> String {
    if found.pair.as_ref().is_some_and(|pair| !pair.flows.is_empty()) {
        format!("only in {}", capture.file)
    } else if found.captures.len() > 1 {
        capture.file.clone()
    } else {
        String::new()
    }
}

/// Adds the numbers of flows without a row.
fn add_rest(page: &mut Page, found: &Document, flows: &[Conversation<'_>], shown: &[Conversation<'_>]) {
    let (troubled, quiet): (Vec<_>, Vec<_>) = flows.iter().partition(|flow| flow.trouble().suffered);
    let is_shown = |flow: &Conversation<'_>| shown.iter().any(|of| of.place() == flow.place());
    let further: Vec<_> = troubled.into_iter().filter(|flow| !is_shown(flow)).collect();
    let count = |of: &[Conversation<'_>], more| flows_of(of.len() as u64, more);
    let show = |of: &[Conversation<'_>]| if of.len() == 1 { "shows" } else { "show" };
    let mut said = Vec::new();
    if !further.is_empty() {
        let (flows, show) = (count(&further, "more "), show(&further));
        said.push(format!("{flows} {show} lag or loss: {}.", counted(&further)));
    }
    if let Some(largest) = quiet.iter().rev().max_by_key(|flow| bytes(flow)) {
        let flows = count(&quiet, if shown.is_empty() { "" } else { "more " });
        let (show, counted, largest) = (show(&quiet), counted(&quiet), size(largest, quiet.len() == 1));
        said.push(format!("{flows} {show} no lag or loss: {counted}. {largest}"));
    }
    let left_out = || found.captures.iter().map(|capture| &capture.flows_left_out);
    let (hidden, games): (u64, u64) =
        (left_out().map(|of| of.flows).sum(), left_out().map(|of| of.games).sum());
    if hidden > 0 {
        let of_them = match games {
            0 => String::new(),
            games => format!(", {} of them games, which are in the numbers above", grouped(games)),
        };
        said.push(format!("{} with fewer packets{of_them}.", flows_of(hidden, "more ")));
    }
    if !said.is_empty() {
        page.space();
    }
    said.iter().for_each(|sentence| page.say(sentence, Style::Plain));
}

/// Describes the flow with the most bytes: it may be what the games waited for.
fn size(flow: &Conversation<'_>, is_only: bool) -> String {
    let size = match bytes(flow) as f64 {
        bytes if bytes >= 1e5 => format!("{:.1} MB", bytes / 1e6),
        bytes if bytes < 1e3 => format!("{bytes} B"),
        bytes => format!("{:.1} kB", bytes / 1e3),
    };
    let which = if is_only { "It" } else { "The largest" };
    format!("{which} has {size}: {} and {}.", flow.client, flow.server)
}

fn flows_of(number: u64, more: &str) -> String {
    format!("{} {more}flow{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// About three digits.
fn digits(value: f64) -> String {
    let decimals = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.decimals$}")
}

/// The unit for rates up to the highest, and how many bits per second it is.
fn rate_unit(highest_bps: f64) -> (&'static str, f64) {
    if highest_bps >= 1e6 { ("Mbit/s", 1e6) } else { ("kbit/s", 1e3) }
}
