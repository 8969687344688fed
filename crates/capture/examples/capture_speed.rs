//! Measures the speed of the analysis only, in packets per second of processor time; tables are discarded.
//! `cargo run --release -p gamelane-capture --example capture_speed -- FILE`

use std::path::Path;

use gamelane_capture::{Analyzer, Capture, CaptureError, FlowReport, Sink, analyze};

/// Counts flows and packets.
#[derive(Default)]
struct Count {
    flows: u64,
    packets: u64,
}

impl Sink for Count {
    fn flow(&mut self, report: FlowReport) {
        self.flows += 1;
        self.packets += report.packets();
    }
}

fn main() -> Result<(), CaptureError> {
    let path = std::env::args().nth(1).unwrap_or_else(|| {
        eprintln!("usage: capture_speed FILE");
        std::process::exit(2)
    });
    let mut capture = Capture::open(Path::new(&path))?;
    let mut count = Count::default();
    analyze(&mut capture, &mut Analyzer::default(), &mut count)?;
    println!("{} packets read, {} of {} flows", capture.packets_read(), count.packets, count.flows);
    Ok(())
}
