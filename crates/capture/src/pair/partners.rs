//! Finds, for each flow of the first capture, the flow of the second that is the same conversation: by addresses, or
//! else by packet contents. The contents find flows whose addresses are translated between the points (NAT). They also
//! separate flows that used the same addresses one after the other.

use std::collections::BTreeMap;

use gamelane_core::FlowKey;

use super::matching::by_content;
use super::sightings::{Seen, Sighting, Sightings};

/// A flow at both points.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partners<'a> {
    pub(super) first: &'a Sightings,
    pub(super) second: &'a Sightings,
    /// True if the second capture has client and server exchanged.
    crossed: bool,
}

impl<'a> Partners<'a> {
    /// Returns the second capture's number of a direction of the first.
    pub(super) const fn in_second(&self, direction: usize) -> usize {
        if self.crossed { 1 - direction } else { direction }
    }

    /// Packets of a direction at the first and at the second point.
    pub(super) fn packets(&self, direction: usize) -> [&'a [Sighting]; 2] {
        [&self.first.directions[direction], &self.second.directions[self.in_second(direction)]]
    }
}

/// Returns the flows that both captures have, in the order of the first.
pub(super) fn partners<'a>(first: &'a Seen, second: &'a Seen) -> Vec<Partners<'a>> {
    let (ours, theirs) = (first.flows(), second.flows());
    let [our_places, their_places] = [ours, theirs].map(by_address);
    let mut taken = vec![false; theirs.len()];
    // Partner of each of our flows, and whether it is crossed.
    let mut partner: Vec<Option<(usize, bool)>> = vec![None; ours.len()];
    for (key, places) in &our_places {
        if let (&[our], Some(&[their])) = (&places[..], their_places.get(key).map(Vec::as_slice)) {
            partner[our] = Some((their, theirs[their].key != ours[our].key));
            taken[their] = true;
        }
    }
    for ((our, their, crossed), _) in votes(ours, theirs, &partner, &taken) {
        if partner[our].is_none() && !taken[their] {
            partner[our] = Some((their, crossed));
            taken[their] = true;
        }
    }
    // Flows without unique contents: those with the same addresses are matched in order.
    for (key, places) in &our_places {
        let mut left = their_places.get(key).into_iter().flatten().filter(|&&their| !taken[their]);
        for &our in places {
            if partner[our].is_none() {
                partner[our] = left.next().map(|&their| (their, theirs[their].key != ours[our].key));
            }
        }
    }
    let both = ours.iter().zip(partner);
    both.filter_map(|(first, partner)| {
        partner.map(|(their, crossed)| Partners { first, second: &theirs[their], crossed })
    })
    .collect()
}

/// Indices of the flows with the same addresses and ports, in either direction.
fn by_address(flows: &[Sightings]) -> BTreeMap<FlowKey, Vec<usize>> {
    let mut places: BTreeMap<FlowKey, Vec<usize>> = BTreeMap::new();
    for (place, flow) in flows.iter().enumerate() {
        places.entry(flow.key.min(flow.key.reverse())).or_default().push(place);
    }
    places
}

/// Index of a flow of the first capture, index of one of the second, and whether client and server are exchanged.
type Candidate = (usize, usize, bool);

/// Counts, for flows without a partner, the contents that occur once in each capture. Returns the candidates where
/// these are at least half of the smaller flow's packets; the candidates with the most come first.
fn votes(
    ours: &[Sightings],
    theirs: &[Sightings],
    partner: &[Option<(usize, bool)>],
    taken: &[bool],
) -> Vec<(Candidate, usize)> {
    let ours_left = ours.iter().enumerate().filter(|&(place, _)| partner[place].is_none());
    let theirs_left = theirs.iter().enumerate().filter(|&(place, _)| !taken[place]);
    let (ours_left, theirs_left) = (contents(ours_left), contents(theirs_left));
    let mut votes: BTreeMap<Candidate, usize> = BTreeMap::new();
    let mut at = 0;
    for group in ours_left.chunk_by(|a, b| a.0 == b.0) {
        at += theirs_left[at..].partition_point(|other| other.0 < group[0].0);
        let same = theirs_left[at..].partition_point(|other| other.0 == group[0].0);
        if let (&[(_, our, one)], &[(_, their, other)]) = (group, &theirs_left[at..at + same]) {
            *votes.entry((our, their, one != other)).or_default() += 1;
        }
    }
    let packets = |flow: &Sightings| flow.directions.iter().map(Vec::len).sum::<usize>();
    let enough = |&((our, their, _), shared): &(Candidate, usize)| {
        shared * 2 >= packets(&ours[our]).min(packets(&theirs[their]))
    };
    let mut votes: Vec<(Candidate, usize)> = votes.into_iter().filter(enough).collect();
    votes.sort_by_key(|&(_, shared)| std::cmp::Reverse(shared));
    votes
}

/// Content, flow and direction of the packets of `flows`, sorted.
fn contents<'a>(flows: impl Iterator<Item = (usize, &'a Sightings)>) -> Vec<(u64, usize, usize)> {
    let mut contents: Vec<(u64, usize, usize)> = flows
        .flat_map(|(place, flow)| {
            flow.directions.iter().enumerate().flat_map(move |(direction, packets)| {
                by_content(packets).into_iter().map(move |(content, _)| (content, place, direction))
            })
        })
        .collect();
    contents.sort_unstable();
    contents
}
