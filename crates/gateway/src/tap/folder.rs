//! The folder of a recording, held open. It is made as root, and files are created there after the program has become another
//! user, who may not be able to reach the folder by its path.

use std::fmt;
use std::fs::{DirBuilder, File};
use std::io::Result;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, fchown, open, openat, unlinkat};
use rustix::process::{Gid, Uid};

use super::about;

/// A folder in which only this program makes files.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    held: OwnedFd,
}

impl Folder {
    /// Makes the folder, or takes an empty one, and gives it to the user and group `owner`.
    ///
    /// # Errors
    /// It is not empty, or cannot be made.
    pub fn make(path: &Path, owner: Option<(u32, u32)>) -> Result<Self> {
        about::check_folder(path)?;
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let held = open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        if let Some((user, group)) = owner {
            fchown(&held, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)))?;
        }
        Ok(Self { path: path.into(), held })
    }

    /// Creates a file that only its owner can read: frames are private.
    pub(super) fn create(&self, name: &Path) -> Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.held, name, flags, Mode::RUSR | Mode::WUSR)?))
    }

    /// Removes a file.
    pub(super) fn remove(&self, name: &Path) -> Result<()> {
        Ok(unlinkat(&self.held, name, AtFlags::empty())?)
    }
}

impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}
