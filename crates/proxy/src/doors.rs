//! Admits connections from outside by their source, so that no source can keep others out. A source is an IPv4 address or an IPv6
//! /64. [`Doors`] limits the number of connections in all and of each source. If a limit is reached, a newcomer takes the place of
//! the oldest connection that has proved nothing yet. [`LogLimit`] limits the lines that a flood writes. Both are pure: they take the
//! time as an argument and do no I/O. Their memory is bounded by the number of places.

use gamelane_core::{Duration, Instant};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};

/// An IPv4 address or an IPv6 /64: what one household or one machine has, and what an attacker gets cheaply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source(IpAddr);

impl From<IpAddr> for Source {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
            v4 => v4,
        })
    }
}

/// An admitted connection. A later one has a greater number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// Why a connection was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The source has its share, and all its connections have proved themselves.
    Share,
    /// All places are taken by connections that have proved themselves.
    Full,
}

/// The admitted connections. `H` is what the caller needs to close one.
#[derive(Debug)]
pub struct Doors<H> {
    total: usize,
    share: usize,
    next: u64,
    places: BTreeMap<Ticket, Place<H>>,
    sources: BTreeMap<Source, Holding>,
    /// Each source with a connection that can be evicted: the number of those connections, and the oldest. The last is evicted first.
    order: BTreeSet<(usize, Reverse<Ticket>)>,
}

#[derive(Debug)]
struct Place<H> {
    source: Source,
    handle: H,
}

#[derive(Debug, Default)]
struct Holding {
    places: usize,
    unproven: BTreeSet<Ticket>,
}

impl Holding {
    fn rank(&self) -> Option<(usize, Reverse<Ticket>)> {
        self.unproven.first().map(|oldest| (self.unproven.len(), Reverse(*oldest)))
    }
}

impl<H> Doors<H> {
    /// Doors for `total` connections, of which a source may have `share`.
    pub const fn new(total: usize, share: usize) -> Self {
        Self {
            total,
            share,
            next: 0,
            places: BTreeMap::new(),
            sources: BTreeMap::new(),
            order: BTreeSet::new(),
        }
    }

    /// Number of connections.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// True if there is no connection.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Number of sources that have a connection.
    pub fn sources(&self) -> usize {
        self.sources.len()
    }

    /// Admits a connection, and returns the handle of the connection that has to be closed for it. A source that is `trusted` may have
    /// more than its share.
    ///
    /// A source that has its share loses its own oldest connection. If all places are taken, the source with the most connections loses
    /// its oldest; the newcomer's source counts with the newcomer. Only connections that have not [proved](Self::prove) themselves
    /// count here and can be lost.
    pub fn admit(
        &mut self,
        source: Source,
        trusted: bool,
        handle: H,
    ) -> Result<(Ticket, Option<H>), Refused> {
        let holding = self.sources.get(&source);
        let own = holding.and_then(Holding::rank);
        let victim = if !trusted && holding.map_or(0, |it| it.places) >= self.share {
            Some(own.ok_or(Refused::Share)?)
        } else if self.places.len() >= self.total {
            let most = self.order.last().copied().ok_or(Refused::Full)?;
            Some(own.filter(|own| own.0 >= most.0).unwrap_or(most))
        } else {
            None
        };
        let evicted = victim.and_then(|(_, Reverse(ticket))| self.leave(ticket));
        let ticket = Ticket(self.next);
        self.next += 1;
        self.places.insert(ticket, Place { source, handle });
        self.change(source, |holding| {
            holding.places += 1;
            holding.unproven.insert(ticket);
        });
        Ok((ticket, evicted))
    }

    /// Notes that the connection has proved itself. It will not be evicted.
    pub fn prove(&mut self, ticket: Ticket) {
        if let Some(place) = self.places.get(&ticket) {
            self.change(place.source, |holding| {
                holding.unproven.remove(&ticket);
            });
        }
    }

    /// Removes a connection. `None` if it was evicted before.
    pub fn leave(&mut self, ticket: Ticket) -> Option<H> {
        let place = self.places.remove(&ticket)?;
        self.change(place.source, |holding| {
            holding.places -= 1;
            holding.unproven.remove(&ticket);
        });
        Some(place.handle)
    }

