//! The PI2 controller (RFC 9332 appendix A.1; De Schepper et al. 2016, "PI2: A Linearized AQM"). Each period it changes
//! a base probability by the distance of the delay from its target and by the trend of the delay. L4S packets are
//! marked with the base probability times the coupling factor, Classic packets are signalled with its square. The
//! square replaces PIE's table of scale factors. The queues are in [`crate::dualpi2`].

use gamelane_core::Duration;

/// Parameters of PI2 (RFC 9332 appendix A.1). The defaults are those of Linux `sch_dualpi2`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pi2Parameters {
    /// Target delay of the Classic queue (15 ms).
    pub target: Duration,
    /// Time between updates (16 ms).
    pub update: Duration,
    /// Weight of the distance from the target, in Hz (0.16; the RFC has 0.1 * update / RTT_max² with RTT_max 100 ms).
    pub alpha: f64,
    /// Weight of the trend, in Hz (3.2 in Linux; the RFC has 0.3 / RTT_max, which is 3).
    pub beta: f64,
    /// Coupling factor k (2).
    pub coupling: f64,
}

impl Default for Pi2Parameters {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            update: Duration::from_millis(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
        }
    }
}

/// State of the controller.
#[derive(Clone, Debug)]
pub struct Pi2 {
    parameters: Pi2Parameters,
    base: f64,
    delay_before: Duration,
}

impl Pi2 {
    /// Makes the controller in its initial state.
    pub const fn new(parameters: Pi2Parameters) -> Self {
        Self { parameters, base: 0.0, delay_before: Duration::ZERO }
    }

    /// Does the update of one period with the present `delay`. Returns false when further updates would change nothing
    /// until a packet arrives.
    pub fn update(&mut self, delay: Duration) -> bool {
        let p = &self.parameters;
        let (now, before) = (delay.as_secs_f64(), self.delay_before.as_secs_f64());
        let step = p.alpha * (now - p.target.as_secs_f64()) + p.beta * (now - before);
        self.base = (self.base + step).clamp(0.0, 1.0);
        self.delay_before = delay;
        self.base > 0.0 || !delay.is_zero()
    }

    /// Probability p_C = p'² that a Classic packet is marked or dropped.
    pub fn classic(&self) -> f64 {
        self.base * self.base
    }

    /// Coupled probability p_CL = k p' that an L4S packet is marked because of the Classic queue. From 1 on the queue
    /// is overloaded.
    pub fn coupled(&self) -> f64 {
        self.parameters.coupling * self.base
    }

    /// Limit p_Cmax = 1/k², at most 1. From this p_C on, ECN-capable Classic packets are dropped instead of marked.
    pub fn classic_limit(&self) -> f64 {
        let k = self.parameters.coupling;
        (1.0 / (k * k)).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn the_base_follows_delay_and_trend() {
        let mut pi2 = Pi2::new(Pi2Parameters::default());
        // 0.16 (0.035 - 0.015) + 3.2 (0.035 - 0) = 0.0032 + 0.112.
        assert!(pi2.update(Duration::from_millis(35)));
        assert!(close(pi2.coupled(), 2.0 * 0.1152) && close(pi2.classic(), 0.1152 * 0.1152));
        // No trend: only the distance from the target counts.
        pi2.update(Duration::from_millis(35));
        assert!(close(pi2.coupled(), 2.0 * 0.1184));
        // At the target only the trend counts: 3.2 * (0.015 - 0.035) = -0.064.
        pi2.update(Duration::from_millis(15));
        assert!(close(pi2.coupled(), 2.0 * 0.0544));
        let mut updates = 0;
        while pi2.update(Duration::ZERO) {
            updates += 1;
            assert!(updates < 100, "without delay the probability must reach zero");
        }
        assert!(close(pi2.classic_limit(), 0.25));
    }
}
