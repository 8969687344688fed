//! Players that share connections (griwodz2006 section 4.3). One multiplexer at each end decides which message a carrier sends
//! next; the proxy uses the same code. The hop between proxy and player is left out, as in the paper.

use alloc::format;
use alloc::vec::Vec;
use gamelane_core::time::earliest;
use gamelane_core::{Instant, Seed};
use gamelane_mux::{CarrierId, CarrierKind, Frame, Length, Mux, MuxConfig, StreamId};
use gamelane_record::Side;
use gamelane_scenario::FlowModel;
use gamelane_traffic::{AppAction, AppEvent, Source, TrafficSource};

use crate::timetable::Timetable;

/// Player number of frames that the multiplexer itself sends.
pub(crate) const NOBODY: u32 = u32::MAX;

/// The players of a flow that shares connections, with both multiplexers.
pub(crate) struct Bundle {
    /// The first of its connections.
    first_lane: usize,
    /// By [`Side`].
    ends: [End; 2],
}

struct End {
    players: Vec<Source>,
    deadlines: Timetable,
    mux: Mux<Length>,
    carriers: u8,
}

/// A frame to write to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) lane: usize,
    pub(crate) player: u32,
    pub(crate) bytes: u32,
}

impl Bundle {
    pub(crate) fn new(model: &FlowModel, first_lane: usize, seed: Seed) -> Self {
        let carriers = model.lanes() as u8;
        let build = |player: u32| {
            let path = format!("flow/{}/{player}/app", model.name);
            gamelane_traffic::build_connection(&model.app, player, model.schedule, seed, &path)
        };
        let (clients, servers): (Vec<_>, Vec<_>) = (0..model.players).map(build).unzip();
        Self { first_lane, ends: [End::new(clients, carriers, true), End::new(servers, carriers, false)] }
    }

    /// Tells the multiplexer of `side` that a connection is open.
    pub(crate) fn carrier_up(&mut self, side: Side, lane: usize, now: Instant) {
        let carrier = CarrierId((lane - self.first_lane) as u8);
        self.ends[side as usize].mux.carrier_up(carrier, CarrierKind::Ordered, now);
    }

    pub(crate) fn poll_timeout(&self, side: Side) -> Option<Instant> {
        let end = &self.ends[side as usize];
        earliest(end.deadlines.first().map(|(_, at)| at), end.mux.poll_timeout())
    }

    pub(crate) fn handle_timeout(&mut self, side: Side, now: Instant) {
        let end = &mut self.ends[side as usize];
        while let Some((player, _)) = end.deadlines.first().filter(|(_, at)| *at <= now) {
            end.players[player].handle_timeout(now);
            end.write(player, now);
        }
        end.mux.handle_timeout(now);
    }

    /// Returns the next frame of `side`; call until `None`.
    pub(crate) fn poll_frame(&mut self, side: Side, now: Instant) -> Option<Written> {
        let end = &mut self.ends[side as usize];
        (0..end.carriers).find_map(|carrier| {
            let frame = end.mux.poll_frame(CarrierId(carrier), usize::MAX, now)?;
            let player = match &frame {
                Frame::Data { stream, .. } => stream.0 as u32,
                _ => NOBODY,
            };
            let lane = self.first_lane + usize::from(carrier);
            Some(Written { lane, player, bytes: frame.wire_len() as u32 })
        })
    }
}

impl End {
    fn new(mut players: Vec<Source>, carriers: u8, opens: bool) -> Self {
        // Credit and buffer are unlimited: TCP below repairs losses and limits the rate.
        let config = MuxConfig {
            carriers,
            retain: false,
            initial_credit: UNLIMITED,
            buffer: UNLIMITED,
            ..MuxConfig::default()
        };
        let mut mux = Mux::new(config);
        let mut deadlines = Timetable::new(players.len());
        for (player, source) in players.iter_mut().enumerate() {
            let stream = StreamId(player as u64);
            if opens {
                mux.open(stream, Length(0), Instant::ZERO);
            } else {
                mux.accept(stream);
            }
            source.handle_event(&AppEvent::Connected, Instant::ZERO);
            deadlines.set(player, source.poll_timeout());
        }
        Self { players, deadlines, mux, carriers }
    }

    fn write(&mut self, player: usize, now: Instant) {
        let source = &mut self.players[player];
        while let Some(action) = source.poll_action(now) {
            // Other actions do nothing: the carriers are open for all players.
            if let AppAction::Write { bytes } = action {
                let written = self.mux.write(StreamId(player as u64), Length(bytes.bytes() as u32), now);
                debug_assert!(written.is_ok(), "an unlimited buffer refused a write");
            }
        }
        self.deadlines.set(player, source.poll_timeout());
    }
}

/// More bytes than any run writes.
const UNLIMITED: u64 = 1 << 60;
