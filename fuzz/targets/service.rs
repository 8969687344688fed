//! A request to a program's HTTP port: there is one answer or none, it is HTTP, and no body above the limit reaches the program.

use std::io::Result;
use std::pin::Pin;
use std::task::{Context, Poll};

use gamelane_service::http::{self, Answer, Bytes, MAX_BODY, Method, Request, Route, Site, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

struct Pages;

impl Site for Pages {
    fn routes(&self) -> &'static [Route] {
        const { &[(Method::GET, "/"), (Method::POST, "/s")] }
    }

    async fn answer(&self, request: Request<Bytes>) -> Answer {
        assert!(request.body().len() <= MAX_BODY);
        assert!(
            self.routes()
                .contains(&(request.method().clone(), if request.uri().path() == "/" { "/" } else { "/s" }))
        );
        http::text(StatusCode::OK, &format!("{} bytes", request.body().len()))
    }
}

/// A client that sends its bytes in parts, and then closes.
struct Client<'a> {
    bytes: &'a [u8],
    part: usize,
    answer: Vec<u8>,
}

impl AsyncRead for Client<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let len = self.part.min(buffer.remaining()).min(self.bytes.len());
        let (now, later) = self.bytes.split_at(len);
        buffer.put_slice(now);
        self.bytes = later;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Client<'_> {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        self.answer.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }
}

thread_local! {
    static RUNTIME: tokio::runtime::Runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().expect("there is room for one");
}

/// A request after a byte that says how long its parts are.
pub(crate) fn request(bytes: &[u8]) {
    let Some((&part, bytes)) = bytes.split_first() else { return };
    let mut client = Client { bytes, part: usize::from(part) + 1, answer: Vec::new() };
    RUNTIME.with(|runtime| runtime.block_on(http::serve_one(&mut client, &Pages)));
    let answer = String::from_utf8(client.answer).expect("we answer with text");
    if answer.is_empty() {
        return;
    }
    let answer = answer.strip_prefix("HTTP/1.1 100 Continue\r\n\r\n").unwrap_or(&answer);
    let code = answer.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5));
    let code = code.expect("a status line follows the version");
    // Of hyper: 400 (no HTTP), 414 (a long path), 431 (a long head).
    assert!(["200", "400", "404", "413", "414", "431"].contains(&code), "{answer}");
    assert_eq!(answer.matches("HTTP/1.").count(), 1, "one request for each connection");
}
