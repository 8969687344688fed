//! Log of one connection, packet by packet, in the style of figure 6 of griwodz2006. A line has number, kind, time,
//! stream offset, length, and a comment from the analysis. Times count from the first packet of the capture, offsets
//! from the start of the connection. Payload is left out.

use std::fmt::Write;
use std::io::Read;

use crate::analysis::{Acknowledged, Analyzer, FlowReport, Retransmission, Sink};
use crate::error::CaptureError;
use crate::packet::{CapturedPacket, CapturedTransport};
use crate::read::Capture;
use crate::tcp::sequence::Sequence;

/// Returns the log of flow number `flow`, and the error that ended the capture, if there was one. The log is `None` if
/// there is no such flow.
pub fn connection_log<R: Read>(
    capture: &mut Capture<R>,
    flow: u32,
) -> (Option<String>, Option<CaptureError>) {
    let mut log = Log { flow, ..Log::default() };
    let error = crate::analyze(capture, &mut Analyzer::default(), &mut log).err();
    log.flush();
    (log.seen.then_some(log.text), error)
}

#[derive(Default)]
struct Log {
    flow: u32,
    seen: bool,
    text: String,
    start_ns: u64,
    started: bool,
    number: u64,
    /// The current line. It waits for the comments of the analysis on its packet.
    line: Option<Line>,
    halves: [HalfLog; 2],
}

#[derive(Default)]
struct HalfLog {
    sequence: Option<Sequence>,
    /// Offset after the highest byte sent.
    end: u64,
    /// Highest acknowledgement of the other side's data.
    ack: u64,
}

struct Line {
    head: String,
    notes: Vec<String>,
}

impl Log {
    fn flush(&mut self) {
        if let Some(line) = self.line.take() {
            let notes = line.notes.join("; ");
            let _ = writeln!(self.text, "{:<58} ;; {notes}", line.head);
        }
    }

    fn note(&mut self, note: String) {
        if let Some(line) = &mut self.line {
            line.notes.push(note);
        }
    }
}

impl Sink for Log {
    fn flow(&mut self, _report: FlowReport) {}

    fn packet(&mut self, flow: u32, direction: u8, packet: &CapturedPacket) {
        self.flush();
        if !self.started {
            (self.started, self.start_ns) = (true, packet.at_ns);
        }
        self.number += 1;
        if flow != self.flow {
            return;
        }
        if !self.seen {
            self.seen = true;
            let key = if direction == 0 { packet.key } else { packet.key.reverse() };
            let _ = writeln!(self.text, "{} - {}\nnum        time/s", key.source, key.destination);
        }
        let at = packet.at_ns.saturating_sub(self.start_ns) as f64 / 1e9;
        let arrow = if direction == 0 { ">" } else { "<" };
        let place = format!("{:<8} {arrow} {at:11.6}", self.number);
        let line = match &packet.transport {
            CapturedTransport::Tcp(_) => tcp_line(&mut self.halves, direction, packet, &place),
            CapturedTransport::Udp => Line {
                head: format!("{place}  UDP len {}", packet.payload_len),
                notes: vec![format!("{} bytes of payload", packet.payload_len)],
            },
            CapturedTransport::LaterFragment => Line {
                head: format!("{place}  FRAGMENT"),
                notes: vec!["later fragment of the packet before".into()],
            },
        };
        self.line = Some(line);
    }

    fn retransmission(&mut self, row: &Retransmission) {
        if row.flow != self.flow {
            return;
        }
        if let Some(line) = &mut self.line {
            line.head = line.head.replacen("PKT", "RTR PKT", 1);
        }
        let since = row.since_first_ns as f64 / 1e6;
        let times = if row.nth == 0 {
            "lost before this point".into()
        } else {
            format!("retransmission {}", row.nth)
        };
        self.note(format!("{times}, {}, {since:.3} ms after the first", row.cause.name()));
    }

    fn acknowledged(&mut self, row: &Acknowledged) {
        if row.flow != self.flow || row.itself == 0 && row.included == 0 && row.cause.is_none() {
            return;
        }
        let delay = row.delay_ns as f64 / 1e6;
        let how = match (row.itself, row.included) {
            (0, 0) => "held up".into(),
            (itself, 0) => format!("sent again {itself}x"),
            (0, included) => format!("included {included}x"),
            (itself, included) => format!("sent again {itself}x, included {included}x"),
        };
        self.note(format!("{} B {how}, application delay {delay:.3} ms", row.len));
    }
}

fn tcp_line(halves: &mut [HalfLog; 2], direction: u8, packet: &CapturedPacket, place: &str) -> Line {
    let (own, other) = (usize::from(direction), usize::from(1 - direction));
    let Some(tcp) = packet.tcp() else { unreachable!("only TCP has a TCP line") };
    let sequence = halves[own].sequence.get_or_insert_with(|| match tcp.flags.syn {
        true => Sequence::after_syn(tcp.sequence),
        false => Sequence::from_within(tcp.sequence),
    });
    let offset = sequence.sent(tcp.sequence).unwrap_or(0);
    let ack = tcp
        .flags
        .ack
        .then(|| halves[other].sequence.and_then(|known| known.offset(tcp.acknowledgment)))
        .flatten();
    let len = packet.payload_len;
    let mut notes = Vec::new();
    let flags: String = [(tcp.flags.syn, "SYN "), (tcp.flags.fin, "FIN "), (tcp.flags.rst, "RST ")]
        .iter()
        .filter_map(|&(set, name)| set.then_some(name))
        .collect();
    let what = if len > 0 {
        let again = offset < halves[own].end;
        halves[own].end = halves[own].end.max(offset + u64::from(len));
        notes.push(if again {
            format!("bytes from {offset} on, sent before")
        } else {
            format!("{len} new bytes")
        });
        format!("{flags}PKT seq {offset} len {len}")
    } else if let Some(ack) = ack.filter(|_| !tcp.flags.syn) {
        let duplicate = ack == halves[own].ack && halves[other].end > ack && !tcp.flags.fin && !tcp.flags.rst;
        if duplicate {
            notes.push(format!("receiver still expects {ack}"))
        } else {
            notes.push(format!("receiver expects {ack}"))
        }
        format!("{flags}{}ACK {ack}", if duplicate { "DUP " } else { "" })
    } else {
        notes.push("control".into());
        format!("{flags}seq {offset}")
    };
    if let Some(ack) = ack {
        halves[own].ack = halves[own].ack.max(ack);
        if len > 0 {
            notes.push(format!("expects {ack}"));
        }
    }
    for (start, end) in tcp.sack.iter().flatten() {
        if let Some((start, end)) =
            halves[other].sequence.and_then(|known| known.offset(*start).zip(known.offset(*end)))
        {
            notes.push(format!("has {start} to {end}"));
        }
    }
    if tcp.window == 0 && !tcp.flags.rst {
        notes.push("window closed".into());
    }
    Line { head: format!("{place}  {what}"), notes }
}
