//! Two endpoints and a network of fixed delay that loses what it is told to lose.

#![expect(unreachable_pub, reason = "the modules of one test binary")]

mod bundle;
mod close;
mod figure_6;
mod handshake;
mod hostile;
mod pair;
mod properties;
mod rack;
mod recovery;
mod spurious;
mod thin;
mod timers;
mod transfer;
