//! The two file formats around packets: pcap (draft-ietf-opsawg-pcap) and pcapng (draft-ietf-opsawg-pcapng), read record
//! by record through a sliding window. Our own because both are a few fields each, and the crates at hand misread time
//! stamps (pcap-file 2.0 takes every resolution for nanoseconds; pcap-parser 0.17 refuses binary ones). Leaves out names,
//! secrets and the payload of simple packet blocks, which carry no time.

mod fields;
mod pcap;
mod pcapng;
mod window;

use std::io::{ErrorKind, Read};

use pcap::Pcap;
use pcapng::Pcapng;
use window::Window;

/// One packet as stored.
pub(crate) struct Record<'a> {
    /// Position of its interface in the file, over all sections.
    pub(crate) interface: u32,
    /// Nanoseconds since 1970.
    pub(crate) at_ns: u64,
    pub(crate) link_type: u32,
    /// Length before the capture cut it.
    pub(crate) original_len: u32,
    pub(crate) data: &'a [u8],
}

/// Why a record could not be read.
#[derive(Debug)]
pub(crate) enum Fault {
    Io(std::io::Error),
    NotACapture(Vec<u8>),
    /// What was missing.
    Truncated(String),
    Malformed(String),
}

/// A capture file, read from front to back.
#[derive(Debug)]
pub(crate) struct Container<R> {
    window: Window<R>,
    format: Format,
    /// Bytes of the last record, which its caller may still look at.
    seen: usize,
}

#[derive(Debug)]
enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// A record's place in the window and what its header says.
struct Found {
    interface: u32,
    at_ns: u64,
    link_type: u32,
    original_len: u32,
    /// Of the packet's bytes, from the start of the record.
    data: std::ops::Range<usize>,
    /// Of the whole record.
    len: usize,
}

impl<R: Read> Container<R> {
    /// Reads the file's header.
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
        Ok(Self { window, format, seen: 0 })
    }

    /// The next packet; `None` at the end of the file.
    pub(crate) fn next_record(&mut self) -> Result<Option<Record<'_>>, Fault> {
        self.window.consume(self.seen);
        self.seen = 0;
        let found = match &mut self.format {
            Format::Pcap(pcap) => pcap.next(&mut self.window)?,
            Format::Pcapng(pcapng) => pcapng.next(&mut self.window)?,
        };
        let Some(Found { interface, at_ns, link_type, original_len, data, len }) = found else {
            return Ok(None);
        };
        self.seen = len;
        Ok(Some(Record { interface, at_ns, link_type, original_len, data: &self.window.bytes()[data] }))
    }

    /// Where in the file the record is that was read last, or could not be read.
    pub(crate) const fn offset(&self) -> u64 {
        self.window.offset()
    }

    /// Packets that the recording program says it could not keep up with, as far as the file says.
    pub(crate) fn dropped_by_capture(&self) -> Option<u64> {
        match &self.format {
            Format::Pcap(_) => None,
            Format::Pcapng(pcapng) => pcapng.dropped_by_capture(),
        }
    }

    /// Packets stored without a time.
    pub(crate) fn untimed(&self) -> u64 {
        match &self.format {
            Format::Pcap(_) => 0,
            Format::Pcapng(pcapng) => pcapng.untimed(),
        }
    }
}

/// Brings `len` bytes into memory; `what` they belong to is named if the file ends before.
#[inline]
fn require<R: Read>(window: &mut Window<R>, len: usize, what: &str) -> Result<(), Fault> {
    if window.fill(len) { Ok(()) } else { Err(missing(window, len, what)) }
}

#[cold]
fn missing<R: Read>(window: &mut Window<R>, len: usize, what: &str) -> Fault {
    match window.error() {
        // What a decompressor says of a file cut short.
        Some(error) if error.kind() == ErrorKind::UnexpectedEof => {
            Fault::Truncated(format!("the compressed data ends within {what}"))
        }
        Some(error) => Fault::Io(error),
        None => Fault::Truncated(format!("{what} of {len} B has {} B", window.bytes().len())),
    }
}

/// [`require`], but nothing at all is the end of the file.
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

/// Longest record we believe in: Wireshark's limit for USB and D-Bus is 128 MiB, for networks 256 KiB.
const MAX_RECORD: u32 = 16 << 20;
