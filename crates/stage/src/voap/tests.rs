//! Tests of VoAP with conversations segment by segment, and properties of any conversation.

use std::vec::Vec;

use gamelane_core::{Direction, Duration, FlowKey, Instant, IpLen, Protocol, Seed};
use proptest::prelude::*;

use super::*;
use crate::tcp::{TcpFacts, TcpFlags};

const MSS: u32 = 1000;

fn key(port: u16) -> FlowKey {
    FlowKey {
        source: core::net::SocketAddr::from(([192, 168, 1, 2], port)),
        destination: "198.51.100.1:80".parse().unwrap(),
        protocol: Protocol::Tcp,
    }
}

fn config() -> VoapConfig {
    VoapConfig { floor: 4, ..VoapConfig::default() }
}

fn facts(direction: Direction, seq: u32, ack: u32, payload: u32, window: u16) -> TcpFacts {
    let flags = TcpFlags { ack: true, ..TcpFlags::default() };
    TcpFacts {
        connection: key(50_000),
        direction,
        seq,
        ack,
        payload,
        flags,
        window,
        window_scale: None,
        mss: None,
    }
}

fn hops(down_ms: u64) -> HopView {
    HopView { queue_delay: [Duration::ZERO, Duration::from_millis(down_ms)] }
}

const DATA: IpLen = IpLen(1040);

/// A download through the stage. The data of the client starts at 1, that of the server at `iss + 1`.
struct Download {
    voap: Voap,
    iss: u32,
    now: Instant,
}

impl Download {
    /// Makes a connection after a handshake of 100 ms with these window scales. The windows of the SYNs are 65535.
    fn opened(config: VoapConfig, scales: [Option<u8>; 2], iss: u32) -> Self {
        let mut download = Self { voap: Voap::new(config, Seed(1)), iss, now: Instant::from_secs(1) };
        let mss = Some(MSS as u16);
        let mut syn = TcpFacts { window_scale: scales[0], mss, ..facts(Direction::Up, 0, 0, 0, 65_535) };
        syn.flags = TcpFlags { syn: true, ..TcpFlags::default() };
        let mut answer =
            TcpFacts { window_scale: scales[1], mss, ..facts(Direction::Down, iss, 1, 0, 65_535) };
        answer.flags = TcpFlags { syn: true, ack: true, ..TcpFlags::default() };
        assert_eq!(download.show(&syn, 0), Verdict::Keep);
        download.now += Duration::from_millis(90);
        assert_eq!(download.show(&answer, 0), Verdict::Keep);
        download.now += Duration::from_millis(10);
        download
    }

    fn show(&mut self, facts: &TcpFacts, down_ms: u64) -> Verdict {
        self.voap.inspect(facts, DATA, &hops(down_ms), self.now)
    }

    /// Lets the client acknowledge `bytes` of the stream with this window field. Returns the field after the stage.
    fn ack(&mut self, bytes: u32, window: u16, down_ms: u64) -> u16 {
        let ack = self.iss.wrapping_add(1).wrapping_add(bytes);
        match self.show(&facts(Direction::Up, 1, ack, 0, window), down_ms) {
            Verdict::Keep => window,
            Verdict::SetWindow(field) => field,
        }
    }
}

#[test]
fn a_download_is_held_at_its_flight_and_then_follows_the_law() {
    let mut download = Download::opened(VoapConfig { step: 2, ..config() }, [Some(7), Some(7)], 1000);
    let mut acked = 0;
    let mut fields = Vec::new();
    // 2000 B per ms for 4 s, so 200 kB in flight at 100 ms. One second each with a delay of 0, 20, 10 and 1 ms.
    for ms in 0..4000 {
        let delay = [0, 20, 10, 1][ms / 1000];
        acked += 2 * MSS;
        download.now += Duration::from_millis(1);
        fields.push(u32::from(download.ack(acked, 65_535, delay)) << 7);
    }
    // Before the first delay above beta: three times 200 kB plus ten segments.
    assert!(fields[700].abs_diff(630_000) < 15_000, "{}", fields[700]);
    // The window shrinks only by the data that is acknowledged, 2000 B per ms, because the edge must not move left.
    let debt = [fields[1150], fields[1200]];
    assert!(debt[0].abs_diff(debt[1]).abs_diff(100_000) < 5_000, "{debt:?}");
    // Starts from the data in flight, 2000 B per ms for 120 ms, and shrinks by two segments in each of eight round
    // trips.
    let held = fields[1999];
    assert!((214_000..=226_000).contains(&held), "{held}");
    // Between alpha and beta the window stays, except for rounding.
    assert!(fields[2200].abs_diff(fields[2999]) <= 1000, "{} {}", fields[2200], fields[2999]);
    // Nine or ten round trips of 101 ms below alpha.
    let grown = fields[3999] - fields[2999];
    assert!((16_000..=22_000).contains(&grown), "{grown}");
    assert_eq!(download.voap.counters().unknown, 0);
    assert!(download.voap.counters().lowered > 3000);
}

