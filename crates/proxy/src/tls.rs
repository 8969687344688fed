//! Mutual TLS between the pair: each end shows a certificate that the other end's authority has signed. TLS 1.3 only, without
//! resumption and early data, so a recorded handshake cannot be replayed.

use crate::certificates::facts::{Facts, Purpose, date, expiry, instead, read_regular};
use crate::config::{Problems, Refusal, Refused, Tls};
use gamelane_mux::Role;
use rustls::CertificateError::UnknownIssuer;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::pki_types::pem::{Error as PemError, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{ClientConfig, Error, RootCertStore, ServerConfig};
use serde::Serialize;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use time::OffsetDateTime;

/// The protocol's name in the TLS handshake (ALPN).
pub const ALPN: &[u8] = b"gamelane/1";

/// Certificate chain, key and trusted authority of this end.
#[derive(Debug)]
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    authority: Arc<RootCertStore>,
    /// The name in the far end's certificate.
    pub name: ServerName<'static>,
    /// What the chain and the authorities say, each with the file that it came from.
    read: Vec<(PathBuf, Facts)>,
    /// The key's file, if users beside its owner and group may read it.
    exposed: Option<PathBuf>,
}

/// The current identity. It can be renewed while the proxy runs: existing carriers go on, new carriers use the new identity.
#[derive(Debug)]
pub struct Certificates {
    file: PathBuf,
    tls: Tls,
    role: Role,
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    identity: Arc<Identity>,
    /// Why the last renewal failed.
    failed: Option<String>,
}

/// A certificate in use, for `status` and metrics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InUse {
    /// The file, as the configuration names it.
    pub file: String,
    /// Subject of the certificate.
    pub subject: String,
    /// SHA-256 of the certificate.
    pub fingerprint: String,
    /// When it expires, in seconds since 1970.
    pub expires_unix_s: i64,
    /// Seconds until it expires; negative afterwards.
    pub expires_in_s: i64,
    /// Whether fewer days than `tls.expiry_warning_days` are left.
    pub expires_soon: bool,
}

impl Certificates {
    /// Reads the files for the first time; see [`Identity::load`].
    pub fn load(file: &Path, tls: &Tls, role: Role) -> Result<Arc<Self>, Problems> {
        let identity = Arc::new(Identity::load(file, tls, role)?);
        let current = Mutex::new(Current { identity, failed: None });
        Ok(Arc::new(Self { file: file.into(), tls: tls.clone(), role, current }))
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        self.current.lock().expect("nothing panics while it holds the lock")
    }

    /// The current identity.
    pub fn current(&self) -> Arc<Identity> {
        self.lock().identity.clone()
    }

    /// Why the last [`renew`](Self::renew) failed, if it did: the files are not the identity in use.
    pub fn failed(&self) -> Option<String> {
        self.lock().failed.clone()
    }

    /// Reads the same files again. If one of them is not valid, the current identity stays.
    pub fn renew(&self) -> Result<(), Problems> {
        let renewed = Identity::load(&self.file, &self.tls, self.role);
        let mut current = self.lock();
        current.failed = renewed.as_ref().err().map(ToString::to_string);
        current.identity = Arc::new(renewed?);
        Ok(())
    }

    /// The certificates in use: this end's own chain, then the authorities.
    pub fn in_use(&self) -> Vec<InUse> {
        let warning = i64::from(self.tls.expiry_warning_days) * 86_400;
        let of = |(file, facts): &(PathBuf, Facts)| {
            let left = facts.left().whole_seconds();
            InUse {
                file: file.display().to_string(),
                subject: facts.subject.clone(),
                fingerprint: facts.fingerprint.clone(),
                expires_unix_s: facts.expires.unix_timestamp(),
                expires_in_s: left,
                expires_soon: left < warning,
            }
        };
        self.current().read.iter().map(of).collect()
    }

    /// Logs each certificate that expires soon or has expired, and a key that other users may read.
    pub fn warn(&self) {
        let warning = time::Duration::days(i64::from(self.tls.expiry_warning_days));
        let current = self.current();
        if let Some(key) = &current.exposed {
            let key = key.display();
            tracing::warn!("{key}: every user of this machine may read this key\n  hint:    chmod o= {key}");
        }
        for (file, facts) in &current.read {
            let left = facts.left();
            if left < warning {
                let (file, subject) = (file.display(), &facts.subject);
                tracing::warn!(%file, %subject, until = date(facts.expires), "certificate {}: renew it", expiry(left));
            }
        }
    }
}

