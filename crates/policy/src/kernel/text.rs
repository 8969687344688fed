//! Operations as lines of `ip`, `tc` and `nft`. They can be pasted into a shell of root.

use core::fmt::{self, Write as _};

use gamelane_core::{Direction, Duration, Overhead, Protocol};
use gamelane_qdisc::AckFilterMode;
use gamelane_qdisc::cake::config::Isolation;
use gamelane_qdisc::cake::diffserv::Diffserv;
use gamelane_qdisc::classify::Span;

use super::framing::{Bytes, SizeTable};
use super::operation::{
    Cake, Chain, Class, DualPi2, Family, Handle, Htb, Operation, Options, Qdisc, Share, Table, TableName,
    micros,
};
use super::place::Place;
use super::test::{End, GameSet, Test};

/// The line or lines of each operation, in order.
pub fn lines(operations: &[Operation]) -> Vec<String> {
    let mut found = Vec::new();
    for operation in operations {
        if let Operation::Class(Class { name, handle, .. }) = operation {
            found.push(format!("# class {handle}: {name}"));
        }
        found.extend(operation.to_string().lines().map(str::to_owned));
    }
    found
}

/// Matches every packet. More kernels have `u32` than `matchall`.
const EVERYTHING: &str = "u32 match u32 0 0";

/// Lines that undo whatever a gateway set up at a place, each whether or not there is something to undo. They leave alone what others
/// set up.
pub fn undo(place: &Place) -> Vec<String> {
    let Place { lan, wan, ifb, forwards, .. } = place;
    // The number keeps another's queue from being deleted.
    let (quiet, own) = ("2>/dev/null", Handle::OWN);
    vec![
        format!("ip link show {ifb} >/dev/null 2>&1 && tc qdisc del dev {wan} ingress {quiet}"),
        format!("tc qdisc del dev {wan} root handle {own} {quiet}"),
        format!("tc qdisc del dev {lan} root handle {own} {quiet}"),
        format!("ip link del {ifb} {quiet}"),
        format!("nft delete table {} {quiet}", TableName::of(forwards.family(), wan)),
    ]
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ifb { name } => write!(f, "ip link add {name} type ifb\nip link set {name} up"),
            Self::Qdisc(qdisc) => qdisc.fmt(f),
            Self::Class(class) => class.fmt(f),
            Self::Redirect { from, to } => write!(
                f,
                "tc filter add dev {from} parent ffff: protocol all pref 1 {EVERYTHING} action mirred egress redirect dev {to}"
            ),
            Self::Rest { device, parent, class } => {
                write!(
                    f,
                    "tc filter add dev {device} parent {parent} protocol all pref 1 {EVERYTHING} classid {class}"
                )
            }
            Self::Table(table) => table.fmt(f),
        }
    }
}

impl fmt::Display for Qdisc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, parent, handle, sizes, options } = self;
        write!(f, "tc qdisc replace dev {device} ")?;
        match *parent {
            Handle::ROOT => write!(f, "root handle {handle}")?,
            // `tc` knows its number.
            Handle::INGRESS => return write!(f, "ingress"),
            _ => write!(f, "parent {parent} handle {handle}")?,
        }
        if let Some(sizes) = sizes {
            sizes.fmt(f)?;
        }
        write!(f, " {options}")
    }
}