    fn change(&mut self, source: Source, how: impl FnOnce(&mut Holding)) {
        let holding = self.sources.entry(source).or_default();
        let before = holding.rank();
        how(holding);
        let after = holding.rank();
        if holding.places == 0 {
            self.sources.remove(&source);
        }
        if before != after {
            before.map(|rank| self.order.remove(&rank));
            self.order.extend(after);
        }
    }
}

/// Lets a few log lines through at once, then one a second.
#[derive(Debug)]
pub struct LogLimit {
    /// When the lines written so far would be paid for.
    paid_at: Instant,
    left_out: u64,
}

impl LogLimit {
    const BURST: u64 = 10;
    const EVERY: Duration = Duration::from_secs(1);

    /// A limit for lines from `now` on.
    pub const fn new(now: Instant) -> Self {
        Self { paid_at: now, left_out: 0 }
    }

    /// Returns the number of lines left out since the last one, if a line may be written now.
    pub fn line(&mut self, now: Instant) -> Option<u64> {
        let paid_at = self.paid_at.max(now).saturating_add(Self::EVERY);
        if paid_at.saturating_since(now) > Self::EVERY.saturating_mul(Self::BURST) {
            self.left_out += 1;
            return None;
        }
        self.paid_at = paid_at;
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn source(number: u8) -> Source {
        IpAddr::from([192, 0, 2, number]).into()
    }

    /// Admits an untrusted connection whose handle is its name, and returns its ticket and the name of the evicted.
    fn admit(
        doors: &mut Doors<&'static str>,
        from: u8,
        name: &'static str,
    ) -> Result<(Ticket, Option<&'static str>), Refused> {
        doors.admit(source(from), false, name)
    }

    #[test]
    fn a_source_is_an_ipv4_address_or_an_ipv6_network_of_64_bits() {
        let of = |text: &str| Source::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(of("2001:db8:1:2:3::4"), of("2001:db8:1:2:ffff::"));
        assert_ne!(of("2001:db8:1:2::"), of("2001:db8:1:3::"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    }

    #[test]
    fn a_source_with_its_share_loses_its_own_oldest() {
        let mut doors = Doors::new(10, 2);
        admit(&mut doors, 1, "other").unwrap();
        admit(&mut doors, 2, "first").unwrap();
        let (second, none) = admit(&mut doors, 2, "second").unwrap();
        assert_eq!(none, None);
        let (third, evicted) = admit(&mut doors, 2, "third").unwrap();
        assert_eq!(evicted, Some("first"));
        doors.prove(second);
        doors.prove(third);
        assert_eq!(admit(&mut doors, 2, "fourth").unwrap_err(), Refused::Share);
        assert_eq!(doors.len(), 3);
    }

    #[test]
    fn a_trusted_source_may_have_more_than_its_share() {
        let mut doors = Doors::new(3, 1);
        for name in ["a", "b", "c"] {
            assert_eq!(doors.admit(source(1), true, name).unwrap().1, None);
        }
        assert_eq!(doors.admit(source(1), true, "d").unwrap().1, Some("a"));
    }

    #[test]
    fn when_all_places_are_taken_the_source_with_the_most_loses_its_oldest() {
        let mut doors = Doors::new(5, 5);
        admit(&mut doors, 1, "carrier").unwrap();
        admit(&mut doors, 2, "b1").unwrap();
        for name in ["c1", "c2", "c3"] {
            admit(&mut doors, 3, name).unwrap();
        }
        assert_eq!(admit(&mut doors, 4, "newcomer").unwrap().1, Some("c1"));
        assert_eq!(admit(&mut doors, 3, "c4").unwrap().1, Some("c2"), "it does not gain by coming again");
        assert_eq!(admit(&mut doors, 5, "another").unwrap().1, Some("c3"));
        // Now everyone has one: the oldest goes.
        assert_eq!(admit(&mut doors, 6, "last").unwrap().1, Some("carrier"));
    }

    #[test]
    fn the_proven_are_never_evicted() {
        let mut doors = Doors::new(3, 3);
        for name in ["a", "b", "c"] {
            let (ticket, _) = admit(&mut doors, 1, name).unwrap();
            doors.prove(ticket);
        }
        assert_eq!(admit(&mut doors, 2, "d").unwrap_err(), Refused::Full);
        assert_eq!(doors.len(), 3);
    }

    #[test]
    fn log_lines_come_in_a_burst_and_then_one_a_second() {
        let at = |ms| Instant::from_millis(ms);
        let mut limit = LogLimit::new(at(0));
        let written = (0..2000).filter(|ms| limit.line(at(*ms)).is_some()).count();
        assert_eq!(written, 11);
        assert_eq!(limit.line(at(2000)), Some(999));
        assert_eq!(limit.line(at(2001)), None);
        assert_eq!(limit.line(at(60_000)), Some(1));
        assert_eq!((0..20).filter(|_| limit.line(at(60_000)).is_some()).count(), 9);
    }

    /// Follows the same rules by searching through a list. The property test compares both.
    #[derive(Default)]
    struct Reference(Vec<(u64, Source, bool)>);

    impl Reference {
        fn held(&self, source: Source) -> usize {
            self.0.iter().filter(|it| it.1 == source).count()
        }

        fn unproven(&self, source: Source) -> usize {
            self.0.iter().filter(|it| it.1 == source && !it.2).count()
        }

        fn admit(
            &mut self,
            number: u64,
            source: Source,
            trusted: bool,
            limits: (usize, usize),
        ) -> Result<Option<u64>, Refused> {
            let oldest = |of: Source| self.0.iter().find(|it| it.1 == of && !it.2).map(|it| it.0);
            let victim = if !trusted && self.held(source) >= limits.1 {
                Some(oldest(source).ok_or(Refused::Share)?)
            } else if self.0.len() >= limits.0 {
                let most = self.0.iter().map(|it| self.unproven(it.1)).max().unwrap_or(0);
                let candidates = self.0.iter().filter(|it| !it.2 && self.unproven(it.1) == most);
                let one = candidates.map(|it| it.0).min().ok_or(Refused::Full)?;
                Some(oldest(source).filter(|_| self.unproven(source) >= most).unwrap_or(one))
            } else {
                None
            };
            self.0.retain(|it| Some(it.0) != victim);
            self.0.push((number, source, false));
            Ok(victim)
        }
    }

    proptest! {
        #[test]
        fn any_sequence_does_what_a_search_through_all_would(
            total in 1_usize..12,
            share in 1_usize..6,
            operations in prop::collection::vec((0_u8..4, 0_u8..6, any::<bool>(), 0_usize..12), 0..200),
        ) {
            let (mut doors, mut reference) = (Doors::new(total, share), Reference::default());
            let mut tickets = BTreeMap::new();
            for (number, (what, from, trusted, which)) in operations.into_iter().enumerate() {
                let number = number as u64;
                let chosen = reference.0.get(which).map(|it| it.0);
                match (what, chosen) {
                    (0, Some(chosen)) => {
                        doors.prove(tickets[&chosen]);
                        reference.0[which].2 = true;
                    }
                    (1, Some(chosen)) => {
                        prop_assert_eq!(doors.leave(tickets[&chosen]), Some(chosen));
                        prop_assert_eq!(doors.leave(tickets[&chosen]), None);
                        reference.0.remove(which);
                    }
                    _ => {
                        let admitted = doors.admit(source(from), trusted, number);
                        let expected = reference.admit(number, source(from), trusted, (total, share));
                        prop_assert_eq!(admitted.map(|it| it.1), expected);
                        if let Ok((ticket, _)) = admitted {
                            tickets.insert(number, ticket);
                        }
                    }
                }
                prop_assert_eq!(doors.len(), reference.0.len());
                prop_assert!(doors.len() <= total);
                let sources: BTreeSet<_> = reference.0.iter().map(|it| it.1).collect();
                prop_assert_eq!(doors.sources(), sources.len());
                prop_assert!(doors.order.len() <= doors.sources());
            }
        }
    }
}
