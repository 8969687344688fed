//! What to know about every result of a scenario: estimated links, shapers that a router cannot reach, and applications
//! that ask for more than the link has.

use gamelane_core::Direction;

use super::scenario::Scenario;
use super::source::Label;
use crate::Model;

impl Scenario {
    /// The caveats of the scenario as a whole. `model` is what [`Self::to_model`] made of it.
    pub fn caveats(&self, model: &Model) -> Vec<String> {
        let estimated = (self.link.provenance == Some(Label::Estimate)).then(|| {
            let title = self.link.title.as_deref().unwrap_or("the link");
            format!("some numbers of the link are estimates: {title}")
        });
        let guessed =
            self.flow.iter().filter(|flow| flow.enabled && flow.provenance == Some(Label::Estimate));
        let mut titles: Vec<&str> = guessed.map(|flow| flow.title.as_deref().unwrap_or(&flow.name)).collect();
        titles.dedup();
        let flows =
            (!titles.is_empty()).then(|| format!("some numbers are estimates: {}", titles.join("; ")));
        let presets = self.origin.expansion.caveats.iter().cloned();
        let short = Direction::BOTH.into_iter().filter_map(|direction| self.shortage(model, direction));
        estimated.into_iter().chain(flows).chain(presets).chain(short).collect()
    }

    /// Warns if the applications of a direction ask for more than the link has.
    fn shortage(&self, model: &Model, direction: Direction) -> Option<String> {
        let link = match direction {
            Direction::Up => self.link.up,
            Direction::Down => self.link.down,
        };
        let asked = offered_bps(model, direction);
        let has = link?.0.bps() as f64;
        (asked > has).then(|| {
            let way = if direction == Direction::Up { "upstream" } else { "downstream" };
            format!(
                "the applications ask for {:.1} Mbit/s {way}, and the link has {:.1} Mbit/s",
                asked / 1e6,
                has / 1e6
            )
        })
    }
}

/// The rate that all applications of a scenario ask for in a direction, in bit/s, without transfers.
pub fn offered_bps(model: &Model, direction: Direction) -> f64 {
    let each = model.flows.iter().map(|flow| flow.app.offered_bps(direction) * f64::from(flow.players));
    each.sum()
}
