//! Real kernels communicate through the gateway: TCP, UDP, IPv6, fragments, jumbo frames. The shaper keeps its rate.

use crate::common;
use crate::common::{FQ, PATIENCE, Place, SERVER, SERVER_V6, in_time, net, up_to_three_times, ways};
use gamelane_gateway::status::BothWays;

#[test]
fn hosts_reach_each_other_with_both_protocols_and_in_pieces() {
    let Some(net) = net(1500, &[]) else { return };
    for way in ways() {
        let gateway = net.gateway_by(way, FQ);
        for words in [["-c", "10", "-s", "56", SERVER], ["-c", "10", "-s", "56", SERVER_V6]] {
            assert!(net.ping(&words).contains("10 received"), "{way}");
        }
        // Fragments of 6000 B, and all sizes around the padding of short frames.
        for words in [
            ["-c", "5", "-s", "6000", SERVER],
            ["-c", "5", "-s", "6000", SERVER_V6],
            ["-c", "5", "-s", "1", SERVER],
        ] {
            assert!(net.ping(&words).contains("5 received"), "{way}: {words:?}");
        }
        gateway.assert_conserves();
        let status = gateway.status();
        assert_eq!(status.queues["up"].drops + status.queues["down"].drops, 0);
        assert!(status.queues["up"].packets >= 45, "{way}: {:?}", status.queues["up"]);
    }
}

#[test]
fn jumbo_frames_pass_whole() {
    let Some(net) = net(9000, &[]) else { return };
    let gateway = net.gateway(FQ);
    assert!(net.ping(&["-c", "5", "-M", "do", "-s", "8972", SERVER]).contains("5 received"));
    gateway.assert_conserves();
    assert_eq!(gateway.status().engine.unwrap().too_long, BothWays::default());
}

#[test]
fn tcp_and_udp_keep_to_the_rates_they_are_shaped_to() {
    keeps_to_rates("packet");
}

#[test]
fn tcp_and_udp_keep_to_the_rates_they_are_shaped_to_by_af_xdp() {
    if ways().contains(&"xdp") {
        keeps_to_rates("xdp");
    }
}

fn keeps_to_rates(way: &str) {
    let Some(net) = net(1500, &["iperf3"]) else { return };
    let gateway = net.gateway_by(way, &format!("shape = {{ up = \"10mbit\", down = \"20mbit\" }}\n{FQ}"));
    // Of 1500 B, TCP with timestamps leaves 1448 B for the application.
    for (words, rate) in [(&["-t", "3"][..], 10e6), (&["-t", "3", "-R"][..], 20e6)] {
        up_to_three_times(|| {
            let result = net.iperf(words);
            let goodput =
                result["end"]["sum_received"]["bits_per_second"].as_f64().ok_or(result.to_string())?;
            let full = rate * 1448.0 / 1500.0;
            in_time((0.9 * full..1.02 * full).contains(&goodput), || {
                format!("{words:?}: {goodput} of {full}")
            })
        });
    }
    // 12 Mbit/s of datagrams into 10 Mbit/s: a sixth is lost, and the queue counts it.
    up_to_three_times(|| {
        let result = net.iperf(&["-u", "-b", "12M", "-l", "1200", "-t", "3"]);
        let lost = result["end"]["sum"]["lost_percent"].as_f64().ok_or(result.to_string())?;
        in_time((5.0..35.0).contains(&lost), || format!("{lost} %"))
    });
    gateway.assert_conserves();
    assert!(gateway.status().queues["up"].drops > 100);
    let errors = net.run(Place::Home, &["nstat", "-az", "TcpInCsumErrors", "UdpInCsumErrors"]);
    assert!(errors.lines().skip(1).all(|line| line.split_whitespace().nth(1) == Some("0")), "{errors}");
}

#[test]
fn a_sender_that_leaves_checksums_to_hardware_is_helped() {
    let Some(net) = net(1500, &["iperf3"]) else { return };
    for place in [Place::Home, Place::Internet] {
        net.run(place, &["ethtool", "-K", "eth0", "tx", "on", "tso", "off", "gso", "off"]);
    }
    for way in ways() {
        let _gateway = net.gateway_by(way, FQ);
        // By time: with an amount, iperf3 counts only what arrived when the last byte was sent.
        for family in [&["-t", "1"][..], &["-t", "1", "-6", "-c", SERVER_V6]] {
            let result = net.iperf(family);
            let arrived = result["end"]["sum_received"]["bytes"].as_u64();
            assert!(arrived > Some(2 << 20), "{way}: {}", result["end"]);
        }
        let errors = net.run(Place::Internet, &["nstat", "-az", "TcpInCsumErrors"]);
        assert!(errors.lines().skip(1).all(|line| line.split_whitespace().nth(1) == Some("0")), "{errors}");
        assert!(net.ping(&["-c", "3", SERVER]).contains("3 received"));
    }
}

