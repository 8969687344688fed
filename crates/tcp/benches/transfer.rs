//! Benchmarks the wall-clock cost of one segment: two endpoints and a pipe of fixed length, with and without loss. A
//! segment counts once: sending it and handling it at the other end. Run it with `cargo bench -p gamelane-tcp`.

use gamelane_core::{ByteCount, Duration, Instant, Seed, time::earliest};
use gamelane_tcp::{DelayedAck, ReceiveWindow, RecoveryKind, Segment, TcpConfig, TcpEndpoint};
use std::collections::VecDeque;

struct Run {
    name: &'static str,
    config: TcpConfig,
    loss: f64,
}

/// Returns the number of segments in both directions, and nanoseconds per segment.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn measure(run: &Run) -> (u64, f64) {
    const DELAY: Duration = Duration::from_millis(20);
    let mut rng = Seed(1).stream("loss");
    let mut now = Instant::ZERO;
    let mut client = TcpEndpoint::connect(run.config.clone(), now);
    let mut server = TcpEndpoint::listen(run.config.clone());
    client.write_forever();
    let mut up: VecDeque<(Instant, Segment)> = VecDeque::with_capacity(1 << 14);
    let mut down = up.clone();
    let begin = std::time::Instant::now();
    let mut handled = 0;
    while now < Instant::from_secs(20) {
        let arrival = earliest(up.front().map(|next| next.0), down.front().map(|next| next.0));
        let timeout = earliest(client.poll_timeout(), server.poll_timeout());
        now = earliest(arrival, timeout).map_or(now, |at| at.max(now));
        client.handle_timeout(now);
        server.handle_timeout(now);
        while let Some((at, segment)) = down.front() {
            if *at > now {
                break;
            }
            client.handle_segment(segment, false, now);
            down.pop_front();
            handled += 1;
            while let Some(segment) = client.poll_transmit(now) {
                if run.loss == 0.0 || !rng.chance(run.loss) {
                    up.push_back((now + DELAY, segment));
                }
            }
        }
        while let Some(segment) = client.poll_transmit(now) {
            up.push_back((now + DELAY, segment));
        }
        while let Some((at, segment)) = up.front() {
            if *at > now {
                break;
            }
            server.handle_segment(segment, false, now);
            up.pop_front();
            handled += 1;
            while let Some(segment) = server.poll_transmit(now) {
                down.push_back((now + DELAY, segment));
            }
        }
        while let Some(segment) = server.poll_transmit(now) {
            down.push_back((now + DELAY, segment));
        }
        while server.poll_event().is_some() {}
    }
    (handled, begin.elapsed().as_nanos() as f64 / handled as f64)
}

fn main() {
    let sack = TcpConfig::default();
    let newreno = TcpConfig { recovery: RecoveryKind::NewReno, ..sack.clone() };
    let each = TcpConfig { delayed_ack: DelayedAck::Off, ..sack.clone() };
    let large = TcpConfig { receive_window: ReceiveWindow::Fixed(ByteCount(64 << 20)), ..sack.clone() };
    let runs = [
        Run { name: "sack, no loss", config: sack.clone(), loss: 0.0 },
        Run { name: "newreno, no loss", config: newreno.clone(), loss: 0.0 },
        Run { name: "sack, no loss, every segment acknowledged", config: each, loss: 0.0 },
        Run { name: "sack, no loss, 64 MiB window", config: large.clone(), loss: 0.0 },
        Run { name: "sack, 0.1 % loss", config: sack.clone(), loss: 0.001 },
        Run { name: "sack, 1 % loss", config: sack, loss: 0.01 },
        Run { name: "newreno, 0.1 % loss", config: newreno, loss: 0.001 },
        Run { name: "sack, 0.001 % loss, 64 MiB window", config: large, loss: 0.000_01 },
    ];
    for run in runs {
        let (segments, nanos) = measure(&run);
        println!("{:<44} {segments:>10} segments {nanos:>7.1} ns each", run.name);
    }
}
