//! Finds the interface over which the user is logged in, so that a program does not cut that connection.

use std::net::IpAddr;

use crate::interface::addresses;

/// Returns the address from which the user is logged in over this interface. `sudo` removes `SSH_CONNECTION` from the environment,
/// so the parent processes are looked at too.
pub(super) fn login_over(name: &str) -> Option<IpAddr> {
    let (client, server) = ssh_connection()?;
    addresses().ok()?.iter().any(|(owner, address)| owner == name && *address == server).then_some(client)
}

fn ssh_connection() -> Option<(IpAddr, IpAddr)> {
    if let Ok(value) = std::env::var("SSH_CONNECTION") {
        return parse_connection(&value);
    }
    let mut process = std::os::unix::process::parent_id();
    for _ in 0..32 {
        let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        let connection = environment
            .split(|byte| *byte == 0)
            .find_map(|variable| variable.strip_prefix(b"SSH_CONNECTION="))
            .and_then(|value| parse_connection(std::str::from_utf8(value).ok()?));
        if connection.is_some() {
            return connection;
        }
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        process = status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())?;
        if process <= 1 {
            return None;
        }
    }
    None
}

/// Parses `client port server port`, as sshd writes it. An IPv4-mapped address becomes an IPv4 address.
fn parse_connection(value: &str) -> Option<(IpAddr, IpAddr)> {
    let mut words = value.split_whitespace();
    let mut address = || Some(words.next()?.parse::<IpAddr>().ok()?.to_canonical());
    let client = address()?;
    let _port = words.next()?;
    let server = words.next()?.parse::<IpAddr>().ok()?.to_canonical();
    Some((client, server))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sshd_tells_who_and_where() {
        let connection = parse_connection("203.0.113.9 51234 192.0.2.1 22").unwrap();
        assert_eq!(connection, ("203.0.113.9".parse().unwrap(), "192.0.2.1".parse().unwrap()));
        assert_eq!(parse_connection("203.0.113.9 51234"), None);
    }
}
