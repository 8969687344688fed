//! The half of a tap that writes to disk: a thread that writes chunks of memory to files and returns them empty. The number of chunks
//! is fixed. The forwarding thread never waits for a free one.

use std::fs::File;
use std::io::{Result, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use gamelane_capture::blocks;

use super::about::{self, ABOUT, About, Options, WhenFull};
use super::folder::Folder;
use super::{TapStatus, log};

/// Events, and their frames as blocks of a pcapng.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) log: Vec<u8>,
    pub(super) frames: Vec<u8>,
}

const LOG_BYTES: usize = 64 << 10;
const FRAME_BYTES: usize = 256 << 10;
/// 20 MiB in all: 0.2 s of 1 Gbit/s in frames of 160 B, in and out.
pub(super) const CHUNKS: usize = 64;
/// Parts of a recording that has its full size.
const PARTS: u64 = 8;

impl Chunk {
    fn new() -> Self {
        Self { log: Vec::with_capacity(LOG_BYTES), frames: Vec::with_capacity(FRAME_BYTES) }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.log.is_empty()
    }

    /// Whether there may be no room for another event with its frame, and records of time and loss before it. A frame longer than
    /// the room left makes the chunk grow, once.
    pub(super) const fn is_nearly_full(&self) -> bool {
        self.log.len() > LOG_BYTES - 3 * log::LONGEST || self.frames.len() > FRAME_BYTES - 2048
    }

    fn len(&self) -> u64 {
        (self.log.len() + self.frames.len()) as u64
    }
}

#[derive(Debug)]
pub(super) struct Writer {
    folder: Arc<Folder>,
    free: Receiver<Chunk>,
    full: Option<SyncSender<Chunk>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    policies: u64,
}

#[derive(Debug, Default)]
struct Shared {
    bytes: AtomicU64,
    is_full: AtomicBool,
    error: OnceLock<String>,
}

impl Shared {
    /// Whether nothing more will be written.
    fn is_over(&self) -> bool {
        self.is_full.load(Ordering::Relaxed) || self.error.get().is_some()
    }
}

impl Writer {
    pub(super) fn start(folder: Folder, options: &Options, about: &About, policy: &str) -> Result<Self> {
        let folder = Arc::new(folder);
        let mut json = serde_json::to_vec_pretty(about)?;
        json.push(b'\n');
        folder.create(Path::new(ABOUT))?.write_all(&json)?;
        folder.create(&about::policy(Path::new(""), 0))?.write_all(policy.as_bytes())?;
        let (give, free) = channel();
        for _ in 0..CHUNKS {
            give.send(Chunk::new()).expect("its receiver is here");
        }
        let (full, filled) = sync_channel(CHUNKS);
        let shared = Arc::new(Shared::default());
        let files = Files::open(Arc::clone(&folder), options, about, Arc::clone(&shared))?;
        let thread =
            std::thread::Builder::new().name("tap".into()).spawn(move || files.write_all(&filled, &give))?;
        Ok(Self { folder, free, full: Some(full), shared, thread: Some(thread), policies: 1 })
    }

    /// Returns an empty chunk, if one is free and it would be written.
    pub(super) fn free(&self) -> Option<Chunk> {
        if self.shared.is_over() { None } else { self.free.try_recv().ok() }
    }

    pub(super) fn hand_over(&self, chunk: Chunk) {
        if let Some(full) = &self.full {
            // The channel has room for every chunk. Sending fails only if the thread has ended, and it has noted why.
            let _ = full.try_send(chunk);
        }
    }

    /// Writes a policy to a file and returns its number.
    pub(super) fn keep_policy(&mut self, text: &str) -> Result<u64> {
        let number = self.policies;
        self.folder.create(&about::policy(Path::new(""), number))?.write_all(text.as_bytes())?;
        self.policies += 1;
        Ok(number)
    }

