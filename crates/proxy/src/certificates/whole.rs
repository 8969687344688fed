//! Files that appear whole or not at all: written beside their place, synced, and then moved there.

use gamelane_service::exit::{Exit, Failure};
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Mode of a file with a private key.
pub(super) const PRIVATE: u32 = 0o600;
/// Mode of a file with certificates.
pub(super) const PUBLIC: u32 = 0o644;

/// How the name of a file that is being written begins.
const PREFIX: &str = ".gamelane-certificates-";

/// Removes what a killed command left of files that it was writing; it may be a private key. No other command may be writing.
pub(super) fn clean(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// What happens to a file that is already there.
#[derive(Clone, Copy)]
pub(super) enum Existing {
    /// It stays, and writing fails.
    Keep,
    /// It is replaced.
    Replace,
}

/// Writes a file. After a crash it has its old content or all of the new.
pub(super) fn write(path: &Path, text: &str, mode: u32, existing: Existing) -> Result<PathBuf, Failure> {
    let failed = |error: &io::Error| unwritten(path, error);
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(PREFIX)
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)
        .map_err(|error| failed(&error))?;
    file.write_all(text.as_bytes()).map_err(|error| failed(&error))?;
    // The process may run with a narrower umask.
    file.as_file().set_permissions(Permissions::from_mode(mode)).map_err(|error| failed(&error))?;
    file.as_file().sync_all().map_err(|error| failed(&error))?;
    match existing {
        Existing::Keep => file.persist_noclobber(path),
        Existing::Replace => file.persist(path),
    }
    .map_err(|error| failed(&error.error))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| failed(&error))?;
    Ok(path.into())
}

/// The failure of a file that cannot be written.
pub(super) fn unwritten(path: &Path, error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::AlreadyExists {
        return exists(path);
    }
    Failure(Exit::Output, format!("{}: {error}", path.display()))
}

/// The failure of a file that is already there.
pub(super) fn exists(path: &Path) -> Failure {
    let hint = "existing files are not overwritten";
    Failure(Exit::Output, format!("{}: File exists\n  hint:    {hint}", path.display()))
}
