//! Configuration of VoAP. The paper (palazzi-voap) gives alpha and beta. It does not give step and period; their
//! defaults come from our sweep (`docs/models/voap.md`).

use gamelane_core::{Direction, Duration};

/// Configuration of VoAP. Defaults are in brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoapConfig {
    /// Queueing delay below which windows grow (5 ms, palazzi-voap section II).
    pub alpha: Duration,
    /// Queueing delay above which windows shrink (15 ms, palazzi-voap section II).
    pub beta: Duration,
    /// Change of a window per period, in segments of the connection, 1 to 1000 (2). Not in the paper.
    pub step: u32,
    /// Time between two changes of a window (a round trip). Not in the paper.
    pub period: Period,
    /// Smallest window that is set, in segments, 2 to 1000 (4). With less, silly window syndrome avoidance (RFC 9293
    /// section 3.8.6.2) could hold segments back. Not in the paper.
    pub floor: u32,
    /// Whether larger windows shrink first and smaller ones grow first, so that flows get equal windows (yes). This is
    /// our construction. Without it, as in the paper, differences between windows stay.
    pub even: bool,
    /// Directions of data that VoAP slows down, indexed by [`Direction::index`]; downloads are [`Direction::Down`]. The
    /// default, as in the paper, is downloads only.
    pub data: [bool; 2],
    /// Largest number of connections in the table, 1 to 65536 (1024). Other connections pass unchanged.
    pub connections: u32,
    /// Idle time after which a new connection may replace this one in the table (300 s).
    pub idle: Duration,
}

/// Time between two changes of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// One change for each segment that acknowledges new data.
    Ack,
    /// A round trip of the connection: the round trip of its handshake without queueing delay, plus the present
    /// queueing delay.
    RoundTrip,
    /// This fixed time.
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

/// Reason why a [`VoapConfig`] is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VoapFault {
    /// `alpha` is above `beta`, so a delay between them would ask for growth and for shrinking.
    AlphaAboveBeta,
    /// `beta` is zero, so any queue would shrink windows.
    NoBeta,
    /// `step` is 0 or above 1000 segments.
    Step,
    /// `period` is a fixed time of zero.
    Period,
    /// `floor` is below 2 or above 1000 segments.
    Floor,
    /// `data` has no direction.
    NoData,
    /// `connections` is 0 or above 65536.
    Connections,
}

impl VoapConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    ///
    /// The first fault found.
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

    /// Returns whether VoAP slows down data in this direction.
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
