//! Errors of reading captures. Each message names the file, what was found, what is allowed, and what to do; the hint
//! is on a line of its own. Packets of unknown protocols are no errors; [`Skipped`](crate::Skipped) counts them.

use std::fmt;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::path::PathBuf;

use crate::link::Unsupported;

/// Reason why a capture could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file is neither pcap nor pcapng.
    #[error(
        "{}: {}\n  allowed: pcap and pcapng, also packed with gzip or Zstandard\nhint: {}",
        path.display(),
        Content::of(first_bytes),
        Content::of(first_bytes).hint()
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
         hint: wait until tcpdump has finished, or keep the readable part with `editcap IN OUT`",
        path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Packets before the cut.
        packets_read: u64,
        /// Start of the incomplete record, in the unpacked file.
        offset: u64,
        /// Description of the incomplete part.
        missing: String,
    },
    /// The file is damaged.
    #[error(
        "{}: damaged after {packets_read} packets, at byte {offset} of the capture: {problem}\n\
         hint: copy or record it again; `capinfos FILE` shows how far other programs can read it",
        path.display()
    )]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Packets before the damage.
        packets_read: u64,
        /// Start of the damaged record, in the unpacked file.
        offset: u64,
        /// What was found and what is allowed.
        problem: String,
    },
    /// The operating system could not read the file.
    #[error("{}: cannot be read: {}\nhint: {}", path.display(), without_number(source), way_out(source))]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// No packet has a supported link type.
    #[error(
        "{}: link type {} is not supported; supported are Ethernet, Wi-Fi, Linux cooked, raw IP, PPP, loopback, and more \
         (docs/models/captures.md has the list)\nhint: {}",
        path.display(),
        Unsupported(*link_type),
        Unsupported(*link_type).hint()
    )]
    UnsupportedLinkType {
        /// The file.
        path: PathBuf,
        /// Number of the link type in tcpdump's registry.
        link_type: u32,
    },
    /// Some packets have an unsupported link type; the others were read.
    #[error(
        "{}: {packets} of its {packets_read} packets have link type {}, which is not supported; the first of them is at \
         byte {offset} of the capture. The others were read\nhint: {}",
        path.display(),
        Unsupported(*link_type),
        Unsupported(*link_type).hint()
    )]
    MixedLinkTypes {
        /// The file.
        path: PathBuf,
        /// Packets in the capture.
        packets_read: u64,
        /// Packets with an unsupported link type.
        packets: u64,
        /// The first unsupported link type, as a number of tcpdump's registry.
        link_type: u32,
        /// Start of the first such record, in the unpacked file.
        offset: u64,
    },
    /// The capture has encrypted Wi-Fi frames, and no packet that could be read.
    #[error(
        "{}: {packets} of its {packets_read} packets are encrypted Wi-Fi frames, and no other can be read\n\
         hint: record without monitor mode, on the machine that plays or on the router; or, if the file has the \
         handshakes, decrypt it with `tshark -r FILE -o wlan.enable_decryption:TRUE -o \
         'uat:80211_keys:\"wpa-pwd\",\"PASSWORD:NETWORK\"' -U IP -w OUT.pcapng`",
        path.display()
    )]
    Encrypted {
        /// The file.
        path: PathBuf,
        /// Packets in the capture.
        packets_read: u64,
        /// Encrypted frames.
        packets: u64,
    },
    /// The capture has no UDP packet.
    #[error(
        "{}: no UDP conversation in its {packets_read} packets, but a trace needs one\n\
         hint: record with `tcpdump udp port PORT` while the game runs",
        path.display()
    )]
    NoUdpFlow {
        /// The file.
        path: PathBuf,
        /// Packets in the capture.
        packets_read: u64,
    },
    /// The requested client has no UDP conversation.
    #[error(
        "{}: no UDP conversation of client {client}; hosts with UDP in the capture: {}\n\
         hint: set the client to one of these, or omit it and the client is guessed",
        path.display(),
        List(hosts)
    )]
    UnknownClient {
        /// The file.
        path: PathBuf,
        /// The requested client.
        client: IpAddr,
        /// Hosts that exchange UDP packets, sorted.
        hosts: Vec<IpAddr>,
    },
}

impl CaptureError {
    /// True if the packets before the error were read and are valid.
    pub const fn is_partial(&self) -> bool {
        matches!(
            self,
            Self::Truncated { packets_read: 1.., .. }
                | Self::Malformed { packets_read: 1.., .. }
                | Self::MixedLinkTypes { .. }
        )
    }
}

/// Text of an operating system error without its number.
fn without_number(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or_default().to_owned()
}

fn way_out(error: &std::io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::NotFound => "give a capture, a folder of a recording's files, or - for standard input",
        ErrorKind::PermissionDenied => {
            "a file recorded with sudo belongs to root: run `sudo chown $USER FILE`, or analyse it with sudo"
        }
        _ => "copy the file elsewhere and try again",
    }
}

/// What a file that is no capture is, by its first bytes.
enum Content<'a> {
    Empty,
    Text,
    Packed(&'static str),
    Unknown(&'a [u8]),
}

impl<'a> Content<'a> {
    fn of(first_bytes: &'a [u8]) -> Self {
        // The eight bytes may end within a character.
        let is_text = match std::str::from_utf8(first_bytes) {
            Ok(text) => text.chars().all(|c| !c.is_control() || c.is_ascii_whitespace()),
            Err(error) => error.error_len().is_none() && !first_bytes.iter().any(u8::is_ascii_control),
        };
        match PACKED.iter().find(|(magic, _)| first_bytes.starts_with(magic)) {
            Some((_, what)) => Self::Packed(what),
            None if first_bytes.is_empty() => Self::Empty,
            None if is_text => Self::Text,
            None => Self::Unknown(first_bytes),
        }
    }

    const fn hint(&self) -> &'static str {
        match self {
            Self::Empty => "record again, and end the recording with Ctrl-C",
            Self::Text => {
                "what tcpdump prints is no capture: `tcpdump -w FILE` writes one, and so does `gamelane capture`"
            }
            Self::Packed(_) => "unpack it first, or pack the capture with gzip or Zstandard",
            Self::Unknown(_) => "convert other formats of captures with `editcap -F pcapng IN OUT`",
        }
    }
}

impl fmt::Display for Content<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::Text => f.write_str("not a packet capture: it is text"),
            Self::Packed(what) => write!(f, "not a packet capture: it is {what}"),
            Self::Unknown(bytes) => {
                f.write_str("not a packet capture: it begins with")?;
                bytes.iter().try_for_each(|byte| write!(f, " {byte:02x}"))
            }
        }
    }
}

/// Archives and packed files that are not read, by their first bytes.
const PACKED: [(&[u8], &str); 4] = [
    (b"PK\x03\x04", "a zip archive"),
    (b"\xfd7zXZ", "packed with xz"),
    (b"BZh", "packed with bzip2"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
];

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