impl fmt::Display for SizeTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { overhead, least, atm } = *self;
        write!(f, " stab linklayer {} overhead {overhead}", if atm { "atm" } else { "ethernet" })?;
        if least > 0 {
            write!(f, " mpu {least}")?;
        }
        if self.entries().is_some() {
            write!(f, " mtu {} tsize {}", Self::ENTRIES - 1, Self::ENTRIES)?;
        }
        Ok(())
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind())?;
        let us = |time: &Duration| format!("{}us", micros(*time));
        let ecn = |on: &bool| if *on { "ecn" } else { "noecn" };
        match self {
            Self::Pfifo { limit } => write!(f, " limit {limit}"),
            Self::Bfifo { bytes } => write!(f, " limit {bytes}"),
            Self::Codel { limit, target, interval, ecn: on } => {
                write!(f, " limit {limit} target {} interval {} {}", us(target), us(interval), ecn(on))
            }
            Self::Pie { limit, target, update, ecn: on } => {
                write!(f, " limit {limit} target {} tupdate {} {}", us(target), us(update), ecn(on))
            }
            Self::FqCodel { limit, flows, quantum, target, interval, ecn: on } => write!(
                f,
                " limit {limit} flows {flows} quantum {quantum} target {} interval {} {}",
                us(target),
                us(interval),
                ecn(on)
            ),
            Self::FqPie { limit, flows, quantum, target, update, ecn: on } => write!(
                f,
                " limit {limit} flows {flows} quantum {quantum} target {} tupdate {} {}",
                us(target),
                us(update),
                ecn(on)
            ),
            Self::Cake(cake) => cake.fmt(f),
            Self::DualPi2(dualpi2) => dualpi2.fmt(f),
            Self::Prio { bands } => {
                let last = (bands - 1).to_string();
                write!(f, " bands {bands} priomap {}", [last.as_str(); 16].join(" "))
            }
            Self::Htb { default } => write!(f, " default {default:x}"),
            Self::Drr | Self::Ingress => Ok(()),
        }
    }
}

impl fmt::Display for Cake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bandwidth {
            Some(rate) => write!(f, " bandwidth {}bit", rate.bps())?,
            None => write!(f, " unlimited")?,
        }
        f.write_str(match self.diffserv {
            Diffserv::BestEffort => " besteffort",
            Diffserv::Three => " diffserv3",
            Diffserv::Four => " diffserv4",
            Diffserv::Eight => " diffserv8",
            Diffserv::Precedence => " precedence",
        })?;
        f.write_str(match self.isolation {
            Isolation::Blind => " flowblind",
            Isolation::Sources => " srchost",
            Isolation::Destinations => " dsthost",
            Isolation::Hosts => " hosts",
            Isolation::Flows => " flows",
            Isolation::DualSource => " dual-srchost",
            Isolation::DualDestination => " dual-dsthost",
            Isolation::Triple => " triple-isolate",
        })?;
        f.write_str(if self.nat { " nat" } else { "" })?;
        f.write_str(match self.ack_filter {
            AckFilterMode::Off => " no-ack-filter",
            AckFilterMode::Conservative => " ack-filter",
            AckFilterMode::Aggressive => " ack-filter-aggressive",
        })?;
        f.write_str(if self.wash { " wash" } else { " nowash" })?;
        f.write_str(if self.ingress { " ingress" } else { " egress" })?;
        write!(f, " rtt {}us split-gso", micros(self.rtt))?;
        let Bytes { added, least } = Bytes::of(self.overhead);
        f.write_str(match self.overhead {
            Overhead::Atm { .. } => " atm",
            Overhead::Ptm { .. } => " ptm",
            _ => " noatm",
        })?;
        write!(f, " overhead {added} mpu {least}")?;
        self.memory.map_or(Ok(()), |bytes| write!(f, " memlimit {bytes}"))
    }
}

impl fmt::Display for DualPi2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            " limit {} target {}us tupdate {}us alpha {} beta {} coupling_factor {} step_thresh {}us c_protection {}%",
            self.limit,
            micros(self.target),
            micros(self.update),
            f64::from(self.alpha) / 256.0,
            f64::from(self.beta) / 256.0,
            self.coupling,
            micros(self.step),
            self.classic_percent
        )
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, parent, handle, share, name: _ } = self;
        write!(f, "tc class replace dev {device} parent {parent} classid {handle} ")?;
        match share {
            Share::Drr { quantum } => write!(f, "drr quantum {quantum}"),
            Share::Htb(Htb { rate, ceil, burst, cburst, priority, quantum }) => write!(
                f,
                "htb rate {}bit ceil {}bit burst {burst} cburst {cburst} prio {priority} quantum {quantum}",
                rate.bps(),
                ceil.bps()
            ),
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = &self.at;
        // One transaction. A table that does not exist cannot be deleted, so it is made first.
        writeln!(f, "nft -f - <<'END'")?;
        writeln!(f, "table {at}")?;
        writeln!(f, "delete table {at}")?;
        writeln!(f, "table {at} {{")?;
        for set in &self.sets {
            let (name, address) = (set.name(), if set.0 == 4 { "ipv4_addr" } else { "ipv6_addr" });
            writeln!(f, "  set {name} {{")?;
            writeln!(
                f,
                "    # games and calls: what is at home, the other end, the protocol; the program fills it"
            )?;
            writeln!(f, "    type {address} . inet_service . {address} . inet_service . inet_proto")?;
            writeln!(f, "  }}")?;
        }
        for chain in &self.chains {
            chain.write(at.family, f)?;
        }
        write!(f, "}}\nEND")
    }
}

