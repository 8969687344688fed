//! Lag and load over time, as blocks. A cell that covers several steps shows the highest.

use super::lines::{Page, Style};
use super::{digits, rate_unit};
use crate::document::Course;

/// Nine heights. The first stands for zero.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The same for a terminal that has no blocks.
const ASCII: [char; 9] = [' ', '.', ':', '-', '=', '+', '*', '%', '#'];
/// Least lag of a full block: a capture without lag shall not look like one with.
const FULL_MS: f64 = 100.0;
/// Width of the names of the lines.
const LABEL: usize = 6;

/// A line of blocks: its name, its values, the value of the highest block, and the highest value in words.
type Row<'a> = (&'static str, &'a [f64], f64, String);

/// Adds lag and load over time, if they are known; returns whether. Each line has its own scale, and ends with its highest value.
pub(super) fn add(page: &mut Page, course: Option<&Course>) -> bool {
    let Some(course) = course.filter(|course| !course.lag_ms.is_empty()) else { return false };
    let rows = rows(course);
    let words = rows.iter().map(|(.., text)| text.len()).max().unwrap_or(0);
    let steps = course.lag_ms.len();
    let each = steps.div_ceil(page.width.saturating_sub(LABEL + 2 + words).max(1));
    let cells = steps.div_ceil(each);
    for (name, values, top, text) in rows {
        let drawn = blocks(values, each, top, page.is_ascii);
        page.line(format!("{name:<LABEL$}{drawn:<cells$}  {text}"), Style::Plain);
    }
    let end = format!("{} s", short(steps as f64 * course.step_s));
    let zero = cells.saturating_sub(end.len()).max(2);
    page.line(format!("{:LABEL$}{:<zero$}{end}", "", "0"), Style::Dim);
    let shown = match &course.wait {
        Some(wait) => format!("Longest wait of {} beyond its {}, and load", wait.of, wait.beyond),
        None => "Load".to_owned(),
    };
    let step = short(each as f64 * course.step_s);
    let caption = format!("{shown} of all flows, in each {step} s. At the end: the highest.");
    page.item(&" ".repeat(LABEL), &caption, Style::Dim);
    true
}

fn rows(course: &Course) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    if course.wait.is_some() {
        let longest = highest(&course.lag_ms);
        let text = if longest > 0.0 { format!("{longest:.0} ms") } else { "none".to_owned() };
        rows.push(("lag", &course.lag_ms, longest.max(FULL_MS), text));
    }
    for (name, rates) in [("up", &course.up_bps), ("down", &course.down_bps)] {
        let top = highest(rates);
        if top > 0.0 {
            let (unit, per) = rate_unit(top);
            rows.push((name, rates, top, format!("{} {unit}", digits(top / per))));
        }
    }
    rows
}

/// A line with a cell for `each` values. `top` is the value of the highest block.
fn blocks(values: &[f64], each: usize, top: f64, is_ascii: bool) -> String {
    let levels = if is_ascii { ASCII } else { BLOCKS };
    let most = levels.len() - 1;
    let level = |values: &[f64]| (highest(values) / top * most as f64).ceil() as usize;
    values.chunks(each).map(|values| levels[level(values).min(most)]).collect()
}

fn highest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// A time without the digits that summing adds.
fn short(seconds: f64) -> f64 {
    (seconds * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_shows_the_highest_of_its_steps() {
        assert_eq!(blocks(&[0.0, 0.0, 900.0, 0.0, 1.0, 0.0], 3, 900.0, false), "█▁");
        assert_eq!(blocks(&[0.0, 450.0, 900.0], 1, 900.0, false), " ▄█");
        assert_eq!(blocks(&[0.0, 450.0, 900.0], 1, 900.0, true), " =#");
    }
}
