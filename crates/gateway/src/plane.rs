//! What happens to frames between two interfaces, without the interfaces: the contract between the engine, which has
//! sockets and a clock, and what runs in it, which has neither and so can be tested with bytes alone.

use gamelane_core::{Direction, Instant};

use crate::frames::{FrameId, Frames};

/// Takes frames of both directions in and gives them out again, later and perhaps changed, or not at all. Every frame it is
/// given it gives out by [`Plane::poll_transmit`] or back to the pool.
///
/// The engine, at one instant: [`Plane::handle_timeout`], [`Plane::handle_frame`] for what arrived in order,
/// [`Plane::poll_transmit`] of each direction while its interface takes frames, last [`Plane::poll_timeout`].
pub trait Plane {
    /// A frame arrived that goes in `direction`. Its headers are not looked at yet.
    fn handle_frame(&mut self, direction: Direction, frame: FrameId, frames: &mut Frames, now: Instant);

    /// The next frame that may leave now; `None` while there is none. Asked only while the interface takes frames.
    fn poll_transmit(&mut self, direction: Direction, frames: &mut Frames, now: Instant) -> Option<FrameId>;

    /// When to come back if nothing arrives: a frame may leave then, or [`Plane::handle_timeout`] has work. `blocked` says
    /// for each direction that its interface takes nothing now, so a frame that could leave is no reason.
    fn poll_timeout(&self, blocked: [bool; 2]) -> Option<Instant>;

    /// Periodic work; early calls do nothing.
    fn handle_timeout(&mut self, frames: &mut Frames, now: Instant);

    /// Counts a frame that arrived and found no place in the pool, or was too long for it.
    fn no_room(&mut self, direction: Direction);

    /// Counts a frame that was given out and that the interface refused: it is down, or the frame too long for it.
    fn not_sent(&mut self, direction: Direction);
}
