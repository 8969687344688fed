//! The client: asks a program on this machine and waits for its answer.

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net as unix;

use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use super::{Address, Bytes, DEADLINE, Method, Request, StatusCode};

/// Why a program gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// It does not run, or speaks something else.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It broke the connection or sent something that is not HTTP.
    #[error("no valid HTTP answer: {0}")]
    Http(#[from] hyper::Error),
    /// It did not answer in time.
    #[error("no answer within {} s", DEADLINE.as_secs())]
    Late,
    /// It answered with an error.
    #[error("{code}: {text}")]
    Refused {
        /// HTTP status code.
        code: StatusCode,
        /// The answer's text.
        text: String,
    },
}

/// Asks the program at `address` for `path`. Call it outside of a tokio runtime.
///
/// # Errors
/// See [`AskError`].
pub fn get(address: &Address, path: &str) -> Result<Bytes, AskError> {
    ask(address, Method::GET, path, Bytes::new())
}

/// Sends `body` to the program at `address`. Call it outside of a tokio runtime.
///
/// # Errors
/// See [`AskError`].
pub fn post(address: &Address, path: &str, body: impl Into<Bytes>) -> Result<Bytes, AskError> {
    ask(address, Method::POST, path, body.into())
}

fn ask(address: &Address, method: Method, path: &str, body: Bytes) -> Result<Bytes, AskError> {
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = path.parse().map_err(io::Error::other)?;
    let host = match address {
        Address::Tcp(address) => address.to_string(),
        Address::Name(_) => "localhost".into(),
    };
    request.headers_mut().insert(HOST, host.parse().map_err(io::Error::other)?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let exchange = async {
        match address {
            Address::Tcp(address) => exchange(TcpStream::connect(address).await?, request).await,
            Address::Name(name) => {
                let socket = unix::UnixStream::connect_addr(&unix::SocketAddr::from_abstract_name(name)?)?;
                socket.set_nonblocking(true)?;
                exchange(UnixStream::from_std(socket)?, request).await
            }
        }
    };
    runtime.block_on(async { timeout(DEADLINE, exchange).await }).map_err(|_| AskError::Late)?
}

async fn exchange(
    socket: impl AsyncRead + AsyncWrite + Unpin + Send,
    request: Request<Full<Bytes>>,
) -> Result<Bytes, AskError> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(socket)).await?;
    let asked = async {
        let response = sender.send_request(request).await?;
        let code = response.status();
        Ok::<_, hyper::Error>((code, response.into_body().collect().await?.to_bytes()))
    };
    tokio::pin!(asked);
    let (code, body) = tokio::select! {
        answer = &mut asked => answer?,
        ended = connection => {
            ended?;
            asked.await?
        }
    };
    if !code.is_success() {
        let text = String::from_utf8_lossy(&body).trim_end().to_owned();
        return Err(AskError::Refused { code, text });
    }
    Ok(body)
}
