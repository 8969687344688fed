//! Source of a capture: a file or a pipe, plain or packed with gzip (RFC 1952) or Zstandard (RFC 8878). The first bytes
//! tell the format. It unpacks while reading, so a pipe works and memory stays bounded. Other compression formats are
//! left out.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Error, ErrorKind, Read, Result, Stdin};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Bytes of a capture, unpacked.
pub struct Input(Box<dyn Read + Send>);

impl Input {
    /// Opens a file.
    ///
    /// # Errors
    /// Any error of opening or reading it.
    pub fn open(path: &Path) -> Result<Self> {
        Self::unpacked(File::open(path)?)
    }

    /// Reads from standard input.
    ///
    /// # Errors
    /// Any error of reading it.
    pub fn stdin(stdin: Stdin) -> Result<Self> {
        Self::unpacked(stdin)
    }

    /// Reads from `reader`, starting with its first bytes.
    ///
    /// # Errors
    /// Any error of reading it.
    pub fn unpacked(mut reader: impl Read + Send + 'static) -> Result<Self> {
        let mut magic = Vec::with_capacity(4);
        reader.by_ref().take(4).read_to_end(&mut magic)?;
        let packed = match magic[..] {
            [0x1f, 0x8b, ..] => Some(Packing::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Some(Packing::Zstandard),
            _ => None,
        };
        let whole = Cursor::new(magic).chain(reader);
        Ok(Self(match packed {
            None => Box::new(whole),
            Some(Packing::Gzip) => Box::new(MultiGzDecoder::new(BufReader::with_capacity(BUFFER, whole))),
            Some(Packing::Zstandard) => Box::new(Zstandard::new(BufReader::with_capacity(BUFFER, whole))),
        }))
    }
}

enum Packing {
    Gzip,
    Zstandard,
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        self.0.read(into)
    }
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Input")
    }
}

/// Reads several Zstandard frames in a row, as `zstd` and parallel packers write them. Skippable frames are skipped.
struct Zstandard<R> {
    source: R,
    frame: FrameDecoder,
}

impl<R: BufRead> Zstandard<R> {
    fn new(source: R) -> Self {
        Self { source, frame: FrameDecoder::new() }
    }

    /// Starts the next frame. Returns false at the end.
    fn next_frame(&mut self) -> Result<bool> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.frame.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    let skipped =
                        std::io::copy(&mut self.source.by_ref().take(length), &mut std::io::sink())?;
                    if skipped < length {
                        return Err(Error::from(ErrorKind::UnexpectedEof));
                    }
                }
                Err(error) => return Err(self.explain(error)),
            }
        }
    }

    /// Turns a decoder error into an I/O error. The decoder does not distinguish missing data from wrong data; the
    /// remaining input does.
    fn explain(&mut self, error: FrameDecoderError) -> Error {
        match self.source.fill_buf() {
            Ok([]) => Error::from(ErrorKind::UnexpectedEof),
            Ok(_) => Error::new(ErrorKind::InvalidData, format!("zstd: {error}")),
            Err(error) => error,
        }
    }
}

impl<R: BufRead> Read for Zstandard<R> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        while self.frame.can_collect() == 0 {
            if self.frame.is_finished() {
                if !self.next_frame()? {
                    return Ok(0);
                }
                continue;
            }
            let upto = BlockDecodingStrategy::UptoBlocks(1);
            if let Err(error) = self.frame.decode_blocks(&mut self.source, upto) {
                return Err(self.explain(error));
            }
        }
        self.frame.read(into)
    }
}

const BUFFER: usize = 128 << 10;
