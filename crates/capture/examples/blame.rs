//! Says who is to blame for lag, from one capture or from two at different points.
//! `cargo run -p gamelane-capture --example blame -- FILE [FILE]`

use std::path::Path;

use gamelane_capture::blame::{Evidence, of_one, of_two};
use gamelane_capture::{Analyzer, Capture, CaptureError, FlowReport, Sink, pair};

#[derive(Default)]
struct Facts(Evidence);

impl Sink for Facts {
    fn flow(&mut self, report: FlowReport) {
        self.0.add(&report);
    }
}

fn main() -> Result<(), CaptureError> {
    let mut seen = Vec::new();
    for path in std::env::args().skip(1) {
        let mut capture = Capture::open(Path::new(&path))?;
        let mut facts = Facts::default();
        let (packets, error) = pair::watch(&mut capture, &mut Analyzer::default(), &mut facts);
        error.map_or(Ok(()), Err)?;
        facts.0.wifi_retries(capture.skipped().wifi_retries);
        seen.push((facts.0, packets));
    }
    let blame = match &seen[..] {
        [(one, _)] => of_one(one),
        [first, second] => of_two([&first.0, &second.0], &pair::compare(&first.1, &second.1)),
        _ => {
            eprintln!("usage: blame FILE [FILE]");
            std::process::exit(2)
        }
    };
    println!("{} {}: {}", blame.sure.name(), blame.who.name(), blame.text);
    blame.because.iter().for_each(|sentence| println!("  because: {sentence}"));
    blame.advice.iter().for_each(|sentence| println!("  try: {sentence}"));
    Ok(())
}
