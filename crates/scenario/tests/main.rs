//! Every test of the text of scenarios. One program links faster than one per file. A new file needs its line here.

#![cfg(feature = "text")]

mod catalogue;
mod corpus;
mod documents;
mod games_of_today;
mod presets;
mod properties;
mod refusals;
mod scenarios;