#[test]
fn scaling_counts_only_if_both_sides_offered_it() {
    for (scales, shift) in
        [([Some(7), Some(2)], 7), ([Some(7), None], 0), ([None, Some(7)], 0), ([Some(15), Some(0)], 14)]
    {
        let mut download = Download::opened(config(), scales, 0);
        let field = download.ack(MSS, 65_535, 0);
        let bytes = u64::from(field) << shift;
        // After one ACK of a segment the law allows only (1 + 10 segments) * 3. But the 65535 B of the SYN's window
        // cannot be taken back, so 64535 B are left.
        let unit = 1 << shift;
        assert!((64_535..64_535 + unit).contains(&bytes), "{scales:?}: {bytes}");
    }
}

#[test]
fn without_the_syns_nothing_is_touched() {
    let mut voap = Voap::new(config(), Seed(1));
    let mut late = facts(Direction::Up, 1, 5000, 0, 65_535);
    for ms in 0..1000 {
        late.ack += 2000;
        assert_eq!(voap.inspect(&late, DATA, &hops(500), Instant::from_millis(ms)), Verdict::Keep);
    }
    assert_eq!((voap.counters().unknown, voap.counters().lowered), (1000, 0));
}

#[test]
fn syn_reset_keep_alive_and_zero_window_pass_untouched() {
    let mut download = Download::opened(config(), [Some(0), Some(0)], 0);
    for n in 1..200 {
        download.now += Duration::from_millis(10);
        download.ack(n * MSS, 65_535, 100);
    }
    assert!(download.ack(200 * MSS, 65_535, 100) < 65_535);
    assert_eq!(download.ack(200 * MSS, 0, 100), 0);
    assert_eq!(download.ack(200 * MSS, 3, 100), 3);
    let keep_alive = facts(Direction::Up, 0, 1 + 200 * MSS, 0, 65_535);
    assert_eq!(download.show(&keep_alive, 100), Verdict::Keep);
    let mut reset = facts(Direction::Up, 1, 1 + 200 * MSS, 0, 65_535);
    reset.flags.rst = true;
    assert_eq!(download.show(&reset, 100), Verdict::Keep);
    // An RST ends the connection. Segments after it belong to no known connection.
    download.ack(201 * MSS, 65_535, 100);
    assert_eq!(download.voap.counters().unknown, 1);
}

#[test]
fn a_full_table_leaves_newcomers_alone_and_keeps_what_works() {
    let config = VoapConfig { connections: 8, ..config() };
    let mut voap = Voap::new(config, Seed(1));
    let open = |voap: &mut Voap, port: u16, now: Instant, whole: bool| {
        let flags = TcpFlags { syn: true, ..TcpFlags::default() };
        let syn = TcpFacts { connection: key(port), flags, ..facts(Direction::Up, 0, 0, 0, 1000) };
        voap.inspect(&syn, DATA, &hops(0), now);
        if whole {
            let flags = TcpFlags { ack: true, ..flags };
            let answer = TcpFacts { connection: key(port), flags, ..facts(Direction::Down, 9, 1, 0, 1000) };
            voap.inspect(&answer, DATA, &hops(0), now);
            let ack = TcpFacts { connection: key(port), ..facts(Direction::Up, 1, 10, 0, 1000) };
            voap.inspect(&ack, DATA, &hops(0), now);
        }
    };
    for port in 1..=7 {
        open(&mut voap, port, Instant::ZERO, true);
    }
    // A flood of SYNs without handshakes shares the only free entry.
    for port in 100..1100 {
        open(&mut voap, port, Instant::from_secs(1), false);
    }
    assert_eq!((voap.counters().opened, voap.counters().no_room), (1007, 0));
    open(&mut voap, 8, Instant::from_secs(2), true);
    let before = voap.counters().unknown;
    for port in 1..=8 {
        let ack = TcpFacts { connection: key(port), ..facts(Direction::Up, 1, 10, 0, 1000) };
        voap.inspect(&ack, DATA, &hops(0), Instant::from_secs(3));
    }
    assert_eq!(voap.counters().unknown, before);
    open(&mut voap, 9, Instant::from_secs(4), true);
    assert_eq!(voap.counters().no_room, 1);
    assert_eq!(voap.counters().unknown, before + 3);
    // Connections idle for long make room.
    open(&mut voap, 10, Instant::from_secs(400), true);
    assert_eq!(voap.counters().no_room, 1);
}

