//! Reads a capture frame by frame as stored: bytes, length, time and interface. Frames are not parsed; that is left to
//! the caller.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::container::Container;
use crate::error::CaptureError;
use crate::input::Input;
use crate::read::explain;

/// A pcap or pcapng file that is being read.
#[derive(Debug)]
pub struct RawCapture<R = Input> {
    container: Container<R>,
    path: PathBuf,
    frames_read: u64,
}

/// A frame as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawFrame<'a> {
    /// Index of its interface in the file, counted over all sections; 0 in a pcap.
    pub interface: u32,
    /// Time in nanoseconds since 1970.
    pub at_ns: u64,
    /// Length in bytes before the capture cut the frame.
    pub original_len: u32,
    /// The stored bytes.
    pub bytes: &'a [u8],
}

impl RawCapture {
    /// Opens a file, plain or packed with gzip or Zstandard.
    ///
    /// # Errors
    /// If the file cannot be read or is not a capture.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let io = |source| CaptureError::Io { path: path.to_owned(), source };
        Self::from_reader(Input::open(path).map_err(io)?, path)
    }
}

impl<R: Read> RawCapture<R> {
    /// Reads from any reader; `name` is the file name in errors.
    ///
    /// # Errors
    /// As [`RawCapture::open`].
    pub fn from_reader(reader: R, name: &Path) -> Result<Self, CaptureError> {
        let container = Container::open(reader).map_err(|fault| explain(fault, name, 0, 0))?;
        Ok(Self { container, path: name.to_owned(), frames_read: 0 })
    }

    /// Returns the next frame; `None` at the end.
    ///
    /// # Errors
    /// If the file is cut or malformed here. The frames before it are valid.
    pub fn next_frame(&mut self) -> Result<Option<RawFrame<'_>>, CaptureError> {
        let offset = self.container.offset();
        let (path, frames_read) = (&self.path, self.frames_read);
        let record =
            self.container.next_record().map_err(|fault| explain(fault, path, frames_read, offset))?;
        self.frames_read += 1;
        Ok(record.map(|record| RawFrame {
            interface: record.interface,
            at_ns: record.at_ns,
            original_len: record.original_len,
            bytes: record.data,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks;

    #[test]
    fn frames_come_back_as_they_were_written_and_a_cut_file_is_an_error_after_them() {
        let mut file = Vec::new();
        blocks::section(&mut file).unwrap();
        for name in ["in", "out"] {
            blocks::interface(&mut file, &blocks::Interface { name, link_type: 1, snap_len: 4 }).unwrap();
        }
        let stamp = blocks::Stamp { interface: 1, at_ns: 5_000_000_007, original_len: 90 };
        blocks::packet(&mut file, &stamp, [b"ab", b"cde"]).unwrap();
        blocks::commented_packet(&mut file, &stamp, b"xyz", "waited 1 ms").unwrap();
        let frame = |bytes| RawFrame { interface: 1, at_ns: 5_000_000_007, original_len: 90, bytes };
        let mut capture = RawCapture::from_reader(&file[..], Path::new("test")).unwrap();
        assert_eq!(capture.next_frame().unwrap(), Some(frame(b"abcde")));
        assert_eq!(capture.next_frame().unwrap(), Some(frame(b"xyz")));
        assert_eq!(capture.next_frame().unwrap(), None);
        let mut capture = RawCapture::from_reader(&file[..file.len() - 3], Path::new("test")).unwrap();
        assert_eq!(capture.next_frame().unwrap(), Some(frame(b"abcde")));
        assert!(matches!(capture.next_frame(), Err(CaptureError::Truncated { packets_read: 1, .. })));
    }
}
