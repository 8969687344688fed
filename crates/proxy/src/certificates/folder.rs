//! A folder of certificates on the machine that signs them.
//!
//! | file | contents | also needed by |
//! | --- | --- | --- |
//! | `authority.pem` | every trusted authority: one, or two during a change | every proxy |
//! | `authority.key` | key of the authority that signs; 0600 | no other machine |
//! | `NAME.pem` | certificate of one end | that end |
//! | `NAME.key` | its key; 0600 | that end; not needed here |
//!
//! Of the authorities, the one whose public key belongs to `authority.key` signs. So a crash between two files leaves a folder that
//! still signs.

use super::FAR_NAME;
use super::facts::{Facts, Purpose, date, read_regular};
use super::whole::{self, PRIVATE, PUBLIC};
use gamelane_mux::Role;
use gamelane_service::exit::{Exit, Failure};
use gamelane_service::output::say;
use pem::{EncodeConfig, LineEnding, Pem};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData, SubjectPublicKeyInfo,
};
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use time::{Duration, OffsetDateTime};

/// Days until an authority expires, unless its user chooses.
pub const AUTHORITY_DAYS: u32 = 3650;

const AUTHORITY: &str = "authority.pem";
const AUTHORITY_KEY: &str = "authority.key";

/// A folder of certificates. Other commands that change the same folder wait until this value is dropped.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

/// What a command did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Files written.
    pub written: Vec<PathBuf>,
    /// What its user should know, such as an expiry earlier than asked for.
    pub notes: Vec<String>,
}

impl Done {
    fn write(&mut self, path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
        self.written.push(whole::write(path, text, mode)?);
        Ok(())
    }

    fn add(&mut self, other: Self) {
        self.written.extend(other.written);
        self.notes.extend(other.notes);
    }
}

/// Makes an authority and a certificate for each end of a pair, `near` and `far`. The ends' certificates expire after `days`.
pub fn make(folder: &Path, days: u32) -> Result<Done, Failure> {
    let folder = Folder::create(folder)?;
    for name in ["authority", "near", "far"] {
        folder.check_new(name)?;
    }
    let mut done = folder.init(days.max(AUTHORITY_DAYS))?;
    done.add(folder.add("near", Role::Near, days)?);
    done.add(folder.add("far", Role::Far, days)?);
    Ok(done)
}

