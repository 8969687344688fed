//! What the fuzzer does with bytes, and `crates/capture/tests/corpus.rs` with the stored corpus: nothing may panic, and
//! what is read must add up.

use std::io::Cursor;
use std::path::Path;
use std::sync::LazyLock;

use gamelane_capture::analysis::TransportReport;
use gamelane_capture::log::connection_log;
use gamelane_capture::names::{Confidence, Group, Known, KnownApplication, Ports, Sends, application};
use gamelane_capture::pair::{compare, watch};
use gamelane_capture::{
    Analyzer, Capture, CapturedPacket, Filter, FlowReport, Input, Sink, analyze, tcp_writes, udp_flow,
};
use gamelane_core::Protocol;

/// Any file.
pub(crate) fn file(bytes: &[u8]) {
    everything(bytes);
}

/// A pcap of frames: the first byte chooses the link type, each frame is preceded by its length.
pub(crate) fn frame(bytes: &[u8]) {
    const LINKS: [u32; 24] = [
        0, 1, 9, 12, 51, 101, 108, 113, 276, 50, 100, 104, 105, 117, 119, 127, 149, 163, 204, 239, 258, 281,
        282, 285,
    ];
    let Some((&choice, frames)) = bytes.split_first() else { return };
    everything(&pcap(LINKS[usize::from(choice) % LINKS.len()], lengthed(frames)));
}

/// Something packed, or said to be.
pub(crate) fn packed(bytes: &[u8]) {
    let Ok(input) = Input::unpacked(Cursor::new(bytes.to_vec())) else { return };
    // A few bytes may unpack to any number: memory stays bounded, time is for the caller to bound.
    let input = std::io::Read::take(input, 4 << 20);
    let Ok(mut capture) = Capture::from_reader(input, Path::new("fuzz")) else { return };
    while let Ok(Some(_)) = capture.next_packet() {}
}

/// TCP and UDP between two hosts: eight bytes make a packet, so that numbers meet often.
pub(crate) fn conversation(bytes: &[u8]) {
    everything(&pcap(101, bytes.chunks_exact(8).map(packet)));
}

/// A filter, in words of its grammar: each byte is one, a byte above them is itself. What is parsed prints to the same filter.
pub(crate) fn filter(bytes: &[u8]) {
    const WORDS: &str = "host net port portrange proto src dst tcp udp ip ip6 less greater len and or not && || ! ( ) < <= == \
                         != >= > / mask 53 6000-6008 0x40 10 10.0.0.1 172.16 255.0.0.0 ::1 fe80:: 8 64 128 vlan \\udp";
    static LIST: LazyLock<Vec<&str>> = LazyLock::new(|| WORDS.split_whitespace().collect());
    let mut text = String::new();
    for &byte in bytes {
        match LIST.get(usize::from(byte)) {
            Some(word) => text.extend([word, " "]),
            None => text.push(byte.into()),
        }
    }
    let Ok(filter) = text.parse::<Filter>() else { return };
    assert_eq!(filter.to_string().parse().as_ref(), Ok(&filter));
    filter.keeps(&CapturedPacket::default(), 60);
}

/// Two captures of parts of one conversation.
pub(crate) fn pair(bytes: &[u8]) {
    let chosen = |bit: u8| {
        let chunks = bytes.chunks_exact(8).filter(move |chunk| chunk[7] & bit == 0);
        pcap(101, chunks.map(packet))
    };
    let seen = [chosen(1), chosen(2)].map(|capture| {
        let mut capture = open(&capture);
        watch(&mut capture, &mut Analyzer::default(), &mut Sum::default()).0
    });
    for flow in compare(&seen[0], &seen[1]).flows {
        for direction in &flow.directions {
            let Ok(losses) = &direction.losses else { continue };
            assert!(losses.lost <= losses.sent && losses.sent + losses.undecided <= direction.seen);
        }
    }
}