impl Identity {
    /// Reads the files that the configuration `file` names, and checks that an end with the same authorities accepts them.
    ///
    /// # Errors
    /// Which files are missing, broken or expired, or do not belong together.
    pub fn load(file: &Path, tls: &Tls, role: Role) -> Result<Self, Problems> {
        let files = Files { file, tls, folder: file.parent().unwrap_or(Path::new(".")), role };
        let (own, (trusted, store), (key, exposed), name) =
            match (files.own(), files.trusted(), files.key(), files.name()) {
                (Ok(own), Ok(trusted), Ok(key), Ok(name)) => (own, trusted, key, name),
                (own, trusted, key, name) => {
                    let problems = [own.err(), trusted.err(), key.err(), name.err()];
                    return Err(Problems(problems.into_iter().flatten().collect()));
                }
            };
        let chain = own.iter().map(|facts| facts.der.clone()).collect();
        let named =
            |file: &Path, all: Vec<Facts>| all.into_iter().map(|facts| (file.into(), facts)).collect();
        let read: [Vec<_>; 2] = [named(&tls.certificate, own), named(&tls.authority, trusted)];
        let identity = Self { chain, key, authority: Arc::new(store), name, read: read.concat(), exposed };
        let problems = [files.check_key(&identity), files.check_chain(&identity)];
        let problems: Vec<Refused> = problems.into_iter().filter_map(Result::err).collect();
        if problems.is_empty() { Ok(identity) } else { Err(Problems(problems)) }
    }

    /// TLS settings of the near end.
    pub fn client(&self) -> Result<ClientConfig, Error> {
        let mut config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_root_certificates(self.authority.clone())
            .with_client_auth_cert(self.chain.clone(), self.key.clone_key())?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.resumption = rustls::client::Resumption::disabled();
        Ok(config)
    }

    /// Derives a secret from the private key. It is the same after a restart.
    pub(crate) fn secret(&self, purpose: &str) -> ring::hmac::Key {
        use ring::hmac;
        let own = hmac::Key::new(hmac::HMAC_SHA256, self.key.secret_der());
        hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&own, purpose.as_bytes()).as_ref())
    }

    /// TLS settings of the far end.
    pub fn server(&self) -> Result<ServerConfig, Error> {
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_client_cert_verifier(verifier(&self.authority)?)
            .with_single_cert(self.chain.clone(), self.key.clone_key())?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.send_tls13_tickets = 0;
        Ok(config)
    }
}

/// The files that a configuration names.
struct Files<'a> {
    file: &'a Path,
    tls: &'a Tls,
    folder: &'a Path,
    role: Role,
}

/// What is wrong, and what to do.
type Wrong = (String, String);

