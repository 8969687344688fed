//! Files and pairs of files that appear whole or not at all: written beside their place, synced, and then moved there.

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
/// How the name of a file begins that is whole and waits for the other one of its pair.
const PAIR: &str = ".gamelane-pair-";

/// Completes what a killed command left, or removes it; it may be a private key. No other command may be writing.
pub(super) fn clean(folder: &Path) -> io::Result<()> {
    let mut left = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        left.extend(
            name.to_str()
                .filter(|name| name.starts_with(PREFIX) || name.starts_with(PAIR))
                .map(str::to_owned),
        );
    }
    for name in left.iter().filter_map(|name| name.strip_prefix(PAIR)?.strip_suffix(".pem")) {
        move_pair(folder, name)?;
    }
    let left = left.iter().map(|name| folder.join(name)).filter(|file| file.exists());
    left.into_iter().try_for_each(fs::remove_file)
}

/// Writes the certificate and the key of an end, which may replace older ones. After a crash, [`clean`] leaves both or neither.
pub(super) fn write_pair(folder: &Path, name: &str, pem: &str, key: &str) -> Result<Vec<PathBuf>, Failure> {
    let waiting = |kind| folder.join(format!("{PAIR}{name}.{kind}"));
    // The certificate is the second: where it is, the key is whole.
    write(&waiting("key"), key, PRIVATE)?;
    write(&waiting("pem"), pem, PUBLIC)?;
    move_pair(folder, name).map_err(|error| unwritten(&folder.join(format!("{name}.pem")), &error))?;
    Ok(["key", "pem"].map(|kind| folder.join(format!("{name}.{kind}"))).into())
}

/// Moves both files of a pair to their places. The certificate is the last, because [`clean`] looks for it.
fn move_pair(folder: &Path, name: &str) -> io::Result<()> {
    for kind in ["key", "pem"] {
        let waiting = folder.join(format!("{PAIR}{name}.{kind}"));
        if waiting.exists() {
            fs::rename(waiting, folder.join(format!("{name}.{kind}")))?;
            File::open(folder)?.sync_all()?;
        }
    }
    Ok(())
}

/// Writes a file. After a crash it has its old content or all of the new.
pub(super) fn write(path: &Path, text: &str, mode: u32) -> Result<PathBuf, Failure> {
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
    file.persist(path).map_err(|error| failed(&error.error))?;
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
