//! VoAP with the TCP of real kernels.

use crate::common;
use crate::common::{Net, Place, in_time, net, up_to_three_times, write_policy};

const SHAPE: &str = "shape = { up = \"20mbit\", down = \"20mbit\" }";
const FIFO: &str =
    "up = { queue = \"fifo\", limit = \"1000p\" }\ndown = { queue = \"fifo\", limit = \"1000p\" }";
const VOAP: &str = "voap = { alpha = \"5ms\", beta = \"15ms\" }";

/// Goodput of a download in bit/s.
fn download(net: &Net, seconds: &str, family: &str) -> f64 {
    let server = if family == "-6" { common::SERVER_V6 } else { common::SERVER };
    // CUBIC leaves slow start as soon as delay rises (HyStart) and would take a minute to fill the queue; NewReno fills it.
    let result = net.iperf(&["-c", server, family, "-C", "reno", "-R", "-t", seconds]);
    result["end"]["sum_received"]["bits_per_second"].as_f64().unwrap()
}

#[test]
fn a_download_keeps_its_goodput_while_its_queue_shrinks() {
    let Some(net) = net(1500, &["iperf3", "nstat"]) else { return };
    for family in ["-4", "-6"] {
        up_to_three_times(|| keeps_its_goodput(&net, family));
    }
    for place in [Place::Home, Place::Internet] {
        let errors = net.run(place, &["nstat", "-az", "TcpInCsumErrors"]);
        assert!(errors.lines().skip(1).all(|line| line.split_whitespace().nth(1) == Some("0")), "{errors}");
    }
}

fn keeps_its_goodput(net: &Net, family: &str) -> Result<(), String> {
    let plain = net.gateway(&format!("{SHAPE}\n{FIFO}"));
    let goodput = download(net, "3", family);
    let waited = plain.status().queues["down"].sojourn_ms;
    plain.end("TERM");
    let steered = net.gateway(&format!("{SHAPE}\n{FIFO}\n{VOAP}"));
    // A sender that waits 15 ms for a processor leaves this queue empty meanwhile, which lowers the goodput.
    let steered_goodput = download(net, "4", family);
    let status = steered.status();
    let steered_waited = status.queues["down"].sojourn_ms;
    let voap = status.voap.unwrap();
    eprintln!(
        "{family}: {goodput:.0} bit/s {waited:?}, with VoAP {steered_goodput:.0} bit/s {steered_waited:?} {voap:?}"
    );
    steered.end("TERM");
    assert!(voap.lowered > 100 && voap.opened >= 2, "{voap:?}");
    in_time(steered_goodput > 0.95 * goodput, || format!("{steered_goodput} after {goodput}"))?;
    in_time(waited.unwrap().p50 > 50.0, || format!("without it the queue is long: {waited:?}"))?;
    in_time(steered_waited.unwrap().p50 < 25.0, || format!("with it, near beta: {steered_waited:?}"))
}

#[test]
fn a_connection_that_began_before_is_left_alone() {
    let Some(net) = net(1500, &["iperf3"]) else { return };
    up_to_three_times(|| {
        let gateway = net.gateway(&format!("{SHAPE}\n{FIFO}"));
        let goodput = std::thread::scope(|scope| {
            let under_way = scope.spawn(|| download(&net, "4", "-4"));
            // The download begins. Its first second is enough for the rest.
            let flows = || gateway.status().queues["down"].packets > 1000;
            assert!(common::wait(common::PATIENCE, flows), "{:?}", gateway.status());
            write_policy(&net.folder.path().join("policy.toml"), &format!("{SHAPE}\n{FIFO}\n{VOAP}"));
            under_way.join().unwrap()
        });
        let status = gateway.status();
        let voap = status.voap.unwrap();
        assert_eq!((status.reloads, voap.lowered, voap.opened), (1, 0, 0), "{voap:?}");
        in_time(voap.unknown > 1000, || format!("{voap:?}"))?;
        in_time(goodput > 17e6, || format!("{goodput} bit/s"))
    });
}
