//! Makes a certificate authority and one certificate for each end of a pair, for tests and first steps
//! (`gamelane-proxy certificates`).

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// The name in the far end's certificate.
pub const FAR_NAME: &str = "far.gamelane";
/// The name in the near end's certificate.
pub const NEAR_NAME: &str = "near.gamelane";

/// Writes `authority.pem`, `near.pem`, `near.key`, `far.pem` and `far.key` into `folder`, and returns their paths. The authority's
/// private key is not kept, so another pair needs another authority. Existing files are not overwritten.
pub fn make(folder: &Path, days: u32) -> anyhow::Result<Vec<PathBuf>> {
    fs::create_dir_all(folder)?;
    let key = KeyPair::generate()?;
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, "gamelane pair");
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    set_validity(&mut authority, days);
    let certificate = authority.self_signed(&key)?;
    let issuer = Issuer::new(authority, key);
    let mut written = vec![write(folder, "authority.pem", &certificate.pem(), 0o644)?];
    for (end, name, purpose) in [
        ("near", NEAR_NAME, ExtendedKeyUsagePurpose::ClientAuth),
        ("far", FAR_NAME, ExtendedKeyUsagePurpose::ServerAuth),
    ] {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(vec![name.to_string()])?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![purpose];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        set_validity(&mut params, days);
        let certificate = params.signed_by(&key, &issuer)?;
        written.push(write(folder, &format!("{end}.pem"), &certificate.pem(), 0o644)?);
        written.push(write(folder, &format!("{end}.key"), &key.serialize_pem(), 0o600)?);
    }
    Ok(written)
}

fn set_validity(params: &mut CertificateParams, days: u32) {
    let now = time::OffsetDateTime::now_utc();
    // The clocks of the two ends may differ.
    params.not_before = now - time::Duration::hours(1);
    params.not_after = now + time::Duration::days(i64::from(days));
}

fn write(folder: &Path, name: &str, text: &str, mode: u32) -> anyhow::Result<PathBuf> {
    let path = folder.join(name);
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&path)
        .map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
    file.write_all(text.as_bytes())?;
    Ok(path)
}
