//! Values that no proxy can run with: checked once, when the file is read.

use super::{Config, Refusal, Transport};
use crate::units::Span;
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
    /// Checks all values for one end, and returns what is wrong.
    pub(super) fn check(&self, role: Role) -> Vec<Refusal> {
        let target = self.check_target(role);
        let encryption = target.as_ref().map_or(Ok(()), |target| self.check_encryption(role, *target));
        let first = [target.map(drop), self.check_carriers(), encryption, self.check_repeat()];
        let all = first.into_iter().chain(self.check_zeros()).chain(self.check_values());
        all.filter_map(Result::err).map(|refusal| *refusal).collect()
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
        let Some(target) = needed.1 else {
            let message = format!("a {end} proxy needs `{}`", needed.0);
            return refuse(needed.0, "nothing", &message, "an address such as 192.0.2.1:7700", None);
        };
        if target.port() == 0 {
            return refuse(needed.0, target, "nothing listens on port 0", "port 1 to 65535", None);
        }
        Ok(target)
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

    /// Zeros with which nothing would work.
    fn check_zeros(&self) -> Vec<Checked> {
        let Self { timeouts, limits, .. } = self;
        let is_zero = |span: Span| span.0 == Duration::ZERO;
        let connect = "no client could connect";
        let repeats = "nothing would be repeated";
        let zeros = [
            ("refuse_after", is_zero(self.refuse_after), connect),
            ("timeouts.resume", is_zero(timeouts.resume), connect),
            ("timeouts.handshake", is_zero(timeouts.handshake), connect),
            ("timeouts.first_byte", timeouts.first_byte.is_some_and(is_zero), connect),
            ("timeouts.idle", is_zero(timeouts.idle), "every stream would be closed at once"),
            ("timeouts.keep_alive", is_zero(timeouts.keep_alive), "carriers would send nothing else"),
            ("limits.streams", limits.streams == 0, connect),
            ("limits.streams_per_source", limits.streams_per_source == Some(0), connect),
            ("limits.memory", limits.memory.0 == 0, "a client would be refused while another one has data"),
            ("limits.handshakes", limits.handshakes == 0, connect),
            ("limits.handshakes_per_source", limits.handshakes_per_source == Some(0), connect),
            ("limits.sessions", limits.sessions == 0, "no near proxy could connect"),
            ("repeat.max_len", self.repeat.is_some_and(|keys| keys.max_len.0 == 0), repeats),
            ("repeat.max_repeats", self.repeat.is_some_and(|keys| keys.max_repeats == 0), repeats),
        ];
        let zeros = zeros.into_iter().filter(|(_, is_zero, _)| *is_zero);
        zeros.map(|(key, _, why)| refuse(key, "0", why, "more than zero", None)).collect()
    }

    /// Values outside of their range, or of what another key says.
    fn check_values(&self) -> Vec<Checked> {
        let Self { timeouts, limits, admin, .. } = self;
        let ms = |span: Span| format!("{}ms", span.0.as_millis_f64());
        let above = |share: Option<usize>, all| share.filter(|share| *share > all).map(|it| it.to_string());
        let admin = admin.map(|admin| admin.listen).filter(|listen| !listen.ip().is_loopback());
        let admin = admin.map(|listen| listen.to_string());
        let window = Some(limits.window.0).filter(|window| !WINDOW.contains(window));
        let window = window.map(|window| format!("{window}B"));
        let poll = self.busy_poll.filter(|span| !BUSY_POLL.contains(&span.0));
        let poll = poll.map(|span| format!("{}us", span.0.as_nanos() / 1000));
        let silence = Some(timeouts.silence).filter(|span| *span <= timeouts.keep_alive).map(ms);
        let first_byte = timeouts.first_byte.filter(|span| *span > timeouts.handshake).map(ms);
        let allow = self.allow.as_ref().filter(|list| list.is_empty()).map(|_| "[]".to_owned());
        let streams = above(limits.streams_per_source, limits.streams);
        let handshakes = above(limits.handshakes_per_source, limits.handshakes);
        let (machine, loopback) =
            ("metrics and status are for this machine only", "127.0.0.1:9700 or [::1]:9700");
        let share = "more than all sources together have";
        let dead = "an idle carrier would count as lost before its first keep-alive";
        let long = "too short to help, or so long that a core would hardly ever sleep";
        let network = "a network such as \"203.0.113.0/24\"; without `allow`, every address may connect";
        let values = [
            ("admin.listen", admin, machine, loopback),
            ("limits.window", window, "too small or too large", "1KiB to 16MiB"),
            ("busy_poll", poll, long, "1us to 100ms; a few times what an answer takes, such as 50us"),
            ("timeouts.silence", silence, dead, "more than timeouts.keep_alive"),
            (
                "timeouts.first_byte",
                first_byte,
                "the handshake would end before it",
                "at most timeouts.handshake",
            ),
            ("allow", allow, "no client could connect", network),
            ("limits.streams_per_source", streams, share, "at most limits.streams"),
            ("limits.handshakes_per_source", handshakes, share, "at most limits.handshakes"),
        ];
        let given =
            values.into_iter().filter_map(|(key, given, why, allowed)| Some((key, given?, why, allowed)));
        given.map(|(key, given, why, allowed)| refuse(key, given, why, allowed, None)).collect()
    }
}
