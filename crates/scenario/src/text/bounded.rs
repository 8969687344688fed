//! Reads files that a scenario names. A scenario may be a stranger's, and name a file without an end.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Most bytes of a model or a table.
pub(super) const TABLE: u64 = 1 << 20;
/// Most bytes of a trace of rates: days of a mobile link, a line for each packet.
pub(super) const TRACE: u64 = 1 << 28;

/// The bytes of a file.
///
/// # Errors
/// The file cannot be read, or has more than `most` bytes.
pub(super) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it has more than {} MiB", most >> 20),
        ));
    }
    Ok(bytes)
}

/// The text of a file. Errors: as for [`read`], or it is not UTF-8.
pub(super) fn text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_an_end() {
        assert_eq!(read(Path::new("/dev/zero"), TABLE).unwrap_err().to_string(), "it has more than 1 MiB");
        assert_eq!(text(Path::new("/dev/null"), TABLE).unwrap(), "");
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let length = file.metadata().unwrap().len();
        assert_eq!(read(&file, length).unwrap().len() as u64, length);
        assert!(read(&file, length - 1).is_err());
    }
}