impl Folder {
    /// Opens a folder, and makes it if it does not exist.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        // Others may not write, whatever the umask: a writer could replace the authority.
        let made = fs::DirBuilder::new().recursive(true).mode(0o755).create(path);
        made.map_err(|error| whole::unwritten(path, &error))?;
        Self::open(path)
    }

    /// Opens a folder, and completes or removes what a killed command left there.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let opened = File::open(path).and_then(|folder| {
            // Opening a file as a folder fails only later, with a message about another file.
            if !folder.metadata()?.is_dir() {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            lock(&folder, path)?;
            Ok(folder)
        });
        let lock = opened.map_err(|error| unreadable(path, &error))?;
        // A user who may only read the folder can still look at it.
        let _ = whole::clean(path);
        Ok(Self { path: path.into(), _lock: lock })
    }

    /// Makes the first authority.
    pub fn init(&self, days: u32) -> Result<Done, Failure> {
        self.check_new("authority")?;
        let (pem, key) = new_authority(days)?;
        let written = whole::write_pair(&self.path, "authority", &pem, &key)?;
        Ok(Done { written, notes: Vec::new() })
    }

    /// Makes a key and a certificate for a further end.
    pub fn add(&self, name: &str, role: Role, days: u32) -> Result<Done, Failure> {
        check_name(name)?;
        self.check_new(name)?;
        let signer = self.signer()?;
        let own = format!("{name}.gamelane");
        let (dns, purpose) = match role {
            Role::Near => (vec![own.clone()], Purpose::Near),
            Role::Far if own == FAR_NAME => (vec![own.clone()], Purpose::Far),
            Role::Far => (vec![own.clone(), FAR_NAME.to_owned()], Purpose::Far),
        };
        let key = KeyPair::generate().map_err(failed)?;
        let (pem, mut notes) = signer.sign(&own, dns, purpose, &key, days)?;
        if self.trusted()?.len() > 1 {
            let signer = &signer.authority.name;
            notes.push(format!(
                "a change of the authority is under way: other ends must trust {signer} first"
            ));
        }
        let written = whole::write_pair(&self.path, name, &pem, &key.serialize_pem())?;
        Ok(Done { written, notes })
    }

    /// Makes a new certificate for an end, with the same names. It keeps the end's key unless `new_key`, so the key itself need not be
    /// in this folder.
    pub fn renew(&self, name: &str, days: u32, new_key: bool) -> Result<Done, Failure> {
        check_name(name)?;
        let file = self.file(&format!("{name}.pem"));
        let mut read = Facts::read(&file).map_err(|why| unusable(&file, &why, self.names_hint()))?;
        let old = read.swap_remove(0);
        if !matches!(old.purpose, Purpose::Near | Purpose::Far) {
            let why = format!("{} is not the certificate of a near or far end", old.subject);
            return Err(unusable(&file, &why, self.names_hint()));
        }
        let signer = self.signer()?;
        if new_key {
            let key = KeyPair::generate().map_err(failed)?;
            let (pem, notes) = signer.sign(&old.name, old.dns, old.purpose, &key, days)?;
            let written = whole::write_pair(&self.path, name, &pem, &key.serialize_pem())?;
            return Ok(Done { written, notes });
        }
        let key = SubjectPublicKeyInfo::from_der(&old.key.1).map_err(failed)?;
        let (pem, notes) = signer.sign(&old.name, old.dns, old.purpose, &key, days)?;
        let mut done = Done { notes, ..Done::default() };
        done.write(&file, &pem, PUBLIC)?;
        Ok(done)
    }

    /// Makes a second authority, which signs from now on. Both are trusted until [`retire`](Self::retire). Works without the old one's
    /// key, so a folder of an earlier version can go on too.
    pub fn authority(&self, days: u32) -> Result<Done, Failure> {
        let mut trusted = self.trusted()?;
        let mut done = Done::default();
        trusted.retain(|one| {
            let is_valid = one.left().is_positive();
            if !is_valid {
                done.notes.push(format!(
                    "{} expired on {}, and is no longer trusted",
                    one.name,
                    date(one.expires)
                ));
            }
            is_valid
        });
        if trusted.len() > 1 && self.file(AUTHORITY_KEY).exists() {
            let why = "two authorities are trusted already: a change is under way";
            return Err(unusable(&self.file(AUTHORITY), why, Some("`certificates retire` ends it".into())));
        }
        let (pem, key) = new_authority(days)?;
        // In this order: after a crash in between, the old key still signs, and `retire` removes the certificate whose key is lost.
        let all = trusted.iter().fold(pem, |all, one| all + &pem_of(&one.der));
        done.write(&self.file(AUTHORITY), &all, PUBLIC)?;
        done.write(&self.file(AUTHORITY_KEY), &key, PRIVATE)?;
        Ok(done)
    }

    /// Ends a change: only the authority that signs stays trusted. Refuses while the certificate of an end here is of another.
    pub fn retire(&self) -> Result<Done, Failure> {
        let Signer { authority, .. } = self.signer()?;
        let file = self.file(AUTHORITY);
        let others = self.trusted()?.into_iter().filter(|one| one.fingerprint != authority.fingerprint);
        let others: Vec<String> = others.map(|one| one.name).collect();
        if others.is_empty() {
            let why = format!("{} is the only authority", authority.name);
            return Err(unusable(&file, &why, Some("`certificates authority` starts a second one".into())));
        }
        let late: Vec<String> = self
            .ends()?
            .into_iter()
            .filter_map(|(name, end)| (!end.is_signed_by(&authority)).then_some(name))
            .collect();
        if !late.is_empty() {
            let why =
                format!("without {}, these ends would be refused: {}", others.join(", "), late.join(", "));
            let hint = format!(
                "`certificates renew {} {}` first, or delete the files of an end that is gone",
                self.path.display(),
                late.join(" ")
            );
            return Err(unusable(&file, &why, Some(hint)));
        }
        let mut done = Done::default();
        done.write(&file, &pem_of(&authority.der), PUBLIC)?;
        done.notes.push(format!("no longer trusted: {}", others.join(", ")));
        Ok(done)
    }

    /// The trusted authorities, the newest first.
    pub fn trusted(&self) -> Result<Vec<Facts>, Failure> {
        let file = self.file(AUTHORITY);
        let hint = || Some("`gamelane-proxy certificates init DIR` makes an authority".to_owned());
        Facts::read(&file).map_err(|why| unusable(&file, &why, hint()))
    }

    /// Fingerprint of the authority that signs; `None` if its key is not in this folder.
    pub fn signing(&self) -> Option<String> {
        self.signer().ok().map(|signer| signer.authority.fingerprint)
    }

    /// Name and certificate of each end, by name.
    pub fn ends(&self) -> Result<Vec<(String, Facts)>, Failure> {
        let names = self.names().map_err(|error| unreadable(&self.path, &error))?;
        let read = |name: String| {
            let file = self.file(&format!("{name}.pem"));
            let mut facts = Facts::read(&file).map_err(|why| unusable(&file, &why, None))?;
            Ok((name, facts.swap_remove(0)))
        };
        names.into_iter().map(read).collect()
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let file = entry?.file_name();
            let name = file.to_str().and_then(|file| file.strip_suffix(".pem"));
            names.extend(
                name.filter(|name| *name != "authority" && !name.starts_with('.')).map(str::to_owned),
            );
        }
        names.sort_unstable();
        Ok(names)
    }

    fn names_hint(&self) -> Option<String> {
        let names = self.names().ok().filter(|names| !names.is_empty())?;
        Some(format!("the ends here are {}", names.join(", ")))
    }

    fn signer(&self) -> Result<Signer, Failure> {
        let trusted = self.trusted()?;
        let file = self.file(AUTHORITY_KEY);
        let hint = || {
            let hint = "sign on the machine that has the authority's key; if it is lost, `certificates authority` starts another";
            Some(hint.to_owned())
        };
        let mode =
            fs::metadata(&file).map_err(|error| unusable(&file, &error.to_string(), hint()))?.permissions();
        if mode.mode() & 0o077 != 0 {
            let why = format!("mode {:04o}: other users may use the authority's key", mode.mode() & 0o7777);
            return Err(unusable(&file, &why, Some(format!("chmod 600 {}", file.display()))));
        }
        let bytes = read_regular(&file).map_err(|why| unusable(&file, &why, None))?;
        let key = key_pair(&bytes).ok_or_else(|| unusable(&file, "holds no private key", None))?;
        let mut own = trusted.into_iter().filter(|one| one.key.0 == key.der_bytes());
        let authority = own.next().ok_or_else(|| {
            unusable(&file, &format!("belongs to none of the authorities in {AUTHORITY}"), hint())
        })?;
        if !authority.left().is_positive() {
            let why = format!("{} expired on {}", authority.name, date(authority.expires));
            let hint = "`certificates authority` starts another".to_owned();
            return Err(unusable(&self.file(AUTHORITY), &why, Some(hint)));
        }
        let issuer = Issuer::from_ca_cert_der(&authority.der, key).map_err(failed)?;
        Ok(Signer { authority, issuer })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn check_new(&self, name: &str) -> Result<(), Failure> {
        let files = ["pem", "key"].map(|kind| self.file(&format!("{name}.{kind}")));
        let there = files.iter().find(|file| file.symlink_metadata().is_ok());
        there.map_or(Ok(()), |file| Err(whole::exists(file)))
    }
}

