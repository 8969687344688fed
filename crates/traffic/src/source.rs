//! Builds the two running sides of an application from its configuration. A driver stores only [`Source`], which
//! forwards to the application without allocation or virtual calls. Addresses, connections and paths are left to the
//! driver.

use gamelane_core::{Instant, Seed};

use crate::app::{AppAction, AppEvent, AppReport, TrafficSource};
use crate::cbr::Fixed;
use crate::cloud::Video;
use crate::config::{AppConfig, Schedule};
use crate::dash::{DashClient, DashServer};
use crate::game::{Commands, Updates};
use crate::hosted::Bundle;
use crate::mmo::Writer;
use crate::paced::Paced;
use crate::streams::Streams;
use crate::trace::Replay;
use crate::transfer::{TransferClient, TransferServer};
use crate::{bulk, cbr, cloud, dash, game, hosted, mmo, trace, voip, web};

/// Builds both sides of an application: the client at home, then the server on the internet. `path` is the prefix of
/// their random streams, as in `flow/quake3/server/size`.
pub fn build(config: &AppConfig, schedule: Schedule, seed: Seed, path: &str) -> (Source, Source) {
    build_connection(config, 0, schedule, seed, path)
}

/// Like [`build`], for one of several connections of the application.
pub fn build_connection(
    config: &AppConfig,
    connection: u32,
    schedule: Schedule,
    seed: Seed,
    path: &str,
) -> (Source, Source) {
    let streams = Streams { seed, path };
    match config {
        AppConfig::Game(game) => {
            wrap(game::build(game, schedule, streams), Source::Commands, Source::Updates)
        }
        AppConfig::Hosted(hosted) => {
            wrap(hosted::build(hosted, schedule, streams), Source::HostedUpdates, Source::HostedCommands)
        }
        AppConfig::Cloud(cloud) => {
            wrap(cloud::build(*cloud, schedule, streams), Source::Fixed, Source::Video)
        }
        AppConfig::Trace(trace) => wrap(trace::build(trace, schedule), Source::Replay, Source::Replay),
        AppConfig::Cbr(cbr) => {
            let side = |fixed: Option<_>| fixed.map_or(Source::Silent, Source::Fixed);
            wrap(cbr::build(*cbr, schedule, streams), side, side)
        }
        AppConfig::Voip(voip) => wrap(voip::build(*voip, schedule, streams), Source::Fixed, Source::Fixed),
        AppConfig::Bulk(bulk) => transfer(bulk::build(*bulk, connection, schedule, streams)),
        AppConfig::Web(web) => transfer(web::build(web, schedule, streams)),
        AppConfig::Dash(dash) => wrap(dash::build(dash, schedule), Source::DashClient, Source::DashServer),
        AppConfig::Mmo(mmo) => writers(mmo::build(mmo, connection, schedule, streams)),
        AppConfig::Probe => (Source::Silent, Source::Silent),
    }
}

/// Both sides of a connection that carries data of others. The client opens it at the start of the schedule.
pub fn carrier(schedule: Schedule) -> (Source, Source) {
    writers(mmo::carrier(schedule))
}

fn transfer(sides: (TransferClient, TransferServer)) -> (Source, Source) {
    wrap(sides, Source::TransferClient, Source::TransferServer)
}

fn writers(sides: (Writer, Writer)) -> (Source, Source) {
    wrap(sides, Source::Writer, Source::Writer)
}

fn wrap<C, S>(
    (client, server): (C, S),
    of_client: impl FnOnce(C) -> Source,
    of_server: impl FnOnce(S) -> Source,
) -> (Source, Source) {
    (of_client(client), of_server(server))
}

