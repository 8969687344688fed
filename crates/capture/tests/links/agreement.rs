//! Tshark and tcpdump read the same from these frames.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use super::frames::*;
use super::lengths::files_with_lengths;
use crate::support::{self, pcap_of};
use gamelane_core::FlowKey;

/// A file that is removed on drop.
struct File(PathBuf);

impl File {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("gamelane-links-{name}-{}.pcap", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Values that tshark finds, one row for each packet; `None` without tshark. A frame may have several packets.
fn tshark(bytes: &[u8], test: &str, fields: &[&str]) -> Option<Vec<String>> {
    let file = File::new(test, bytes);
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&file.0).args(["-T", "fields", "-E", "separator=/t", "-E", "occurrence=a"]);
    // Wireshark takes length 0 for an error unless it is told that it stands for offload, as it is here.
    command.args(["-o", "ip.tso_support:TRUE"]);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let output = command.output().ok()?;
    let mut rows = vec![];
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let columns: Vec<Vec<&str>> = line.split('\t').map(|column| column.split(',').collect()).collect();
        for n in 0..columns[0].len() {
            let row = columns.iter().map(|column| column.get(n).copied().unwrap_or_default());
            rows.push(row.collect::<Vec<_>>().join(" "));
        }
    }
    Some(rows)
}

#[test]
fn tshark_finds_the_same_datagrams() {
    let mut by_link: BTreeMap<u32, Vec<Vec<u8>>> = BTreeMap::new();
    for (_, link_type, frame) in frames() {
        // Wireshark 4.0 shows link type 149 as private data, and does not know switch tags.
        if !matches!(link_type, 149 | 281..=285) {
            by_link.entry(link_type).or_default().push(frame);
        }
    }
    let three = aggregate(&[snap(&datagram(1)), snap(&datagram(2)), snap(&datagram(3))]);
    by_link.entry(105).or_default().push(wifi(QOS_DATA, TO_SYSTEM, &[0x80, 0], &three));
    for (link_type, frames) in by_link {
        let fields = ["ip.src", "udp.srcport", "udp.dstport", "data.len"];
        let theirs = tshark(&pcap_of(link_type, &frames), "datagrams", &fields);
        let Some(theirs) = theirs else { return support::skipped("tshark") };
        let ours = read(link_type, &frames).into_iter().map(|packet| {
            let FlowKey { source, destination, .. } = packet.key;
            format!("{} {} {} {}", source.ip(), source.port(), destination.port(), packet.payload_len)
        });
        assert_eq!(ours.collect::<Vec<_>>(), theirs, "link type {link_type}");
    }
}

#[test]
fn tshark_finds_the_same_interfaces_and_directions() {
    let frames = [cooked_2(2, TO_US), cooked_2(70_000, FROM_US), cooked_2(3, TO_OTHERS)];
    let theirs = tshark(&pcap_of(276, &frames), "interfaces", &["sll.ifindex", "sll.pkttype"]);
    let Some(theirs) = theirs else { return support::skipped("tshark") };
    let ours = read(276, &frames);
    assert_eq!(theirs, ["2 0", "70000 4", "3 3"]);
    assert_eq!(ours.iter().map(|packet| packet.interface).collect::<Vec<_>>(), [2, 70_000, 3]);
    assert_eq!(
        ours.iter().map(|packet| packet.outgoing).collect::<Vec<_>>(),
        [Some(false), Some(true), Some(false)]
    );
}

#[test]
fn tcpdump_reads_the_switch_tags_alike() {
    for (name, link_type, frame) in
        frames().into_iter().filter(|(_, link_type, _)| (281..=285).contains(link_type))
    {
        let file = File::new("tags", &pcap_of(link_type, &[frame]));
        let output = Command::new("tcpdump").arg("-nr").arg(&file.0).output();
        let Ok(output) = output else { return support::skipped("tcpdump") };
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.ends_with("IP 10.0.0.1.1000 > 10.0.0.2.2000: UDP, length 4\n"), "{name}: {text}");
    }
}

#[test]
fn tshark_finds_the_same_lengths() {
    // Wireshark does not show the length of a datagram that it cannot put together.
    let whole = files_with_lengths().into_iter().filter(|(name, ..)| !name.contains("fragment"));
    for (name, file, (_, payload_len)) in whole {
        let theirs = tshark(&file, "lengths", &[if name.contains("TCP") { "tcp.len" } else { "data.len" }]);
        let Some(theirs) = theirs else { return support::skipped("tshark") };
        assert_eq!(theirs[0].trim(), payload_len.to_string(), "{name}");
    }
}
