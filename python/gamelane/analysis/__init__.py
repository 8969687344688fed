"""Statistics of results and captures, per run and per figure. Rust does the work per packet."""
