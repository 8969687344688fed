//! Properties under random loss: every byte written is delivered once and in order, windows are respected, and the run
//! ends.

use crate::pair::{Fate, Pair, Side};
use gamelane_core::{ByteCount, Catalogued, Duration, IpLen, Seed};
use gamelane_tcp::{
    Bundling, CongestionKind, Control, DelayedAck, InitialWindow, ModifiedRto, Nagle, Piggyback,
    ReceiveWindow, RecoveryKind, Reduction, SlowStart, TcpConfig, TcpTuning, Timer, TimerKind, WindowCounts,
    WindowValidation,
};
use proptest::prelude::*;
use proptest::sample::select;

pub fn recovery() -> impl Strategy<Value = RecoveryKind> {
    select(RecoveryKind::ALL)
}

pub fn congestion() -> impl Strategy<Value = CongestionKind> {
    select(Control::ALL).prop_filter_map("only kernels have it", Control::simulated)
}

pub fn timer() -> impl Strategy<Value = TimerKind> {
    (select(Timer::ALL), 20u64..2_000).prop_map(|(timer, millis)| match timer {
        Timer::Rfc6298 => TimerKind::Rfc6298,
        Timer::Linux => TimerKind::Linux,
        Timer::Linux26 => TimerKind::Linux26,
        Timer::FreeBsd14 => TimerKind::FreeBsd14,
        Timer::FreeBsd10 => TimerKind::FreeBsd10,
        Timer::Windows11 => TimerKind::Windows11,
        Timer::Modified => TimerKind::Modified(ModifiedRto::default()),
        Timer::Fixed => TimerKind::Fixed(Duration::from_millis(millis)),
    })
}

/// All combinations of the switches.
pub fn tuning() -> impl Strategy<Value = TcpTuning> {
    let piggyback = prop_oneof![
        Just(Piggyback::Off),
        Just(Piggyback::Next),
        Just(Piggyback::Sent),
        Just(Piggyback::AllThatFit)
    ];
    let bundling = proptest::option::of((0u8..4, 1u64..100)).prop_map(|rules| {
        rules
            .map(|(segments, millis)| Bundling { segments, shortest_interval: Duration::from_millis(millis) })
    });
    let others = (1u32..8, any::<[bool; 12]>(), piggyback, bundling);
    others.prop_map(|(thin_below, on, piggyback, bundling)| TcpTuning {
        thin_below,
        linear_timeouts: on[0],
        single_duplicate_ack: on[1],
        early_retransmit: on[2],
        duplicate_sack: on[3],
        forward_rto: on[4],
        merge_writes: on[5],
        window_counts: if on[6] { WindowCounts::Segments } else { WindowCounts::Bytes },
        slow_start: if on[7] { SlowStart::Linux } else { SlowStart::Rfc5681 },
        eifel: on[8],
        linear_syns: thin_below - 1,
        hystart: on[9],
        reduction: if on[10] { Reduction::Proportional } else { Reduction::AtOnce },
        window_validation: if on[11] { WindowValidation::Decay } else { WindowValidation::Restart },
        piggyback,
        bundling,
    })
}

fn nagle() -> impl Strategy<Value = Nagle> {
    select(&[Nagle::Off, Nagle::Any, Nagle::Small][..])
}

fn receive_window() -> impl Strategy<Value = ReceiveWindow> {
    prop_oneof![
        (500u64..400_000).prop_map(|size| ReceiveWindow::Fixed(ByteCount(size))),
        (100_000u64..10_000_000).prop_map(|size| ReceiveWindow::Auto(ByteCount(size))),
        (100_000u64..10_000_000).prop_map(|size| ReceiveWindow::Steps(ByteCount(size))),
        (100_000u64..10_000_000).prop_map(|size| ReceiveWindow::ByHalf(ByteCount(size))),
    ]
}

fn delayed_ack() -> impl Strategy<Value = DelayedAck> {
    prop_oneof![
        Just(DelayedAck::Off),
        (1u64..200).prop_map(|wait| DelayedAck::After(Duration::from_millis(wait))),
        Just(DelayedAck::Adaptive),
    ]
}

