//! Web browsing as in collom2016 section III.B. Every period a new TCP connection loads data for a random time, or a
//! random number of bytes. A burst that takes longer than its period is replaced by the next one. Requests, parallel
//! connections and the structure of pages are left out.

use gamelane_core::Direction;

use crate::app::Transport;
use crate::config::{Schedule, WebBurst, WebConfig};
use crate::facts::{AppDescriptor, AppFacts, Group};
use crate::streams::Streams;
use crate::transfer::{Half, Load, TransferClient, TransferServer};

/// Web in the catalogue.
pub const WEB: AppDescriptor = AppDescriptor {
    word: "web",
    label: "web",
    about: "TCP downloads at regular times.",
    keys: &["direction", "size", "every", "lasting", "tcp"],
    page: "traffic",
    facts: AppFacts { group: Group::Web, transport: Transport::Tcp, server_port: 443 },
};

pub(crate) fn build(
    config: &WebConfig,
    schedule: Schedule,
    streams: Streams<'_>,
) -> (TransferClient, TransferServer) {
    let load = match config.burst {
        WebBurst::Lasting(seconds) => Load::Lasting(seconds),
        WebBurst::Sized(bytes) => Load::Sized(bytes),
    };
    let writer = |side| Half::writer(load, streams.of(side), schedule);
    let (client, server) = match config.direction {
        Direction::Up => (writer("client/burst"), Half::reader(load)),
        Direction::Down => (Half::reader(load), writer("server/burst")),
    };
    (TransferClient::new(schedule, Some(config.period), client), TransferServer(server))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{AppAction, AppEvent, AppReport, TrafficSource};
    use gamelane_core::dist::Dist;
    use gamelane_core::{ByteCount, Duration, Instant};
    use proptest::prelude::*;
    use std::vec::Vec;

    const SCHEDULE: Schedule =
        Schedule { start: Duration::from_secs(5), stop: Some(Duration::from_secs(60)) };

    fn sides(burst: WebBurst) -> (TransferClient, TransferServer) {
        let config = WebConfig { direction: Direction::Down, period: Duration::from_secs(10), burst };
        build(&config, SCHEDULE, Streams::for_test(2, "web"))
    }

    fn actions(source: &mut impl TrafficSource, now: Instant) -> Vec<AppAction> {
        core::iter::from_fn(|| source.poll_action(now)).collect()
    }

    #[test]
    fn a_connection_opens_at_each_period_until_the_stop() {
        let (mut client, _) = sides(WebBurst::Lasting(Dist::Constant(1.0)));
        let mut opened = Vec::new();
        while let Some(now) = client.poll_timeout() {
            client.handle_timeout(now);
            assert_eq!(actions(&mut client, now), [AppAction::Connect]);
            opened.push(now.as_secs_f64() as u64);
        }
        assert_eq!(opened, [5, 15, 25, 35, 45, 55]);
    }

    #[test]
    fn missed_periods_are_skipped_and_the_grid_stays() {
        let (mut client, _) = sides(WebBurst::Lasting(Dist::Constant(1.0)));
        let late = Instant::from_secs(27);
        client.handle_timeout(late);
        assert_eq!(actions(&mut client, late), [AppAction::Connect]);
        assert_eq!(client.poll_timeout(), Some(Instant::from_secs(35)));
    }

    #[test]
    fn the_server_writes_for_its_time_on_every_connection() {
        let (_, mut server) = sides(WebBurst::Lasting(Dist::Constant(2.5)));
        for start_s in [5, 15] {
            let (open, end) = (Instant::from_secs(start_s), Instant::from_millis(start_s * 1000 + 2500));
            server.handle_event(&AppEvent::Connected, open);
            assert_eq!(actions(&mut server, open), [AppAction::WriteForever]);
            assert_eq!(server.poll_timeout(), Some(end));
            server.handle_timeout(end);
            assert_eq!(actions(&mut server, end), [AppAction::Close]);
            assert_eq!(server.poll_timeout(), None);
        }
    }

    #[test]
    fn a_new_connection_replaces_a_burst_that_is_still_running() {
        let (_, mut server) = sides(WebBurst::Lasting(Dist::Constant(30.0)));
        for start_s in [5, 15] {
            let now = Instant::from_secs(start_s);
            server.handle_event(&AppEvent::Connected, now);
            assert_eq!(actions(&mut server, now), [AppAction::WriteForever]);
            assert_eq!(server.poll_timeout(), Some(Instant::from_secs(start_s + 30)));
        }
        // The schedule's stop ends a burst early.
        server.handle_event(&AppEvent::Connected, Instant::from_secs(45));
        assert_eq!(actions(&mut server, Instant::from_secs(45)), [AppAction::WriteForever]);
        assert_eq!(server.poll_timeout(), Some(Instant::from_secs(60)));
    }

    #[test]
    fn a_page_is_reported_once_it_is_whole() {
        let (mut client, _) = sides(WebBurst::Sized(Dist::Constant(3000.0)));
        let begun = Instant::from_secs(5);
        client.handle_timeout(begun);
        assert_eq!(actions(&mut client, begun), [AppAction::Connect]);
        client.handle_event(&AppEvent::Connected, Instant::from_millis(5040));
        for at in [5080, 5090] {
            client.handle_event(&AppEvent::Delivered { bytes: ByteCount(1500) }, Instant::from_millis(at));
        }
        let end = Instant::from_millis(5090);
        client.handle_event(&AppEvent::PeerClosed, end);
        let report = AppReport::Transfer { bytes: ByteCount(3000), took: Duration::from_millis(90) };
        assert_eq!(actions(&mut client, end), [AppAction::Report(report), AppAction::Close]);
    }

    #[test]
    fn what_lasts_a_time_is_never_whole() {
        let (mut client, _) = sides(WebBurst::Lasting(Dist::Constant(1.0)));
        let begun = Instant::from_secs(5);
        client.handle_timeout(begun);
        client.handle_event(&AppEvent::Delivered { bytes: ByteCount(1500) }, begun);
        client.handle_event(&AppEvent::PeerClosed, begun);
        assert_eq!(actions(&mut client, begun), [AppAction::Connect, AppAction::Close]);
    }

    proptest! {
        #[test]
        fn a_sized_burst_writes_what_it_drew_and_nothing_else(size in 0.0..1e9f64, connections in 1..20u64) {
            let (_, mut server) = sides(WebBurst::Sized(Dist::Constant(size)));
            let expected = ByteCount(((size + 0.5) as u64).max(1));
            for n in 0..connections {
                let now = Instant::from_millis(5000 + n);
                server.handle_event(&AppEvent::Connected, now);
                prop_assert_eq!(
                    actions(&mut server, now),
                    [AppAction::Write { bytes: expected }, AppAction::Close]
                );
                prop_assert_eq!(server.poll_timeout(), None);
            }
        }
    }
}
