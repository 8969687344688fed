//! Figure 6 of griwodz2006, packet by packet. The round trip in the figure is 600 ms with jitter, so this is the
//! testbed with 300 ms each way. These points explain the figure:
//!
//! - Linux 2.6's timer is restarted by the ACK of 463.933. It expires 604 ms + 200 ms later, at 464.737, which is 1.046
//!   s after the first transmission.
//! - The retransmission carries the next small segment too, but no more.
//! - Each of the two duplicate ACKs allows one new segment (RFC 3042). The window of one segment holds the third lost
//!   segment back.
//! - Data written in the meantime waits and shares a segment.

use gamelane_core::{ByteCount, Duration, Instant, IpLen};
use gamelane_tcp::accounting::{PacketHistory, RetransmissionLedger, RetransmissionTotals};
use gamelane_tcp::{
    Flags, Nagle, Piggyback, RecoveryKind, Segment, TcpConfig, TcpEndpoint, TcpTuning, TimerKind,
    WindowCounts,
};
use std::fmt::Write;

/// The sender, the packets it sent, and the accounting of its retransmissions.
struct Server {
    endpoint: TcpEndpoint,
    log: String,
    ledger: RetransmissionLedger,
    totals: RetransmissionTotals,
    histories: Vec<PacketHistory>,
    /// Offset after the highest byte sent.
    next: u64,
}

impl Server {
    fn established() -> Self {
        let tuning = TcpTuning {
            merge_writes: true,
            piggyback: Piggyback::Next,
            window_counts: WindowCounts::Segments,
            ..TcpTuning::default()
        };
        let config = TcpConfig {
            mtu: IpLen(1500),
            timestamps: false,
            nagle: Nagle::Off,
            recovery: RecoveryKind::NewReno,
            timer: TimerKind::Linux26,
            tuning,
            ..TcpConfig::default()
        };
        let mut peer = TcpEndpoint::connect(config.clone(), Instant::ZERO);
        let mut endpoint = TcpEndpoint::listen(config);
        let syn = peer.poll_transmit(Instant::ZERO).unwrap();
        endpoint.handle_segment(&syn, false, Instant::ZERO);
        let syn_ack = endpoint.poll_transmit(Instant::ZERO).unwrap();
        peer.handle_segment(&syn_ack, false, at(300_000));
        endpoint.handle_segment(&peer.poll_transmit(at(300_000)).unwrap(), false, at(600_000));
        Self {
            endpoint,
            log: String::new(),
            ledger: RetransmissionLedger::new(1),
            totals: RetransmissionTotals::default(),
            histories: Vec::new(),
            next: 1,
        }
    }

    fn write(&mut self, bytes: u64, now: Instant) {
        self.run_to(now);
        self.endpoint.write(ByteCount(bytes));
        self.drain(now);
    }

    fn ack(&mut self, ack: u64, now: Instant) {
        self.run_to(now);
        let duplicate = ack == self.ledger.acknowledged_to();
        writeln!(self.log, "{} t {} ack {ack}", if duplicate { "DUP ACK" } else { "ACK" }, seconds(now))
            .unwrap();
        let segment = Segment {
            seq: 1,
            ack,
            window: 32_768,
            flags: Flags { ack: true, ..Flags::default() }.into(),
            ..Segment::default()
        };
        self.endpoint.handle_segment(&segment, false, now);
        let histories = &mut self.histories;
        self.ledger.acknowledged(now, ack, &mut self.totals, |history| histories.push(*history));
        self.drain(now);
    }

    fn run_to(&mut self, now: Instant) {
        while let Some(at) = self.endpoint.poll_timeout().filter(|&at| at < now) {
            self.endpoint.handle_timeout(at);
            self.drain(at);
        }
    }

    fn drain(&mut self, now: Instant) {
        while let Some(segment) = self.endpoint.poll_transmit(now) {
            assert!(segment.len > 0);
            let again = if segment.seq < self.next { "RTR " } else { "" };
            writeln!(self.log, "{again}PKT t {} seq {} len {}", seconds(now), segment.seq, segment.len)
                .unwrap();
            self.next = self.next.max(segment.end());
            self.ledger.sent(now, segment.seq, segment.len, &mut self.totals);
        }
    }
}

const fn at(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1_000)
}

fn seconds(now: Instant) -> String {
    let millis = (now.as_nanos() + 500_000) / 1_000_000;
    format!("{}.{:03}", millis / 1000, millis % 1000)
}

#[test]
fn the_sequence_of_figure_6_is_reproduced_exactly() {
    let mut server = Server::established();
    // 45 exchanges settle the estimator. The last sample (579 ms) brings the smoothed round trip to 604 ms.
    const ROUND_TRIP_US: u64 = 607_571;
    let (mut offset, mut now) = (1, 420_000_000);
    for exchange in 0..45 {
        // The last one is the packet before 126. It is acknowledged at 463.681.
        let (bytes, when) =
            if exchange < 44 { (120, now) } else { (5546 - offset, 463_681_000 - ROUND_TRIP_US) };
        server.write(bytes, at(when));
        offset += bytes;
        if exchange < 44 {
            server.ack(offset, at(when + ROUND_TRIP_US));
        }
        now = when + 950_000;
    }
    server.histories.clear();
    server.log.clear();
    server.totals = RetransmissionTotals::default();
    server.write(37, at(463_354_000));
    server.ack(5546, at(463_681_000));
    server.write(70, at(463_691_000));
    server.ack(5583, at(463_933_000));
    server.write(83, at(464_199_000));
    server.write(94, at(464_726_000));
    server.ack(5583, at(464_845_000));
    server.write(25, at(465_019_000));
    // 228 bytes of writes wait for the window; the figure does not show them.
    for (bytes, when) in [(100, 465_100_000), (128, 465_250_000)] {
        server.write(bytes, at(when));
    }
    server.ack(5583, at(465_329_000));
    server.ack(5830, at(465_361_000));
    let expected = "\
PKT t 463.354 seq 5546 len 37
ACK t 463.681 ack 5546
PKT t 463.691 seq 5583 len 70
ACK t 463.933 ack 5583
PKT t 464.199 seq 5653 len 83
PKT t 464.726 seq 5736 len 94
RTR PKT t 464.737 seq 5583 len 153
DUP ACK t 464.845 ack 5583
PKT t 465.019 seq 5830 len 25
DUP ACK t 465.329 ack 5583
PKT t 465.329 seq 5855 len 228
ACK t 465.361 ack 5830
";
    assert_eq!(server.log, expected);

    // The numbers that the figure gives.
    let lost = server.histories.iter().find(|history| history.start == 5583).unwrap();
    assert_eq!((lost.retransmissions, lost.itself, lost.included), (1, 1, 0));
    let to_millis = |duration: Duration| (duration.as_nanos() + 500_000) / 1_000_000;
    assert_eq!(to_millis(lost.last_sent - lost.first_sent), 1046);
    assert_eq!(to_millis(lost.acknowledged_at - lost.first_sent), 1670);
    let taken_along = server.histories.iter().find(|history| history.start == 5653).unwrap();
    assert_eq!((taken_along.retransmissions, taken_along.itself, taken_along.included), (1, 0, 1));
    let left_behind = server.histories.iter().find(|history| history.start == 5736).unwrap();
    assert_eq!(left_behind.retransmissions, 0);
}
