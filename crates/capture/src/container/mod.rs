//! The two capture formats, pcap (draft-ietf-opsawg-pcap) and pcapng (draft-ietf-opsawg-pcapng), read record by record
//! through a sliding window. Existing crates misread timestamps: pcap-file 2.0 takes every resolution for nanoseconds,
//! and pcap-parser 0.17 refuses binary ones. Name resolution, secrets and the payload of simple packet blocks (which
//! have no time) are left out.

mod fields;
mod pcap;
mod pcapng;
mod window;

use std::io::{ErrorKind, Read};

use pcap::Pcap;
use pcapng::Pcapng;
use window::Window;

use crate::link::{Link, Part};

/// One packet as stored.
pub(crate) struct Record<'a> {
    /// Index of its interface in the file, counted over all sections.
    pub(crate) interface: u32,
    /// Time in nanoseconds since 1970.
    pub(crate) at_ns: u64,
    pub(crate) link_type: u32,
    /// Length in bytes before the capture cut the packet.
    pub(crate) original_len: u32,
    pub(crate) flags: Flags,
    pub(crate) data: &'a [u8],
}

impl<'a> Record<'a> {
    /// The packet without the frame check sequence that the file tells of, unless the link layer's header tells it.
    #[inline]
    pub(crate) fn frame(&self, link: Link) -> Part<'a> {
        // Some programs write an original length below the captured one.
        let len = self.original_len.max(self.data.len() as u32);
        let frame = Part { bytes: self.data, len };
        match self.flags {
            Flags::NONE => frame,
            _ if link == Link::Radiotap => frame,
            flags => frame.keep(len.saturating_sub(flags.check_sequence())),
        }
    }
}

/// What a file says about a packet, as in pcapng's option `epb_flags`: two bits for the direction, and from bit 5 on
/// four for the length of the frame check sequence. Zero if it says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flags(u32);

impl Flags {
    const NONE: Self = Self(0);

    fn new(outgoing: Option<bool>, check_sequence: u32) -> Self {
        let direction = match outgoing {
            None => 0,
            Some(false) => 1,
            Some(true) => 2,
        };
        Self(direction | check_sequence.min(15) << 5)
    }

    /// True if the recording machine sent the packet, false if it received it.
    #[inline]
    pub(crate) const fn outgoing(self) -> Option<bool> {
        if self.0 == 0 {
            return None;
        }
        match self.0 & 3 {
            1 => Some(false),
            2 => Some(true),
            _ => None,
        }
    }

    const fn check_sequence(self) -> u32 {
        self.0 >> 5 & 15
    }
}

/// Reason why a record could not be read.
#[derive(Debug)]
pub(crate) enum Fault {
    Io(std::io::Error),
    NotACapture(Vec<u8>),
    /// Description of the missing part.
    Truncated(String),
    Malformed(String),
}

/// A capture file, read from front to back.
#[derive(Debug)]
pub(crate) struct Container<R> {
    window: Window<R>,
    format: Format,
    /// Length of the last record. Its bytes stay in the window until the next call.
    seen: usize,
    /// Start of the last packet in its record.
    data_at: usize,
}

#[derive(Debug)]
enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// Position of a record in the window, and its header fields.
struct Found {
    interface: u32,
    at_ns: u64,
    link_type: u32,
    original_len: u32,
    flags: Flags,
    /// Range of the packet's bytes, from the start of the record.
    data: std::ops::Range<usize>,
    /// Length of the whole record.
    len: usize,
}

