//! Records real interfaces: a veth pair in network namespaces of its own. Without root a test reports that it was skipped.

use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use gamelane_capture::{Capture, CapturedTransport, FlowReport, Sink};
use gamelane_live::{Files, LiveError, Progress, Recorder, Rotation, Settings, Source};
use gamelane_service::privileges::{CapabilitySet, keep_capabilities};

/// Collects flows as they end.
#[derive(Default)]
struct Flows(Vec<FlowReport>);

impl Sink for Flows {
    fn flow(&mut self, report: FlowReport) {
        self.0.push(report);
    }
}

/// Runs a test again in a network namespace of its own. Returns true in there.
fn in_namespace(test: &str) -> bool {
    if std::env::var_os("IN_NAMESPACE").is_some() {
        return true;
    }
    let own = std::env::current_exe().unwrap();
    let done = Command::new("unshare")
        .args(["--net", "--mount", "--"])
        .arg(own)
        .args(["--exact", test, "--nocapture"])
        .env("IN_NAMESPACE", "1")
        .output();
    match done {
        Ok(done) if done.status.success() => {}
        Ok(done) if String::from_utf8_lossy(&done.stderr).contains("Operation not permitted") => {
            skip("this user may not make network namespaces; run as root");
        }
        Ok(done) => {
            panic!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr))
        }
        Err(error) => skip(&format!("unshare cannot be run: {error}")),
    }
    false
}

fn skip(why: &str) {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{why}");
    eprintln!("skipped: {why}");
}

