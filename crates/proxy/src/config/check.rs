//! Values that no proxy can run with: checked once, when the file is read.

use super::{Config, Refusal, Transport};
use gamelane_core::Duration;
use gamelane_mux::{MAX_CARRIERS, Role};
use std::net::SocketAddr;
use std::ops::RangeInclusive;

const MAKE_CERTIFICATES: &str = "`gamelane-proxy certificates DIR` makes certificates for both ends";
const WINDOW: RangeInclusive<u64> = 1 << 10..=16 << 20;
const BUSY_POLL: RangeInclusive<Duration> = Duration::from_micros(1)..=Duration::from_millis(100);

/// A refusal that does not name its file yet.
type Checked<T = ()> = Result<T, Box<Refusal>>;

fn refuse<T>(
    key: &str,
    given: impl ToString,
    message: &str,
    allowed: &str,
    hint: Option<&str>,
) -> Checked<T> {
    Err(Box::new(Refusal {
        key: Some(key.into()),
        value: Some(given.to_string()),
        message: message.into(),
        allowed: Some(allowed.into()),
        hint: hint.map(Into::into),
        ..Refusal::default()
    }))
}

impl Config {
    /// Checks all values for one end.
    pub(super) fn check(&self, role: Role) -> Checked {
        let target = self.check_target(role)?;
        self.check_carriers()?;
        self.check_encryption(role, target)?;
        self.check_admin()?;
        self.check_repeat()?;
        self.check_window()?;
        self.check_busy_poll()?;
        self.check_silence()?;
        self.check_allow()?;
        self.check_limits()
    }

    /// The far proxy's address for a near end, the server's for a far one, and not the other way round.
    fn check_target(&self, role: Role) -> Checked<SocketAddr> {
        let (needed, other, end) = match role {
            Role::Near => (("far", self.far), ("server", self.server), "near"),
            Role::Far => (("server", self.server), ("far", self.far), "far"),
        };
        if let Some(address) = other.1 {
            let message = format!("a {end} proxy has no `{}`", other.0);
            let hint = format!("is this the file of the other end? A {end} proxy has `{}`", needed.0);
            return refuse(other.0, address, &message, &format!("`{}`", needed.0), Some(&hint));
        }
        needed.1.map_or_else(
            || {
                let message = format!("a {end} proxy needs `{}`", needed.0);
                refuse(needed.0, "nothing", &message, "an address such as 192.0.2.1:7700", None)
            },
            Ok,
        )
    }

    fn check_carriers(&self) -> Checked {
        let (most, allowed) = match self.transport {
            Transport::Tcp => (MAX_CARRIERS, "1 to 16"),
            // QUIC uses one carrier id for datagrams.
            Transport::Quic => (MAX_CARRIERS - 1, "1 to 15 over QUIC"),
        };
        if !(1..=most).contains(&usize::from(self.carriers)) {
            return refuse(
                "carriers",
                self.carriers,
                "outside of what the pair's protocol can number",
                allowed,
                None,
            );
        }
        Ok(())
    }

    fn check_encryption(&self, role: Role, target: SocketAddr) -> Checked {
        if self.tls.is_some() {
            return Ok(());
        }
        let (key, between) = match role {
            Role::Near => ("far", target),
            Role::Far => ("listen", self.listen),
        };
        if !between.ip().is_loopback() {
            return refuse(
                key,
                between,
                "without certificates, near and far proxy may only talk over loopback",
                "127.0.0.1, [::1], or any address with a [tls] table",
                Some(MAKE_CERTIFICATES),
            );
        }
        if self.transport == Transport::Quic {
            return refuse(
                "transport",
                "quic",
                "QUIC is always encrypted and needs certificates",
                "tcp, or quic with a [tls] table",
                Some(MAKE_CERTIFICATES),
            );
        }
        Ok(())
    }

    fn check_admin(&self) -> Checked {
        match self.admin {
            Some(admin) if !admin.listen.ip().is_loopback() => refuse(
                "admin.listen",
                admin.listen,
                "metrics and status are for this machine only",
                "a loopback address such as 127.0.0.1:9700",
                None,
            ),
            _ => Ok(()),
        }
    }

    fn check_repeat(&self) -> Checked {
        let Some(repeat) = self.repeat else { return Ok(()) };
        if !(0.0..=100.0).contains(&repeat.after) {
            return refuse("repeat.after", repeat.after, "not a number of round trips", "0 to 100", None);
        }
        if self.carriers < 2 && self.transport == Transport::Tcp {
            return refuse(
                "repeat",
                format!("with carriers = {}", self.carriers),
                "a repeat needs a second carrier",
                "carriers = 2 or more, or transport = \"quic\", which repeats in datagrams",
                None,
            );
        }
        Ok(())
    }

    fn check_window(&self) -> Checked {
        let window = self.limits.window.0;
        if !WINDOW.contains(&window) {
            return refuse(
                "limits.window",
                format!("{window}B"),
                "too small or too large",
                "1KiB to 16MiB",
                None,
            );
        }
        Ok(())
    }

    fn check_busy_poll(&self) -> Checked {
        match self.busy_poll {
            Some(span) if !BUSY_POLL.contains(&span.0) => refuse(
                "busy_poll",
                format!("{}us", span.0.as_nanos() / 1000),
                "too short to help, or so long that a core would hardly ever sleep",
                "1us to 100ms",
                Some("use a few times what an answer takes, such as 50us"),
            ),
            _ => Ok(()),
        }
    }

    fn check_silence(&self) -> Checked {
        if self.timeouts.silence <= self.timeouts.keep_alive {
            return refuse(
                "timeouts.silence",
                format!("{}ms", self.timeouts.silence.0.as_millis_f64()),
                "an idle carrier would count as lost before its first keep-alive",
                "more than timeouts.keep_alive",
                None,
            );
        }
        Ok(())
    }

    fn check_allow(&self) -> Checked {
        match &self.allow {
            Some(list) if list.is_empty() => refuse(
                "allow",
                "[]",
                "no client could connect",
                "at least one network such as \"203.0.113.0/24\"",
                Some("without `allow`, every address may connect"),
            ),
            _ => Ok(()),
        }
    }

    fn check_limits(&self) -> Checked {
        let zeros = [
            ("timeouts.resume", self.timeouts.resume.0 == Duration::ZERO),
            ("timeouts.handshake", self.timeouts.handshake.0 == Duration::ZERO),
            ("timeouts.first_byte", self.timeouts.first_byte.0 == Duration::ZERO),
            ("limits.streams", self.limits.streams == 0),
            ("limits.streams_per_source", self.limits.streams_per_source == Some(0)),
            ("limits.handshakes", self.limits.handshakes == 0),
            ("limits.handshakes_per_source", self.limits.handshakes_per_source == 0),
        ];
        match zeros.iter().find(|(_, is_zero)| *is_zero) {
            Some((key, _)) => refuse(key, "0", "no client could connect", "more than zero", None),
            None => Ok(()),
        }
    }
}
