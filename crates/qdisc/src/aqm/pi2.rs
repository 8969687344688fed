//! The PI2 controller (RFC 9332 appendix A.1, De Schepper et al. 2016): a base probability moved every period by how far
//! the delay is from its target and which way it goes. Scalable flows see it times the coupling factor, Classic ones
//! squared, so no table of scales is needed as in PIE. No queue in here: see [`crate::dualpi2`].

use gamelane_core::Duration;

/// Parameters, RFC 9332 appendix A.1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pi2Parameters {
    /// Delay to hold in the Classic queue (15 ms).
    pub target: Duration,
    /// Time between updates (16 ms).
    pub update: Duration,
    /// Weight of the distance from the target, per second of delay (0.16 = 0.1 update / RTT_max², RTT_max 100 ms).
    pub alpha: f64,
    /// Weight of the trend, per second of delay (3.2 in Linux; the RFC's 0.3 / RTT_max is 3).
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
    /// A controller that has seen nothing.
    pub const fn new(parameters: Pi2Parameters) -> Self {
        Self { parameters, base: 0.0, delay_before: Duration::ZERO }
    }

    /// One period has passed and the delay is `delay` now. Returns false once nothing would change without another packet.
    pub fn update(&mut self, delay: Duration) -> bool {
        let p = &self.parameters;
        let (now, before) = (delay.as_secs_f64(), self.delay_before.as_secs_f64());
        let step = p.alpha * (now - p.target.as_secs_f64()) + p.beta * (now - before);
        self.base = (self.base + step).clamp(0.0, 1.0);
        self.delay_before = delay;
        self.base > 0.0 || !delay.is_zero()
    }

    /// p_C = p'²: what a Classic packet's signal is as likely as.
    pub fn classic(&self) -> f64 {
        self.base * self.base
    }

    /// p_CL = k p': what a scalable flow is marked with for the Classic queue's sake. One and more is overload.
    pub fn coupled(&self) -> f64 {
        self.parameters.coupling * self.base
    }

    /// p_Cmax = 1/k², at most 1: from here on Classic packets are dropped whether they understand ECN or not.
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
        // No trend: only the distance is left.
        pi2.update(Duration::from_millis(35));
        assert!(close(pi2.coupled(), 2.0 * 0.1184));
        // At the target nothing but the trend: 3.2 * (0.015 - 0.035) = -0.064.
        pi2.update(Duration::from_millis(15));
        assert!(close(pi2.coupled(), 2.0 * 0.0544));
        let mut updates = 0;
        while pi2.update(Duration::ZERO) {
            updates += 1;
            assert!(updates < 100, "without delay it comes to rest");
        }
        assert!(close(pi2.classic_limit(), 0.25));
    }
}
