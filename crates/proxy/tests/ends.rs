//! Ends that are killed and started again: new streams are served at once, and the log stays short.

use crate::command::{Running, free_port, output, proxy};
use crate::common::{PATIENCE, millis, tls_table, write};
use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use tempfile::TempDir;

fn start(folder: &Path, end: &str) -> Running {
    let log = File::options().create(true).append(true).open(folder.join(format!("{end}.log"))).unwrap();
    let file = folder.join(format!("{end}.toml"));
    Running(proxy(&[end, file.to_str().unwrap()]).stderr(log).spawn().unwrap())
}

/// A server that echoes.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        while let Ok((mut socket, _)) = listener.accept() {
            // A stream may end at any moment.
            thread::spawn(move || std::io::copy(&mut socket.try_clone()?, &mut socket));
        }
    });
    address
}

/// Connects players until one is served.
fn served(near: u16) -> TcpStream {
    let attempt = || -> std::io::Result<TcpStream> {
        let mut player = TcpStream::connect(("127.0.0.1", near))?;
        player.set_read_timeout(Some(PATIENCE))?;
        player.write_all(b"x")?;
        player.read_exact(&mut [0; 1])?;
        Ok(player)
    };
    for _ in 0..1000 {
        match attempt() {
            Ok(player) => return player,
            Err(error) => assert_ne!(error.kind(), ErrorKind::WouldBlock, "not served within {PATIENCE:?}"),
        }
        thread::sleep(millis(20));
    }
    panic!("no player is served");
}

/// Over QUIC, the near end hears from a restarted far end that its connections are gone. Only the kernel's answers say so over TCP.
#[test]
fn a_far_end_that_was_killed_serves_again_at_once_over_quic() {
    let folder = TempDir::new().unwrap();
    let (code, _, error) = output(&["certificates", folder.path().to_str().unwrap()]);
    assert_eq!(code, 0, "{error}");
    let (near, far) = (free_port(), free_port());
    // Silence would end the connections long after this test.
    let keys =
        "carriers = 2\ntransport = \"quic\"\nrefuse_after = \"600s\"\n[timeouts]\nsilence = \"600s\"\n";
    for (end, addresses) in [
        ("far", format!("listen = \"127.0.0.1:{far}\"\nserver = \"{}\"\n", echo())),
        ("near", format!("listen = \"127.0.0.1:{near}\"\nfar = \"127.0.0.1:{far}\"\n")),
    ] {
        write(folder.path(), &format!("{end}.toml"), &(addresses + keys + &tls_table(end)));
    }
    let mut far_process = start(folder.path(), "far");
    let _near_process = start(folder.path(), "near");
    let players: Vec<TcpStream> = (0..50).map(|_| served(near)).collect();
    far_process.0.kill().unwrap();
    far_process.0.wait().unwrap();
    far_process = start(folder.path(), "far");
    served(near);
    for mut player in players {
        let end = player.read(&mut [0; 1]);
        assert_eq!(end.unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
    drop(far_process);
    // A lost connection ends all of its streams, which is one event.
    let log = std::fs::read_to_string(folder.path().join("near.log")).unwrap();
    assert!(log.lines().count() < 40, "{log}");
}
