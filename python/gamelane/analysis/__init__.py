"""Statistics over records. Per packet happens in Rust; per run and per figure happens here."""