#[test]
fn what_it_cannot_reach_is_counted() {
    let mut voap = Voap::new(config(), Seed(1));
    let udp = |port| FlowKey {
        destination: core::net::SocketAddr::from(([198, 51, 100, 1], port)),
        protocol: Protocol::Udp,
        ..key(50_000)
    };
    voap.note_other(&udp(443), Direction::Down, IpLen(1200));
    voap.note_other(&udp(27_960), Direction::Down, IpLen(150));
    voap.note_other(&udp(443), Direction::Up, IpLen(1200));
    let counters = voap.counters();
    assert_eq!(
        (counters.quic, counters.other),
        ([ByteCount(0), ByteCount(1200)], [ByteCount(0), ByteCount(150)])
    );
}

proptest! {
    /// For any windows, delays and orders of ACKs: the window is never above the receiver's, never set to zero, and
    /// never below the floor. The right edge never moves left; with a unit above a segment, by less than a unit.
    #[test]
    fn any_conversation(
        iss: u32,
        shift in 0..16u8,
        period in prop_oneof![
            Just(Period::Ack),
            Just(Period::RoundTrip),
            (1..500u64).prop_map(|ms| Period::Every(Duration::from_millis(ms))),
        ],
        step in 1..20u32,
        acks in proptest::collection::vec((0..30_000u32, 0..40_000u32, 0..100u64, 0..200u64, any::<u16>()), 1..300),
    ) {
        let config = VoapConfig { period, step, ..config() };
        let mut download = Download::opened(config, [Some(shift), Some(3)], iss);
        let unit = 1i64 << shift.min(14);
        let slip = if unit > i64::from(MSS) { unit - 1 } else { 0 };
        let mut acked = 0i64;
        let mut edge = i64::from(u16::MAX);
        let mut own_edge = edge;
        for (forward, back, wait_ms, delay_ms, window) in acks {
            acked += i64::from(forward);
            let reordered = (acked - i64::from(back) * i64::from(back % 2)).max(0);
            download.now += Duration::from_millis(wait_ms);
            let field = download.ack(reordered as u32, window, delay_ms);
            prop_assert!(field <= window);
            prop_assert!(field > 0 || window == 0);
            let advertised = i64::from(field) * unit;
            let own = i64::from(window) * unit;
            prop_assert!(advertised >= own.min(4 * i64::from(MSS)) || reordered + advertised >= edge);
            own_edge = own_edge.max(reordered + own);
            // The edge moves left only as far as that of the receiver.
            prop_assert!(reordered + advertised >= edge.min(reordered + own) - slip);
            edge = edge.max(reordered + advertised);
            prop_assert!(edge <= own_edge);
        }
    }

    /// Any segments from either side cause no panic, and the counters add up.
    #[test]
    fn any_segments(
        segments in proptest::collection::vec(
            (any::<bool>(), any::<u32>(), any::<u32>(), 0..3000u32, any::<u8>(), any::<u16>(),
             proptest::option::of(any::<u8>()), proptest::option::of(any::<u16>()), 0..4u16, 0..10_000u64),
            1..400,
        ),
    ) {
        let mut voap = Voap::new(VoapConfig { connections: 2, data: [true, true], ..config() }, Seed(3));
        let mut now = Instant::ZERO;
        for (up, seq, ack, payload, bits, window, window_scale, mss, port, wait_ms) in segments {
            now += Duration::from_millis(wait_ms);
            let flag = |n: u8| bits & (1 << n) != 0;
            let flags = TcpFlags { syn: flag(0), ack: flag(1) || flag(2), fin: flag(3), rst: flag(4) && flag(5) };
            let direction = if up { Direction::Up } else { Direction::Down };
            // Use few different numbers, so that some segments belong to a valid conversation.
            let [seq, ack] = [seq % 5 * 1000, ack % 5 * 1000];
            let facts = TcpFacts {
                connection: key(port), direction, seq, ack, payload, flags, window, window_scale, mss,
            };
            let verdict = voap.inspect(&facts, DATA, &hops(wait_ms % 30), now);
            if let Verdict::SetWindow(field) = verdict {
                prop_assert!(field > 0 && field < window && !flags.syn && !flags.rst);
            }
        }
        let counters = voap.counters();
        prop_assert!(counters.lowered + counters.not_ours + counters.unknown <= counters.segments);
    }
}