/// One side of any application.
#[derive(Clone, Debug)]
pub enum Source {
    /// Receives and never sends: the receiver of one-way UDP, and both sides of probes.
    Silent,
    /// Game server.
    Updates(Paced<Updates>),
    /// Game client.
    Commands(Paced<Commands>),
    /// Game server at home that sends to all peers.
    HostedUpdates(Bundle<Updates>),
    /// Commands of all peers of a game server at home.
    HostedCommands(Bundle<Commands>),
    /// Video of a cloud game.
    Video(Video),
    /// Constant rate: CBR, the input of a cloud game, each side of a voice call.
    Fixed(Paced<Fixed>),
    /// One direction of a recorded flow.
    Replay(Replay),
    /// Client of bulk transfers and web bursts.
    TransferClient(TransferClient),
    /// Server of bulk transfers and web bursts.
    TransferServer(TransferServer),
    /// Video player.
    DashClient(DashClient),
    /// Video server.
    DashServer(DashServer),
    /// One side of a thin TCP stream.
    Writer(Writer),
}

/// Runs `$body` on the inner source, or evaluates to `$silent`.
macro_rules! forward {
    ($source:expr, $inner:ident => $body:expr, $silent:expr) => {
        match $source {
            Source::Silent => $silent,
            Source::Updates($inner) => $body,
            Source::Commands($inner) => $body,
            Source::HostedUpdates($inner) => $body,
            Source::HostedCommands($inner) => $body,
            Source::Video($inner) => $body,
            Source::Fixed($inner) => $body,
            Source::Replay($inner) => $body,
            Source::TransferClient($inner) => $body,
            Source::TransferServer($inner) => $body,
            Source::DashClient($inner) => $body,
            Source::DashServer($inner) => $body,
            Source::Writer($inner) => $body,
        }
    };
}

impl TrafficSource for Source {
    fn handle_event(&mut self, event: &AppEvent, now: Instant) {
        forward!(self, inner => inner.handle_event(event, now), ());
    }

    fn poll_action(&mut self, now: Instant) -> Option<AppAction> {
        forward!(self, inner => inner.poll_action(now), None)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        forward!(self, inner => inner.poll_timeout(), None)
    }

    fn handle_timeout(&mut self, now: Instant) {
        forward!(self, inner => inner.handle_timeout(now), ());
    }