impl Files<'_> {
    fn wrong(&self, key: &str, given: &Path, (message, hint): Wrong) -> Refused {
        Refusal {
            file: self.file.display().to_string(),
            key: Some(format!("tls.{key}")),
            value: Some(given.display().to_string()),
            message,
            hint: Some(hint),
            ..Refusal::default()
        }
        .into()
    }

    /// This end's chain, of its role.
    fn own(&self) -> Result<Vec<Facts>, Refused> {
        let path = &self.tls.certificate;
        let wrong = |what| self.wrong("certificate", path, what);
        let wanted = if self.role == Role::Near { Purpose::Near } else { Purpose::Far };
        let end = wanted.name();
        let make = format!("`gamelane-proxy certificates add DIR NAME --{end}` makes one");
        let own = Facts::read(&self.folder.join(path)).map_err(|why| wrong((why, make.clone())))?;
        for facts in &own {
            check_dates(facts, "`gamelane-proxy certificates renew DIR NAME` makes a new one")
                .map_err(wrong)?;
        }
        let Facts { subject, purpose, .. } = &own[0];
        if ![Purpose::Other, wanted].contains(purpose) {
            return Err(wrong((format!("{subject} has the role {}, not {end}", purpose.name()), make)));
        }
        Ok(own)
    }

    /// The authorities, and those of them that are valid as TLS needs them.
    fn trusted(&self) -> Result<(Vec<Facts>, RootCertStore), Refused> {
        let path = &self.tls.authority;
        let wrong = |what| self.wrong("authority", path, what);
        let find = "it is `authority.pem` in the folder of `gamelane-proxy certificates`";
        let trusted = Facts::read(&self.folder.join(path)).map_err(|why| wrong((why, find.into())))?;
        let mut store = RootCertStore::empty();
        // TLS does not check the dates of an authority, so one that has expired must not be trusted.
        let mut late = None;
        for facts in &trusted {
            // A certificate that signed itself can be trusted alone.
            if facts.purpose != Purpose::Authority && !facts.is_signed_by(facts) {
                return Err(wrong((format!("{} is the certificate of an end", facts.subject), find.into())));
            }
            match check_dates(facts, "`gamelane-proxy certificates authority DIR` starts another") {
                Ok(()) => {
                    store.add(facts.der.clone()).map_err(|error| wrong((error.to_string(), find.into())))?
                }
                Err(why) => late = Some(why),
            }
        }
        match late {
            Some(why) if store.is_empty() => Err(wrong(why)),
            _ => Ok((trusted, store)),
        }
    }

    /// The key, and its file if everyone may read it.
    fn key(&self) -> Result<(PrivateKeyDer<'static>, Option<PathBuf>), Refused> {
        let path = self.folder.join(&self.tls.key);
        let wrong = |why| self.wrong("key", &self.tls.key, (why, KEY.into()));
        let bytes = read_regular(&path).map_err(wrong)?;
        let key = PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| {
            wrong(match error {
                PemError::NoItemsFound => format!("holds no private key{}", instead(&bytes)),
                error => format!("cannot be read: {error}"),
            })
        })?;
        let mode = path.metadata().map_err(|error| wrong(error.to_string()))?.permissions().mode();
        Ok((key, (mode & 0o004 != 0).then_some(path)))
    }

    fn name(&self) -> Result<ServerName<'static>, Refused> {
        let name = &self.tls.name;
        ServerName::try_from(name.clone()).map_err(|error| {
            let hint = "write a name of the far end's certificate, such as tokyo.gamelane";
            self.wrong("name", Path::new(name), (error.to_string(), hint.into()))
        })
    }

    fn check_key(&self, identity: &Identity) -> Result<(), Refused> {
        identity.client().map(drop).map_err(|error| {
            let why = format!("does not fit {}: {error}", self.tls.certificate.display());
            self.wrong("key", &self.tls.key, (why, KEY.into()))
        })
    }

    /// Does what the other end will do with this end's chain. Each authority is trusted by both ends during a change.
    fn check_chain(&self, identity: &Identity) -> Result<(), Refused> {
        let Identity { chain, authority, read, .. } = identity;
        let (own, between, now) = (&chain[0], &chain[1..], UnixTime::now());
        let verified = match self.role {
            Role::Near => {
                verifier(authority).and_then(|it| it.verify_client_cert(own, between, now).map(drop))
            }
            Role::Far => ParsedCertificate::try_from(own).and_then(|own| {
                let algorithms = provider().signature_verification_algorithms.all;
                verify_server_cert_signed_by_trust_anchor(&own, authority, between, now, algorithms)
            }),
        };
        verified.map_err(|error| {
            let own = &read[0].1.subject;
            let why = match error {
                Error::InvalidCertificate(UnknownIssuer) => format!("holds no authority that signed {own}"),
                error => format!("the other end would not accept {own}: {error}"),
            };
            let hint = "copy authority.pem and the certificate from the same folder of `gamelane-proxy certificates`";
            self.wrong("authority", &self.tls.authority, (why, hint.into()))
        })
    }
}

const KEY: &str = "copy the key that was made with the certificate; if it is lost, \
                   `gamelane-proxy certificates renew DIR NAME --new-key` makes both anew";

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn verifier(authority: &Arc<RootCertStore>) -> Result<Arc<dyn ClientCertVerifier>, Error> {
    WebPkiClientVerifier::builder_with_provider(authority.clone(), provider())
        .build()
        .map_err(|error| Error::General(error.to_string()))
}

/// Says what is wrong with the dates; `renew` is what to do about a certificate that has expired.
fn check_dates(facts: &Facts, renew: &str) -> Result<(), Wrong> {
    let Facts { subject, begins, expires, .. } = facts;
    let now = OffsetDateTime::now_utc();
    if now > *expires {
        return Err((format!("the certificate of {subject} expired on {}", date(*expires)), renew.into()));
    }
    if now < *begins {
        let why = format!("the certificate of {subject} is not valid before {}", date(*begins));
        return Err((why, "is the clock of this machine right?".into()));
    }
    Ok(())
}