    pub(super) fn status(&self) -> TapStatus {
        TapStatus {
            folder: self.folder.to_string(),
            bytes: self.shared.bytes.load(Ordering::Relaxed),
            full: self.shared.is_full.load(Ordering::Relaxed),
            error: self.shared.error.get().cloned(),
            ..TapStatus::default()
        }
    }

    /// Waits until everything is written.
    pub(super) fn finish(&mut self) -> TapStatus {
        self.full = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            let _ = self.shared.error.set("its thread panicked".into());
        }
        self.status()
    }
}

/// The files of the current part.
struct Files {
    folder: Arc<Folder>,
    options: Options,
    interfaces: [String; 2],
    shared: Arc<Shared>,
    part: u64,
    part_bytes: u64,
    frames: File,
    log: File,
}

impl Files {
    fn open(folder: Arc<Folder>, options: &Options, about: &About, shared: Arc<Shared>) -> Result<Self> {
        let (frames, log, part_bytes) = open_part(&folder, options, &about.interfaces, 0)?;
        let (options, interfaces) = (options.clone(), about.interfaces.clone());
        shared.bytes.fetch_add(part_bytes, Ordering::Relaxed);
        Ok(Self { folder, options, interfaces, shared, part: 0, part_bytes, frames, log })
    }

    fn write_all(mut self, filled: &Receiver<Chunk>, give: &Sender<Chunk>) {
        for mut chunk in filled {
            if !self.shared.is_over()
                && let Err(error) = self.write(&chunk)
            {
                let _ = self.shared.error.set(error.to_string());
            }
            chunk.log.clear();
            chunk.frames.clear();
            // The gateway may have ended.
            let _ = give.send(chunk);
        }
    }

    fn write(&mut self, chunk: &Chunk) -> Result<()> {
        if self.part_bytes + chunk.len() > self.options.size / PARTS {
            let stops = self.options.when_full == WhenFull::Stop;
            if stops && self.shared.bytes.load(Ordering::Relaxed) + chunk.len() > self.options.size {
                self.shared.is_full.store(true, Ordering::Relaxed);
                return Ok(());
            }
            self.part += 1;
            (self.frames, self.log, self.part_bytes) =
                open_part(&self.folder, &self.options, &self.interfaces, self.part)?;
            self.shared.bytes.fetch_add(self.part_bytes, Ordering::Relaxed);
            if !stops && let Some(oldest) = self.part.checked_sub(PARTS) {
                let inside = Path::new("");
                for name in [about::frames(inside, oldest), about::decisions(inside, oldest)] {
                    self.folder.remove(&name)?;
                }
            }
        }
        // The log last, so that frames to which it refers exist.
        self.frames.write_all(&chunk.frames)?;
        self.log.write_all(&chunk.log)?;
        self.part_bytes += chunk.len();
        self.shared.bytes.fetch_add(chunk.len(), Ordering::Relaxed);
        Ok(())
    }
}

/// Opens the files of a part. Returns them with the number of bytes already in them.
fn open_part(
    folder: &Folder,
    options: &Options,
    interfaces: &[String; 2],
    part: u64,
) -> Result<(File, File, u64)> {
    let mut head = Vec::new();
    blocks::section(&mut head)?;
    // In the order of `Point::interface`. What goes up arrives at the home's side and leaves by the internet's.
    let [home, internet] = interfaces;
    for name in [
        format!("{home} in, going up"),
        format!("{internet} in, going down"),
        format!("{internet} out, going up"),
        format!("{home} out, going down"),
        "dropped going up".into(),
        "dropped going down".into(),
    ] {
        let snap_len = options.snap;
        blocks::interface(&mut head, &blocks::Interface { name: &name, link_type: ETHERNET, snap_len })?;
    }
    let inside = Path::new("");
    let (mut frames, mut log) =
        (folder.create(&about::frames(inside, part))?, folder.create(&about::decisions(inside, part))?);
    frames.write_all(&head)?;
    log.write_all(log::MAGIC)?;
    Ok((frames, log, (head.len() + log::MAGIC.len()) as u64))
}

const ETHERNET: u16 = 1;
