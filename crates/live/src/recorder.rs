//! A running recording: packets from the interface go into files and to the analysis. The kernel's blocks are copied once, into blocks
//! of pcapng. Nothing is allocated per packet.

use std::time::Duration;

use gamelane_capture::Sink;
use gamelane_capture::blocks::{self, Interface, Stamp, Statistics};

use crate::Source;
use crate::error::LiveError;
use crate::files::Files;
use crate::frame::{Frame, Front};
use crate::top::FlowNow;
use crate::watch::{Watch, Watched};

/// A recording.
#[derive(Debug)]
pub struct Recorder<S> {
    source: Source,
    tape: Tape<S>,
}

/// What a recording has seen so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Packets received from the interface.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets that the kernel dropped because the ring was full.
    pub dropped: u64,
    /// Packets longer than the interface's MTU allows. Offloading merged several into one, and sizes and counts are of the merged.
    pub put_together: u64,
    /// Conversations seen.
    pub flows: u32,
    /// Games among the current conversations.
    pub games: usize,
    /// Files started.
    pub files: u32,
    /// Bytes in them.
    pub written_bytes: u64,
    /// Time of the first packet, in nanoseconds since 1970.
    pub first_ns: Option<u64>,
    /// Time of the last packet, in nanoseconds since 1970.
    pub last_ns: u64,
}

impl<S: Sink + Send + 'static> Recorder<S> {
    /// Starts to record into `files`, if given. The analysis reports its findings to `sink`. [`Recorder::top`] needs
    /// `has_top`.
    pub fn start(source: Source, files: Option<Files>, sink: S, has_top: bool) -> Self {
        let mut first = Vec::new();
        blocks::section(&mut first)
            .and_then(|()| blocks::interface(&mut first, &source.describe()))
            .expect("memory takes everything, and names of interfaces are short");
        let watch = Watch::start(source.name(), first, sink, has_top);
        let (snap_len, largest_frame) = (source.snap_len() as usize, source.largest_frame());
        let tape = Tape {
            files,
            watch,
            snap_len,
            largest_frame,
            pending: Vec::new(),
            pending_packets: 0,
            progress: Progress::default(),
            noted: 0,
        };
        Self { source, tape }
    }

    /// Takes the packets that have arrived, or waits for some, at most `timeout`. Takes a bounded number of blocks.
    pub fn step(&mut self, timeout: Duration) -> Result<Progress, LiveError> {
        let mut taken = 0;
        while taken < BLOCKS_AT_A_TIME && self.take_block()? {
            taken += 1;
        }
        if taken == 0 {
            self.source.wait(timeout)?;
            self.take_block()?;
        }
        self.count()?;
        Ok(self.tape.progress)
    }

    /// What the flows do at `now_ns`, a time since 1970: those that wait longest come first.
    pub fn top(&self, now_ns: u64) -> Vec<FlowNow> {
        self.tape.watch.top(now_ns)
    }

    /// Takes the packets still in the ring, ends the file, and waits for the analysis. The analysis finishes even if a file cannot be
    /// written. `None` instead of an analysis means that it could not read the recorded blocks.
    pub fn finish(mut self) -> (Option<Watched<S>>, Progress, Option<LiveError>) {
        let result = self.take_rest().and_then(|()| self.count()).and_then(|()| self.tape.end_file());
        let progress = self.tape.progress;
        (self.tape.watch.finish().ok(), progress, result.err())
    }

    fn take_rest(&mut self) -> Result<(), LiveError> {
        for _ in 0..BLOCKS_AT_A_TIME {
            if !self.take_block()? {
                break;
            }
        }
        Ok(())
    }

    /// Takes one block; false if none is ready. If a file cannot be written, files are given up and the analysis goes on.
    fn take_block(&mut self) -> Result<bool, LiveError> {
        let Self { source, tape } = self;
        let mut failed = None;
        let taken = source.take(|frame| {
            if let Err(error) = tape.take(frame) {
                failed.get_or_insert(error);
            }
        });
        if let Err(error) = tape.hand_over() {
            failed.get_or_insert(error);
        }
        failed.map_or(Ok(taken), Err)
    }

    /// Reads the kernel's counters.
    fn count(&mut self) -> Result<(), LiveError> {
        let dropped = self.source.counts()?.dropped;
        self.tape.note(dropped)
    }
}

/// Writes packets to files and hands them to the analysis.
#[derive(Debug)]
struct Tape<S> {
    /// `None` if nothing is kept.
    files: Option<Files>,
    watch: Watch<S>,
    snap_len: usize,
    largest_frame: u32,
    /// Blocks not yet written to a file, and the number of their packets.
    pending: Vec<u8>,
    pending_packets: u64,
    progress: Progress,
    /// Drops last written to a file.
    noted: u64,
}

