//! The queues on real frames. A transparent bridge between two interfaces: [`engine`] moves frames between the kernel and a
//! [`plane`], which decides when and whether each goes on and has neither sockets nor a clock. `docs/gateway.md` is for
//! who runs it.
//!
//! ```text
//! interface -> device::Port -> frames (a pool) -> Plane: parse, steer, classify, queue -> device::Port -> interface
//! ```

pub mod checksum;
pub mod clock;
pub mod device;
pub mod engine;
mod following;
pub mod frames;
pub mod gateway;
pub mod guard;
pub mod headers;
pub mod http;
pub mod io;
mod lane;
pub mod metrics;
pub mod plane;
pub mod policy;
pub mod preflight;
pub mod privileges;
pub mod replay;
pub mod run;
pub mod selftest;
pub mod status;
pub mod tap;
pub mod truth;
pub mod verdict;
pub mod watch;

pub use engine::{Engine, EngineCounters, Turn};
pub use frames::{FrameId, Frames};
pub use gateway::{DroppedFrame, Gateway};
pub use headers::Headers;
pub use plane::Plane;
pub use policy::Policy;
