//! Compares tshark's and tcptrace's results for the shipped captures with ours, field by field, where they measure the
//! same. docs/models/captures.md lists where they do not and why.

use crate::support;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;
use std::process::Command;

use crate::support::shipped;
use flate2::read::GzDecoder;
use gamelane_capture::analysis::{HalfReport, TransportReport};
use gamelane_capture::{Analyzer, Capture, FlowReport, Sink, analyze};

const CAPTURES: [&str; 4] = ["thin-tcp-lan-srv", "thin-tcp-lan-cli", "thin-tcp-wan-srv", "thin-tcp-wan-cli"];

#[derive(Default)]
struct Flows(Vec<FlowReport>);

impl Sink for Flows {
    fn flow(&mut self, report: FlowReport) {
        self.0.push(report);
    }
}

fn flows(name: &str) -> Vec<FlowReport> {
    let mut flows = Flows::default();
    analyze(&mut Capture::open(&shipped(name)).unwrap(), &mut Analyzer::default(), &mut flows).unwrap();
    flows.0
}

fn halves(flow: &FlowReport) -> &[HalfReport; 2] {
    let TransportReport::Tcp(tcp) = &flow.transport else { panic!("TCP") };
    &tcp.halves
}

/// The capture, unpacked as pcap, because tcptrace reads nothing else. The file is removed on drop.
struct Unpacked(PathBuf);

impl Unpacked {
    /// Returns `None` without editcap, which is installed with tshark.
    fn new(name: &str, test: &str) -> Option<Self> {
        let path = |kind: &str| {
            std::env::temp_dir().join(format!("gamelane-{test}-{name}-{}.{kind}", std::process::id()))
        };
        let mut bytes = Vec::new();
        GzDecoder::new(std::fs::File::open(shipped(name)).unwrap()).read_to_end(&mut bytes).unwrap();
        std::fs::write(path("pcapng"), bytes).unwrap();
        let done =
            Command::new("editcap").args(["-F", "pcap"]).arg(path("pcapng")).arg(path("pcap")).output();
        std::fs::remove_file(path("pcapng")).unwrap();
        assert!(done.as_ref().map_or(true, |done| done.status.success()), "editcap: {done:?}");
        done.ok().map(|_| Self(path("pcap")))
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn tshark_counts_the_same_retransmissions() {
    for name in CAPTURES {
        let Some(file) = Unpacked::new(name, "tshark") else { return support::skipped("tshark") };
        let fields = [
            "tcp.stream",
            "tcp.srcport",
            "tcp.len",
            "tcp.analysis.retransmission",
            "tcp.analysis.spurious_retransmission",
            "tcp.analysis.out_of_order",
            "tcp.analysis.keep_alive",
        ];
        let mut command = Command::new("tshark");
        command.arg("-r").arg(&file.0).args(["-T", "fields", "-E", "separator=,"]);
        fields.iter().for_each(|field| {
            command.args(["-e", field]);
        });
        let Ok(output) = command.output() else { return support::skipped("tshark") };
        // Packets, packets with data, their bytes, and packets that tshark calls retransmissions.
        let mut theirs: BTreeMap<(usize, usize), [u64; 4]> = BTreeMap::new();
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let values: Vec<&str> = line.split(',').collect();
            let len: u64 = values[2].parse().unwrap();
            let direction = usize::from(values[1] == "13327");
            let counts = theirs.entry((values[0].parse().unwrap(), direction)).or_default();
            let again = len > 0 && values[3..6].iter().any(|flag| !flag.is_empty()) && values[6].is_empty();
            for (count, more) in counts.iter_mut().zip([1, u64::from(len > 0), len, u64::from(again)]) {
                *count += more;
            }
        }
        for (stream, flow) in flows(name).iter().enumerate() {
            for direction in 0..2 {
                let (of, half) = (&flow.directions[direction], &halves(flow)[direction]);
                let ours = [
                    of.packets,
                    half.counts.data_packets,
                    of.payload_bytes,
                    half.counts.resent + half.counts.reordered,
                ];
                assert_eq!(ours, theirs[&(stream, direction)], "{name} {stream} {direction}");
            }
        }
    }
}

#[test]
fn tcptrace_counts_the_same_data_and_measures_the_same_round_trips() {
    for name in CAPTURES {
        let Some(file) = Unpacked::new(name, "tcptrace") else { return support::skipped("tshark") };
        let Ok(output) = Command::new("tcptrace").args(["-l", "-r", "-n"]).arg(&file.0).output() else {
            return support::skipped("tcptrace");
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let connections: Vec<&str> = text.split("TCP connection ").skip(1).collect();
        let flows = flows(name);
        assert_eq!(connections.len(), flows.len() + 1, "the list and each of them");
        for (text, flow) in connections[1..].iter().zip(&flows) {
            for direction in 0..2 {
                let theirs = |field: &str| column(text, field, direction);
                let count = |field: &str| theirs(field) as u64;
                let (of, half) = (&flow.directions[direction], &halves(flow)[direction]);
                let counts = &half.counts;
                let place = format!("{name} {} {direction}", flow.key.source);
                assert_eq!(count("total packets"), of.packets, "{place}");
                assert_eq!(count("actual data pkts"), counts.data_packets, "{place}");
                assert_eq!(count("actual data bytes"), of.payload_bytes, "{place}");
                assert_eq!(count("zero win adv"), halves(flow)[1 - direction].counts.zero_windows, "{place}");
                // For data lost before the capture point, tcptrace assumes new or reordered data. Its retransmissions
                // and round trips then differ. So only the capture at the sender is compared.
                if (direction == 1) != name.ends_with("srv") {
                    continue;
                }
                // SYN and FIN count as one byte of data each.
                let control = counts.control_retransmissions;
                assert_eq!(count("rexmt data pkts"), counts.resent + control, "{place}");
                assert_eq!(count("rexmt data bytes"), counts.repeated_bytes + control, "{place}");
                assert_eq!(count("outoforder pkts"), 0, "{place}");
                // Tcptrace also measures SYN and FIN, uses some ACKs after a loss that Karn's rule excludes, and prints
                // tenths of a millisecond.
                let samples = counts.ack_rtt.count() as f64;
                assert!(
                    (theirs("RTT samples") - samples).abs() <= 2.0 + samples / 100.0,
                    "{place}: {} {samples}",
                    theirs("RTT samples")
                );
                for (field, value) in [
                    ("RTT max", counts.ack_rtt.max().unwrap() as f64),
                    ("RTT avg", counts.ack_rtt.mean().unwrap()),
                    ("RTT stdev", counts.ack_rtt.standard_deviation().unwrap()),
                ] {
                    let ours = value / 1e6;
                    assert!(
                        (theirs(field) - ours).abs() <= 0.1 + ours / 1000.0,
                        "{place} {field}: {} {ours}",
                        theirs(field)
                    );
                }
            }
        }
    }
}

/// Returns a number from tcptrace's two columns.
fn column(text: &str, field: &str, direction: usize) -> f64 {
    let name = format!("{field}:");
    let value = text.lines().find_map(|line| {
        let columns: Vec<&str> = line.split(&name).collect();
        (columns.len() == 3 && columns[0].trim().is_empty()).then(|| columns[direction + 1])
    });
    let value = value.unwrap_or_else(|| panic!("{field}: no line of two columns"));
    value.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}