impl<S: Sink + Send + 'static> Tape<S> {
    fn take(&mut self, frame: &Frame<'_>) -> Result<(), LiveError> {
        let first = First::of(frame);
        let captured = (first.len() + frame.bytes.len()).min(self.snap_len);
        let (before, block) = (self.pending.len() as u64, blocks::packet_block_len(captured) as u64);
        let needs_new = self.files.as_ref().is_some_and(|files| files.needs_new(frame.at_ns, before, block));
        let rotated = if needs_new { self.rotate(frame.at_ns) } else { Ok(()) };
        self.progress.first_ns.get_or_insert(frame.at_ns);
        self.progress.last_ns = frame.at_ns;
        self.progress.packets += 1;
        self.progress.bytes += u64::from(frame.original_len);
        self.progress.put_together += u64::from(frame.original_len > self.largest_frame);
        put(&mut self.pending, frame, &first, self.snap_len);
        self.pending_packets += 1;
        rotated
    }

    fn rotate(&mut self, at_ns: u64) -> Result<(), LiveError> {
        self.hand_over()?;
        let statistics = self.statistics();
        self.with_files(|files| files.rotate(at_ns, &statistics))
    }

    /// Writes pending blocks, and hands them to the analysis even if that fails.
    fn hand_over(&mut self) -> Result<(), LiveError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let room = Vec::with_capacity(self.pending.capacity());
        let blocks = std::mem::replace(&mut self.pending, room);
        let packets = std::mem::take(&mut self.pending_packets);
        let result = self.with_files(|files| files.write(&blocks, packets));
        self.watch.take(blocks);
        result
    }

    /// Writes new drops to the file at once, so that the recording of a killed process has them.
    fn note(&mut self, dropped: u64) -> Result<(), LiveError> {
        self.progress.dropped = dropped;
        let seen = self.watch.seen();
        (self.progress.flows, self.progress.games) = (seen.flows, seen.games);
        if dropped > self.noted {
            self.noted = dropped;
            let statistics = self.statistics();
            self.with_files(|files| files.note(&statistics))?;
        }
        if let Some(files) = &self.files {
            (self.progress.files, self.progress.written_bytes) = (files.begun(), files.written_bytes());
        }
        Ok(())
    }

    fn end_file(&mut self) -> Result<(), LiveError> {
        let statistics = self.statistics();
        self.with_files(|files| files.finish(&statistics))?;
        if let Some(files) = &self.files {
            self.progress.written_bytes = files.written_bytes();
        }
        Ok(())
    }

    /// Writes to the files. After an error, no file is written any more.
    fn with_files(&mut self, act: impl FnOnce(&mut Files) -> Result<(), LiveError>) -> Result<(), LiveError> {
        let result = self.files.as_mut().map_or(Ok(()), act);
        if result.is_err() {
            self.files = None;
        }
        result
    }

    fn statistics(&self) -> Statistics {
        Statistics {
            start_ns: self.progress.first_ns.unwrap_or(0),
            end_ns: self.progress.last_ns,
            received: self.progress.packets + self.progress.dropped,
            dropped: self.progress.dropped,
        }
    }
}

impl Source {
    /// Description of the interface for the files.
    pub fn describe(&self) -> Interface<'_> {
        Interface { name: self.name(), link_type: self.link_type(), snap_len: self.snap_len() }
    }
}

/// First bytes of a packet that the kernel keeps apart.
enum First {
    None,
    Cooked([u8; 20]),
    /// Both addresses, with which the packet starts too, and a VLAN tag.
    Tagged([u8; 16]),
}

impl First {
    fn of(frame: &Frame<'_>) -> Self {
        match frame.front {
            Front::Nothing => Self::None,
            Front::Cooked(header) => Self::Cooked(header),
            Front::Vlan(tag) => frame.bytes.first_chunk::<ADDRESSES>().map_or(Self::None, |addresses| {
                let mut first = [0; ADDRESSES + 4];
                first[..ADDRESSES].copy_from_slice(addresses);
                first[ADDRESSES..].copy_from_slice(&tag);
                Self::Tagged(first)
            }),
        }
    }

    /// Bytes that it adds to the packet.
    const fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Cooked(header) => header.len(),
            Self::Tagged(first) => first.len() - ADDRESSES,
        }
    }
}

fn put(pending: &mut Vec<u8>, frame: &Frame<'_>, first: &First, snap_len: usize) {
    let (front, rest): (&[u8], &[u8]) = match first {
        First::None => (&[], frame.bytes),
        First::Cooked(header) => (header, frame.bytes),
        First::Tagged(first) => (first, &frame.bytes[ADDRESSES..]),
    };
    let front = &front[..front.len().min(snap_len)];
    let rest = &rest[..rest.len().min(snap_len - front.len())];
    let original_len = frame.original_len + first.len() as u32;
    let stamp = Stamp { interface: 0, at_ns: frame.at_ns, original_len };
    blocks::packet(pending, &stamp, [front, rest]).expect("memory takes everything");
}

/// Bytes of an Ethernet header before its type.
const ADDRESSES: usize = 12;
/// Most blocks of the ring in one step.
const BLOCKS_AT_A_TIME: usize = 32;