fn config() -> impl Strategy<Value = TcpConfig> {
    (
        (recovery(), congestion(), timer(), any::<bool>(), nagle(), any::<bool>(), any::<bool>()),
        (100u32..1500, receive_window(), 1u32..20, 0u32..20, delayed_ack()),
    )
        .prop_map(
            |(
                (recovery, congestion, timer, timestamps, nagle, limited_transmit, ecn),
                (mtu, receive_window, initial, quick_acks, delayed_ack),
            )| {
                TcpConfig {
                    mtu: IpLen(mtu),
                    timestamps,
                    initial_window: InitialWindow::Segments(initial),
                    recovery,
                    congestion,
                    timer,
                    limited_transmit,
                    nagle,
                    delayed_ack,
                    quick_acks,
                    receive_window,
                    ecn,
                    ..TcpConfig::default()
                }
            },
        )
}

#[derive(Clone, Debug)]
struct Script {
    /// Milliseconds to wait, then the bytes that the client and the server write.
    writes: Vec<(u64, u64, u64)>,
    loss: f64,
    marks: f64,
    delay_ms: u64,
    seed: u64,
}

fn script() -> impl Strategy<Value = Script> {
    (
        proptest::collection::vec((0u64..300, 0u64..40_000, 0u64..3_000), 0..8),
        0.0..0.3,
        0.0..0.3,
        0u64..200,
        any::<u64>(),
    )
        .prop_map(|(writes, loss, marks, delay_ms, seed)| Script { writes, loss, marks, delay_ms, seed })
}

/// Loses segments at random, but never so many in a row that an endpoint may give up. Also checks that no right edge of
/// a window moves left, and that no side sends beyond it.
fn network(script: &Script) -> crate::pair::Rule {
    let mut rng = Seed(script.seed).stream("network");
    let (loss, marks) = (script.loss, script.marks);
    let mut streaks = [0u32; 2];
    let mut shifts = [0u8; 2];
    let mut edges = [0u64; 2];
    Box::new(move |side, _, segment| {
        let (me, peer) = (side as usize, 1 - side as usize);
        if segment.flags.syn() {
            shifts[me] = segment.window_scale.unwrap_or(0);
            edges[me] = edges[me].max(1 + u64::from(segment.window));
        } else {
            let edge = segment.ack + (u64::from(segment.window) << shifts[me]);
            assert!(edge >= edges[me], "the right edge moved left: {edge} < {}", edges[me]);
            edges[me] = edge;
            assert!(segment.seq + u64::from(segment.len) <= edges[peer], "beyond the window");
        }
        let (lose, mark) = (rng.chance(loss), rng.chance(marks));
        streaks[me] = if lose { streaks[me] + 1 } else { 0 };
        let bearable = if segment.flags.syn() { 1 } else { 3 };
        if lose && streaks[me] <= bearable {
            Fate::Lost
        } else if mark {
            Fate::Marked
        } else {
            Fate::Arrives
        }
    })
}

fn transfer(client: TcpConfig, server: TcpConfig, tuning: TcpTuning, script: &Script) -> Pair {
    let mut pair = Pair::new(client, server, script.delay_ms).tuned(tuning);
    pair.rule = network(script);
    let mut written = [0; 2];
    for &(wait, up, down) in &script.writes {
        pair.run_for(wait);
        pair.client.write(ByteCount(up));
        pair.server.write(ByteCount(down));
        written[Side::Server as usize] += up;
        written[Side::Client as usize] += down;
    }
    pair.client.close();
    pair.run_for(script.delay_ms);
    pair.server.close();
    assert!(pair.run_to_end(100_000), "the run does not end: {:?}", pair.next_event());
    assert_eq!(pair.delivered, written, "{}", pair.log);
    pair
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_is_delivered_once(
        client in config(),
        server in config(),
        tuning in tuning(),
        script in script(),
    ) {
        let pair = transfer(client, server, tuning, &script);
        prop_assert!(pair.client.is_closed());
    }

    #[test]
    fn the_same_script_gives_the_same_packets(config in config(), tuning in tuning(), script in script()) {
        let first = transfer(config.clone(), config.clone(), tuning, &script);
        let second = transfer(config.clone(), config, tuning, &script);
        prop_assert_eq!(first.log, second.log);
    }
}
