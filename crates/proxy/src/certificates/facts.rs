//! What a certificate says about itself: name, role, expiry, authority and fingerprint. Leaves out private keys.

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use time::{Duration, OffsetDateTime};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;

/// What a certificate is for, by its extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Signs other certificates.
    Authority,
    /// Identifies a near end: TLS client authentication.
    Near,
    /// Identifies a far end: TLS server authentication.
    Far,
    /// Both kinds of authentication, or neither.
    Other,
}

impl Purpose {
    /// Its name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Authority => "authority",
            Self::Near => "near",
            Self::Far => "far",
            Self::Other => "other",
        }
    }
}

/// A certificate and what it says.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The certificate itself.
    pub der: CertificateDer<'static>,
    /// The subject as X.500 text, such as `CN=far.gamelane`.
    pub subject: String,
    /// Common name; empty without one.
    pub name: String,
    /// DNS names of the subject.
    pub dns: Vec<String>,
    /// What it is for.
    pub purpose: Purpose,
    /// First moment at which it is valid.
    pub begins: OffsetDateTime,
    /// Last moment at which it is valid.
    pub expires: OffsetDateTime,
    /// SHA-256 of the certificate, in hexadecimal.
    pub fingerprint: String,
    /// The subject's public key: the bytes of its bit string, and DER of the whole `SubjectPublicKeyInfo`.
    pub key: (Vec<u8>, Vec<u8>),
}

impl Facts {
    /// Reads a certificate.
    pub fn of(der: CertificateDer<'static>) -> Result<Self, String> {
        let broken = |error: &dyn std::fmt::Display| format!("holds a broken certificate: {error}");
        let (_, parsed) = parse_x509_certificate(&der).map_err(|error| broken(&error))?;
        let mut fingerprint = String::new();
        for byte in ring::digest::digest(&ring::digest::SHA256, &der).as_ref() {
            let _ = write!(fingerprint, "{byte:02x}");
        }
        let name = parsed.subject().iter_common_name().find_map(|name| name.as_str().ok());
        let names = parsed.subject_alternative_name().map_err(|error| broken(&error))?;
        let dns = names.iter().flat_map(|names| &names.value.general_names);
        Ok(Self {
            subject: parsed.subject().to_string(),
            name: name.unwrap_or_default().into(),
            dns: dns
                .filter_map(|name| match name {
                    GeneralName::DNSName(name) => Some((*name).to_owned()),
                    _ => None,
                })
                .collect(),
            purpose: purpose(&parsed),
            begins: parsed.validity().not_before.to_datetime(),
            expires: parsed.validity().not_after.to_datetime(),
            fingerprint,
            key: (parsed.public_key().subject_public_key.data.to_vec(), parsed.public_key().raw.to_vec()),
            der,
        })
    }

    /// Reads all certificates of a PEM file; other things in the file are skipped.
    pub fn read(file: &Path) -> Result<Vec<Self>, String> {
        Self::from_pem(&read_regular(file)?)
    }

    /// Reads all certificates of PEM bytes; other things in them are skipped.
    pub fn from_pem(bytes: &[u8]) -> Result<Vec<Self>, String> {
        let read = CertificateDer::pem_slice_iter(bytes).collect::<Result<Vec<_>, _>>();
        let read = read.map_err(|error| format!("cannot be read: {error}"))?;
        if read.is_empty() {
            return Err(format!("holds no certificate{}", instead(bytes)));
        }
        read.into_iter().map(Self::of).collect()
    }

    /// Whether `authority` signed this certificate. Compares names and checks the signature; dates do not count.
    pub fn is_signed_by(&self, authority: &Self) -> bool {
        let parse = parse_x509_certificate;
        let (Ok((_, own)), Ok((_, above))) = (parse(&self.der), parse(&authority.der)) else { return false };
        own.issuer().as_raw() == above.subject().as_raw()
            && own.verify_signature(Some(above.public_key())).is_ok()
    }

    /// Time until it expires; negative afterwards.
    pub fn left(&self) -> Duration {
        self.expires - OffsetDateTime::now_utc()
    }
}

/// Reads a regular file. A named pipe is refused, because opening it would wait for a writer.
pub fn read_regular(file: &Path) -> Result<Vec<u8>, String> {
    let cannot = |error| format!("cannot be read: {error}");
    if !fs::metadata(file).map_err(cannot)?.is_file() {
        return Err("is not a regular file".into());
    }
    fs::read(file).map_err(cannot)
}

/// What bytes hold instead of what was looked for, as the end of a sentence. Empty if they are no PEM or DER.
pub fn instead(bytes: &[u8]) -> String {
    let der =
        |what, command| format!(", but a {what} in DER; `openssl {command} -inform der` makes PEM of it");
    if parse_x509_certificate(bytes).is_ok() {
        return der("certificate", "x509");
    }
    if PrivateKeyDer::try_from(bytes).is_ok() {
        return der("private key", "pkey");
    }
    let parts = pem::parse_many(bytes).unwrap_or_default();
    let labels: BTreeSet<String> = parts.iter().map(|part| part.tag().to_lowercase()).collect();
    labels.into_iter().map(|label| format!(", but a {label}")).collect()
}

fn purpose(parsed: &X509Certificate<'_>) -> Purpose {
    if parsed.is_ca() {
        return Purpose::Authority;
    }
    let usage = parsed.extended_key_usage().ok().flatten();
    match usage.map(|usage| (usage.value.client_auth, usage.value.server_auth)) {
        Some((true, false)) => Purpose::Near,
        Some((false, true)) => Purpose::Far,
        _ => Purpose::Other,
    }
}

/// A moment as `2027-11-22 19:30 UTC`.
pub fn date(at: OffsetDateTime) -> String {
    let (year, month, day) = at.to_calendar_date();
    format!("{year:04}-{:02}-{day:02} {:02}:{:02} UTC", u8::from(month), at.hour(), at.minute())
}

/// When something expires, in words and rounded: `expires in 365 days`, or `expired 3 hours ago`.
pub fn expiry(left: Duration) -> String {
    let seconds = left.whole_seconds().unsigned_abs();
    let (count, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7_200 => ((seconds + 30) / 60, "minute"),
        7_200..172_800 => ((seconds + 1_800) / 3_600, "hour"),
        _ => ((seconds + 43_200) / 86_400, "day"),
    };
    let plural = if count == 1 { "" } else { "s" };
    if left.is_negative() {
        format!("expired {count} {unit}{plural} ago")
    } else {
        format!("expires in {count} {unit}{plural}")
    }
}