#[test]
fn a_flood_cannot_delay_a_sparse_flow_behind_fq_codel_and_does_behind_a_fifo() {
    let Some(net) = net(1500, &["iperf3"]) else { return };
    let delay = |gateway: &str| {
        let gateway = net.gateway(gateway);
        let flood = net.flood();
        wait_for_a_queue(&gateway);
        let ping = ["ping", "-n", "-i", "0.05", "-W", "2", "-c", "30", SERVER];
        let said = net.command(Place::Home, &ping).output().unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        drop(flood);
        gateway.assert_conserves();
        // 64 bytes from 10.77.0.2: icmp_seq=1 ttl=64 time=0.068 ms
        let times = said.split("time=").skip(1).map(|rest| rest.split(' ').next().unwrap().parse().unwrap());
        let mut times: Vec<f64> = times.collect();
        times.sort_by(f64::total_cmp);
        // Regular pings may all find a full FIFO full.
        times.get(times.len() / 2).copied().ok_or(format!("no ping came back: {said}"))
    };
    up_to_three_times(|| {
        let fifo = delay("shape = { up = \"4mbit\" }\nup = { queue = \"fifo\", limit = \"50p\" }")?;
        let fair = delay("shape = { up = \"4mbit\" }\nup = { queue = \"fq_codel\" }")?;
        // 50 packets of 1228 B at 4 Mbit/s are 123 ms; one of them is 2.5 ms.
        in_time(fifo > 80.0, || format!("{fifo} ms behind a FIFO"))?;
        in_time(fair < 12.0, || format!("{fair} ms behind FQ-CoDel"))
    });
}

#[test]
fn irtt_hears_a_game_wait_as_long_as_the_queue_says_and_no_longer_behind_fq_codel() {
    let Some(net) = net(1500, &["iperf3", "irtt"]) else { return };
    let measure = |gateway: &str| {
        let gateway = net.gateway(gateway);
        let _server = net.serve(&["irtt", "server", "-b", &format!("{SERVER}:2112")], "-luH", ":2112");
        let flood = net.flood();
        wait_for_a_queue(&gateway);
        // 92 B of payload each 20 ms, as a game or a call sends.
        let words = ["irtt", "client", "-i", "20ms", "-d", "2s", "-l", "92", "-q", "-o", "-"];
        // Behind the FIFO half of the requests to connect are lost: irtt's four tries would all fail in one run of sixteen.
        let tries = format!("--timeouts={}", ["400ms"; 20].join(","));
        let said = net.run(Place::Home, &[&words[..], &[tries.as_str(), SERVER]].concat());
        drop(flood);
        gateway.assert_conserves();
        let stats = &serde_json::from_str::<serde_json::Value>(&said).unwrap()["stats"];
        let median = |of: &str| stats[of]["median"].as_f64().unwrap() / 1e6;
        let count = |of: &str| stats[of].as_f64().unwrap();
        let arrived = count("packets_received") / count("packets_sent");
        // Both ends share one clock, so one-way delays are exact.
        let flows = gateway.status().flows;
        let game = flows.iter().find(|flow| flow.server == format!("{SERVER}:2112")).unwrap();
        (median("rtt"), median("send_delay"), arrived, game.up.sojourn_ms.p50)
    };
    up_to_three_times(|| {
        let (fifo, up, arrived, waited) =
            measure("shape = { up = \"4mbit\" }\nup = { queue = \"fifo\", limit = \"50p\" }");
        // 50 packets of 1228 B at 4 Mbit/s are 123 ms. Half of the flood is lost. How many of the game's equally regular packets are
        // lost depends on how they fall between the flood's; five are enough for a median.
        in_time(fifo > 80.0 && arrived > 0.05, || {
            format!("{fifo} ms behind a FIFO, {arrived} of all arrived")
        })?;
        // The gateway's quantiles are exact within an eighth.
        in_time((up - waited).abs() < waited / 8.0 + 2.0, || {
            format!("{up} ms one way, {waited} ms in the queue")
        })?;
        let (fair, _, arrived, _) = measure("shape = { up = \"4mbit\" }\nup = { queue = \"fq_codel\" }");
        in_time(fair < 12.0 && arrived > 0.95, || {
            format!("{fair} ms behind FQ-CoDel, {arrived} of all arrived")
        })
    });
}

/// Waits until the flood fills the queue.
fn wait_for_a_queue(gateway: &common::Running<'_>) {
    let fills = || gateway.status().queues["up"].qlen > 40;
    assert!(common::wait(PATIENCE, fills), "{:?}", gateway.status().queues["up"]);
}