    fn unfinished(&self, now: Instant) -> Option<AppReport> {
        forward!(self, inner => inner.unfinished(now), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Transport;
    use crate::config::{
        BulkConfig, CbrConfig, ClientStream, CloudConfig, Codec, DashConfig, DashRequests, GameConfig,
        HostedConfig, ServerStream, TraceConfig, TracePacket, UpdateSize, VoipConfig, WebBurst, WebConfig,
    };
    use gamelane_core::dist::Dist;
    use gamelane_core::{Bitrate, ByteCount, Direction, Duration};
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    fn one_of_each(direction: Direction) -> Vec<AppConfig> {
        let size = UpdateSize::Independent { size: Dist::Lev { a: 120.0, b: 36.0 }, min: 28, max: 1472 };
        let jitter = Dist::Normal { mean: 0.0, sd: 0.02 };
        let server = ServerStream { tick: Dist::Normal { mean: 0.05, sd: 0.1 }, jitter: Some(jitter), size };
        let packet = |at_ms| TracePacket { at: Duration::from_millis(at_ms), payload: 80 };
        let rates = vec![Bitrate::from_bps(500_000), Bitrate::from_bps(1_000_000)];
        let dash = |requests| DashConfig { chunk: Duration::from_secs(2), rates: rates.clone(), requests };
        let cycle = DashRequests::Cycle { gap: Duration::from_secs(1), period: Duration::from_secs(4) };
        let web = |burst| WebConfig { direction, period: Duration::from_secs(3), burst };
        let game = GameConfig { players: 4, server, client: ClientStream::pktgen() };
        let kbit = |kbit: u64| Bitrate::from_bps(kbit * 1000);
        vec![
            AppConfig::Game(game.clone()),
            AppConfig::Hosted(HostedConfig { game, peers: 3 }),
            AppConfig::Cloud(CloudConfig {
                rate: kbit(4200),
                frames_per_second: 60,
                payload: 1000,
                variation: 0.3,
                key_frame_every: Some(60),
                key_frame_size: 3.0,
                input_rate: kbit(125),
                input_payload: 122,
            }),
            AppConfig::Trace(TraceConfig {
                up: (0..300).map(|n| packet(n * 33)).collect(),
                down: (0..200).map(|n| packet(n / 2 * 50)).collect(),
            }),
            AppConfig::Cbr(CbrConfig { direction, rate: Bitrate::from_bps(500_000), payload: 1000 }),
            AppConfig::Voip(VoipConfig { codec: Codec::G711 }),
            AppConfig::Bulk(BulkConfig { direction, size: None, connections: 1 }),
            AppConfig::Bulk(BulkConfig { direction, size: Some(ByteCount(70_000)), connections: 3 }),
            AppConfig::Web(web(WebBurst::Lasting(Dist::Uniform { lo: -1.0, hi: 6.0 }))),
            AppConfig::Web(web(WebBurst::Sized(Dist::LogNormal { mu: 9.0, sigma: 1.0 }))),
            AppConfig::Dash(dash(cycle)),
            AppConfig::Dash(dash(DashRequests::Adaptive { buffer: Duration::from_secs(6) })),
        ]
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Wait(Duration),
        Event(AppEvent),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let wait = (0..20_000_000_000u64).prop_map(Duration::from_nanos);
        let step = prop_oneof![
            4 => wait.prop_map(Step::Wait),
            1 => Just(Step::Event(AppEvent::Connected)),
            1 => Just(Step::Event(AppEvent::PeerClosed)),
            1 => (0..2000u32).prop_map(|payload| Step::Event(AppEvent::Datagram { payload })),
            3 => (0..2_000_000u64).prop_map(|n| Step::Event(AppEvent::Delivered { bytes: ByteCount(n) })),
        ];
        proptest::collection::vec(step, 0..60)
    }

    fn drain(source: &mut Source, now: Instant) -> Vec<AppAction> {
        core::iter::from_fn(|| source.poll_action(now)).collect()
    }

    proptest! {
        /// The contract of gamelane-core under any driver: late calls, early calls, and unexpected events.
        #[test]
        fn every_source_keeps_the_contract(
            up: bool,
            stop_s in proptest::option::of(0..100u64),
            seed: u64,
            steps in steps(),
        ) {
            let direction = if up { Direction::Up } else { Direction::Down };
            let schedule =
                Schedule { start: Duration::from_secs(1), stop: stop_s.map(Duration::from_secs) };
            for config in one_of_each(direction) {
                let (client, server) = build(&config, schedule, Seed(seed), "flow/any");
                for mut source in [client, server] {
                    let mut now = Instant::ZERO;
                    for step in &steps {
                        if let Step::Wait(time) = step {
                            now += *time;
                        }
                        let early = source.poll_timeout().is_none_or(|at| at > now);
                        source.handle_timeout(now);
                        let sent = drain(&mut source, now);
                        prop_assert!(!early || sent.is_empty(), "{:?}: {:?} before its time", config, sent);
                        // The number is bounded, except for a recording, which is sent completely.
                        prop_assert!(sent.len() <= 300);
                        if let Step::Event(event) = step {
                            source.handle_event(event, now);
                            let answers = drain(&mut source, now);
                            prop_assert!(answers.len() <= 4, "{:?}: {:?} to {:?}", config, answers, event);
                        }
                        let next = source.poll_timeout();
                        prop_assert!(next.is_none_or(|at| at > now), "{:?}: {:?} at {:?}", config, next, now);
                        prop_assert_eq!(next, source.poll_timeout());
                    }
                }
            }
        }

        /// The same seed and path give the same packets; another path gives another phase.
        #[test]
        fn a_source_is_a_function_of_seed_and_path(seed: u64) {
            let schedule = Schedule { start: Duration::ZERO, stop: None };
            let first = |path| {
                let call = AppConfig::Voip(VoipConfig { codec: Codec::G729 });
                build(&call, schedule, Seed(seed), path).0.poll_timeout()
            };
            prop_assert_eq!(first("flow/a"), first("flow/a"));
            prop_assert_ne!(first("flow/a"), first("flow/b"));
        }
    }

    #[test]
    fn the_transport_follows_from_the_application() {
        let tcp = |config: &AppConfig| config.transport() == Transport::Tcp;
        let all = one_of_each(Direction::Up);
        assert_eq!(
            all.iter().map(tcp).collect::<Vec<_>>(),
            [false, false, false, false, false, false, true, true, true, true, true, true]
        );
    }
}
