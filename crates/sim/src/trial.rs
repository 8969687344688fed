//! Finds the rate of a household's link by trials (but2006 section III.C). Each trial sends UDP packets of one size at one rate.
//! The search ends at the rate above which a queue builds up. [`RateFinder`] chooses the rates and judges; here each trial is a
//! run. Nothing else uses the link, and the gateway neither shapes nor manages its queue.

use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use gamelane_core::headers::{IPV4_HEADER, UDP_HEADER};
use gamelane_core::{Bitrate, Direction, Duration, IpLen, Protocol, Seed};
use gamelane_qdisc::{DisciplineConfig, ParameterSet, QueueConfig, QueueKind};
use gamelane_record::{Distribution, Records};
use gamelane_scenario::{Carriage, FlowModel, GatewayModel, Medium, Model};
use gamelane_stage::RateFinder;
use gamelane_stage::finder::{FinderConfig, Found, Judgement, Next};
use gamelane_traffic::config::{AppConfig, CbrConfig, Schedule};

use crate::household::Household;

/// One trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Offered rate, including the link's overhead on each packet, as a shaper counts it.
    pub rate: Bitrate,
    /// Result.
    pub judgement: Judgement,
    /// Packets sent.
    pub sent: u32,
    /// Packets lost.
    pub lost: u32,
    /// One-way delays, milliseconds.
    pub delay_ms: Distribution,
}

/// Packets after which a trial may end early, once it is [`LONG_ENOUGH`].
const MOST_PACKETS: u64 = 200_000;
/// Two per cent above the rate of a link make a queue of 60 ms in this time.
const LONG_ENOUGH: Duration = Duration::from_secs(3);

/// Finds the rate of the link of `model` in `direction`, with packets of `payload` bytes of UDP payload. A trial lasts `length`.
/// It is longer if it needs more time for its minimum number of packets, and shorter above 200,000 packets.
///
/// # Panics
///
/// If `config` does not pass [`FinderConfig::check`].
pub fn find_rate(
    model: &Model,
    direction: Direction,
    payload: u32,
    length: Duration,
    config: FinderConfig,
    seed: Seed,
) -> (Found, Vec<Trial>) {
    let overhead = model.hop(direction).link.overhead;
    let len = IpLen(payload + IPV4_HEADER + UDP_HEADER);
    let mut finder = RateFinder::new(config);
    let mut trials = Vec::new();
    loop {
        let rate = match finder.next() {
            Next::Try(rate) => rate,
            Next::Done(found) => return (found, trials),
        };
        let wire = overhead.wire_len(len);
        let bps = u128::from(rate.bps()) * u128::from(len.bytes()) / u128::from(wire.bytes());
        let lasting = |packets: u64| rate.time_to_send(wire).saturating_mul(packets);
        let least = lasting(u64::from(config.fewest) + 1);
        let most = lasting(MOST_PACKETS).max(LONG_ENOUGH);
        let stream = CbrConfig { direction, rate: Bitrate::from_bps((bps as u64).max(1)), payload };
        let model = alone(model, stream, length.min(most).max(least));
        // Each trial sees other random values of the link.
        let seed = Seed(seed.0.wrapping_add(u64::from(finder.trials())));
        let outcome = Household::new(&model, seed, Records::new(&model)).run();
        let own = &outcome.recorder.flows[0].directions[direction.index()];
        let mut delays: Vec<Duration> = own.arrivals.iter().map(|row| row.one_way).collect();
        let nanos = delays.iter().map(|delay| delay.as_nanos()).collect();
        let judgement = finder.report(&mut delays, own.totals.lost);
        trials.push(Trial {
            rate,
            judgement,
            sent: own.totals.sent,
            lost: own.totals.lost,
            delay_ms: Distribution::of_nanos(nanos),
        });
    }
}

/// Returns the model with one stream and no queue management.
fn alone(model: &Model, stream: CbrConfig, duration: Duration) -> Model {
    let fifo = || DisciplineConfig::from(QueueConfig::new(QueueKind::Fifo, ParameterSet::Linux));
    let mut model = model.clone();
    let mut flow = FlowModel {
        name: "trial".to_string(),
        app: AppConfig::Cbr(stream),
        schedule: Schedule { start: Duration::ZERO, stop: None },
        dscp: 0,
        players: 1,
        carriage: Carriage::Direct,
        player_paths: Vec::new(),
        ..model.flows[0].clone()
    };
    flow.key.protocol = Protocol::Udp;
    model.flows = vec![flow];
    model.duration = duration;
    model.warmup = Duration::ZERO;
    model.access.shape = [None, None];
    if let Medium::WifiG(wifi) = &mut model.access.medium {
        wifi.station_of.truncate(1);
    }
    model.gateway = GatewayModel { voap: None, autorate: [None; 2], classes: 1, classifier: None };
    for hop in &mut model.hops {
        hop.queue = fifo();
    }
    model
}
