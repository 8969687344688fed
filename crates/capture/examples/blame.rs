//! Says who is to blame for lag, from one capture or from two at different points.
//! `cargo run -p gamelane-capture --example blame -- FILE [FILE]`

use std::path::Path;

use gamelane_capture::blame::{Evidence, of_one};
use gamelane_capture::{Analyzer, Capture, CaptureError, FlowReport, Sink, analyze};

#[derive(Default)]
struct Facts(Evidence);

impl Sink for Facts {
    fn flow(&mut self, report: FlowReport) {
        self.0.add(&report);
    }
}

fn main() -> Result<(), CaptureError> {
    for path in std::env::args().skip(1) {
        let mut capture = Capture::open(Path::new(&path))?;
        let mut facts = Facts::default();
        analyze(&mut capture, &mut Analyzer::default(), &mut facts)?;
        facts.0.wifi_retries(capture.skipped().wifi_retries);
        if std::env::var("DEBUG").is_ok() { println!("{:#?}", facts.0); }
        let blame = of_one(&facts.0);
        println!("{path}\n  {} {}: {}", blame.sure.name(), blame.who.name(), blame.text);
        blame.because.iter().for_each(|line| println!("    because {line}"));
        blame.advice.iter().for_each(|line| println!("    try {line}"));
    }
    Ok(())
}
