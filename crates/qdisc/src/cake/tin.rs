//! One tin: flow queues under Cobalt, and a schedule that says whether it is within its threshold.

use alloc::format;
use gamelane_core::{Bitrate, Instant, Seed, WireLen};

use super::config::CakeConfig;
use super::diffserv::Share;
use super::flows::{CakeFlows, QUEUES};
use crate::aqm::Cobalt;
use crate::aqm::cobalt::CobaltParameters;
use crate::config::Limit;
use crate::discipline::{Backlog, QueueDiscipline};
use crate::fq::{FlowQueues, FqParameters, Overload, Requeue};

#[derive(Debug)]
pub(super) struct Tin<B> {
    pub(super) queues: FlowQueues<Cobalt, B, CakeFlows>,
    /// Its threshold; `None` without a shaper.
    rate: Option<Bitrate>,
    /// From when on it is within its threshold.
    pub(super) next: Instant,
    /// Bytes a round without a shaper.
    pub(super) quantum: i64,
    pub(super) deficit: i64,
}

impl<B> Tin<B> {
    pub(super) fn new(config: &CakeConfig, share: Share, seed: Seed, path: &str) -> Self {
        let rate = config.bandwidth.map(|rate| Bitrate::from_bps(rate.bps() >> share.rate_shift));
        let parameters = FqParameters {
            flows: QUEUES,
            // Held by the whole of CAKE instead.
            limit: Limit::Packets(u32::MAX),
            quantum: CakeConfig::flow_quantum(rate),
            charged_header: 0,
            overload: Overload::TailDrop,
            requeue_empty_new: Requeue::Never,
            zero_deficit_waits: true,
            reset_on_reactivation: true,
            law_sees_total: false,
            ack_filter: config.ack_filter,
        };
        let law = CobaltParameters::for_rate(config.rtt, CakeConfig::frame_time(rate));
        let salt = seed.stream(&format!("{path}/salt")).bits();
        let dither = seed.stream(&format!("{path}/dither"));
        let selector = CakeFlows::new(config.isolation, config.overhead, salt, dither);
        let cobalt = |index| Cobalt::new(law, seed.stream(&format!("{path}/blue/{index}")));
        Self {
            queues: FlowQueues::with_selector(parameters, selector, cobalt),
            rate,
            next: Instant::ZERO,
            quantum: share.quantum,
            deficit: 0,
        }
    }

    pub(super) fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    /// A packet of the tin goes at `now`.
    pub(super) fn sent(&mut self, len: WireLen, now: Instant) {
        self.deficit -= len.bytes() as i64;
        let Some(rate) = self.rate else { return };
        let time = rate.time_to_send(len);
        // A tin behind its schedule may catch up; one ahead of it never gets further ahead than one packet.
        self.next = if self.next < now { self.next + time } else { self.next.max(now + time) };
    }
}
