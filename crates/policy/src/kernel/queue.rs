//! A discipline of a scenario as one of Linux. Every option is written out, so kernels with other defaults do the same.

use gamelane_core::{Bitrate, ByteCount, IpLen, Overhead};
use gamelane_qdisc::cake::config::Isolation;
use gamelane_qdisc::cake::{CakeConfig, Grace};
use gamelane_qdisc::dualpi2::config::{L4sMarking, Scheduler};
use gamelane_qdisc::{
    DisciplineConfig, DualPi2Config, Limit, ParameterSet, QueueConfig, QueueKind, parameters,
};

use super::operation::{Cake, DualPi2, Options};
use super::refused::Refused;

/// What is around a queue.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// The key of the queue, for errors: `gateway.up`.
    pub key: &'a str,
    /// Largest IP packet.
    pub mtu: IpLen,
    /// Rate and framing of CAKE's shaper.
    pub shape: Option<(Bitrate, Overhead)>,
    /// Whether addresses are translated between the home and the internet.
    pub nat: bool,
}

/// A discipline without classes.
///
/// # Errors
/// An option that Linux does not have.
pub fn options(config: &DisciplineConfig, around: &Around<'_>) -> Result<Options, Refused> {
    match config {
        DisciplineConfig::Leaf(config) => leaf(config, around),
        DisciplineConfig::Cake(config) => cake(config, around).map(Options::Cake),
        DisciplineConfig::DualPi2(config) => dualpi2(config, around).map(Options::DualPi2),
        DisciplineConfig::AckFilter(_) => {
            let key = format!("{}.acks", around.key);
            Err(Refused::new(key, "in Linux only CAKE filters ACKs").or("write queue = \"cake\""))
        }
        DisciplineConfig::Priority(_) | DisciplineConfig::Drr(_) | DisciplineConfig::Htb(_) => {
            unreachable!("a plan takes these apart")
        }
    }
}

fn leaf(config: &QueueConfig, around: &Around<'_>) -> Result<Options, Refused> {
    let key = |name: &str| format!("{}.{name}", around.key);
    if config.parameters != ParameterSet::Linux {
        let refused = Refused::new(key("parameters"), "Linux has its own defaults and details");
        return Err(refused.or("write parameters = \"linux\""));
    }
    if config.max_burst.is_some() {
        return Err(Refused::new(key("max_burst"), "Linux has no option for it: 150 ms are fixed"));
    }
    let mtu = u64::from(around.mtu.0);
    let fq = parameters::fq(config.kind, ParameterSet::Linux);
    let flows = config.flows.unwrap_or(fq.flows as u32);
    let quantum = config.quantum.map_or(fq.quantum as u32, bytes);
    let (codel, pie) = (config.resolved_codel(mtu), config.resolved_pie(mtu));
    let limit = config.resolved_limit();
    let packets = || match limit {
        Limit::Packets(packets) => Ok(packets),
        Limit::Bytes(_) => {
            let refused = Refused::new(key("limit"), "here Linux counts packets, not bytes");
            Err(refused.or("write a limit such as \"1000p\""))
        }
    };
    Ok(match config.kind {
        QueueKind::Fifo => match limit {
            Limit::Packets(limit) => Options::Pfifo { limit },
            Limit::Bytes(limit) => Options::Bfifo { bytes: bytes(limit) },
        },
        QueueKind::Codel => Options::Codel {
            limit: packets()?,
            target: codel.target,
            interval: codel.interval,
            ecn: codel.ecn,
        },
        QueueKind::Pie => {
            Options::Pie { limit: packets()?, target: pie.target, update: pie.update, ecn: pie.ecn }
        }
        QueueKind::FqCodel => Options::FqCodel {
            limit: packets()?,
            flows,
            quantum,
            target: codel.target,
            interval: codel.interval,
            ecn: codel.ecn,
        },
        QueueKind::FqPie => Options::FqPie {
            limit: packets()?,
            flows,
            quantum,
            target: pie.target,
            update: pie.update,
            ecn: pie.ecn,
        },
    })
}

fn cake(config: &CakeConfig, around: &Around<'_>) -> Result<Cake, Refused> {
    if config.grace != Grace::Linux {
        let refused = Refused::new(format!("{}.grace", around.key), "Linux has its own grace");
        return Err(refused.or("write grace = \"linux\""));
    }
    Ok(Cake {
        bandwidth: around.shape.map(|(rate, _)| rate),
        diffserv: config.diffserv,
        isolation: config.isolation,
        nat: around.nat && !matches!(config.isolation, Isolation::Flows | Isolation::Blind),
        rtt: config.rtt,
        overhead: around.shape.map_or(config.overhead, |(_, overhead)| overhead),
        ack_filter: config.ack_filter,
        ingress: config.ingress,
        wash: config.wash,
        memory: config.memory.map(bytes),
    })
}

fn dualpi2(config: &DualPi2Config, around: &Around<'_>) -> Result<DualPi2, Refused> {
    let refuse = |key: &str, why: &str| Err(Refused::new(format!("{}.{key}", around.key), why));
    let Limit::Packets(limit) = config.limit else {
        return refuse("limit", "here Linux counts packets, not bytes");
    };
    let Scheduler::Weighted { classic_percent } = config.scheduler else {
        return refuse("time_shift", "Linux shares by weight only (`classic_share`)");
    };
    let L4sMarking { from: step, to, packets: _ } = config.marking;
    if to != step {
        return refuse("step", "Linux marks from one delay on, not along a ramp");
    }
    let coupling = config.pi2.coupling;
    if coupling.fract() > 0.0 || coupling > 255.0 {
        return refuse("coupling", "Linux takes whole numbers up to 255");
    }
    let gain = |hertz: f64| (hertz * 256.0).round() as u32;
    Ok(DualPi2 {
        limit,
        target: config.pi2.target,
        update: config.pi2.update,
        alpha: gain(config.pi2.alpha),
        beta: gain(config.pi2.beta),
        coupling: coupling as u8,
        step,
        classic_percent,
    })
}

fn bytes(count: ByteCount) -> u32 {
    u32::try_from(count.bytes()).unwrap_or(u32::MAX)
}
