//! Every test of captures: reading, analysis, writing. One program links faster than one per file. A new file needs its line here.

mod agreement;
mod blame;
mod clients;
mod copies;
mod corpus;
mod figure_6;
mod filter;
mod inputs;
mod links;
mod names;
mod pair;
mod points;
mod read;
mod support;
mod tcp;
mod trace;
mod truth;
mod write;
mod writes;
