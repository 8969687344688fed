//! Shapers that follow their link: in virtual time, and behind real kernels.

use crate::common;
use std::time::Duration as Wait;

use crate::common::slow_link::SlowLink;
use crate::common::{FQ, Net, Place, SERVER, in_time, net, policy_text, up_to_three_times};
use gamelane_core::{Direction, Duration, Instant, Seed};
use gamelane_device::{Frames, Plane};
use gamelane_gateway::status::Status;
use gamelane_gateway::{Gateway, Policy};
use gamelane_stage::autorate::{Cause, Source};

fn policy(gateway: &str) -> Policy {
    Policy::parse(&policy_text(gateway), "test.toml", &[]).unwrap()
}

/// A quantile of the game's delay through gateway and link, in ms.
fn quantile(delays: &[Duration], quantile: f64) -> f64 {
    let mut delays = delays.to_vec();
    delays.sort_unstable();
    delays[(delays.len() as f64 * quantile) as usize].as_millis_f64()
}

#[test]
fn the_rate_goes_where_the_link_goes_and_the_game_does_not_wait() {
    let followed = policy(SlowLink::POLICY);
    let mut gateway = Gateway::new(&followed, Seed(1));
    let mbit = |gateway: &Gateway| gateway.shaped_to(Direction::Up, &followed).unwrap().bps() as f64 / 1e6;
    let mut link = SlowLink::new();
    link.run(&mut gateway, 10, 10e6);
    assert!((8.0..11.0).contains(&mbit(&gateway)), "{}", mbit(&gateway));
    assert!(quantile(&link.delays, 0.95) < 40.0, "{}", quantile(&link.delays, 0.95));
    link.run(&mut gateway, 3, 4e6);
    link.run(&mut gateway, 7, 4e6);
    let settled = quantile(&link.delays, 0.95);
    assert!((2.5..4.5).contains(&mbit(&gateway)), "{}", mbit(&gateway));
    assert!(settled < 50.0, "{settled}");
    let autorate = gateway.follower(Direction::Up).unwrap().autorate();
    let counters = *autorate.counters();
    assert!(matches!(autorate.moved().unwrap().cause, Cause::Delay(Source::Tcp) | Cause::Load(Source::Tcp)));
    assert!(counters.unheard * 10 < counters.windows && counters.windows >= 95, "{counters:?}");

    // Another queue and the same range: the rate stays. A range without that rate: it starts again.
    let now = link.now();
    let rate = |gateway: &Gateway| gateway.shaped_to(Direction::Up, &followed).unwrap().bps();
    let before = rate(&gateway);
    gateway.reload(&policy(&SlowLink::POLICY.replace("fq_codel", "fq_pie")), now);
    assert_eq!(rate(&gateway), before);
    gateway.reload(&policy(&SlowLink::POLICY.replace("lowest = \"1mbit\"", "lowest = \"6mbit\"")), now);
    assert_eq!(rate(&gateway), 10_000_000);
    gateway.reload(&followed, now);
    link.run(&mut gateway, 10, 4e6);
    link.run(&mut gateway, 20, 10e6);
    assert!((7.5..11.0).contains(&mbit(&gateway)), "{}", mbit(&gateway));

    // The same link without following: packets wait before the link, up to its buffer of 500 ms.
    let mut fixed = Gateway::new(&policy(&SlowLink::POLICY.replace("autorate =", "# autorate =")), Seed(1));
    let mut link = SlowLink::new();
    link.run(&mut fixed, 5, 10e6);
    link.run(&mut fixed, 5, 4e6);
    assert!(quantile(&link.delays, 0.5) > 400.0 && settled * 8.0 < quantile(&link.delays, 0.5));
    assert!(fixed.follower(Direction::Up).is_none());
}

/// RTP over UDP over IPv4, 20 ms of a call.
fn call(direction: Direction, number: u16) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([8, 0, 0x45, 0, 0, 200, 0, 9, 0x40, 0, 64, 17, 0, 0]);
    let ends = ([10, 0, 0, 1, 10, 0, 1, 3], [10, 0, 1, 3, 10, 0, 0, 1]);
    frame.extend(if direction == Direction::Up { ends.0 } else { ends.1 });
    frame.extend([40, 0, 40, 0, 0, 180, 0, 0, 0x80, 111]);
    frame.extend(number.to_be_bytes());
    frame.resize(14 + 200, 0xaa);
    frame
}

