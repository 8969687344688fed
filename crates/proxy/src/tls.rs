//! Mutual TLS between the pair: each end shows a certificate that the other end's authority has signed. TLS 1.3 only, without
//! resumption and early data, so a recorded handshake cannot be replayed.

use crate::config::{ConfigError, Refusal, Tls};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

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
}

/// The current identity. It can be renewed while the proxy runs: existing carriers go on, new carriers use the new identity.
#[derive(Debug)]
pub struct Certificates {
    file: PathBuf,
    tls: Tls,
    current: Mutex<Arc<Identity>>,
}

impl Certificates {
    /// Reads the files for the first time; see [`Identity::load`].
    pub fn load(file: &Path, tls: &Tls) -> Result<Arc<Self>, ConfigError> {
        let current = Mutex::new(Arc::new(Identity::load(file, tls)?));
        Ok(Arc::new(Self { file: file.into(), tls: tls.clone(), current }))
    }

    /// The current identity.
    pub fn current(&self) -> Arc<Identity> {
        self.current.lock().expect("nothing panics while it holds the lock").clone()
    }

    /// Reads the same files again. If one of them is not valid, the current identity stays.
    pub fn renew(&self) -> Result<(), ConfigError> {
        let renewed = Arc::new(Identity::load(&self.file, &self.tls)?);
        *self.current.lock().expect("nothing panics while it holds the lock") = renewed;
        Ok(())
    }
}

impl Identity {
    /// Reads the files that the configuration `file` names. An error says which of them is missing, broken or expired, and since
    /// when.
    pub fn load(file: &Path, tls: &Tls) -> Result<Self, ConfigError> {
        let wrong = |key: &str, given: &str, message: String| {
            ConfigError::from(Refusal {
                file: file.display().to_string(),
                key: Some(format!("tls.{key}")),
                value: Some(given.into()),
                message,
                hint: Some("`gamelane-proxy certificates DIR` makes certificates for both ends".into()),
                ..Refusal::default()
            })
        };
        let folder = file.parent().unwrap_or(Path::new("."));
        let certificates = |key: &str, path: &Path| {
            let given = path.display().to_string();
            let path = folder.join(path);
            let chain: Result<Vec<_>, _> =
                CertificateDer::pem_file_iter(&path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
            let chain = chain.map_err(|error| wrong(key, &given, format!("cannot be read: {error}")))?;
            if chain.is_empty() {
                return Err(wrong(key, &given, "holds no certificate".into()));
            }
            for certificate in &chain {
                check_dates(certificate).map_err(|message| wrong(key, &given, message))?;
            }
            Ok(chain)
        };
        let chain = certificates("certificate", &tls.certificate)?;
        let mut authority = RootCertStore::empty();
        for certificate in certificates("authority", &tls.authority)? {
            authority.add(certificate).map_err(|error| {
                wrong("authority", &tls.authority.display().to_string(), error.to_string())
            })?;
        }
        let key = PrivateKeyDer::from_pem_file(folder.join(&tls.key)).map_err(|error| {
            wrong("key", &tls.key.display().to_string(), format!("cannot be read: {error}"))
        })?;
        let name = ServerName::try_from(tls.name.clone())
            .map_err(|error| wrong("name", &tls.name, error.to_string()))?;
        let identity = Self { chain, key, authority: Arc::new(authority), name };
        // Finds a key that belongs to another certificate now, not at the first connection.
        identity.client().map_err(|error| wrong("key", &tls.key.display().to_string(), error.to_string()))?;
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

fn check_dates(certificate: &CertificateDer<'_>) -> Result<(), String> {
    let (_, parsed) =
        x509_parser::parse_x509_certificate(certificate).map_err(|error| format!("is broken: {error}"))?;
    let (validity, now) = (parsed.validity(), x509_parser::time::ASN1Time::now());
    let subject = parsed.subject();
    if now > validity.not_after {
        return Err(format!("the certificate of {subject} expired on {}", validity.not_after));
    }
    if now < validity.not_before {
        return Err(format!("the certificate of {subject} is not valid before {}", validity.not_before));
    }
    Ok(())
}
