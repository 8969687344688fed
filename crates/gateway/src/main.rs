//! `gamelane-gateway`.

fn main() {}
