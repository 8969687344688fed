//! What a rule tests in a packet, as nftables can. A condition that holds for either of two things becomes two rules.

use core::net::IpAddr;

use gamelane_core::headers::{IPV4_HEADER_MAX, IPV6_HEADER, TCP_HEADER_MAX};
use gamelane_core::{Direction, FlowKey, Protocol};
use gamelane_qdisc::classify::{Behaviour, Conditions, Prefix, Rule, Span};

use super::refused::Refused;

/// A test of one packet.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// It did not come in by this interface.
    NotFrom(String),
    /// Version of IP: 4 or 6.
    Version(u8),
    /// IP protocol.
    Protocol(Protocol),
    /// An address.
    Address(End, Prefix),
    /// A port of TCP or UDP.
    Port(End, Span<u16>),
    /// Code point, in this version of IP.
    Dscp(u8, Span<u8>),
    /// The length in the header of this version of IP. That of IPv6 leaves out the header of 40 B.
    Length(u8, Span<u16>),
    /// TCP flags: ACK alone, but for those of ECN.
    AckAlone,
    /// Its flow, of this version of IP and in this direction, is in the set of games ([`GameSet`]).
    Game(u8, Direction),
}

/// The set of flows that behave like a game or a call, of one version of IP. The program fills it while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GameSet(pub u8);

impl GameSet {
    /// Name in the table.
    pub const fn name(self) -> &'static str {
        if self.0 == 4 { "games4" } else { "games6" }
    }

    /// An element: address and port at home, those of the other end, protocol. Each is filled up to four bytes. `None` for a flow of
    /// the other version.
    pub fn element(self, flow: &FlowKey) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        for end in [flow.source, flow.destination] {
            match (self.0, end.ip()) {
                (4, IpAddr::V4(address)) => bytes.extend(address.octets()),
                (6, IpAddr::V6(address)) => bytes.extend(address.octets()),
                _ => return None,
            }
            bytes.extend(end.port().to_be_bytes());
            bytes.extend([0; 2]);
        }
        bytes.extend([flow.protocol.number(), 0, 0, 0]);
        Some(bytes)
    }

    /// Bytes of an address.
    pub const fn address_len(self) -> u32 {
        if self.0 == 4 { 4 } else { 16 }
    }
}

/// An end of a packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where it comes from.
    Source,
    /// Where it goes.
    Destination,
}

/// Returns the tests for each alternative of a rule; none if it is for the other direction.
///
/// # Errors
/// A condition that no single packet shows.
pub fn tests(rule: &Rule, direction: Direction) -> Result<Vec<Vec<Test>>, Refused> {
    let when = &rule.when;
    if when.direction.is_some_and(|only| only != direction) {
        return Ok(Vec::new());
    }
    refuse_unseen(rule)?;
    let mut found = vec![Vec::new()];
    let is_by_version =
        when.dscp.is_some() || when.len.is_some() || when.pure_ack == Some(true) || when.behaviour.is_some();
    let versions = match ends(when).find_map(|(_, prefix)| prefix) {
        Some(prefix) => vec![version_of(prefix.address)],
        None if is_by_version => vec![4, 6],
        None => Vec::new(),
    };
    either(&mut found, versions.iter().map(|version| Test::Version(*version)).collect());
    let has_ports = [when.source_port, when.destination_port, when.port].iter().any(Option::is_some);
    let protocols = match when.protocol {
        Some(protocol) => vec![protocol],
        None if when.pure_ack == Some(true) => vec![Protocol::Tcp],
        None if has_ports => vec![Protocol::Tcp, Protocol::Udp],
        None => Vec::new(),
    };
    either(&mut found, protocols.into_iter().map(Test::Protocol).collect());
    for (at, prefix) in ends(when).filter_map(|(at, prefix)| Some((at, prefix?))) {
        either(&mut found, at.iter().map(|end| Test::Address(*end, prefix)).collect());
    }
    let ports = [
        (&[End::Source][..], when.source_port),
        (&[End::Destination], when.destination_port),
        (&BOTH, when.port),
    ];
    for (at, span) in ports.into_iter().filter_map(|(at, span)| Some((at, span?))) {
        either(&mut found, at.iter().map(|end| Test::Port(*end, span)).collect());
    }
    for tests in &mut found {
        let Some(Test::Version(version)) = tests.first().cloned() else { continue };
        tests.extend(when.dscp.map(|span| Test::Dscp(version, span)));
        tests.extend(when.behaviour.map(|_| Test::Game(version, direction)));
        let leaves_out = if version == 6 { IPV6_HEADER } else { 0 };
        let field = |len: u32| len.saturating_sub(leaves_out).min(u32::from(u16::MAX)) as u16;
        if let Some(span) = when.len {
            tests.push(Test::Length(version, Span { low: field(span.low.0), high: field(span.high.0) }));
        }
        if when.pure_ack == Some(true) {
            // Headers with all options. A longer segment must hold data; a shorter one may hold some, too.
            let longest = TCP_HEADER_MAX + if leaves_out == 0 { IPV4_HEADER_MAX } else { 0 };
            tests.extend([Test::Length(version, Span { low: 0, high: longest as u16 }), Test::AckAlone]);
        }
    }
    Ok(found)
}

/// Refuses conditions on the past of a flow but for the one that the program looks after, and those that need more than one packet's
/// headers.
fn refuse_unseen(rule: &Rule) -> Result<(), Refused> {
    let when = &rule.when;
    let unseen = [
        (
            when.behaviour.is_some_and(|behaviour| behaviour != Behaviour::RealTime),
            "that a flow does not behave like a game",
        ),
        (when.rate.is_some(), "the rate of a flow"),
        (when.gap_deviation_percent.is_some(), "the rhythm of a flow"),
        (when.pure_ack == Some(false), "that a packet is no pure ACK"),
    ];
    match unseen.into_iter().find(|(asked, _)| *asked) {
        None => Ok(()),
        Some((_, what)) => {
            let why = format!("the rule `{}` needs {what}, and nftables cannot see that", rule.name);
            Err(Refused::new("gateway.rule", why).or("name ports, addresses or a DSCP in a [[gateway.rule]]"))
        }
    }
}

/// Combines each alternative found so far with each new one. An empty list changes nothing.
fn either(found: &mut Vec<Vec<Test>>, alternatives: Vec<Test>) {
    if !alternatives.is_empty() {
        let with = |tests: &Vec<Test>| {
            alternatives
                .iter()
                .map(|one| [&tests[..], std::slice::from_ref(one)].concat())
                .collect::<Vec<_>>()
        };
        *found = found.iter().flat_map(with).collect();
    }
}

fn ends(when: &Conditions) -> impl Iterator<Item = (&'static [End], Option<Prefix>)> {
    [(&[End::Source][..], when.source), (&[End::Destination], when.destination), (&BOTH, when.address)]
        .into_iter()
}

const fn version_of(address: IpAddr) -> u8 {
    if address.is_ipv4() { 4 } else { 6 }
}

const BOTH: [End; 2] = [End::Source, End::Destination];
