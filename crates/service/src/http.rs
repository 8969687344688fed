//! Answers over HTTP for this machine only: on a loopback port, or on a named socket for root and the user who started the program.
//!
//! A request's head must arrive within [`HEAD_DEADLINE`], and its whole answer leave within [`DEADLINE`]. [`CLIENTS`] are served at
//! a time; more of them wait for a place. A head has at most 8 KiB and a body at most [`MAX_BODY`]. Every answer closes the
//! connection.

mod client;

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net as unix;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use crate::prometheus::{self, Exposition};

pub use client::{AskError, get, post};
pub use hyper::body::Bytes;
pub use hyper::{Method, Request, Response, StatusCode};

/// Time for the head of a request. A client that connects and says nothing keeps its place no longer.
pub const HEAD_DEADLINE: Duration = Duration::from_secs(2);
/// Time for a whole request.
pub const DEADLINE: Duration = Duration::from_secs(5);
/// Clients served at a time.
pub const CLIENTS: usize = 64;
/// Longest body of a request, in bytes.
pub const MAX_BODY: usize = 64 << 10;
/// Longest head of a request, in bytes. hyper accepts no lower limit.
const MAX_HEAD: usize = 8 << 10;
/// Pause before the next attempt if the system has no free file descriptor.
const PAUSE: Duration = Duration::from_millis(100);

/// A method and a path.
pub type Route = (Method, &'static str);

/// What is sent back.
pub type Answer = Response<Full<Bytes>>;

/// What a program answers.
pub trait Site: Send + Sync + 'static {
    /// All routes. Anything else gets a 404 that lists them.
    fn routes(&self) -> &'static [Route];

    /// Answers a request for one of the routes.
    fn answer(&self, request: Request<Bytes>) -> impl Future<Output = Answer> + Send;
}

/// Answers with JSON.
pub fn json(document: &impl serde::Serialize) -> Answer {
    match serde_json::to_vec(document) {
        Ok(text) => answer(StatusCode::OK, "application/json", text),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// Answers with metrics.
pub fn metrics(exposition: Exposition) -> Answer {
    answer(StatusCode::OK, prometheus::CONTENT_TYPE, exposition.into_text().into())
}

/// Answers with a line of text.
pub fn text(code: StatusCode, line: &str) -> Answer {
    answer(code, "text/plain", format!("{line}\n").into())
}

/// Answers with 503: the program cannot tell now.
pub fn unavailable(why: &str) -> Answer {
    text(StatusCode::SERVICE_UNAVAILABLE, why)
}

fn answer(code: StatusCode, kind: &'static str, body: Vec<u8>) -> Answer {
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Where a program answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A port, on loopback.
    Tcp(SocketAddr),
    /// An abstract Unix socket of this name. One process can hold it in a network namespace, and it ends with that process.
    Name(String),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// A socket that listens. [`serve`] or [`spawn`] answers on it.
#[derive(Debug)]
pub struct Listener(Socket);

#[derive(Debug)]
enum Socket {
    Tcp(std::net::TcpListener),
    /// With the user who opened it, and who may ask even after the program has become another user.
    Unix(unix::UnixListener, u32),
}

impl Listener {
    /// Listens. Needs no tokio runtime, so a program can do it before it gives up its privileges.
    ///
    /// # Errors
    /// The address is not on loopback, or is in use.
    pub fn bind(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp(address) if !address.ip().is_loopback() => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a loopback address such as 127.0.0.1 or [::1]",
            )),
            Address::Tcp(address) => {
                let listener = std::net::TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                Ok(Self(Socket::Tcp(listener)))
            }
            Address::Name(name) => {
                let listener = unix::UnixListener::bind_addr(&unix::SocketAddr::from_abstract_name(name)?)?;
                listener.set_nonblocking(true)?;
                Ok(Self(Socket::Unix(listener, rustix::process::getuid().as_raw())))
            }
        }
    }

    /// Where it listens, with the port that the system chose.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> io::Result<Address> {
        match &self.0 {
            Socket::Tcp(listener) => Ok(Address::Tcp(listener.local_addr()?)),
            Socket::Unix(listener, _) => {
                let address = listener.local_addr()?;
                let name = address.as_abstract_name().unwrap_or_default();
                Ok(Address::Name(String::from_utf8_lossy(name).into_owned()))
            }
        }
    }
}

/// Serves on a thread of its own until the process ends: for a program without a tokio runtime.
///
/// # Errors
/// The system has no room for another thread.
pub fn spawn(listener: Listener, site: impl Site) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("http".into()).spawn(move || runtime.block_on(serve(listener, site)))?;
    Ok(())
}

/// Serves until it is dropped.
///
/// # Errors
/// tokio cannot watch the socket. A client's errors end only that client.
pub async fn serve(listener: Listener, site: impl Site) -> io::Result<Infallible> {
    let (site, places) = (Arc::new(site), Arc::new(Semaphore::new(CLIENTS)));
    match listener.0 {
        Socket::Tcp(listener) => {
            let listener = TcpListener::from_std(listener)?;
            loop {
                let place = place(&places).await;
                match listener.accept().await {
                    Ok((socket, _)) => connection(socket, site.clone(), place),
                    Err(_) => sleep(PAUSE).await,
                }
            }
        }
        Socket::Unix(listener, owner) => {
            let listener = UnixListener::from_std(listener)?;
            loop {
                let place = place(&places).await;
                match listener.accept().await {
                    Ok((socket, _)) if is_allowed(&socket, owner) => connection(socket, site.clone(), place),
                    Ok(_) => {}
                    Err(_) => sleep(PAUSE).await,
                }
            }
        }
    }
}

async fn place(places: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    places.clone().acquire_owned().await.expect("nobody closes the semaphore")
}

/// An abstract name has no file permissions, so the peer's user is checked instead.
fn is_allowed(socket: &UnixStream, owner: u32) -> bool {
    socket.peer_cred().is_ok_and(|peer| peer.uid() == 0 || peer.uid() == owner)
}

fn connection(
    socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    site: Arc<impl Site>,
    place: OwnedSemaphorePermit,
) {
    drop(tokio::spawn(async move {
        serve_one(socket, &*site).await;
        drop(place);
    }));
}

/// Answers the one request of a client.
pub async fn serve_one(socket: impl AsyncRead + AsyncWrite + Unpin + Send, site: &impl Site) {
    let service = service_fn(async |request| Ok::<_, Infallible>(route(request, site).await));
    let serving = server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_DEADLINE)
        .keep_alive(false)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(socket), service);
    // A client that is slow or leaves gets no answer.
    let _ = timeout(DEADLINE, serving).await;
}

async fn route(request: Request<Incoming>, site: &impl Site) -> Answer {
    let is_wanted = |(method, path): &Route| *method == request.method() && *path == request.uri().path();
    if !site.routes().iter().any(is_wanted) {
        let routes: Vec<String> =
            site.routes().iter().map(|(method, path)| format!("{method} {path}")).collect();
        return text(StatusCode::NOT_FOUND, &format!("not found; there is {}", routes.join(", ")));
    }
    let (head, body) = request.into_parts();
    match Limited::new(body, MAX_BODY).collect().await {
        Ok(body) => site.answer(Request::from_parts(head, body.to_bytes())).await,
        Err(error) if error.is::<LengthLimitError>() => {
            text(StatusCode::PAYLOAD_TOO_LARGE, &format!("the body has more than {MAX_BODY} bytes"))
        }
        Err(error) => text(StatusCode::BAD_REQUEST, &error.to_string()),
    }
}

#[cfg(test)]
mod tests;
