//! Analyses a recording while it runs, in a thread of its own. It reads the same blocks that go to the files, so it finds what a later
//! analysis of the files finds. If it falls behind, the recording waits, and the ring counts dropped packets.

use std::io::{Read, Result};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use gamelane_capture::{Analyzer, Capture, CaptureError, CapturedPacket, Sink};

use crate::top::{FlowNow, Top, Watching};

/// A running analysis.
#[derive(Debug)]
pub struct Watch<S> {
    blocks: SyncSender<Vec<u8>>,
    thread: JoinHandle<std::result::Result<Watched<S>, CaptureError>>,
    seen: Arc<Mutex<Seen>>,
    top: Option<Arc<Mutex<Top>>>,
}

/// A finished analysis.
#[derive(Debug)]
pub struct Watched<S> {
    /// What was read, and what was skipped.
    pub capture: Capture<Blocks>,
    /// Flows and clock.
    pub analyzer: Analyzer,
    /// The sink given at the start, with all findings.
    pub sink: S,
    /// Error that ended it early. It is a bug of ours.
    pub error: Option<CaptureError>,
}

/// What the analysis has found so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) flows: u32,
    pub(crate) games: usize,
}

impl<S: Sink + Send + 'static> Watch<S> {
    /// Starts the analysis of `name`, whose first blocks are the section and its interface. With `has_top`, it also sums up
    /// what the flows do now.
    pub fn start(name: &str, first_blocks: Vec<u8>, sink: S, has_top: bool) -> Self {
        let (blocks, more) = sync_channel(AHEAD);
        let seen = Arc::new(Mutex::new(Seen::default()));
        let top = has_top.then(Arc::<Mutex<Top>>::default);
        let (told, name, shown) = (Arc::clone(&seen), name.to_owned(), top.clone());
        let stream = Blocks { more, now: first_blocks, at: 0 };
        let thread = std::thread::spawn(move || follow(stream, &name, sink, &told, shown.as_deref()));
        Self { blocks, thread, seen, top }
    }

    /// Takes the next blocks.
    pub(crate) fn take(&self, blocks: Vec<u8>) {
        // If the analysis has ended, `finish` returns why.
        let _ = self.blocks.send(blocks);
    }

    pub(crate) fn seen(&self) -> Seen {
        *locked(&self.seen)
    }

    /// What the flows do at `now_ns`; nothing without a [`Top`].
    pub(crate) fn top(&self, now_ns: u64) -> Vec<FlowNow> {
        self.top.as_deref().map_or_else(Vec::new, |top| locked(top).flows(now_ns))
    }

    /// Ends the stream and waits for the rest of the analysis.
    pub fn finish(self) -> std::result::Result<Watched<S>, CaptureError> {
        drop(self.blocks);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn follow<S: Sink>(
    stream: Blocks,
    name: &str,
    mut sink: S,
    told: &Mutex<Seen>,
    top: Option<&Mutex<Top>>,
) -> std::result::Result<Watched<S>, CaptureError> {
    let mut capture = Capture::from_reader(stream, Path::new(name))?;
    let mut analyzer = Analyzer::default();
    let mut packet = CapturedPacket::default();
    let mut looked_ns = 0;
    let error = loop {
        match capture.read_into(&mut packet) {
            Ok(true) => match top {
                Some(top) => {
                    let top = &mut locked(top);
                    analyzer.handle(&packet, &mut Watching { top, sink: &mut sink });
                }
                None => analyzer.handle(&packet, &mut sink),
            },
            Ok(false) => break None,
            Err(error) => break Some(error),
        }
        if packet.at_ns.abs_diff(looked_ns) >= LOOK_NS {
            looked_ns = packet.at_ns;
            let seen = Seen { flows: analyzer.flows(), games: analyzer.games() };
            *locked(told) = seen;
            if let Some(top) = top {
                locked(top).look(&mut analyzer);
            }
        }
    };
    analyzer.finish(&mut sink);
    Ok(Watched { capture, analyzer, sink, error })
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Blocks as a stream of bytes. Reading waits for more; the stream ends when the recorder is gone.
#[derive(Debug)]
pub struct Blocks {
    more: Receiver<Vec<u8>>,
    now: Vec<u8>,
    at: usize,
}

impl Read for Blocks {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        while self.at == self.now.len() {
            let Ok(next) = self.more.recv() else { return Ok(0) };
            (self.now, self.at) = (next, 0);
        }
        let len = into.len().min(self.now.len() - self.at);
        into[..len].copy_from_slice(&self.now[self.at..self.at + len]);
        self.at += len;
        Ok(len)
    }
}

/// Buffers that may wait for the analysis, each of one block of the ring.
const AHEAD: usize = 32;
/// Time between two looks for games, in the packets' time.
const LOOK_NS: u64 = 500_000_000;

#[cfg(test)]
mod tests {
    use gamelane_capture::FlowReport;
    use gamelane_capture::blocks::{self, Interface, Stamp};

    use super::*;

    struct Nothing;

    impl Sink for Nothing {
        fn flow(&mut self, _report: FlowReport) {}
    }

    /// A UDP packet between 10.0.0.1:5000 and 10.0.0.2:27960 with 40 B of payload.
    fn packet(up: bool, number: u8) -> Vec<u8> {
        let ends = if up { [1, 2] } else { [2, 1] };
        let ports: [[u8; 2]; 2] = if up { [[19, 136], [109, 56]] } else { [[109, 56], [19, 136]] };
        let mut packet = vec![0x45, 0, 0, 68, 0, number, 0, 0, 64, 17, 0, 0];
        packet.extend([[10, 0, 0, ends[0]], [10, 0, 0, ends[1]]].concat());
        packet.extend([ports.concat(), vec![0, 48, 0, 0]].concat());
        packet.resize(68, number);
        packet
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_stop_the_looks() {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let mut first = Vec::new();
        blocks::section(&mut first).unwrap();
        blocks::interface(&mut first, &Interface { name: "game0", link_type: 101, snap_len: 96 }).unwrap();
        let watch = Watch::start("game0", first, Nothing, true);
        let seen = Arc::clone(&watch.seen);
        for n in 0..400u64 {
            let mut block = Vec::new();
            let start_ns = 1_790_000_000_000_000_000 - if n < 5 { 0 } else { HOUR_NS };
            for up in [true, false] {
                let at_ns = start_ns + n * 33_000_000 + u64::from(!up) * 1_000_000;
                let stamp = Stamp { interface: 0, at_ns, original_len: 68 };
                blocks::packet(&mut block, &stamp, [&packet(up, n as u8), &[]]).unwrap();
            }
            watch.take(block);
        }
        assert!(watch.finish().unwrap().error.is_none());
        assert_eq!(*locked(&seen), Seen { flows: 1, games: 1 });
    }
}