/// Waits until no other command uses the folder. After a second it says for whom.
fn lock(folder: &File, path: &Path) -> io::Result<()> {
    for _ in 0..50 {
        match rustix::fs::flock(folder, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => std::thread::sleep(std::time::Duration::from_millis(20)),
            done => return Ok(done?),
        }
    }
    say(&format!(
        "waiting for {}, which has locked {}",
        holder(folder).unwrap_or("another program".into()),
        path.display()
    ));
    Ok(rustix::fs::flock(folder, FlockOperation::LockExclusive)?)
}

/// The process that has locked a folder, by `/proc/locks` (proc(5)): `1: FLOCK ADVISORY WRITE 4711 00:2f:1234 0 EOF`.
fn holder(folder: &File) -> Option<String> {
    let inode = format!(":{}", folder.metadata().ok()?.ino());
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let mut fields = locks.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let holds = |fields: &Vec<&str>| {
        fields.get(1) == Some(&"FLOCK") && fields.get(5).is_some_and(|file| file.ends_with(&inode))
    };
    let id = fields.find(holds)?[4];
    let words = fs::read_to_string(format!("/proc/{id}/cmdline")).ok()?;
    Some(format!("process {id} ({})", words.replace('\0', " ").trim()))
}

fn key_pair(pem: &[u8]) -> Option<KeyPair> {
    KeyPair::from_pem(str::from_utf8(pem).ok()?).ok()
}

