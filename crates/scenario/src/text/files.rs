//! The files that a scenario names: on the disk, or given by the caller, since a browser has no disk. A scenario may come from a
//! stranger and name an endless file, so reading stops at a limit.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::Arc;

/// Most bytes of a model or a table.
const LONGEST_TEXT: u64 = 1 << 20;

/// Where files are read.
#[derive(Clone, Debug, Default)]
pub enum Files {
    /// The disk.
    #[default]
    Disk,
    /// These files, by name. The folder of a path does not matter.
    Given(BTreeMap<String, Arc<[u8]>>),
}

impl Files {
    /// Opens a file.
    ///
    /// # Errors
    /// Any error of opening it, or it was not given.
    pub(super) fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        let Self::Given(files) = self else { return Ok(Box::new(File::open(path)?)) };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match files.get(&*name) {
            Some(bytes) => Ok(Box::new(Cursor::new(bytes.clone()))),
            None => Err(io::Error::new(io::ErrorKind::NotFound, "it was not given")),
        }
    }

    /// What to do about a file that cannot be read.
    pub(super) fn hint(&self, path: &Path) -> String {
        match self {
            Self::Disk => format!("looked for {}; paths are relative to the scenario file", path.display()),
            Self::Given(_) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                format!("open the file {name}, too")
            }
        }
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// The file cannot be read, or has more than `most` bytes.
    pub(super) fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open(path)?.take(most + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            let why = format!("it has more than {} MiB", most >> 20);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        Ok(bytes)
    }

    /// The text of a model or a table. Errors: as for [`Self::read`], or it is not UTF-8.
    pub(super) fn text(&self, path: &Path) -> io::Result<String> {
        String::from_utf8(self.read(path, LONGEST_TEXT)?)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_an_end() {
        let disk = Files::Disk;
        assert_eq!(disk.text(Path::new("/dev/zero")).unwrap_err().to_string(), "it has more than 1 MiB");
        assert_eq!(disk.text(Path::new("/dev/null")).unwrap(), "");
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let length = file.metadata().unwrap().len();
        assert_eq!(disk.read(&file, length).unwrap().len() as u64, length);
        assert!(disk.read(&file, length - 1).is_err());
    }

    #[test]
    fn a_file_that_was_given_has_no_folder() {
        let files = Files::Given([("a.rate".to_owned(), b"1\n".as_slice().into())].into());
        assert_eq!(files.text(Path::new("traces/a.rate")).unwrap(), "1\n");
        assert_eq!(files.text(Path::new("b.rate")).unwrap_err().to_string(), "it was not given");
        assert!(files.text(Path::new("Cargo.toml")).is_err());
    }
}
