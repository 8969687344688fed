//! A recording as pcapng files. A new file starts after a number of bytes or a time, and the oldest is deleted. Each file starts with
//! its section and interface, so it can be read alone. Counts of dropped packets are since the start of the recording, as pcapng
//! defines them. Except during a write, a file holds complete blocks, so the recording of a killed process can be read.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use gamelane_capture::blocks::{self, Interface, Statistics};
use time::OffsetDateTime;

use crate::error::LiveError;

/// When a new file starts, and how many are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// Most bytes of a file. A longer packet gets a file of its own.
    pub bytes: Option<u64>,
    /// Longest time from a file's first packet to its last, in nanoseconds.
    pub span_ns: Option<u64>,
    /// Files kept, including the one being written and those of earlier recordings of this interface in the same folder. So a
    /// recorder that is started again and again keeps within its share of the disk. `None` keeps all.
    pub keep: Option<usize>,
}

/// The files of a recording.
#[derive(Debug)]
pub struct Files {
    folder: PathBuf,
    stem: String,
    header: Vec<u8>,
    rotation: Rotation,
    open: Option<Open>,
    /// Oldest first; the one being written is last.
    kept: VecDeque<PathBuf>,
    /// Files started.
    begun: u32,
    written_bytes: u64,
    packets: u64,
}

/// The file being written.
#[derive(Debug)]
struct Open {
    file: File,
    path: PathBuf,
    bytes: u64,
    first_ns: u64,
}

impl Files {
    /// Prepares files in an existing folder. Nothing is written before the first packet.
    pub fn new(folder: &Path, interface: &Interface<'_>, rotation: Rotation) -> Result<Self, LiveError> {
        let mut header = Vec::new();
        blocks::section(&mut header)
            .and_then(|()| blocks::interface(&mut header, interface))
            .map_err(|source| LiveError::Output { path: folder.to_owned(), packets: 0, source })?;
        let stem = interface.name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '-', "_");
        let kept = match rotation.keep {
            Some(_) => earlier(folder, &stem).map_err(|source| LiveError::Output {
                path: folder.to_owned(),
                packets: 0,
                source,
            })?,
            None => VecDeque::new(),
        };
        Ok(Self {
            folder: folder.to_owned(),
            stem,
            header,
            rotation,
            open: None,
            kept,
            begun: 0,
            written_bytes: 0,
            packets: 0,
        })
    }

    /// Blocks with which every file starts.
    pub fn header(&self) -> &[u8] {
        &self.header
    }

    /// The file being written.
    pub fn current(&self) -> Option<&Path> {
        self.open.as_ref().map(|open| open.path.as_path())
    }

    /// Files started so far.
    pub const fn begun(&self) -> u32 {
        self.begun
    }

    /// Bytes written to all files.
    pub const fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Whether a packet at `at_ns` with a block of `block` bytes needs a new file, if `before` bytes are still to be written.
    pub(crate) fn needs_new(&self, at_ns: u64, before: u64, block: u64) -> bool {
        let Some(open) = &self.open else { return true };
        let bytes = open.bytes + before;
        let full = self.rotation.bytes.is_some_and(|limit| bytes + block > limit);
        // The clock may be set back. That difference counts too; else the file would stay open until the clock reaches its start again.
        let old = self.rotation.span_ns.is_some_and(|span| at_ns.abs_diff(open.first_ns) >= span);
        (full && bytes > self.header.len() as u64) || old
    }

    /// Starts a file whose first packet is at `at_ns`. The file before ends with `counts`.
    pub(crate) fn rotate(&mut self, at_ns: u64, counts: &Statistics) -> Result<(), LiveError> {
        self.finish(counts)?;
        let (file, path) = self.create(at_ns)?;
        self.begun += 1;
        self.kept.push_back(path.clone());
        self.open = Some(Open { file, path, bytes: 0, first_ns: at_ns });
        let header = std::mem::take(&mut self.header);
        let result = self.write(&header, 0);
        self.header = header;
        result?;
        while self.rotation.keep.is_some_and(|keep| self.kept.len() > keep.max(1)) {
            if let Some(oldest) = self.kept.pop_front() {
                // The user may have deleted it already.
                let _ = fs::remove_file(oldest);
            }
        }
        Ok(())
    }

    /// Writes complete blocks that hold `packets` packets. A partial write is removed again, and so is a file without a header.
    pub(crate) fn write(&mut self, whole_blocks: &[u8], packets: u64) -> Result<(), LiveError> {
        let Some(open) = &mut self.open else { return Ok(()) };
        if let Err(source) = open.file.write_all(whole_blocks) {
            // If this fails too, readers stop at the incomplete block.
            let _ = open.file.set_len(open.bytes);
            let path = open.path.clone();
            // On a full disk, a recorder that is started again and again must not fill its share with empty files.
            if open.bytes == 0 && fs::remove_file(&path).is_ok() {
                self.kept.pop_back();
            }
            self.open = None;
            return Err(LiveError::Output { path, packets: self.packets, source });
        }
        open.bytes += whole_blocks.len() as u64;
        self.written_bytes += whole_blocks.len() as u64;
        self.packets += packets;
        Ok(())
    }

    /// Writes the interface's counters to the current file.
    pub(crate) fn note(&mut self, counts: &Statistics) -> Result<(), LiveError> {
        let mut block = Vec::new();
        blocks::statistics(&mut block, 0, counts).expect("memory takes everything");
        self.write(&block, 0)
    }

    /// Ends the current file.
    pub(crate) fn finish(&mut self, counts: &Statistics) -> Result<(), LiveError> {
        self.note(counts)?;
        self.open = None;
        Ok(())
    }

    fn create(&self, at_ns: u64) -> Result<(File, PathBuf), LiveError> {
        let began = date(at_ns);
        let mut number = self.begun + 1;
        loop {
            let path = self.folder.join(format!("{}-{began}-{number:05}.pcapng", self.stem));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok((file, path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
                Err(source) => return Err(LiveError::Output { path, packets: self.packets, source }),
            }
        }
    }
}

