//! Reading in one thread, analysis in another: packets go over in batches that are used again, in order, so the result is
//! the same as in one thread.

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

/// [`analyze`](super::analyze) with the reading and unpacking in a thread of its own.
pub fn analyze_apart<R: Read + Send>(
    capture: &mut Capture<R>,
    analyzer: &mut Analyzer,
    sink: &mut impl Sink,
) -> Result<(), CaptureError> {
    let result = follow_apart(capture, analyzer, sink);
    analyzer.finish(sink);
    result
}

/// [`analyze_apart`] of one file of several that are one recording: flows stay open for the next.
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

/// Fills batches until the capture ends, or nobody takes them any more.
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
        // The reader may have ended.
        let _ = used.send(batch);
    }
}

/// Packets handed over at a time: 200 KiB.
const BATCH: usize = 1024;
/// Batches on their way.
const AHEAD: usize = 4;
