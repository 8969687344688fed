//! Applications that are known by name: the ports and domains of their servers, and what they send. The table comes from
//! outside, because this crate reads no models.

use std::fmt;
use std::ops::RangeInclusive;

use gamelane_core::Protocol;

use super::server_name::ServerName;
use crate::analysis::{FlowReport, Kind, TransportReport, Updates};

/// All known applications.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// In any order; their names differ.
    pub applications: Vec<KnownApplication>,
}

/// An application.
#[derive(Clone, Debug)]
pub struct KnownApplication {
    /// Its name, one word. Variants of one application begin alike, for example `netflix` and `netflix-4k`.
    pub name: String,
    /// What it is.
    pub group: Group,
    /// Ports of its servers.
    pub ports: Vec<Ports>,
    /// Domains of its servers.
    pub domains: Vec<String>,
    /// What it sends to the server and to the client; `None` if that is not known.
    pub sends: Option<[Sends; 2]>,
}

/// What an application is, as far as signatures can tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// A game that sends small messages.
    Game,
    /// Audio or video in real time: a call, a cloud game.
    Media,
    /// Anything else: a video, a download.
    Other,
}

/// Ports of servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports {
    /// TCP or UDP.
    pub protocol: Protocol,
    /// Port numbers.
    pub range: RangeInclusive<u16>,
}

/// What one side sends in the middle of a game.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sends {
    /// Messages per second.
    pub per_second: f64,
    /// Mean payload in bytes.
    pub payload_bytes: f64,
}

impl Known {
    /// Applications with a server of this name.
    pub(super) fn of_domain<'a>(
        &'a self,
        name: &'a ServerName,
    ) -> impl Iterator<Item = &'a KnownApplication> {
        self.applications.iter().filter(|known| known.domains.iter().any(|domain| name.is_in(domain)))
    }

    /// Applications with a server on this port, and whether the port says something.
    pub(super) fn on_port(
        &self,
        protocol: Protocol,
        port: u16,
    ) -> impl Iterator<Item = (&KnownApplication, bool)> {
        self.applications.iter().filter_map(move |known| {
            let own =
                known.ports.iter().filter(|ports| ports.protocol == protocol && ports.range.contains(&port));
            let tells: Vec<bool> = own.map(|ports| !COMMON.contains(&port) && ports.are_telling()).collect();
            (!tells.is_empty()).then(|| (known, tells.contains(&true)))
        })
    }
}

impl KnownApplication {
    /// Whether a flow on one of its ports behaves like it. `None` if that cannot be told. `is_media` is true if signatures
    /// show audio or video in real time.
    pub(super) fn agrees(&self, report: &FlowReport, is_media: bool) -> Option<bool> {
        let is_long = report.last_ns - report.first_ns >= LONG_NS;
        match (&report.transport, self.group) {
            (TransportReport::Udp { updates, .. }, Group::Game) => {
                let sends = self.sends.as_ref().filter(|_| is_long)?;
                let ways = (0..2)
                    .map(|n| sends[n].agrees(&report.directions[n].sizes.mean(), updates[n].as_ref(), n));
                Some(ways.collect::<Option<Vec<bool>>>()?.iter().all(|agrees| *agrees))
            }
            (TransportReport::Tcp(_), Group::Game) => is_long.then(|| report.kind() == Kind::ThinTcp),
            (_, Group::Media) => (is_media || report.kind() == Kind::Voice).then_some(true),
            (_, Group::Other) => None,
        }
    }
}

impl Sends {
    /// Compares the pace and the mean size of a direction: 0 to the server, 1 to the client.
    fn agrees(
        &self,
        payload_bytes: &Option<f64>,
        updates: Option<&Updates>,
        direction: usize,
    ) -> Option<bool> {
        let per_second = 1e9 / updates?.tick_ns;
        let is_near = |ratio: f64, most: f64| ratio <= most && ratio.recip() <= most;
        Some(
            is_near(per_second / self.per_second, RATE[direction])
                && is_near((*payload_bytes)? / self.payload_bytes, SIZE),
        )
    }
}

