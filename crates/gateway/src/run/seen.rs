//! Sees the packets of Linux's queues, where the kernel lets this program.

use std::collections::BTreeMap;

use gamelane_core::{Bitrate, Direction, Duration, Instant, Seed};
use gamelane_device::Clock;
use gamelane_device::watch::{Watch, What};
use gamelane_policy::Policy;

use crate::status::WatchStatus;
use crate::tap::Tap;
use crate::watched::Watched;

/// What is watched, and what is known from it.
#[derive(Debug)]
pub(super) struct Seen {
    watch: std::io::Result<Watch>,
    watched: Watched,
    /// Interfaces by index, indexed by [`Direction::index`]; 0 for none.
    queues: [u32; 2],
}

impl Seen {
    /// Starts to watch the queues of two interfaces by index, and what `arrivals` receives, which goes down; 0 for none. If the kernel
    /// does not let it, [`Seen::watched`] is `None`.
    pub(super) fn start(
        queues: [u32; 2],
        arrivals: u32,
        policy: Option<&Policy>,
        seed: Seed,
        clock: Clock,
    ) -> Self {
        let watch = Watch::start(queues, [arrivals, 0], clock);
        Self { watch, watched: Watched::new(policy, seed, clock.now()), queues }
    }

    /// Takes what happened since the last call, and records it. Returns when to look again: sooner if much happened.
    pub(super) fn drain(&mut self, mut tap: Option<&mut Tap>) -> Duration {
        let Self { watch: Ok(watch), watched, queues } = self else { return TURN };
        let mut events = 0;
        watch.drain(|event, reason| {
            events += 1;
            let direction = match event.what {
                What::Passed => Some(Direction::Down),
                // None: from before it turned to other queues.
                _ => Direction::BOTH.into_iter().find(|way| queues[way.index()] == event.interface),
            };
            if let Some(direction) = direction {
                let outcome = watched.take(event, direction, reason);
                if let Some(tap) = &mut tap {
                    tap.saw(event, direction, &outcome, watched.now());
                }
            }
        });
        if events > MANY { SHORT_TURN } else { TURN }
    }

    /// Watches these queues from now on, and forgets what waits if they are others: an interface that is made again has another
    /// number.
    pub(super) fn turn_to(&mut self, queues: [u32; 2]) {
        if queues == self.queues {
            return;
        }
        self.queues = queues;
        self.watched.forget_waiting();
        if let Ok(watch) = &self.watch {
            watch.turn_to(queues);
        }
    }

    /// Changes the policy.
    pub(super) fn reload(&mut self, policy: &Policy, now: Instant) {
        self.watched.reload(policy, now);
    }

    /// Forgets what is long past.
    pub(super) fn look(&mut self, now: Instant) {
        self.watched.look(now);
    }

    /// Lets the shapers that follow their link decide, if it is time.
    pub(super) fn follow(&mut self, now: Instant) {
        self.watched.follow(now);
    }

    /// Rates of the shapers that follow their link.
    pub(super) fn rates(&self) -> [Option<Bitrate>; 2] {
        Direction::BOTH.map(|direction| Some(self.watched.follower(direction)?.autorate().rate()))
    }

    /// What is known, unless nothing is seen.
    pub(super) fn watched(&self) -> Option<&Watched> {
        self.watch.is_ok().then_some(&self.watched)
    }

    /// Drops by the kernel's name of the reason.
    pub(super) fn reasons(&self, direction: Direction) -> BTreeMap<String, u64> {
        let Ok(watch) = &self.watch else { return BTreeMap::new() };
        let named = |(number, count): &(u32, u64)| {
            (watch.reason(*number).map_or_else(|| number.to_string(), str::to_owned), *count)
        };
        self.watched.reasons(direction).iter().map(named).collect()
    }

    pub(super) fn status(&self) -> WatchStatus {
        match &self.watch {
            Ok(watch) => WatchStatus { lost: watch.lost(), unseen: self.watched.unseen(), error: None },
            Err(error) => WatchStatus { error: Some(error.to_string()), ..WatchStatus::default() },
        }
    }
}

/// Time between two looks.
const TURN: Duration = Duration::from_millis(20);
/// The same while there are so many events between two that the ring could soon be full.
const SHORT_TURN: Duration = Duration::from_millis(2);
const MANY: u32 = 2000;
