//! Random packet loss: independent losses, or bursts of losses (Gilbert 1960, Elliott 1963). Links, paths and the
//! impairment of real packets use it.

use crate::rng::Stream;

/// Model of random loss. Probabilities are from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum LossModel {
    /// No packet is lost.
    #[default]
    None,
    /// Each packet is lost with this probability, independently of the others.
    Random(f64),
    /// Two states, good and bad. A packet is lost with the probability of the state, then the state may change.
    GilbertElliott {
        /// Probability per packet to change from good to bad.
        good_to_bad: f64,
        /// Probability per packet to change from bad to good. The bad state lasts 1 / `bad_to_good` packets on average.
        bad_to_good: f64,
        /// Loss probability in the good state.
        loss_good: f64,
        /// Loss probability in the bad state.
        loss_bad: f64,
    },
}

/// A [`LossModel`] with its state and its random stream.
#[derive(Clone, Debug)]
pub struct Loss {
    model: LossModel,
    rng: Stream,
    bad: bool,
}

impl Loss {
    /// Makes the process, in the good state.
    pub const fn new(model: LossModel, rng: Stream) -> Self {
        Self { model, rng, bad: false }
    }

    /// Replaces the model from the next packet on. The state is kept between two Gilbert-Elliott models; any other
    /// change starts in the good state.
    pub fn set_model(&mut self, model: LossModel) {
        self.bad &= matches!(model, LossModel::GilbertElliott { .. });
        self.model = model;
    }

    /// Returns whether the next packet is lost.
    pub fn loses_next(&mut self) -> bool {
        match self.model {
            LossModel::None => false,
            LossModel::Random(probability) => self.rng.chance(probability),
            LossModel::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                let lost = self.rng.chance(if self.bad { loss_bad } else { loss_good });
                let turn = self.rng.chance(if self.bad { bad_to_good } else { good_to_bad });
                self.bad ^= turn;
                lost
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Seed;

    fn rate_and_burst(model: LossModel) -> (f64, f64) {
        let mut loss = Loss::new(model, Seed(1).stream("loss"));
        let n = 400_000;
        let (mut lost, mut bursts, mut before) = (0u32, 0u32, false);
        for _ in 0..n {
            let now = loss.loses_next();
            lost += u32::from(now);
            bursts += u32::from(now && !before);
            before = now;
        }
        (f64::from(lost) / f64::from(n), f64::from(lost) / f64::from(bursts))
    }

    #[test]
    fn random_loss_meets_its_rate() {
        let (rate, burst) = rate_and_burst(LossModel::Random(0.05));
        assert!((rate - 0.05).abs() < 0.002, "{rate}");
        assert!((burst - 1.0 / 0.95).abs() < 0.02, "{burst}");
    }

    #[test]
    fn gilbert_elliott_meets_its_stationary_rate_and_burst_length() {
        // Stationary share of the bad state p/(p+r) = 0.01/0.21; mean burst 1/r = 5 packets.
        let (rate, burst) = rate_and_burst(LossModel::GilbertElliott {
            good_to_bad: 0.01,
            bad_to_good: 0.2,
            loss_good: 0.0,
            loss_bad: 1.0,
        });
        assert!((rate - 0.01 / 0.21).abs() < 0.003, "{rate}");
        assert!((burst - 5.0).abs() < 0.2, "{burst}");
    }
}
