//! A game whose server a player runs at home (peer to peer, burriss2006 "Further research ideas"). The upstream of the
//! home carries the updates for each peer, the downstream their commands. The updates of a tick leave together, as a
//! server sends them; each peer sends commands at its own phase. All peers share one 5-tuple, and so one queue of a
//! flow queue. If that matters, configure a flow for each peer.

use alloc::format;
use alloc::vec::Vec;
use gamelane_core::{Instant, time::earliest};

use crate::app::{AppAction, AppEvent, TrafficSource};
use crate::config::{HostedConfig, Schedule};
use crate::game::{Commands, Updates};
use crate::paced::{Paced, Pattern};
use crate::streams::Streams;

pub(crate) fn build(
    config: &HostedConfig,
    schedule: Schedule,
    streams: Streams<'_>,
) -> (Bundle<Updates>, Bundle<Commands>) {
    let paths: Vec<_> = (0..config.peers).map(|peer| streams.path_of(&format!("peer/{peer}"))).collect();
    let own = |path| streams.at(path);
    let updates = paths
        .iter()
        .map(|path| {
            // The ticks belong to the server, so all peers share that random stream. The sizes are each peer's own view
            // of the match.
            let pattern = Updates::new(&config.game, streams, own(path));
            Paced::new(pattern, schedule, streams.of("server/phase"))
        })
        .collect();
    let commands = paths
        .iter()
        .map(|path| {
            let pattern = Commands::new(&config.game.client, own(path));
            Paced::new(pattern, schedule, own(path).of("client/phase"))
        })
        .collect();
    (Bundle { members: updates }, Bundle { members: commands })
}

/// Several streams sent by one host.
#[derive(Clone, Debug)]
pub struct Bundle<P> {
    members: Vec<Paced<P>>,
}

impl<P: Pattern> TrafficSource for Bundle<P> {
    fn handle_event(&mut self, _: &AppEvent, _: Instant) {}

    fn poll_action(&mut self, now: Instant) -> Option<AppAction> {
        self.members.iter_mut().find_map(|member| member.poll_action(now))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.members.iter().map(Paced::poll_timeout).fold(None, earliest)
    }

    fn handle_timeout(&mut self, now: Instant) {
        for member in &mut self.members {
            member.handle_timeout(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ClientStream, GameConfig, ServerStream, UpdateSize};
    use gamelane_core::Duration;
    use gamelane_core::dist::Dist;

    fn hosted(peers: u32) -> HostedConfig {
        let size =
            UpdateSize::Independent { size: Dist::Normal { mean: 150.0, sd: 20.0 }, min: 28, max: 1400 };
        let server = ServerStream { tick: Dist::Constant(0.050), jitter: None, size };
        HostedConfig {
            game: GameConfig { players: peers + 1, server, client: ClientStream::pktgen() },
            peers,
        }
    }

    fn sent(source: &mut impl TrafficSource) -> Vec<(Instant, u32)> {
        let mut sent = Vec::new();
        while let Some(now) = source.poll_timeout() {
            source.handle_timeout(now);
            while let Some(AppAction::SendDatagram { payload }) = source.poll_action(now) {
                sent.push((now, payload));
            }
        }
        sent
    }

    #[test]
    fn upstream_carries_an_update_for_each_peer_at_each_tick() {
        let schedule = Schedule { start: Duration::ZERO, stop: Some(Duration::from_secs(10)) };
        let (mut home, mut peers) = build(&hosted(7), schedule, Streams::for_test(1, "p2p"));
        let up = sent(&mut home);
        assert_eq!(up.len(), 7 * 200);
        for tick in up.chunks(7) {
            assert!(tick.iter().all(|packet| packet.0 == tick[0].0), "{tick:?}");
            assert!(tick.iter().any(|packet| packet.1 != tick[0].1), "{tick:?}");
        }
        // Seven clients with 100 packets per second, not in step.
        let down = sent(&mut peers);
        assert_eq!(down.len(), 7 * 1000);
        let distinct = down[..7].windows(2).filter(|pair| pair[0].0 != pair[1].0).count();
        assert_eq!(distinct, 6);
    }
}