/// Whether the key in a file belongs to a certificate; `None` if no key can be read there.
pub(super) fn is_key_of(file: &Path, certificate: &Facts) -> Option<bool> {
    Some(key_pair(&read_regular(file).ok()?)?.der_bytes() == certificate.key.0)
}

/// The authority that signs, with its key.
struct Signer {
    authority: Facts,
    issuer: Issuer<'static, KeyPair>,
}

impl Signer {
    /// Signs a certificate, and says if it expires earlier than asked for: never after its authority.
    fn sign(
        &self,
        name: &str,
        dns: Vec<String>,
        purpose: Purpose,
        key: &impl PublicKeyData,
        days: u32,
    ) -> Result<(String, Vec<String>), Failure> {
        let mut params = CertificateParams::new(dns).map_err(failed)?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![match purpose {
            Purpose::Far => ExtendedKeyUsagePurpose::ServerAuth,
            _ => ExtendedKeyUsagePurpose::ClientAuth,
        }];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        set_validity(&mut params, days);
        let mut notes = Vec::new();
        if params.not_after > self.authority.expires {
            params.not_after = self.authority.expires;
            let at = date(self.authority.expires);
            notes.push(format!(
                "{name} expires on {at}, with its authority; `certificates authority` starts another"
            ));
        }
        let certificate = params.signed_by(key, &self.issuer).map_err(failed)?;
        Ok((certificate.pem(), notes))
    }
}

/// Returns the certificate and the key of a new authority, as PEM.
fn new_authority(days: u32) -> Result<(String, String), Failure> {
    let key = KeyPair::generate().map_err(failed)?;
    let mut params = CertificateParams::default();
    // Two authorities need two names, so that people and programs can tell them apart.
    let id = params.key_identifier(&key);
    let id: String = id.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    params.distinguished_name.push(DnType::CommonName, format!("gamelane authority {id}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    set_validity(&mut params, days);
    let certificate = params.self_signed(&key).map_err(failed)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

fn set_validity(params: &mut CertificateParams, days: u32) {
    let now = OffsetDateTime::now_utc();
    // The clocks of the two ends may differ.
    params.not_before = now - Duration::hours(1);
    params.not_after = now + Duration::days(i64::from(days));
}

/// A name becomes part of a file name and of a DNS name.
fn check_name(name: &str) -> Result<(), Failure> {
    let is_label = (1..=54).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !name.starts_with('-')
        && !name.ends_with('-');
    if is_label && name != "authority" {
        return Ok(());
    }
    let allowed = "1 to 54 of a-z, 0-9 and -, except `authority`, such as far-tokyo";
    Err(Failure(Exit::Usage, format!("NAME {name}: cannot name a file and a host\n  allowed: {allowed}")))
}

fn pem_of(der: &[u8]) -> String {
    let config = EncodeConfig::new().set_line_ending(LineEnding::LF);
    pem::encode_config(&Pem::new("CERTIFICATE", der), config)
}

fn failed(error: rcgen::Error) -> Failure {
    Failure(Exit::Failed, format!("cannot sign a certificate: {error}"))
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    unusable(path, &format!("cannot be read: {error}"), None)
}

fn unusable(path: &Path, why: &str, hint: Option<String>) -> Failure {
    let hint = hint.map(|hint| format!("\n  hint:    {hint}")).unwrap_or_default();
    Failure(Exit::Usage, format!("{}: {why}{hint}", path.display()))
}
