//! The contract between the engine and what decides about frames. The engine has the sockets and the clock. A plane has neither,
//! so it can be tested with bytes alone.

use gamelane_core::{Direction, Instant};

use crate::frames::{FrameId, Frames};

/// Takes frames of both directions and gives them out again: later, changed, or never. Every frame it takes leaves by
/// [`Plane::poll_transmit`] or goes back to the pool.
///
/// At one instant the engine calls, in this order: [`Plane::handle_timeout`]; [`Plane::handle_frame`] for each frame that
/// arrived; [`Plane::poll_transmit`] of each direction while its interface takes frames; [`Plane::poll_timeout`].
pub trait Plane {
    /// Takes a frame that arrived and goes in `direction`. Its headers are not parsed yet.
    fn handle_frame(&mut self, direction: Direction, frame: FrameId, frames: &mut Frames, now: Instant);

    /// Returns the next frame that may leave now. Called only while the interface takes frames.
    fn poll_transmit(&mut self, direction: Direction, frames: &mut Frames, now: Instant) -> Option<FrameId>;

    /// Returns when to call again if nothing arrives: a frame may leave then, or [`Plane::handle_timeout`] has work. `blocked`
    /// tells for each direction that its interface takes nothing now, so a frame that could leave is no reason to wake.
    fn poll_timeout(&self, blocked: [bool; 2]) -> Option<Instant>;

    /// Does periodic work. A call before the time does nothing.
    fn handle_timeout(&mut self, frames: &mut Frames, now: Instant);

    /// Learns that the program stood still for a second or longer before `now`: what waits is too old to be of use.
    fn stood_still(&mut self, _now: Instant) {}

    /// Counts a frame that arrived and was lost because the pool was full.
    fn no_room(&mut self, direction: Direction);

    /// Counts a frame that was given out and that the interface refused: it is down, or the frame is too long for it.
    fn not_sent(&mut self, direction: Direction);
}