impl Ports {
    /// A narrow range tells something. From 32768 on, systems choose ports for clients, so only a very narrow one does.
    fn are_telling(&self) -> bool {
        let width = self.range.end().saturating_sub(*self.range.start());
        width < if *self.range.start() < EPHEMERAL { WIDE } else { NARROW }
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Game => "game",
            Self::Media => "media",
            Self::Other => "other",
        })
    }
}

/// What the applications have in common: their name, or its words before the last `-`. `None` if nothing.
pub(super) fn shared_name(applications: &[&KnownApplication]) -> Option<String> {
    let (first, others) = applications.split_first()?;
    let mut name = first.name.as_str();
    loop {
        let has_name = |other: &&&KnownApplication| {
            other.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        if others.iter().filter(has_name).count() == others.len() {
            return Some(name.to_owned());
        }
        name = name.rsplit_once('-')?.0;
    }
}

/// Ports of many applications: DNS, HTTP, NTP, STUN and TURN, Xbox Live.
const COMMON: [u16; 13] = [53, 80, 88, 123, 443, 500, 3074, 3478, 3479, 3480, 3481, 8080, 8443];
/// Linux chooses ports from here on for clients.
const EPHEMERAL: u16 = 32_768;
/// Ports of a range that tells nothing.
const WIDE: u16 = 1024;
/// The same among the ports of clients.
const NARROW: u16 = 16;
/// Time that a game needs to show its pace.
const LONG_NS: u64 = 3_000_000_000;
/// Largest ratio of the rate to that of the model. A server's tick is exact: 64 a second are not 66.7. A client's rate
/// follows its frames.
const RATE: [f64; 2] = [1.5, 1.03];
/// Largest ratio of the mean size to that of the model: players and maps differ, and many sizes are estimates.
const SIZE: f64 = 2.5;

#[cfg(test)]
mod tests {
    use super::*;

    fn application(name: &str, ports: RangeInclusive<u16>) -> KnownApplication {
        let ports = vec![Ports { protocol: Protocol::Udp, range: ports }];
        KnownApplication { name: name.into(), group: Group::Game, ports, domains: vec![], sends: None }
    }

    #[test]
    fn variants_share_the_name_of_their_application() {
        let shared = |names: &[&str]| {
            let all: Vec<_> = names.iter().map(|name| application(name, 1..=1)).collect();
            shared_name(&all.iter().collect::<Vec<_>>())
        };
        assert_eq!(shared(&["netflix-4k", "netflix"]), Some("netflix".into()));
        assert_eq!(shared(&["ps-remote", "ps-remote-away"]), Some("ps-remote".into()));
        assert_eq!(shared(&["gfn-1080p", "gfn-4k"]), Some("gfn".into()));
        assert_eq!(shared(&["zoom-1to1"]), Some("zoom-1to1".into()));
        assert_eq!((shared(&["cs2", "dota2"]), shared(&["net", "netflix"]), shared(&[])), (None, None, None));
    }

    #[test]
    fn ordinary_ports_and_wide_ranges_tell_nothing() {
        let applications = vec![
            application("a", 7000..=7500),
            application("b", 7000..=9000),
            application("c", 49_152..=65_535),
            application("d", 49_003..=49_006),
            application("e", 443..=443),
        ];
        let known = Known { applications };
        let on = |port| {
            known.on_port(Protocol::Udp, port).map(|(of, tells)| (&*of.name, tells)).collect::<Vec<_>>()
        };
        assert_eq!(on(7100), [("a", true), ("b", false)]);
        assert_eq!(
            (on(50_000), on(49_003), on(443)),
            (vec![("c", false)], vec![("d", true)], vec![("e", false)])
        );
        assert_eq!(known.on_port(Protocol::Tcp, 7100).count(), 0);
    }
}
