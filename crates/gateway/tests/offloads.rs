//! Senders that leave splitting and checksums to their interface, as between virtual machines: a `veth` pair's default.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use crate::common::{Net, PATIENCE, Place, Process, SERVER, in_time, net, up_to_three_times, wait};
use gamelane_device::Interface;
use gamelane_device::packet::Receiver;

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
        up_to_three_times(|| splits(&net, up, at_least));
    }
}

fn splits(net: &Net, up: &str, at_least: f64) -> Result<(), String> {
    let shaped = format!("shape = {{ up = \"{up}\", down = \"200mbit\" }}\nup = {{ queue = \"fq_codel\" }}");
    let gateway = net.gateway_by("packet", &shaped);
    let result = net.iperf(&["-t", "3"]);
    let rate = result["end"]["sum_received"]["bits_per_second"].as_f64().ok_or(result.to_string())?;
    let status = gateway.status();
    assert_eq!(status.engine.unwrap().too_long.up + status.engine.unwrap().too_long.down, 0);
    let most = status.queues["up"].bytes / status.queues["up"].packets.max(1);
    assert!((1000..=1500).contains(&most), "{up}: {most} B a packet");
    assert_eq!(net.counter(Place::Internet, "TcpInCsumErrors"), 0);
    gateway.assert_conserves();
    in_time(rate > at_least, || format!("{up}: {rate} {:?} {:?}", status.queues["up"], status.engine))
}

/// Regression: after a frame that the kernel cannot describe (here a UDP datagram whose fragments are left to hardware), it gives no
/// more frames to the ring.
#[test]
fn a_frame_that_the_kernel_cannot_describe_does_not_end_reception() {
    let Some(net) = net(1500, &["python3"]) else { return };
    // 0x5002 is IFF_TAP, IFF_NO_PI and IFF_VNET_HDR. Kind 3 is fragments of UDP.
    let script = "import fcntl, struct, sys
tap = open('/dev/net/tun', 'r+b', buffering=0)
fcntl.ioctl(tap, 0x400454ca, struct.pack('16sH22x', b'tap0', 0x5002))
print('ready', flush=True)
ip = bytes.fromhex('450005dc00010000401100000a4d00010a4d0002') + struct.pack('>HHHH', 9, 9, 1480, 0) + bytes(1472)
frame = bytes.fromhex('020000000099020000000088') + b'\\x08\\x00' + ip
for line in sys.stdin:
    kind = int(line)
    tap.write(struct.pack('<BBHHHH', 1 if kind else 0, kind, 42, 504 if kind else 0, 34, 6) + frame)
    print('sent', flush=True)";
    let mut command = net.command(Place::Gateway, &["python3", "-c", script]);
    let mut sender = Process(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
    let mut said = BufReader::new(sender.0.stdout.take().unwrap()).lines();
    assert_eq!(said.next().unwrap().unwrap(), "ready");
    net.run(Place::Gateway, &["ip", "link", "set", "tap0", "up"]);
    let mut send = |kind: u8| {
        writeln!(sender.0.stdin.as_mut().unwrap(), "{kind}").unwrap();
        assert_eq!(said.next().unwrap().unwrap(), "sent");
    };
    let receives = || {
        net.enter(Place::Gateway);
        let mut receiver = Receiver::open(&Interface::find("tap0").unwrap(), 1536).unwrap();
        let mut comes = |receiver: &mut Receiver, kind: u8| {
            send(kind);
            let frames =
                std::iter::from_fn(|| receiver.next(|frame| frame.bytes.starts_with(&[2, 0, 0, 0, 0, 0x99])));
            let came = frames.filter(|is_ours| *is_ours).count() > 0;
            receiver.counters().unwrap();
            came
        };
        assert!(wait(PATIENCE, || comes(&mut receiver, 0)));
        comes(&mut receiver, 3);
        assert!(wait(PATIENCE, || comes(&mut receiver, 0)));
    };
    std::thread::scope(|scope| scope.spawn(receives).join()).unwrap();
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
