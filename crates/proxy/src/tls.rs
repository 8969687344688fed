//! Mutual TLS between the pair: each end shows a certificate that the other end's authority has signed. TLS 1.3 only, without
//! resumption and early data, so a recorded handshake cannot be replayed.

use crate::certificates::facts::{Facts, date, expiry};
use crate::config::{ConfigError, Refusal, Tls};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use serde::Serialize;
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
}

/// The current identity. It can be renewed while the proxy runs: existing carriers go on, new carriers use the new identity.
#[derive(Debug)]
pub struct Certificates {
    file: PathBuf,
    tls: Tls,
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
    pub fn load(file: &Path, tls: &Tls) -> Result<Arc<Self>, ConfigError> {
        let identity = Arc::new(Identity::load(file, tls)?);
        let current = Mutex::new(Current { identity, failed: None });
        Ok(Arc::new(Self { file: file.into(), tls: tls.clone(), current }))
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
    pub fn renew(&self) -> Result<(), ConfigError> {
        let renewed = Identity::load(&self.file, &self.tls);
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

    /// Logs each certificate that expires soon or has expired.
    pub fn warn(&self) {
        let warning = time::Duration::days(i64::from(self.tls.expiry_warning_days));
        for (file, facts) in &self.current().read {
            let left = facts.left();
            if left < warning {
                let (file, subject) = (file.display(), &facts.subject);
                tracing::warn!(%file, %subject, until = date(facts.expires), "certificate {}: renew it", expiry(left));
            }
        }
    }
}

impl Identity {
    /// Reads the files that the configuration `file` names. An error says which of them is missing, broken or expired, and since
    /// when.
    pub fn load(file: &Path, tls: &Tls) -> Result<Self, ConfigError> {
        let wrong = |key: &str, given: &Path, message: String| {
            let hint = if message.contains(EXPIRED) {
                "`gamelane-proxy certificates renew DIR NAME` makes a new one"
            } else {
                "`gamelane-proxy certificates DIR` makes certificates for both ends"
            };
            ConfigError::from(Refusal {
                file: file.display().to_string(),
                key: Some(format!("tls.{key}")),
                value: Some(given.display().to_string()),
                message,
                hint: Some(hint.into()),
                ..Refusal::default()
            })
        };
        let Tls { certificate, authority, key, .. } = tls;
        let folder = file.parent().unwrap_or(Path::new("."));
        let own =
            Facts::read(&folder.join(certificate)).map_err(|why| wrong("certificate", certificate, why))?;
        for facts in &own {
            check_dates(facts).map_err(|why| wrong("certificate", certificate, why))?;
        }
        let trusted =
            Facts::read(&folder.join(authority)).map_err(|why| wrong("authority", authority, why))?;
        let mut store = RootCertStore::empty();
        // TLS does not check the dates of an authority, so one that has expired must not be trusted.
        let mut late = None;
        for facts in &trusted {
            match check_dates(facts) {
                Ok(()) => store
                    .add(facts.der.clone())
                    .map_err(|error| wrong("authority", authority, error.to_string()))?,
                Err(why) => late = Some(why),
            }
        }
        if let (true, Some(why)) = (store.is_empty(), late) {
            return Err(wrong("authority", authority, why));
        }
        let private = PrivateKeyDer::from_pem_file(folder.join(key))
            .map_err(|error| wrong("key", key, format!("cannot be read: {error}")))?;
        let name = ServerName::try_from(tls.name.clone())
            .map_err(|error| wrong("name", Path::new(&tls.name), error.to_string()))?;
        let chain = own.iter().map(|facts| facts.der.clone()).collect();
        let named =
            |file: &Path, all: Vec<Facts>| all.into_iter().map(|facts| (file.into(), facts)).collect();
        let read: [Vec<_>; 2] = [named(certificate, own), named(authority, trusted)];
        let identity = Self { chain, key: private, authority: Arc::new(store), name, read: read.concat() };
        // Finds a key that belongs to another certificate now, not at the first connection.
        identity.client().map_err(|error| wrong("key", key, error.to_string()))?;
        Ok(identity)
    }

    /// TLS settings of the near end.
    pub fn client(&self) -> Result<ClientConfig, rustls::Error> {
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
    pub fn server(&self) -> Result<ServerConfig, rustls::Error> {
        let verifier = WebPkiClientVerifier::builder_with_provider(self.authority.clone(), provider())
            .build()
            .map_err(|error| rustls::Error::General(error.to_string()))?;
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_client_cert_verifier(verifier)
            .with_single_cert(self.chain.clone(), self.key.clone_key())?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.send_tls13_tickets = 0;
        Ok(config)
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

const EXPIRED: &str = "expired on";

fn check_dates(facts: &Facts) -> Result<(), String> {
    let Facts { subject, begins, expires, .. } = facts;
    let now = OffsetDateTime::now_utc();
    if now > *expires {
        return Err(format!("the certificate of {subject} {EXPIRED} {}", date(*expires)));
    }
    if now < *begins {
        return Err(format!("the certificate of {subject} is not valid before {}", date(*begins)));
    }
    Ok(())
}