impl<R: Read> Container<R> {
    /// Reads the header of the file.
    pub(crate) fn open(reader: R) -> Result<Self, Fault> {
        let mut window = Window::new(reader);
        if !window.fill(4) {
            return Err(match window.error() {
                Some(error) => Fault::Io(error),
                None => Fault::NotACapture(window.bytes().to_vec()),
            });
        }
        let magic = [window.bytes()[0], window.bytes()[1], window.bytes()[2], window.bytes()[3]];
        let format = if magic == pcapng::MAGIC {
            Format::Pcapng(Pcapng::open(&mut window)?)
        } else if let Some(pcap) = Pcap::by_magic(magic) {
            Format::Pcap(pcap.open(&mut window)?)
        } else {
            window.fill(8);
            let shown = window.bytes().len().min(8);
            return Err(Fault::NotACapture(window.bytes()[..shown].to_vec()));
        };
        Ok(Self { window, format, seen: 0, data_at: 0 })
    }

    /// Returns the next packet; `None` at the end of the file.
    pub(crate) fn next_record(&mut self) -> Result<Option<Record<'_>>, Fault> {
        self.window.consume(self.seen);
        self.seen = 0;
        let found = match &mut self.format {
            Format::Pcap(pcap) => pcap.next(&mut self.window)?,
            Format::Pcapng(pcapng) => pcapng.next(&mut self.window)?,
        };
        let Some(Found { interface, at_ns, link_type, original_len, flags, data, len }) = found else {
            return Ok(None);
        };
        self.seen = len;
        self.data_at = data.start;
        let data = &self.window.bytes()[data];
        Ok(Some(Record { interface, at_ns, link_type, original_len, flags, data }))
    }

    /// Bytes of the last packet, and what follows them in its record.
    pub(crate) fn data(&self) -> &[u8] {
        self.window.bytes().get(self.data_at..self.seen).unwrap_or_default()
    }

    /// Start of the last record in the file, also of one that could not be read.
    pub(crate) const fn offset(&self) -> u64 {
        self.window.offset()
    }

    /// Packets that the recording program lost, if the file has that number.
    pub(crate) fn dropped_by_capture(&self) -> Option<u64> {
        match &self.format {
            Format::Pcap(_) => None,
            Format::Pcapng(pcapng) => pcapng.dropped_by_capture(),
        }
    }

    /// Number of packets without a time.
    pub(crate) fn untimed(&self) -> u64 {
        match &self.format {
            Format::Pcap(_) => 0,
            Format::Pcapng(pcapng) => pcapng.untimed(),
        }
    }
}

/// Reads until `len` bytes are in memory. If the file ends before, the error has the name `what` of the incomplete
/// part.
#[inline]
fn require<R: Read>(window: &mut Window<R>, len: usize, what: &str) -> Result<(), Fault> {
    if window.fill(len) { Ok(()) } else { Err(missing(window, len, what)) }
}

#[cold]
fn missing<R: Read>(window: &mut Window<R>, len: usize, what: &str) -> Fault {
    match window.error() {
        // The error of a decompressor for a truncated file.
        Some(error) if error.kind() == ErrorKind::UnexpectedEof => {
            Fault::Truncated(format!("the compressed data ends within {what}"))
        }
        Some(error) => Fault::Io(error),
        None => Fault::Truncated(format!("{what} of {len} B has only {} B", window.bytes().len())),
    }
}

/// Like [`require`], but returns false at the end of the file.
#[inline]
fn more<R: Read>(window: &mut Window<R>, len: usize, what: &str) -> Result<bool, Fault> {
    if window.fill(len) { Ok(true) } else { ended(window, len, what) }
}

#[cold]
fn ended<R: Read>(window: &mut Window<R>, len: usize, what: &str) -> Result<bool, Fault> {
    if !window.bytes().is_empty() {
        return Err(missing(window, len, what));
    }
    match window.error() {
        None => Ok(false),
        Some(error) if error.kind() == ErrorKind::UnexpectedEof => {
            Err(Fault::Truncated("the compressed data ends early".into()))
        }
        Some(error) => Err(Fault::Io(error)),
    }
}

/// Maximum length of a record. Wireshark's limit is 256 KiB for networks, and 128 MiB for USB and D-Bus.
const MAX_RECORD: u32 = 16 << 20;