#[test]
fn a_call_that_comes_late_lowers_the_rate_and_one_that_does_not_lets_it_be() {
    let policy = policy(&format!(
        "shape = {{ down = \"10mbit\" }}\n{FQ}\nautorate = {{ down = {{ lowest = \"1mbit\", signals = [\"game\"] }} }}"
    ));
    let mut gateway = Gateway::new(&policy, Seed(1));
    let mut frames = Frames::new(100, 1600);
    let mut talk = |gateway: &mut Gateway, from: u64, to: u64, late_ms: u64| {
        for number in from..to {
            let now = Instant::from_millis(number * 20 + late_ms);
            gateway.handle_timeout(&mut frames, now);
            for direction in Direction::BOTH {
                let id = frames.fill([&call(direction, number as u16), &[], &[]]).unwrap();
                gateway.handle_frame(direction, id, &mut frames, now);
                while let Some(id) = gateway.poll_transmit(direction, &mut frames, now) {
                    frames.give_back(id);
                }
            }
        }
        *gateway.follower(Direction::Down).unwrap().autorate().counters()
    };
    // The interval is known after two seconds to recognise a call, and three periods of 128 packets.
    let silent = talk(&mut gateway, 0, 400, 0);
    assert_eq!((silent.passive, silent.unheard), (0, silent.windows), "{silent:?}");
    let even = talk(&mut gateway, 400, 1500, 0);
    assert!(even.passive > 900 && even.lowered == 0, "{even:?}");
    let late = talk(&mut gateway, 1500, 1600, 60);
    assert!(late.lowered >= 5, "{late:?}");
    let autorate = gateway.follower(Direction::Down).unwrap().autorate();
    assert!(autorate.moved().is_some_and(|moved| moved.cause == Cause::Delay(Source::Game)));
    assert!(autorate.rate().bps() < 9_500_000);
}

/// Downloads while the provider's rate falls from 10 to 4 Mbit/s, in real time. Returns median ping and status as soon as `until`
/// holds.
fn download(net: &Net, engine: &str, gateway: &str, until: impl Fn(&Status) -> bool) -> (f64, Status) {
    net.provide("10mbit");
    let gateway = net.gateway_with(&net.policy(gateway), &["--engine", engine]);
    let _server = net.serve(&["iperf3", "-s", "-1"], "-ltnH", ":5201");
    // BBR, the default of some kernels, stays at ten packets on a path without delay.
    let words = ["iperf3", "-c", SERVER, "-C", "reno", "-R", "-t", "60"];
    let client = net.command(Place::Home, &words).stdout(std::process::Stdio::null()).spawn().unwrap();
    let _client = common::Process(client);
    std::thread::sleep(Wait::from_millis(1500));
    net.provide("4mbit");
    std::thread::sleep(Wait::from_millis(1500));
    let there = common::wait(common::PATIENCE, || until(&gateway.status()));
    assert!(there, "{:?}", gateway.status());
    std::thread::sleep(Wait::from_millis(500));
    let said = net.run(Place::Home, &["ping", "-n", "-i", "0.05", "-c", "30", SERVER]);
    let times = said.lines().filter_map(|line| line.split_once("time=")?.1.split_whitespace().next());
    let mut times: Vec<f64> = times.map(|time| time.parse().unwrap()).collect();
    times.sort_by(f64::total_cmp);
    assert!(times.len() > 10, "{said}");
    (times[times.len() / 2], gateway.status())
}

#[test]
fn behind_a_provider_that_slows_down_a_real_download_is_followed_and_its_queue_is_gone() {
    let Some(net) = net(1500, &["iperf3", "tc"]) else { return };
    let fixed = format!("shape = {{ down = \"7mbit\" }}\n{FQ}");
    up_to_three_times(|| follows(&net, "user", &fixed));
}

#[test]
fn the_kernels_shaper_follows_too() {
    let Some(net) = net(1500, &["iperf3", "tc"]) else { return };
    let bridge = "ip link add br0 type bridge; ip link set lan master br0; ip link set wan master br0; ip link set br0 up";
    net.run(Place::Gateway, &["sh", "-ec", bridge]);
    // Not every kernel has FQ-CoDel. Ten packets take 30 ms at 4 Mbit/s.
    let fixed = "shape = { down = \"7mbit\" }\ndown = { queue = \"fifo\", limit = \"10p\" }";
    up_to_three_times(|| follows(&net, "kernel", fixed));
}

fn follows(net: &Net, engine: &str, fixed: &str) -> Result<(), String> {
    let (waits, status) = download(net, engine, fixed, |_| true);
    assert!(status.autorate.is_empty());
    // Reno fills 150 kB, which take 300 ms at 4 Mbit/s.
    in_time(waits > 50.0, || format!("{waits} ms without following"))?;
    let follows = "autorate = { down = { lowest = \"500kbit\", highest = \"20mbit\" } }";
    let below = |status: &Status| status.autorate["down"].rate_bps < 4_400_000;
    let (followed, status) = download(net, engine, &format!("{fixed}\n{follows}"), below);
    let own = &status.autorate["down"];
    in_time((1_200_000..4_700_000).contains(&own.rate_bps), || format!("{own:?}"))?;
    in_time(followed * 3.0 < waits, || format!("{followed} ms, {waits} without: {own:?}"))?;
    let moved = own.moved.as_ref().expect("it fell");
    assert!(own.lowered > 0, "{own:?}");
    in_time(moved.signal.as_deref() == Some("tcp"), || format!("{own:?}"))?;
    in_time(own.windows_unheard * 2 < own.windows, || format!("{own:?}"))?;
    let metrics = gamelane_gateway::status::metrics::metrics(&status).into_text();
    let line = format!("autorate_rate_bps{{direction=\"down\"}} {}", own.rate_bps);
    assert!(metrics.contains(&line) && metrics.contains("signal=\"tcp\""), "{metrics}");
    let page = gamelane_gateway::status::page(&status, false);
    assert!(page.contains("follows the link from 0.50 Mbit/s to 20.00 Mbit/s"), "{page}");
    Ok(())
}
