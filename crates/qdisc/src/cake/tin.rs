//! One tin of CAKE: flow queues with Cobalt, and a virtual clock that tells whether the tin is within its threshold
//! rate.

use alloc::format;
use gamelane_core::{Bitrate, Instant, Seed, WireLen};

use super::config::CakeConfig;
use super::diffserv::Share;
use super::flows::{CakeFlows, QUEUES};
use crate::aqm::Cobalt;
use crate::config::Limit;
use crate::discipline::{Backlog, QueueDiscipline};
use crate::fq::{FlowQueues, FqParameters, Overload, Requeue};

/// The flow queues of a tin.
pub(super) type Queues<B> = FlowQueues<Cobalt, B, CakeFlows>;

#[derive(Debug)]
pub(super) struct Tin<B> {
    pub(super) queues: Queues<B>,
    pub(super) threshold: Threshold,
    /// Bytes per round; used without a shaper only.
    pub(super) quantum: i64,
    pub(super) deficit: i64,
}

impl<B> Tin<B> {
    pub(super) fn new(config: &CakeConfig, share: Share, seed: Seed, path: &str) -> Self {
        let rate = config.bandwidth.map(|rate| share.threshold(rate));
        let parameters = FqParameters {
            flows: QUEUES,
            // `Cake` limits all tins together.
            limit: Limit::Packets(u32::MAX),
            quantum: CakeConfig::flow_quantum(rate),
            charged_header: 0,
            overload: Overload::TailDrop,
            requeue_empty_new: Requeue::Never,
            zero_deficit_waits: true,
            reset_on_reactivation: false,
            law_sees_total: false,
            ack_filter: config.ack_filter,
        };
        let law = config.law(rate);
        let salt = seed.stream(&format!("{path}/salt")).bits();
        let dither = seed.stream(&format!("{path}/dither"));
        let selector = CakeFlows::new(config, salt, dither);
        let cobalt = |index| Cobalt::new(law, seed.stream(&format!("{path}/blue/{index}")));
        Self {
            queues: FlowQueues::with_selector(parameters, selector, cobalt),
            threshold: Threshold { rate, next: Instant::ZERO },
            quantum: share.quantum,
            deficit: 0,
        }
    }

    /// Sets the rate of the shaper (`cake_set_rate`).
    pub(super) fn set_rate(&mut self, config: &CakeConfig, share: Share) {
        let rate = config.bandwidth.map(|rate| share.threshold(rate));
        self.threshold.rate = rate;
        let law = config.law(rate);
        self.queues.retune(CakeConfig::flow_quantum(rate), |cobalt| cobalt.retune(law));
    }

    pub(super) fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }
}

/// Virtual clock of a tin's threshold rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Threshold {
    /// The rate; `None` without a shaper.
    pub(super) rate: Option<Bitrate>,
    /// Time from which the tin is within its threshold.
    pub(super) next: Instant,
}

impl Threshold {
    /// Accounts for a packet of `len` at `now` (`cake_advance_shaper`).
    pub(super) fn charge(&mut self, len: WireLen, now: Instant) {
        let Some(rate) = self.rate else { return };
        let time = rate.time_to_send(len);
        // A tin that sent less than its threshold keeps the difference as credit. A tin that sent more has to wait for
        // the time of one packet at most.
        self.next = if self.next < now { self.next + time } else { self.next.max(now + time) };
    }
}
