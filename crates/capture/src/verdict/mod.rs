//! Explains in words what happened to the games of a capture: which packets were late or lost, and why. The headline is
//! about all games, from the sums of the document. Sentences follow for the games that suffered most.

mod headline;
mod sentence;
mod words;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::analysis::Kind;
use crate::blame::{Blame, Sure, Who};
use crate::document::{Captured, Paired, Sums};
use crate::facts::{self, Conversation};

/// `verdict` of the document.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Verdict {
    /// `None` for captures that are neither one nor compared.
    pub(crate) blame: Option<Blame>,
    /// In words; `None` if there is nothing to be sure of.
    pub(crate) how_sure: Option<Cow<'static, str>>,
    pub(crate) headline: String,
    pub(crate) games: Vec<Described>,
    pub(crate) not_described: u64,
}

/// A game, and what happened to it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Described {
    pub(crate) capture: usize,
    pub(crate) flow: u32,
    kind: Kind,
    pub(crate) text: String,
}

impl Verdict {
    /// Judges the captures. With `pair`, there are two, which were compared.
    pub(crate) fn of(captures: &[Captured], pair: Option<&Paired>, blame: Option<Blame>) -> Self {
        let mut games = facts::conversations(captures, pair);
        games.retain(Conversation::is_game);
        let headline = headline::headline(captures, pair, &games);
        let mut games: Vec<_> = games.into_iter().enumerate().collect();
        // The games that suffered most, in the order of the captures.
        games.sort_by(|(_, a), (_, b)| b.trouble().behind_ms().total_cmp(&a.trouble().behind_ms()));
        games.truncate(DESCRIBED);
        games.sort_by_key(|(place, _)| *place);
        let described = games.iter().map(|(_, game)| Described {
            capture: game.place().0,
            flow: game.place().1,
            kind: game.kind,
            text: sentence::sentence(game),
        });
        let all = pair.map_or_else(
            || total(&captures.iter().map(|capture| &capture.games).collect::<Vec<_>>(), Sums::count),
            |pair| pair.games.sums.count() + pair.games.only_in.iter().sum::<u64>(),
        );
        Self {
            how_sure: blame.as_ref().and_then(how_sure).map(Cow::Borrowed),
            blame,
            headline,
            not_described: all.saturating_sub(games.len() as u64),
            games: described.collect(),
        }
    }
}

/// A judgement that names no culprit says itself what it does not know.
fn how_sure(blame: &Blame) -> Option<&'static str> {
    match (blame.who, blame.sure) {
        (Who::Unknown, _) | (Who::Nobody, Sure::Guess) => None,
        (_, Sure::Certain) => Some("This is certain."),
        (_, Sure::Likely) => Some("This is likely."),
        (_, Sure::Guess) => Some("This is a guess."),
    }
}

fn total(sums: &[&Sums], of: impl Fn(&Sums) -> u64) -> u64 {
    sums.iter().map(|each| of(each)).sum()
}

/// Receivers of the directions.
const PLAYERS: [&str; 2] = ["server", "player"];
/// The same if one of them may be a caller, who is no player.
const CALLERS: [&str; 2] = ["server", "client"];
/// Most games with a sentence of their own.
const DESCRIBED: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Choice, read, read_two};

    /// Games over TCP at both ends of a path with losses: 203 stalls, the longest 804 ms.
    fn both_ends() -> (Vec<Captured>, Option<Paired>) {
        let path =
            |end| format!("{}/../../tests/captures/thin-tcp-wan-{end}.pcapng.gz", env!("CARGO_MANIFEST_DIR"));
        read_two([&path("srv"), &path("cli")], &Choice::default(), [&mut (), &mut ()])
    }

    #[test]
    fn stalls_without_lag_are_told() {
        let (captures, pair) = both_ends();
        let mut pair = pair.unwrap();
        for way in [&mut pair.games.sums.tcp.up, &mut pair.games.sums.tcp.down] {
            way.lag_ms.0 = [0.0; 5];
        }
        let headline = Verdict::of(&captures, Some(&pair), None).headline;
        assert!(headline.contains("299 retransmissions; 203 stalls, the longest 804 ms."), "{headline}");
    }

    #[test]
    fn what_cannot_be_counted_is_not_called_lost() {
        let (captures, pair) = both_ends();
        let mut pair = pair.unwrap();
        let flow = &mut pair.flows[0];
        (flow.down.sent, flow.down.lost, flow.down.delivery) = (None, None, None);
        flow.up.undecided = Some(3);
        let text = &Verdict::of(&captures, Some(&pair), None).games[0].text;
        let down = "To the player: 35 of 1,984 data packets retransmitted, an estimated 1.7 % lost. Lag until the ack";
        assert!(
            text.contains(down) && text.contains("46 of 2,645 lost (3 more may still be under way)"),
            "{text}"
        );
    }

    #[test]
    fn a_judgement_says_how_sure_it_is_if_there_is_something_to_be_sure_of() {
        let said = |who, sure| {
            how_sure(&Blame { who, sure, text: String::new(), because: Vec::new(), advice: Vec::new() })
        };
        assert_eq!(said(Who::Wifi, Sure::Guess), Some("This is a guess."));
        assert_eq!(said(Who::Nobody, Sure::Likely), Some("This is likely."));
        assert_eq!([said(Who::Nobody, Sure::Guess), said(Who::Unknown, Sure::Guess)], [None; 2]);
    }

    #[test]
    fn nothing_is_said_of_an_empty_capture() {
        let none = read("none", &[], &Choice::default(), &mut ()).unwrap();
        assert_eq!(Verdict::of(&[none], None, None).headline, "The capture has no TCP or UDP conversation.");
    }
}
