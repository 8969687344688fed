//! What can be done to a machine so that its kernel queues by a policy.

use core::fmt;

use gamelane_core::{Bitrate, Duration};

use super::framing::SizeTable;
use super::test::{GameSet, Test};

/// One step. Steps are carried out in order, and later ones need earlier ones.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Makes an IFB interface and switches it on. It queues what arrives elsewhere.
    Ifb {
        /// Name of the interface.
        name: String,
    },
    /// Sets a queue discipline.
    Qdisc(Qdisc),
    /// Sets a class of a discipline.
    Class(Class),
    /// Sends what arrives at `from` through the queue of `to`. Needs the discipline `ingress` there.
    Redirect {
        /// Where packets arrive.
        from: String,
        /// The IFB interface.
        to: String,
    },
    /// Packets of a DRR discipline that have no class go to this one. Without it, DRR drops them.
    Rest {
        /// The interface.
        device: String,
        /// The DRR discipline.
        parent: Handle,
        /// The class.
        class: Handle,
    },
    /// Loads a table of nftables, in place of one of the same name.
    Table(Table),
}

/// A handle of a discipline (`minor` 0) or class, as `tc` writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle(pub u32);

impl Handle {
    /// The place of the outermost discipline (`TC_H_ROOT`).
    pub const ROOT: Self = Self(0xffff_ffff);
    /// The place of the discipline `ingress` (`TC_H_INGRESS`).
    pub const INGRESS: Self = Self(0xffff_fff1);
    /// The discipline `ingress`.
    pub const INGRESS_QDISC: Self = Self(0xffff_0000);
    /// The outermost discipline of a gateway: nobody else uses this number, so a gateway knows its own work by it.
    pub const OWN: Self = Self::of(0x6a0, 0);

    /// `major:minor`
    pub const fn of(major: u16, minor: u16) -> Self {
        Self((major as u32) << 16 | minor as u32)
    }

    /// A class of this discipline.
    pub const fn class(self, minor: u16) -> Self {
        Self(self.0 & 0xffff_0000 | minor as u32)
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ROOT => write!(f, "root"),
            Self::INGRESS => write!(f, "ingress"),
            Self(number) if number & 0xffff == 0 => write!(f, "{:x}:", number >> 16),
            Self(number) => write!(f, "{:x}:{:x}", number >> 16, number & 0xffff),
        }
    }
}

/// A queue discipline at its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Qdisc {
    /// The interface.
    pub device: String,
    /// [`Handle::ROOT`], [`Handle::INGRESS`], or a class.
    pub parent: Handle,
    /// Its number.
    pub handle: Handle,
    /// How it counts the length of packets; `None`: as the interface does.
    pub sizes: Option<SizeTable>,
    /// What it is.
    pub options: Options,
}

/// Whole microseconds, in which Linux takes times.
pub const fn micros(time: Duration) -> u32 {
    (time.as_nanos() / 1000) as u32
}

/// A discipline and its options. Limits count packets where they are not `bytes`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are those of tc(8) and its pages")]
pub enum Options {
    Pfifo {
        limit: u32,
    },
    Bfifo {
        bytes: u32,
    },
    Codel {
        limit: u32,
        target: Duration,
        interval: Duration,
        ecn: bool,
    },
    Pie {
        limit: u32,
        target: Duration,
        update: Duration,
        ecn: bool,
    },
    FqCodel {
        limit: u32,
        flows: u32,
        quantum: u32,
        target: Duration,
        interval: Duration,
        ecn: bool,
    },
    FqPie {
        limit: u32,
        flows: u32,
        quantum: u32,
        target: Duration,
        update: Duration,
        ecn: bool,
    },
    Cake(Cake),
    DualPi2(DualPi2),
    /// Every packet without a class goes to the last band.
    Prio {
        bands: u8,
    },
    Drr,
    /// `default` is the minor number of the class for packets without one.
    Htb {
        default: u16,
    },
    Ingress,
}

impl Options {
    /// The kernel's name of the discipline. Its module is `sch_` and this name.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Pfifo { .. } => "pfifo",
            Self::Bfifo { .. } => "bfifo",
            Self::Codel { .. } => "codel",
            Self::Pie { .. } => "pie",
            Self::FqCodel { .. } => "fq_codel",
            Self::FqPie { .. } => "fq_pie",
            Self::Cake(_) => "cake",
            Self::DualPi2(_) => "dualpi2",
            Self::Prio { .. } => "prio",
            Self::Drr => "drr",
            Self::Htb { .. } => "htb",
            Self::Ingress => "ingress",
        }
    }
}

