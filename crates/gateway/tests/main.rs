//! Every test of the gateway: its plane, its command, and real kernels around it. One program links faster than one per file. A new file needs its line here.

mod common;
mod corpus;
mod engine;
mod faults;
mod following;
mod kernel;
mod offloads;
mod plane;
mod privileges;
mod scale;
mod status;
mod tap;
mod traffic;
mod truth;
mod voap;
mod xdp;
