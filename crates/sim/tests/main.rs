//! Every test of whole households. One program links faster than one per file. A new file needs its line here.

mod allocations;
mod behaviour;
mod common;
mod connections;
mod golden;
mod household;
mod links;
mod priority;
mod rate;
mod thin;
mod voap;