fn ip(words: &str) {
    let done = Command::new("ip").args(words.split_whitespace()).output().unwrap();
    assert!(done.status.success(), "ip {words}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Makes a veth pair that takes everything sent to 10.99.0.2, and sends nothing of its own.
fn interface() {
    fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").unwrap();
    ip("link add game0 type veth peer name game1");
    ip("address add 10.99.0.1/24 dev game0");
    ip("neighbour add 10.99.0.2 lladdr 02:00:00:00:00:02 dev game0");
    ip("link set game0 up");
    ip("link set game1 up");
}

fn send(count: usize, len: usize, port: u16) {
    let socket = UdpSocket::bind("10.99.0.1:5000").unwrap();
    for n in 0..count {
        let mut payload = vec![0; len];
        payload[..8].copy_from_slice(&(n as u64).to_be_bytes());
        socket.send_to(&payload, ("10.99.0.2", port)).unwrap();
    }
}

fn record(recorder: &mut Recorder<Flows>, packets: u64) -> Progress {
    let mut progress = Progress::default();
    for _ in 0..100 {
        progress = recorder.step(Duration::from_millis(100)).unwrap();
        if progress.packets + progress.dropped >= packets {
            break;
        }
    }
    progress
}

/// Times, lengths and first payload bytes in all files.
fn read(folder: &Path) -> Vec<(u64, u32, Option<[u8; 4]>)> {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut packets = Vec::new();
    for path in paths {
        for packet in Capture::open(&path).unwrap() {
            let packet = packet.unwrap();
            if packet.transport == CapturedTransport::Udp {
                packets.push((packet.at_ns, packet.payload_len, packet.start));
            }
        }
    }
    packets
}

#[test]
fn every_packet_is_in_the_files_and_in_the_analysis() {
    if !in_namespace("every_packet_is_in_the_files_and_in_the_analysis") {
        return;
    }
    interface();
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { snap_len: 60, filter: "udp port 27960".into(), ..Settings::new("game0") };
    let compiler = Command::new("tcpdump").arg("--version").output().is_ok();
    if !compiler {
        skip("filters need tcpdump");
    }
    let settings = if compiler { settings } else { Settings { filter: String::new(), ..settings } };
    let source = Source::open(&settings).unwrap();
    let rotation = Rotation { bytes: Some(20_000), ..Rotation::default() };
    let files = Files::new(folder.path(), &source.describe(), rotation).unwrap();
    let mut recorder = Recorder::start(source, Some(files), Flows::default(), false);
    if compiler {
        send(100, 100, 53);
    }
    send(1000, 1200, 27_960);
    let progress = record(&mut recorder, 1000);
    assert_eq!((progress.packets, progress.dropped, progress.put_together), (1000, 0, 0));
    assert_eq!(progress.bytes, 1000 * (14 + 20 + 8 + 1200));
    let (watched, progress, error) = recorder.finish();
    assert!(error.is_none());
    // 60 B stored of each packet make blocks of 92 B.
    assert_eq!(u64::from(progress.files), 1000u64.div_ceil((20_000 - 80) / 92));
    let watched = watched.unwrap();
    assert!(watched.error.is_none());
    let [flow] = &watched.sink.0[..] else { panic!("{} flows", watched.sink.0.len()) };
    assert_eq!(flow.packets(), 1000);
    let packets = read(folder.path());
    assert_eq!(packets.len(), 1000);
    assert!(packets.is_sorted_by_key(|&(at_ns, ..)| at_ns));
    assert!(packets.iter().all(|&(_, len, _)| len == 1200));
    let size: u64 = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().metadata().unwrap().len()).sum();
    assert_eq!(size, progress.written_bytes);
}

#[test]
fn what_the_ring_had_no_room_for_is_counted_in_the_file() {
    if !in_namespace("what_the_ring_had_no_room_for_is_counted_in_the_file") {
        return;
    }
    interface();
    let folder = tempfile::tempdir().unwrap();
    let source = Source::open(&Settings { ring_bytes: 0, ..Settings::new("game0") }).unwrap();
    let files = Files::new(folder.path(), &source.describe(), Rotation::default()).unwrap();
    let recorder = Recorder::start(source, Some(files), Flows::default(), false);
    // Four MiB hold less than 4,000 packets of 1,242 B.
    send(6000, 1200, 27_960);
    let (watched, progress, error) = recorder.finish();
    assert!(error.is_none() && watched.is_some());
    assert!(progress.dropped > 2000, "{progress:?}");
    assert_eq!(progress.packets + progress.dropped, 6000);
    let path = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let mut capture = Capture::open(&path).unwrap();
    assert_eq!(capture.by_ref().map(Result::unwrap).count() as u64, progress.packets);
    assert_eq!(capture.dropped_by_capture(), Some(progress.dropped));
}

#[test]
fn every_kind_of_interface_is_read_back() {
    if !in_namespace("every_kind_of_interface_is_read_back") {
        return;
    }
    interface();
    ip("link set lo up");
    // On the loopback each packet is seen twice, and one is left out. `any` sees a packet at both ends of the pair.
    for (name, destination, sightings) in
        [("lo", "127.0.0.1:9999", 1), ("game0", "10.99.0.2:9999", 1), ("any", "10.99.0.2:9999", 2)]
    {
        let folder = tempfile::tempdir().unwrap();
        let source = Source::open(&Settings::new(name)).unwrap();
        let files = Files::new(folder.path(), &source.describe(), Rotation::default()).unwrap();
        let mut recorder = Recorder::start(source, Some(files), Flows::default(), false);
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        for n in 0..10u32 {
            socket.send_to(&n.to_be_bytes(), destination).unwrap();
        }
        record(&mut recorder, 10 * sightings);
        recorder.finish();
        let packets = read(folder.path());
        assert_eq!(packets.len() as u64, 10 * sightings, "{name}");
        assert!(packets.iter().all(|&(_, len, _)| len == 4), "{name}");
    }
}

#[test]
fn a_tag_that_the_kernel_took_out_is_put_back() {
    if !in_namespace("a_tag_that_the_kernel_took_out_is_put_back") {
        return;
    }
    interface();
    let folder = tempfile::tempdir().unwrap();
    let source = Source::open(&Settings::new("game1")).unwrap();
    let files = Files::new(folder.path(), &source.describe(), Rotation::default()).unwrap();
    let mut recorder = Recorder::start(source, Some(files), Flows::default(), false);
    // VLAN 7, then a datagram of 4 B.
    let frame = "02000000000202000000000181000007080045ba0020000100004011000\
                 00a0000010a00000203e807d0000c000001020304";
    let sender = format!(
        "import socket; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind(('game0', 0)); \
         s.send(bytes.fromhex('{frame}'))"
    );
    assert!(Command::new("python3").args(["-c", &sender]).status().unwrap().success());
    let progress = record(&mut recorder, 1);
    assert_eq!(progress.bytes, 14 + 32);
    recorder.finish();
    assert_eq!(read(folder.path()).len(), 1);
    let file = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let bytes = fs::read(file).unwrap();
    let tagged: Vec<u8> =
        (0..frame.len()).step_by(2).map(|n| u8::from_str_radix(&frame[n..n + 2], 16).unwrap()).collect();
    assert!(bytes.windows(tagged.len()).any(|window| window == tagged));
}

#[test]
fn what_cannot_be_recorded_is_said() {
    if !in_namespace("what_cannot_be_recorded_is_said") {
        return;
    }
    interface();
    let said = |settings: Settings| Source::open(&settings).unwrap_err().to_string();
    let absent = said(Settings::new("gane0"));
    assert!(absent.starts_with("gane0: no such interface; there are "), "{absent}");
    if Command::new("tcpdump").arg("--version").output().is_ok() {
        let filter = said(Settings { filter: "udp prot 7".into(), ..Settings::new("game0") });
        assert!(filter.starts_with("--filter udp prot 7: "), "{filter}");
    }
    // Removing the interface ends the recording; what was recorded is kept.
    let mut recorder =
        Recorder::start(Source::open(&Settings::new("game0")).unwrap(), None, Flows::default(), false);
    send(5, 100, 7);
    assert_eq!(record(&mut recorder, 5).packets, 5);
    ip("link delete game0");
    let error = (0..10).find_map(|_| recorder.step(Duration::from_millis(100)).err()).unwrap();
    assert!(matches!(error, LiveError::Gone { .. }), "{error}");
    let (watched, progress, _) = recorder.finish();
    assert_eq!((watched.unwrap().sink.0.len(), progress.packets), (1, 5));
    keep_capabilities(CapabilitySet::empty()).unwrap();
    let refused = said(Settings::new("lo"));
    assert!(refused.contains("CAP_NET_RAW") && refused.contains("sudo"), "{refused}");
}

#[test]
fn a_full_disk_ends_the_files_and_not_the_analysis() {
    if !in_namespace("a_full_disk_ends_the_files_and_not_the_analysis") {
        return;
    }
    interface();
    let folder = tempfile::tempdir().unwrap();
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "none"])
        .arg(folder.path())
        .status()
        .unwrap();
    assert!(mount.success());
    let source = Source::open(&Settings::new("game0")).unwrap();
    let files = Files::new(folder.path(), &source.describe(), Rotation::default()).unwrap();
    let mut recorder = Recorder::start(source, Some(files), Flows::default(), false);
    send(30, 1000, 27_960);
    assert_eq!(record(&mut recorder, 30).packets, 30);
    send(100, 1000, 27_960);
    let error = (0..20).find_map(|_| recorder.step(Duration::from_millis(100)).err()).unwrap().to_string();
    assert!(error.contains("No space left on device") && error.contains("--rotate-size"), "{error}");
    let (watched, progress, _) = recorder.finish();
    assert_eq!(progress.packets, 130);
    assert_eq!(watched.unwrap().sink.0[0].packets(), 130);
    // What was written before is complete.
    assert!(read(folder.path()).len() >= 30);
}
