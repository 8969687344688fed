//! Analysis with two threads: one reads the capture, the other analyses it. Batches of packets are passed in order and
//! reused, so the result is the same as with one thread. Analysing one capture in more threads is left out.

use std::io::Read;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use super::{Analyzer, Sink};
use crate::error::CaptureError;
use crate::packet::CapturedPacket;
use crate::read::Capture;

struct Batch {
    packets: Vec<CapturedPacket>,
    used: usize,
}

/// Like [`analyze`](super::analyze), with reading and unpacking in a separate thread.
///
/// # Errors
/// The error that ended the capture.
pub fn analyze_apart<R: Read + Send>(
    capture: &mut Capture<R>,
    analyzer: &mut Analyzer,
    sink: &mut impl Sink,
) -> Result<(), CaptureError> {
    let result = follow_apart(capture, analyzer, sink);
    analyzer.finish(sink);
    result
}

/// Like [`analyze_apart`], for one file of a recording of several files: flows stay open for the next file.
///
/// # Errors
/// The error that ended the capture.
pub fn follow_apart<R: Read + Send>(
    capture: &mut Capture<R>,
    analyzer: &mut Analyzer,
    sink: &mut impl Sink,
) -> Result<(), CaptureError> {
    thread::scope(|scope| {
        let (full, batches) = sync_channel(AHEAD);
        let (used, empty) = channel();
        for _ in 0..AHEAD {
            let batch = Batch { packets: vec![CapturedPacket::default(); BATCH], used: 0 };
            used.send(batch).expect("the other end is in this function");
        }
        let reader = scope.spawn(move || read(capture, &empty, &full));
        take(analyzer, sink, &batches, &used);
        drop((batches, used));
        reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Fills batches until the capture ends, or the other thread stops.
fn read<R: Read>(
    capture: &mut Capture<R>,
    empty: &Receiver<Batch>,
    full: &SyncSender<Batch>,
) -> Result<(), CaptureError> {
    while let Ok(mut batch) = empty.recv() {
        batch.used = 0;
        let ended = loop {
            let Some(place) = batch.packets.get_mut(batch.used) else { break None };
            match capture.read_into(place) {
                Ok(true) => batch.used += 1,
                Ok(false) => break Some(Ok(())),
                Err(error) => break Some(Err(error)),
            }
        };
        let taken = full.send(batch).is_ok();
        match ended {
            Some(result) => return result,
            None if !taken => break,
            None => {}
        }
    }
    Ok(())
}

fn take(analyzer: &mut Analyzer, sink: &mut impl Sink, batches: &Receiver<Batch>, used: &Sender<Batch>) {
    while let Ok(batch) = batches.recv() {
        for packet in &batch.packets[..batch.used] {
            analyzer.handle(packet, sink);
        }
        if sink.is_tired() {
            return;
        }
        // The reading thread may have ended.
        let _ = used.send(batch);
    }
}

/// Packets per batch: 200 KiB.
const BATCH: usize = 1024;
/// Maximum number of filled batches.
const AHEAD: usize = 4;