/// The files of earlier recordings of an interface, oldest first.
fn earlier(folder: &Path, stem: &str) -> std::io::Result<VecDeque<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.file_name().and_then(|name| name.to_str()).is_some_and(|name| is_recorded(name, stem)) {
            found.push(path);
        }
    }
    found.sort_unstable();
    Ok(found.into())
}

/// Whether [`Files::create`] gave this name.
fn is_recorded(name: &str, stem: &str) -> bool {
    let numbers = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts = || {
        let rest = name.strip_prefix(stem)?.strip_prefix('-')?.strip_suffix(".pcapng")?;
        let (date, number) = rest.split_once('-')?;
        let (day, second) = date.strip_suffix('Z')?.split_once('T')?;
        Some(day.len() == 8 && second.len() == 6 && [day, second, number].into_iter().all(numbers))
    };
    parts().unwrap_or(false)
}

/// Formats a time as `20260131T235959Z`.
fn date(at_ns: u64) -> String {
    let at = OffsetDateTime::from_unix_timestamp((at_ns / 1_000_000_000) as i64)
        .unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (year, month, day) = at.to_calendar_date();
    let (hour, minute, second) = at.to_hms();
    format!("{year:04}{:02}{day:02}T{hour:02}{minute:02}{second:02}Z", u8::from(month))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(folder: &Path, rotation: Rotation) -> Files {
        Files::new(folder, &Interface { name: "a/b", link_type: 101, snap_len: 64 }, rotation).unwrap()
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        names
    }

    /// One packet of 28 B at each time.
    fn record(files: &mut Files, times: impl IntoIterator<Item = u64>) {
        for at_ns in times {
            let mut block = Vec::new();
            let stamp = blocks::Stamp { interface: 0, at_ns, original_len: 28 };
            blocks::packet(&mut block, &stamp, [&[0; 28], &[]]).unwrap();
            if files.needs_new(at_ns, 0, block.len() as u64) {
                files.rotate(at_ns, &Statistics::default()).unwrap();
            }
            files.write(&block, 1).unwrap();
        }
        files.finish(&Statistics::default()).unwrap();
    }

    #[test]
    fn files_rotate_by_size_and_the_oldest_go() {
        let folder = tempfile::tempdir().unwrap();
        let rotation = Rotation { bytes: Some(400), span_ns: None, keep: Some(2) };
        let mut files = files(folder.path(), rotation);
        record(&mut files, (0..17).map(|n| 1_790_000_000_000_000_000 + n));
        let header = files.header().len();
        let each = (400 - header) / 60;
        assert_eq!(files.begun() as usize, 17usize.div_ceil(each));
        let kept = names(folder.path());
        assert_eq!(kept.len(), 2);
        assert!(kept[1].starts_with("a_b-20260921T"), "{kept:?}");
        // The last one holds the rest, with the counts at its end.
        let len = fs::metadata(folder.path().join(&kept[1])).unwrap().len() as usize;
        assert_eq!(len, header + (17 - 1) % each * 60 + 60 + 76);
    }

    #[test]
    fn files_rotate_by_time_and_none_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let rotation = Rotation { span_ns: Some(1_000_000_000), ..Rotation::default() };
        let times = [0, 999_999_999, 1_000_000_000, 5_500_000_000, 6_499_999_999];
        for runs in 1..=2 {
            record(&mut files(folder.path(), rotation), times);
            assert_eq!(names(folder.path()).len(), 3 * runs);
        }
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_stop_the_rotation() {
        let folder = tempfile::tempdir().unwrap();
        let rotation = Rotation { span_ns: Some(1_000_000_000), keep: Some(2), ..Rotation::default() };
        let (second, day) = (1_000_000_000, 86_400_000_000_000);
        let back = [0, 1, 2, 3].map(|seconds| day + seconds * second).into_iter();
        let again = [0, 1, 2, 3].map(|seconds| seconds * second).into_iter();
        record(&mut files(folder.path(), rotation), back.chain(again));
        assert_eq!(
            names(folder.path()),
            ["a_b-19700101T000002Z-00007.pcapng", "a_b-19700101T000003Z-00008.pcapng"]
        );
    }

    #[test]
    fn the_files_of_earlier_recordings_count_among_those_kept() {
        let folder = tempfile::tempdir().unwrap();
        let others = ["analysis.json", "a_b.pcapng", "a_b-notes.pcapng", "c-20260921T000000Z-00001.pcapng"];
        for other in others {
            fs::write(folder.path().join(other), "").unwrap();
        }
        let rotation = Rotation { span_ns: Some(1_000_000_000), keep: Some(3), ..Rotation::default() };
        let second = 1_000_000_000;
        for run in 0..4 {
            let began = 1_790_000_000 * second + run * 100 * second;
            record(&mut files(folder.path(), rotation), [began, began + second]);
        }
        let kept: Vec<_> =
            names(folder.path()).into_iter().filter(|name| !others.contains(&name.as_str())).collect();
        let dates: Vec<_> = kept.iter().map(|name| &name[4..]).collect();
        assert_eq!(
            dates,
            [
                "20260921T141641Z-00002.pcapng",
                "20260921T141820Z-00001.pcapng",
                "20260921T141821Z-00002.pcapng"
            ]
        );
        assert_eq!(names(folder.path()).len(), 3 + others.len());
    }

    #[test]
    fn a_file_that_cannot_be_written_says_how_many_packets_are_kept() {
        let mut files = files(Path::new("/nowhere"), Rotation::default());
        let error = files.rotate(0, &Statistics::default()).unwrap_err();
        assert!(error.to_string().contains("/nowhere/a_b-19700101T000000Z-00001.pcapng: "), "{error}");
    }
}
