//! Parameters of VoAP. The paper gives alpha and beta; step and period it does not give, and what is said here of them
//! comes from our sweep (`docs/models/voap.md`).

use gamelane_core::{Direction, Duration};

/// How VoAP steers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoapConfig {
    /// Below this queueing delay windows grow: 5 ms (palazzi-voap section II).
    pub alpha: Duration,
    /// Above this queueing delay windows shrink: 15 ms (palazzi-voap section II).
    pub beta: Duration,
    /// What one period adds or takes away, in segments of the connection's own size, from 1. Not in the paper.
    pub step: u32,
    /// How often a window is reconsidered. Not in the paper.
    pub period: Period,
    /// The window is never set below so many segments, from 2 (reference/tcp.md section 5, item 5).
    pub floor: u32,
    /// Larger windows give way first and smaller ones grow first, so that flows come to equal windows. Off is the paper's
    /// law as it stands, which leaves differences as they are. Our construction.
    pub even: bool,
    /// Which data is slowed down, indexed by [`Direction::index`]; that of downloads is [`Direction::Down`]. The paper
    /// acts on downloads.
    pub data: [bool; 2],
    /// Connections followed at a time, from 1 to 65536; more pass untouched.
    pub connections: u32,
    /// A connection silent for so long may be forgotten when another needs its place.
    pub idle: Duration,
}

/// The time between two steps of one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// Every segment that acknowledges something new.
    Ack,
    /// The connection's round trip: that of its handshake, with the queueing delay of the moment in place of that of then.
    RoundTrip,
    /// A fixed time.
    Every(Duration),
}

impl Default for VoapConfig {
    fn default() -> Self {
        Self {
            alpha: Duration::from_millis(5),
            beta: Duration::from_millis(15),
            step: 2,
            period: Period::RoundTrip,
            floor: 4,
            even: true,
            data: [false, true],
            connections: 1024,
            idle: Duration::from_secs(300),
        }
    }
}

/// Why a [`VoapConfig`] makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VoapFault {
    /// `alpha` is above `beta`: a delay between them would call for growing and shrinking at once.
    AlphaAboveBeta,
    /// `beta` is zero: any queue at all would shrink windows.
    NoBeta,
    /// `step` is 0 or above 1000 segments.
    Step,
    /// A period of no length.
    Period,
    /// `floor` is below 2 or above 1000 segments.
    Floor,
    /// Neither direction is steered.
    NoData,
    /// `connections` is 0 or above 65536.
    Connections,
}

impl VoapConfig {
    /// The first thing wrong with it.
    pub const fn check(&self) -> Result<(), VoapFault> {
        if self.alpha.as_nanos() > self.beta.as_nanos() {
            return Err(VoapFault::AlphaAboveBeta);
        }
        if self.beta.is_zero() {
            return Err(VoapFault::NoBeta);
        }
        if self.step == 0 || self.step > 1000 {
            return Err(VoapFault::Step);
        }
        if let Period::Every(time) = self.period
            && time.is_zero()
        {
            return Err(VoapFault::Period);
        }
        if self.floor < 2 || self.floor > 1000 {
            return Err(VoapFault::Floor);
        }
        if !(self.data[0] || self.data[1]) {
            return Err(VoapFault::NoData);
        }
        if self.connections == 0 || self.connections > 65_536 {
            return Err(VoapFault::Connections);
        }
        Ok(())
    }

    /// True if data that goes this way is slowed down.
    pub const fn steers(&self, data: Direction) -> bool {
        self.data[data.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_is_found() {
        let sound = VoapConfig::default();
        assert_eq!(sound.check(), Ok(()));
        let ms = Duration::from_millis;
        let cases = [
            (VoapConfig { alpha: ms(16), ..sound }, VoapFault::AlphaAboveBeta),
            (VoapConfig { alpha: ms(0), beta: ms(0), ..sound }, VoapFault::NoBeta),
            (VoapConfig { step: 0, ..sound }, VoapFault::Step),
            (VoapConfig { period: Period::Every(ms(0)), ..sound }, VoapFault::Period),
            (VoapConfig { floor: 1, ..sound }, VoapFault::Floor),
            (VoapConfig { data: [false; 2], ..sound }, VoapFault::NoData),
            (VoapConfig { connections: 0, ..sound }, VoapFault::Connections),
        ];
        for (config, fault) in cases {
            assert_eq!(config.check(), Err(fault));
        }
        assert_eq!(VoapConfig { alpha: ms(15), ..sound }.check(), Ok(()));
    }
}
