//! `gamelane-proxy certificates`: files go to stdout, one a line; what to do next goes to stderr.

use super::facts::{Facts, Purpose, date, expiry};
use super::folder::{self, AUTHORITY_DAYS, Done, Folder};
use clap::{Args, Subcommand};
use gamelane_mux::Role;
use gamelane_service::exit::{self, Failure};
use gamelane_service::output::print;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Arguments of the command.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Certificates {
    #[command(subcommand)]
    action: Option<Action>,
    /// Folder for an authority and a certificate for each end, as of `init`, `add near --near` and `add far --far`.
    #[arg(required = true)]
    folder: Option<PathBuf>,
    #[command(flatten)]
    days: Days,
}

#[derive(Debug, Args)]
struct Days {
    /// Days until the certificates of the ends expire.
    #[arg(long, default_value_t = 365, value_parser = clap::value_parser!(u32).range(0..=36_500))]
    days: u32,
}

#[derive(Debug, Args)]
struct AuthorityDays {
    /// Days until the authority expires. No certificate that it signs is valid longer.
    #[arg(long, default_value_t = AUTHORITY_DAYS, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: u32,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make an authority. Its key stays on this machine.
    Init {
        /// Folder for its files. It is made if it does not exist.
        folder: PathBuf,
        #[command(flatten)]
        days: AuthorityDays,
    },
    /// Make a certificate and its key for a further end.
    Add {
        /// Folder with the authority and its key.
        folder: PathBuf,
        /// Name of the end: a to z, digits and hyphens.
        name: String,
        #[command(flatten)]
        end: End,
        #[command(flatten)]
        days: Days,
    },
    /// Make new certificates for ends, which keep their names and keys.
    Renew {
        /// Folder with the authority and its key.
        folder: PathBuf,
        /// Names of the ends.
        #[arg(required = true)]
        names: Vec<String>,
        /// Make new keys too.
        #[arg(long)]
        new_key: bool,
        #[command(flatten)]
        days: Days,
    },
    /// Print what certificates say: name, role, expiry, authority and fingerprint.
    Show {
        /// Folder of certificates, or a PEM file.
        path: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Start a second authority, which signs from now on. Both are trusted until `retire`.
    Authority {
        /// Folder with the first one.
        folder: PathBuf,
        #[command(flatten)]
        days: AuthorityDays,
    },
    /// Trust the second authority only.
    Retire {
        /// Folder with both authorities.
        folder: PathBuf,
    },
}

#[derive(Clone, Copy, Debug, Args)]
#[group(required = true, multiple = false)]
struct End {
    /// The end beside the players.
    #[arg(long)]
    near: bool,
    /// The end beside the server.
    #[arg(long)]
    far: bool,
}

impl From<End> for Role {
    fn from(end: End) -> Self {
        if end.far { Self::Far } else { Self::Near }
    }
}

const RELOAD: &str = "reload (SIGHUP, `systemctl reload`): no stream is interrupted";

/// Runs the command.
pub fn run(arguments: Certificates) -> Result<(), Failure> {
    let Certificates { action, folder, days } = arguments;
    let Some(action) = action else {
        let folder = folder.expect("clap requires it without an action");
        let done = folder::make(&folder, days.days)?;
        return report(
            &done,
            "next: keep authority.key on this machine, and copy authority.pem, near.* and far.* to the two ends\n",
        );
    };
    match action {
        Action::Init { folder, days } => {
            let done = Folder::create(&folder)?.init(days.days)?;
            let next = format!(
                "next: keep authority.key on this machine, and back it up\n      \
                 `gamelane-proxy certificates add {} NAME --near|--far` for each end\n",
                folder.display()
            );
            report(&done, &next)
        }
        Action::Add { folder, name, end, days } => {
            let done = Folder::open(&folder)?.add(&name, end.into(), days.days)?;
            let next = format!(
                "next: copy authority.pem, {name}.pem and {name}.key to the machine of {name}; other ends need nothing\n"
            );
            report(&done, &next)
        }
        Action::Renew { folder, names, new_key, days } => {
            let folder = Folder::open(&folder)?;
            for name in names {
                let done = folder.renew(&name, days.days, new_key)?;
                let key = if new_key { format!(" and {name}.key") } else { String::new() };
                report(&done, &format!("next: copy {name}.pem{key} to the machine of {name}; {RELOAD}\n"))?;
            }
            Ok(())
        }
        Action::Show { path, json } => show(&path, json),
        Action::Authority { folder, days } => {
            let opened = Folder::open(&folder)?;
            let ends: Vec<String> = opened.ends()?.into_iter().map(|(name, _)| name).collect();
            let done = opened.authority(days.days)?;
            let ends = if ends.is_empty() { "NAME".to_owned() } else { ends.join(" ") };
            let folder = folder.display();
            let next = format!(
                "next, in this order:\n  \
                 1. copy authority.pem to every machine, and {RELOAD}\n  \
                 2. `gamelane-proxy certificates renew {folder} {ends}`, copy each NAME.pem to its machine, and reload\n  \
                 3. `gamelane-proxy certificates retire {folder}`, copy authority.pem to every machine, and reload\n"
            );
            report(&done, &next)
        }
        Action::Retire { folder } => {
            let done = Folder::open(&folder)?.retire()?;
            report(&done, &format!("next: copy authority.pem to every machine, and {RELOAD}\n"))
        }
    }
}

fn report(done: &Done, next: &str) -> Result<(), Failure> {
    print(&done.written.iter().map(|path| format!("{}\n", path.display())).collect::<String>())?;
    let notes: String = done.notes.iter().map(|note| format!("note: {note}\n")).collect();
    // These lines only help; a closed stderr is no failure.
    let _ = std::io::stderr().write_all((notes + next).as_bytes());
    Ok(())
}

/// A certificate, and what the folder knows of it.
struct Shown {
    file: PathBuf,
    facts: Facts,
    /// Name of the authority that signed it; `None` if that authority is not in this folder.
    authority: Option<String>,
    /// Whether this folder has its key and signs with it.
    signs: bool,
    /// Of an end: whether the key beside it belongs to it; `None` without a key.
    key_fits: Option<bool>,
}

fn show(path: &Path, json: bool) -> Result<(), Failure> {
    let unusable = |file: &Path, why: &str| exit::usage(format!("{}: {why}", file.display()));
    let mut shown = Vec::new();
    let mut add = |file: &Path, facts: Facts, trusted: &[Facts], signing: Option<&str>| {
        let authority = trusted.iter().find(|authority| facts.is_signed_by(authority));
        shown.push(Shown {
            file: file.into(),
            authority: authority.map(|authority| authority.name.clone()),
            signs: signing == Some(&facts.fingerprint),
            key_fits: folder::is_key_of(&file.with_extension("key"), &facts),
            facts,
        });
    };
    if path.is_dir() {
        let folder = Folder::open(path)?;
        let (trusted, signing) = (folder.trusted()?, folder.signing());
        for authority in &trusted {
            add(&path.join("authority.pem"), authority.clone(), &trusted, signing.as_deref());
        }
        for (name, facts) in folder.ends()? {
            add(&path.join(format!("{name}.pem")), facts, &trusted, signing.as_deref());
        }
    } else {
        // It may be a pipe: `show <(ssh HOST cat near.pem)`.
        let bytes =
            std::fs::read(path).map_err(|error| unusable(path, &format!("cannot be read: {error}")))?;
        let all = Facts::from_pem(&bytes).map_err(|why| unusable(path, &why))?;
        // A certificate alone is shown too, without the authority's name.
        let beside = Facts::read(&path.with_file_name("authority.pem")).unwrap_or_default();
        for facts in all {
            add(path, facts, &beside, None);
        }
    }
    if json {
        let certificates: Vec<Value> = shown.iter().map(Shown::json).collect();
        return print(&format!("{:#}\n", json!({ "schema": 1, "certificates": certificates })));
    }
    print(&shown.iter().map(Shown::text).collect::<String>())
}

impl Shown {
    fn text(&self) -> String {
        let Self { file, facts, authority, signs, key_fits } = self;
        let mut out = String::new();
        let name = if facts.name.is_empty() { &facts.subject } else { &facts.name };
        let _ = writeln!(out, "{}: {name}", file.display());
        let role = match (facts.purpose, signs) {
            (Purpose::Authority, true) => "authority, signs here".into(),
            (Purpose::Authority, false) => "authority, trusted".into(),
            _ if facts.dns.is_empty() => facts.purpose.name().into(),
            _ => format!("{}, for {}", facts.purpose.name(), facts.dns.join(", ")),
        };
        let _ = writeln!(out, "  role         {role}");
        let _ = writeln!(out, "  until        {}, {}", date(facts.expires), expiry(facts.left()));
        if facts.purpose != Purpose::Authority {
            let authority = authority.as_deref().unwrap_or("none of authority.pem");
            let _ = writeln!(out, "  authority    {authority}");
            if *key_fits == Some(false) {
                let key = file.with_extension("key");
                let _ = writeln!(
                    out,
                    "  key          {} does not belong to it: `renew --new-key`",
                    key.display()
                );
            }
        }
        let _ = writeln!(out, "  fingerprint  {}", facts.fingerprint);
        out
    }

    fn json(&self) -> Value {
        let Self { file, facts, authority, signs, key_fits } = self;
        json!({
            "file": file.display().to_string(),
            "subject": facts.subject,
            "names": facts.dns,
            "role": facts.purpose.name(),
            "signs": signs,
            "key_fits": key_fits,
            "begins_unix_s": facts.begins.unix_timestamp(),
            "expires_unix_s": facts.expires.unix_timestamp(),
            "days_left": facts.left().whole_days(),
            "authority": authority,
            "fingerprint_sha256": facts.fingerprint,
        })
    }
}