/// Runs all that reads a capture, and returns the flows of the analysis and how many of them are TCP connections.
pub(crate) fn everything(bytes: &[u8]) -> (u64, u64) {
    let Ok(mut capture) = Capture::from_reader(Cursor::new(bytes), Path::new("fuzz")) else { return (0, 0) };
    let mut sum = Sum::default();
    let mut analyzer = Analyzer::default();
    let _ = analyze(&mut capture, &mut analyzer, &mut sum);
    assert_eq!(sum.packets + analyzer.set_aside() + capture.skipped().total(), capture.packets_read());
    let _ = tcp_writes(&mut open(bytes));
    let _ = udp_flow(&mut open(bytes), None);
    let _ = connection_log(&mut open(bytes), 0);
    (sum.flows, sum.connections)
}

fn open(bytes: &[u8]) -> Capture<Cursor<&[u8]>> {
    Capture::from_reader(Cursor::new(bytes), Path::new("fuzz")).expect("its header was read before")
}

/// Two games on the ports 256 to 1000, with and without a pace, and a domain.
static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let sends = Sends { per_second: 20.0, payload_bytes: 60.0 };
    let game = |name: &str, sends| KnownApplication {
        name: name.into(),
        group: Group::Game,
        ports: [Protocol::Tcp, Protocol::Udp].map(|protocol| Ports { protocol, range: 256..=1000 }).into(),
        domains: vec!["a.b".into()],
        sends,
    };
    Known { applications: vec![game("game", Some([sends; 2])), game("other", None)] }
});

/// All flows.
#[derive(Default)]
struct Sum {
    packets: u64,
    flows: u64,
    connections: u64,
}

impl Sink for Sum {
    fn flow(&mut self, report: FlowReport) {
        let found = application(&report, &KNOWN);
        assert_eq!(found.name.is_none(), found.confidence == Confidence::Unknown);
        assert!(found.because.ends_with('.'), "{found:?}");
        self.packets += report.packets();
        self.flows += 1;
        self.connections += u64::from(matches!(report.transport, TransportReport::Tcp(_)));
    }
}

fn lengthed(mut bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    std::iter::from_fn(move || {
        let (&len, rest) = bytes.split_first()?;
        let (frame, rest) = rest.split_at(rest.len().min(len.into()));
        bytes = rest;
        Some(frame.to_vec())
    })
}

fn pcap(link_type: u32, frames: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut file = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, link_type].map(u32::to_le_bytes).concat();
    let mut at_us = 0u32;
    for frame in frames {
        // The last byte is also the time since the frame before, in units of 7 ms.
        at_us = at_us.wrapping_add(u32::from(frame.last().copied().unwrap_or(0)) * 7_000);
        let len = frame.len() as u32;
        file.extend([at_us / 1_000_000, at_us % 1_000_000, len, len].map(u32::to_le_bytes).concat());
        file.extend(frame);
    }
    file
}

/// A packet out of eight bytes: direction and protocol, flags, numbers in steps of 16, a SACK block, length, time.
fn packet(bytes: &[u8]) -> Vec<u8> {
    let [kind, flags, sequence, ack, block, len, stamp, time] = bytes[..8] else {
        unreachable!("eight bytes each")
    };
    let hosts = if kind & 1 == 0 { [1, 2] } else { [2, 1] };
    let base = if kind & 8 == 0 { 0u32 } else { u32::MAX - 600 };
    let number = |value: u8| base.wrapping_add(u32::from(value) * 16).to_be_bytes();
    let mut above = [[hosts[0], 0], [hosts[1], 0]].concat();
    if kind & 2 == 0 {
        above.extend(number(sequence));
        above.extend(number(ack));
        above.extend([0xd0, flags, if kind & 4 == 0 { 0x10 } else { 0 }, 0, 0, 0, 0, 0]);
        above.extend([1, 1, 8, 10, 0, 0, 0, stamp, 0, 0, 0, ack, 1, 1, 5, 10]);
        above.extend(number(block));
        above.extend(number(block.wrapping_add(2)));
        above.resize(52, 0);
    } else {
        above.extend((8 + u16::from(len)).to_be_bytes());
        above.extend([0, 0, 0, 0, 0, sequence]);
    }
    above.resize(above.len() + usize::from(len), time);
    above.push(time);
    let total = ((20 + above.len() - 1) as u16).to_be_bytes();
    let protocol = if kind & 2 == 0 { 6 } else { 17 };
    let header = [
        0x45, 0, total[0], total[1], 0, sequence, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, hosts[0], 10, 0, 0,
        hosts[1],
    ];
    [&header[..], &above].concat()
}
