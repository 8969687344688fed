//! What can be wrong with a capture, said so that the reader knows which file, what was found, what would do, and what to
//! try. Hints stand on a line of their own.

use std::fmt;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::path::PathBuf;

/// Why a capture could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file is neither pcap nor pcapng.
    #[error(
        "{}: not a packet capture: it begins with {}; a pcap begins with d4 c3 b2 a1 (or its nanosecond or \
         big-endian forms), a pcapng with 0a 0d 0d 0a, one packed with gzip 1f 8b, with zstd 28 b5 2f fd\n\
         hint: convert other formats with `editcap -F pcapng IN OUT`",
        path.display(),
        Hex(first_bytes)
    )]
    NotACapture {
        /// The file.
        path: PathBuf,
        /// Its first bytes, at most eight.
        first_bytes: Vec<u8>,
    },
    /// The file ends in the middle of a packet.
    #[error(
        "{}: cut off after {packets_read} packets: {missing}, at byte {offset} of the capture\n\
         hint: let tcpdump finish, or keep the readable part with `editcap IN OUT`",
        path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Packets before the cut.
        packets_read: u64,
        /// Where the record begins that is not whole, in the unpacked file.
        offset: u64,
        /// What there is of it.
        missing: String,
    },
    /// The file is damaged.
    #[error(
        "{}: damaged after {packets_read} packets, at byte {offset} of the capture: {problem}\n\
         hint: copy or record it again; `capinfos FILE` says how far others can read it",
        path.display()
    )]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Packets before the damage.
        packets_read: u64,
        /// Where the damaged record begins, in the unpacked file.
        offset: u64,
        /// What was found and what is allowed.
        problem: String,
    },
    /// The system could not read the file.
    #[error("{}: cannot be read: {}\nhint: {}", path.display(), without_number(source), way_out(source))]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Packets come from a medium we do not know.
    #[error(
        "{}: link type {link_type} is not supported; supported are Ethernet (1), raw IP (101, 12, 14, 228, 229), Linux \
         cooked (113, 276), loopback (0, 108), PPP (9) and PPPoE (51)\n\
         hint: record on an Ethernet, tun or `any` interface",
        path.display()
    )]
    UnsupportedLinkType {
        /// The file.
        path: PathBuf,
        /// The number in tcpdump's registry.
        link_type: u32,
    },
    /// Some packets come from a medium we do not know; the others were read.
    #[error(
        "{}: {packets} of its {packets_read} packets have link type {link_type}, which is not supported, the first of them \
         at byte {offset} of the capture; the others were read\n\
         hint: record on an Ethernet, tun or `any` interface",
        path.display()
    )]
    MixedLinkTypes {
        /// The file.
        path: PathBuf,
        /// Packets in it.
        packets_read: u64,
        /// Of them, those of a medium we do not know.
        packets: u64,
        /// The number of the first such one in tcpdump's registry.
        link_type: u32,
        /// Where its record begins, in the unpacked file.
        offset: u64,
    },
    /// No UDP packet is in the capture.
    #[error(
        "{}: no UDP conversation among its {packets_read} packets; a trace needs one\n\
         hint: record with `tcpdump udp port PORT` while the game runs",
        path.display()
    )]
    NoUdpFlow {
        /// The file.
        path: PathBuf,
        /// Packets in it.
        packets_read: u64,
    },
    /// The client asked for takes part in no UDP conversation.
    #[error(
        "{}: no UDP conversation of client {client}; hosts with UDP in the capture: {}\n\
         hint: name one of these, or leave the client out to have it guessed",
        path.display(),
        List(hosts)
    )]
    UnknownClient {
        /// The file.
        path: PathBuf,
        /// The client asked for.
        client: IpAddr,
        /// Hosts that exchange UDP packets, in order.
        hosts: Vec<IpAddr>,
    },
}

impl CaptureError {
    /// Whether packets before the error were read and stand.
    pub const fn is_partial(&self) -> bool {
        matches!(
            self,
            Self::Truncated { packets_read: 1.., .. }
                | Self::Malformed { packets_read: 1.., .. }
                | Self::MixedLinkTypes { .. }
        )
    }
}

/// The system's reason without its number.
fn without_number(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or_default().to_owned()
}

fn way_out(error: &std::io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::NotFound => "give a capture, a folder of a recording's files, or - for standard input",
        ErrorKind::PermissionDenied => {
            "what was recorded with sudo belongs to root: `sudo chown $USER FILE`, or analyse it with sudo"
        }
        _ => "copy the file elsewhere and try again",
    }
}

struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("nothing (it is empty)");
        }
        for (n, byte) in self.0.iter().enumerate() {
            write!(f, "{}{byte:02x}", if n == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

struct List<'a>(&'a [IpAddr]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        for (n, host) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{}{host}", if n == 0 { "" } else { ", " })?;
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