impl Chain {
    /// Order among the chains at the same hook, that of `mangle`: before the home's addresses are translated.
    pub const PRIORITY: i32 = -150;

    fn write(&self, family: Family, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  chain {} {{", self.name)?;
        writeln!(f, "    type filter hook {} priority {}; policy accept;", family.hook(), Self::PRIORITY)?;
        writeln!(f, "    oifname != \"{}\" accept", self.device)?;
        let mut name = "";
        for rule in &self.rules {
            if rule.name != name {
                name = &rule.name;
                writeln!(f, "    # rule: {name}")?;
            }
            let class = rule.class;
            // `nft` wants both numbers.
            let class = format!("{:x}:{:x}", class.0 >> 16, class.0 & 0xffff);
            writeln!(f, "    {}meta priority set {class} accept", words(&rule.tests))?;
        }
        writeln!(f, "  }}")
    }
}

/// The tests as `nft` writes them, each followed by a space. It adds the test of the version or protocol by itself where another
/// test needs it.
fn words(tests: &[Test]) -> String {
    let ip = |is_v6: bool| if is_v6 { "ip6" } else { "ip" };
    let protocol = tests.iter().find_map(|test| match test {
        Test::Protocol(protocol) => Some(*protocol),
        _ => None,
    });
    let names_version =
        |test: &Test| matches!(test, Test::Address(..) | Test::Dscp(..) | Test::Length(..) | Test::Game(..));
    let names_protocol = |test: &Test| matches!(test, Test::Port(..) | Test::AckAlone);
    let mut out = String::new();
    for test in tests {
        let _ = match test {
            Test::Version(_) if tests.iter().any(names_version) => Ok(()),
            Test::Protocol(_) if tests.iter().any(names_protocol) => Ok(()),
            Test::NotFrom(device) => write!(out, "iifname != \"{device}\" "),
            Test::Version(version) => write!(out, "meta nfproto ipv{version} "),
            Test::Protocol(protocol) => write!(out, "meta l4proto {} ", name(*protocol)),
            Test::Address(end, prefix) => {
                write!(out, "{} {}addr {prefix} ", ip(prefix.address.is_ipv6()), letter(*end))
            }
            Test::Port(end, span) => {
                let header = protocol.map_or("th".into(), name);
                write!(out, "{header} {}port {} ", letter(*end), range(*span))
            }
            Test::Dscp(version, span) => write!(out, "{} dscp {} ", ip(*version == 6), range(*span)),
            Test::Length(version, span) => write!(out, "{} length {} ", ip(*version == 6), range(*span)),
            Test::Game(version, direction) => {
                let (ip, set) = (ip(*version == 6), GameSet(*version).name());
                let [home, other] = match direction {
                    Direction::Up => ['s', 'd'],
                    Direction::Down => ['d', 's'],
                };
                write!(
                    out,
                    "{ip} {home}addr . th {home}port . {ip} {other}addr . th {other}port . meta l4proto @{set} "
                )
            }
            Test::AckAlone => write!(out, "tcp flags & (fin | syn | rst | psh | ack | urg) == ack "),
        };
    }
    out
}

fn name(protocol: Protocol) -> String {
    match protocol {
        Protocol::Tcp => "tcp".into(),
        Protocol::Udp => "udp".into(),
        Protocol::Other(number) => number.to_string(),
    }
}

const fn letter(end: End) -> char {
    match end {
        End::Source => 's',
        End::Destination => 'd',
    }
}

fn range<T: PartialEq + fmt::Display>(span: Span<T>) -> String {
    match span.low == span.high {
        true => span.low.to_string(),
        false => format!("{}-{}", span.low, span.high),
    }
}
