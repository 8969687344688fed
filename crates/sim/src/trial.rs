//! The rate of a household's link, found as but2006 section III.C found it: a stream of UDP packets of one size at one
//! rate after another, over the link alone, until one meets a queue. [`RateFinder`] says which and judges; here each trial
//! is a run of its own. Nothing else uses the link, and the gateway neither shapes nor manages its queue.

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
    /// What was offered, counted as a shaper counts: with what the link adds to each packet.
    pub rate: Bitrate,
    /// What it showed.
    pub judgement: Judgement,
    /// Packets sent.
    pub sent: u32,
    /// Packets lost.
    pub lost: u32,
    /// One-way delays, milliseconds.
    pub delay_ms: Distribution,
}

/// Searches the rate of the link of `model` in `direction` with packets of so many bytes of UDP payload. Each trial is of
/// `length`, or as long as the fewest packets a trial must have need.
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
        let least = rate.time_to_send(wire).saturating_mul(u64::from(config.fewest) + 1);
        let stream = CbrConfig { direction, rate: Bitrate::from_bps((bps as u64).max(1)), payload };
        let model = alone(model, stream, length.max(least));
        // Each trial meets the link at another moment.
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

/// The link of a model with one stream on it.
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
