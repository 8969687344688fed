//! Random packet loss: independent, or in bursts (Gilbert 1960, Elliott 1963). Used by links and paths, and later by the
//! impairment of real packets.

use crate::rng::Stream;

/// How packets are lost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum LossModel {
    /// None are.
    #[default]
    None,
    /// Each independently with this probability.
    Random(f64),
    /// Two states; a packet is lost with `loss_good` or `loss_bad`, then the state may change.
    GilbertElliott {
        /// Probability to go from good to bad, per packet.
        good_to_bad: f64,
        /// Probability to go from bad to good, per packet; mean burst is its inverse.
        bad_to_good: f64,
        /// Loss probability in the good state.
        loss_good: f64,
        /// Loss probability in the bad state.
        loss_bad: f64,
    },
}

/// A [`LossModel`] with its state and stream.
#[derive(Clone, Debug)]
pub struct Loss {
    model: LossModel,
    rng: Stream,
    bad: bool,
}

impl Loss {
    /// Starts in the good state.
    pub const fn new(model: LossModel, rng: Stream) -> Self {
        Self { model, rng, bad: false }
    }

    /// Loses packets by another model from now on, which starts in its good state unless it only changes the probabilities.
    pub fn set_model(&mut self, model: LossModel) {
        self.bad &= matches!(model, LossModel::GilbertElliott { .. });
        self.model = model;
    }

    /// Decides the fate of the next packet.
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
