//! Tests of two endpoints over a network with a fixed delay and scripted losses.

#![expect(unreachable_pub, reason = "the modules of one test binary")]

mod bundle;
mod close;
mod figure_6;
mod handshake;
mod hostile;
mod linux;
mod pair;
mod properties;
mod rack;
mod recovery;
mod spurious;
mod stacks;
mod thin;
mod timers;
mod transfer;
