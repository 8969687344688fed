//! Every test of the multiplexer: scripted, random, and the fuzzer's corpus. One program links faster than one per file. A new file needs its line here.

mod anything;
mod corpus;
mod pair;
mod receiving;
mod repeats;
mod sending;
mod session;
mod wire;
