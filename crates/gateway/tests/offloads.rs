//! Senders that leave splitting and checksums to their interface, as between virtual machines: a `veth` pair's default.

use crate::common::{Net, PATIENCE, Place, SERVER, net, wait};

/// Switches the ends' offloads on, which the other tests switch off.
fn with_offloads(net: &Net) {
    for place in [Place::Home, Place::Internet] {
        net.run(place, &["ethtool", "-K", "eth0", "tx", "on", "tso", "on", "gso", "on", "gro", "on"]);
    }
}

#[test]
fn frames_of_many_segments_are_split_and_the_shaper_reaches_its_rate() {
    let Some(net) = net(1500, &["iperf3", "nstat"]) else { return };
    with_offloads(&net);
    for (up, at_least) in [("1mbit", 0.85e6), ("12mbit", 11e6), ("200mbit", 170e6)] {
        let shaped =
            format!("shape = {{ up = \"{up}\", down = \"200mbit\" }}\nup = {{ queue = \"fq_codel\" }}");
        let gateway = net.gateway_by("packet", &shaped);
        let result = net.iperf(&["-t", "3"]);
        let rate = result["end"]["sum_received"]["bits_per_second"].as_f64().unwrap();
        let status = gateway.status();
        assert!(rate > at_least, "{up}: {rate} {:?} {:?}", status.queues["up"], status.engine);
        assert_eq!(status.engine.too_long.up + status.engine.too_long.down, 0);
        let most = status.queues["up"].bytes / status.queues["up"].packets.max(1);
        assert!((1000..=1500).contains(&most), "{up}: {most} B a packet");
        assert_eq!(net.counter(Place::Internet, "TcpInCsumErrors"), 0);
        gateway.assert_conserves();
    }
}

#[test]
fn datagrams_sent_in_one_call_leave_as_datagrams() {
    let Some(net) = net(1500, &["python3", "nstat"]) else { return };
    with_offloads(&net);
    let gateway = net.gateway_by("packet", "up = { queue = \"fifo\" }");
    let receive = "import socket; s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.bind(('::', 9000)); s.settimeout(20)
sizes = [len(s.recv(65536)) for _ in range(42)]
assert sizes == 2 * (20 * [1200] + [700]), sizes";
    // 103 is UDP_SEGMENT of linux/udp.h.
    let send = "import socket
for family, to in ((socket.AF_INET, '10.77.0.2'), (socket.AF_INET6, 'fd77::2')):
    s = socket.socket(family, socket.SOCK_DGRAM); s.setsockopt(17, 103, 1200); s.sendto(bytes(20 * 1200 + 700), (to, 9000))";
    let mut server = net.serve(&["python3", "-c", receive], "-lunH", ":9000");
    assert!(net.ping(&["-c", "1", SERVER]).contains("1 received"));
    net.run(Place::Home, &["python3", "-c", send]);
    let mut ended = None;
    wait(PATIENCE, || {
        ended = server.0.try_wait().unwrap();
        ended.is_some()
    });
    assert!(ended.is_some_and(|status| status.success()), "{ended:?} {:?}", gateway.status().engine);
    assert_eq!(net.counter(Place::Internet, "UdpInCsumErrors"), 0);
    gateway.assert_conserves();
}