/// Options of CAKE (tc-cake(8)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cake {
    /// Rate of its shaper; `None` is unlimited.
    pub bandwidth: Option<Bitrate>,
    /// Tins.
    pub diffserv: gamelane_qdisc::cake::diffserv::Diffserv,
    /// Hosts between which it shares.
    pub isolation: gamelane_qdisc::cake::config::Isolation,
    /// Whether it looks up the home's addresses behind address translation.
    pub nat: bool,
    /// Round trip it is tuned for.
    pub rtt: Duration,
    /// Bytes that the link adds.
    pub overhead: gamelane_core::Overhead,
    /// ACKs it drops.
    pub ack_filter: gamelane_qdisc::AckFilterMode,
    /// Whether dropped packets count as sent.
    pub ingress: bool,
    /// Whether it clears code points.
    pub wash: bool,
    /// Bytes of memory; `None`: it chooses.
    pub memory: Option<u32>,
}

/// Options of DualPI2 (tc-dualpi2(8), Linux 6.17).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualPi2 {
    /// Packets.
    pub limit: u32,
    /// Target of the Classic queue.
    pub target: Duration,
    /// Time between updates.
    pub update: Duration,
    /// Weight of the distance from the target, in 1/256 Hz.
    pub alpha: u32,
    /// Weight of the trend, in 1/256 Hz.
    pub beta: u32,
    /// Coupling factor.
    pub coupling: u8,
    /// Delay from which the L4S queue marks.
    pub step: Duration,
    /// Share of the Classic queue in per cent.
    pub classic_percent: u8,
}

/// A class at its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// The interface.
    pub device: String,
    /// Discipline or class above.
    pub parent: Handle,
    /// Its number.
    pub handle: Handle,
    /// Its share.
    pub share: Share,
    /// Name, for people.
    pub name: String,
}

/// What a class may send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// Bytes per round of DRR.
    Drr {
        /// The bytes.
        quantum: u32,
    },
    /// Rates of HTB.
    Htb(Htb),
}

/// Rates of a class of HTB (tc-htb(8)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Htb {
    /// Guaranteed rate.
    pub rate: Bitrate,
    /// Highest rate.
    pub ceil: Bitrate,
    /// Bytes that may leave at once at `rate`.
    pub burst: u32,
    /// Bytes that may leave at once at `ceil`.
    pub cburst: u32,
    /// Order of borrowing, 0 first.
    pub priority: u8,
    /// Bytes per round among equals.
    pub quantum: u32,
}

/// Family of a table of nftables: which packets its chains see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Those that are routed.
    Inet,
    /// Those that pass a bridge.
    Bridge,
}

impl Family {
    /// Name in `nft`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inet => "inet",
            Self::Bridge => "bridge",
        }
    }

    /// Where its chains see packets that leave. A bridge forgets behind `forward` where they came from.
    pub const fn hook(self) -> &'static str {
        match self {
            Self::Inet => "postrouting",
            Self::Bridge => "forward",
        }
    }
}

/// A table of nftables.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Family and name.
    pub at: TableName,
    /// Its sets.
    pub sets: Vec<GameSet>,
    /// Its chains.
    pub chains: Vec<Chain>,
}

impl Table {
    /// A table of these chains, with the sets that they need.
    pub fn new(at: TableName, chains: Vec<Chain>) -> Self {
        let needs = |version: u8| {
            let tests = chains.iter().flat_map(|chain| &chain.rules).flat_map(|rule| &rule.tests);
            tests.into_iter().any(|test| matches!(test, Test::Game(own, _) if *own == version))
        };
        let sets = [4, 6].into_iter().filter(|version| needs(*version)).map(GameSet).collect();
        Self { at, sets, chains }
    }
}

/// Family and name of a gateway's table. Gateways at other interfaces have other tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableName {
    /// Which packets it sees.
    pub family: Family,
    /// Name within the family.
    pub name: String,
}

impl TableName {
    /// The table of the gateway whose interface towards the internet is `wan`.
    pub fn of(family: Family, wan: &str) -> Self {
        // `nft` takes no other characters. The shell takes `$` for a variable.
        let plain = |c: char| if c.is_ascii_alphanumeric() || "$_-.".contains(c) { c } else { '_' };
        Self { family, name: format!("gamelane-{}", wan.chars().map(plain).collect::<String>()) }
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.family.name(), self.name)
    }
}

/// A chain that gives packets their class, where they leave. The first rule that matches decides.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// Name.
    pub name: &'static str,
    /// Interface where the packets leave.
    pub device: String,
    /// Its rules.
    pub rules: Vec<NftRule>,
}

/// A rule of nftables.
#[derive(Clone, Debug, PartialEq)]
pub struct NftRule {
    /// Name, for people.
    pub name: String,
    /// What it tests; all must hold.
    pub tests: Vec<Test>,
    /// The class, put into the packet's priority: HTB, DRR and prio read it there.
    pub class: Handle,
}
