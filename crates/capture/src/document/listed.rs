//! Keeps the reports of the flows that are listed one by one, and adds up all games.

use std::collections::BTreeMap;

use crate::analysis::{FlowReport, Game, Games, Kind};

/// At most 1,000 flows: games before others, then those with the most packets.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// Reports in the order in which they are left out. A report has 1 KiB, and the map moves its values.
    flows: BTreeMap<Rank, Box<FlowReport>>,
    pub(super) left_out: LeftOut,
    pub(super) games: Games,
    /// All flows by number, for a comparison of two captures. `None` for one capture.
    pub(super) each: Option<BTreeMap<u32, Game>>,
}

/// True for a game, number of packets, number of the flow counted down.
type Rank = (bool, u64, u32);

/// Flows that are not listed.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize, serde::Serialize)]
pub(crate) struct LeftOut {
    pub(crate) flows: u64,
    pub(crate) games: u64,
    packets: u64,
    bytes: u64,
}

impl Listed {
    /// For one of two captures that are compared.
    pub(super) fn of_two() -> Self {
        Self { each: Some(BTreeMap::new()), ..Self::default() }
    }

    /// Takes the report of a flow.
    pub(super) fn add(&mut self, report: FlowReport) {
        let game = Game::of(&report);
        self.games.add(&game);
        if let Some(each) = &mut self.each {
            each.insert(report.flow, game);
        }
        let rank = (game.kind != Kind::Other, report.packets(), u32::MAX - report.flow);
        if self.flows.len() < LISTED {
            self.flows.insert(rank, Box::new(report));
            return;
        }
        let Some(least) = self.flows.first_entry().filter(|least| *least.key() < rank) else {
            return self.left_out.add(&report, game.kind);
        };
        let least = least.remove();
        self.left_out.add(&least, least.kind());
        self.flows.insert(rank, Box::new(report));
    }

    /// Takes the reports, in order of their flows.
    #[expect(clippy::vec_box, reason = "each is freed as soon as it is summarised")]
    pub(super) fn take(&mut self) -> Vec<Box<FlowReport>> {
        let mut reports: Vec<Box<FlowReport>> = std::mem::take(&mut self.flows).into_values().collect();
        reports.sort_unstable_by_key(|report| report.flow);
        reports
    }
}

impl LeftOut {
    fn add(&mut self, report: &FlowReport, kind: Kind) {
        self.flows += 1;
        self.games += u64::from(kind != Kind::Other);
        self.packets += report.packets();
        self.bytes += report.directions.iter().map(|direction| direction.bytes).sum::<u64>();
    }
}

/// Flows listed one by one; the rest is summed up.
pub(super) const LISTED: usize = 1000;
