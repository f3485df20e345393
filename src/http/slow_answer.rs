//! Answers that take long to make. They begin before they are made, with blanks, which JSON allows in front of a value: a proxy sees
//! that the answer is under way, and a client that has left is noticed, because the blanks cannot be sent to it.

use std::{io, time::Duration};

use axum::{
    body::Body,
    extract::FromRequestParts,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::stream;
use serde::Serialize;
use tokio::time::timeout;

use super::{
    answer::{NO_STORE, NoStore, json},
    error::Error,
    standing::Standing,
};

/// Until then, a failure still has a status of its own.
const BEGINS_AFTER: Duration = Duration::from_secs(1);
const BETWEEN_BLANKS: Duration = Duration::from_secs(1);

/// Answers with what `making` returns. It is dropped when the client has left or may not have the answer any more. A failure after
/// the answer has begun is logged, and cuts it.
pub(super) async fn answer<T, E, G, S>(
    standing: Standing<G, S>,
    making: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Result<Response, Error>
where
    T: Serialize,
    E: std::error::Error + Into<Error> + Send + Sync + 'static,
    G: FromRequestParts<S> + Send + 'static,
    S: Send + Sync + 'static,
{
    let mut making = Box::pin(making);
    if let Ok(made) = timeout(BEGINS_AFTER, &mut making).await {
        return Ok(NoStore(StatusCode::OK, made.map_err(Into::into)?).into_response());
    }
    let parts = stream::try_unfold(Some(making), async |making| {
        let Some(mut making) = making else { return Ok(None) };
        match timeout(BETWEEN_BLANKS, &mut making).await {
            Err(_) => Ok(Some((Bytes::from_static(b" "), Some(making)))),
            Ok(Ok(made)) => Ok(Some((serde_json::to_vec(&made)?.into(), None))),
            Ok(Err(error)) => {
                tracing::error!(%error, "an answer was cut: it could not be made");
                Err(io::Error::other(error))
            }
        }
    });
    let mut answer = json(StatusCode::OK, Body::from_stream(parts));
    answer.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
    Ok(standing.guard(answer))
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        future,
        sync::{Arc, Mutex},
    };

    use axum::{Router, http::request::Parts, routing::get};
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{TcpListener, TcpStream},
        sync::oneshot,
    };

    use super::*;
    use crate::{
        http::server::{Limits, serve},
        store,
    };

    /// Admits everybody.
    struct Anybody;

    impl<S: Sync> FromRequestParts<S> for Anybody {
        type Rejection = Infallible;

        async fn from_request_parts(_: &mut Parts, _: &S) -> Result<Self, Infallible> {
            Ok(Self)
        }
    }

    /// A client of a server whose answer is what the test sends, and what tells that nobody waits for it any more.
    async fn asked()
    -> (TcpStream, oneshot::Sender<Result<u32, store::Error>>, oneshot::Receiver<()>) {
        let (send, made) = oneshot::channel();
        let (held, dropped) = oneshot::channel::<()>();
        let parts = Arc::new(Mutex::new(Some((made, held))));
        let app = Router::new().route(
            "/",
            get(move |standing: Standing<Anybody, ()>| {
                let (made, held) = parts.lock().unwrap().take().unwrap();
                answer(standing, async move {
                    let _held = held;
                    match made.await {
                        Ok(made) => made,
                        Err(_) => future::pending().await,
                    }
                })
            }),
        );
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve(vec![listener], app, Limits::default(), future::pending()));
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await.unwrap();
        (client, send, dropped)
    }

    /// The head of an answer that has begun.
    async fn head(client: &mut TcpStream) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(client.read_u8().await.unwrap());
        }
        String::from_utf8(head).unwrap()
    }

    async fn rest(mut client: TcpStream) -> String {
        let mut rest = String::new();
        client.read_to_string(&mut rest).await.unwrap();
        rest
    }

    #[tokio::test]
    async fn what_is_made_soon_is_answered_as_a_whole_and_a_failure_has_its_status() {
        let (client, send, _) = asked().await;
        send.send(Ok(42)).unwrap();
        let answer = rest(client).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("content-length: 2\r\n") && answer.ends_with("42"), "{answer}");
        let (client, send, _) = asked().await;
        send.send(Err(store::Error::Unavailable("no disk".into()))).unwrap();
        let answer = rest(client).await;
        assert!(answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{answer}");
    }

    #[tokio::test]
    async fn what_takes_long_begins_with_blanks_and_a_failure_cuts_it() {
        let (mut client, send, _) = asked().await;
        let head_of_late = head(&mut client).await;
        assert!(head_of_late.starts_with("HTTP/1.1 200 OK\r\n"), "{head_of_late}");
        let mut blank = [0; 6];
        client.read_exact(&mut blank).await.unwrap();
        assert_eq!(&blank, b"1\r\n \r\n");
        send.send(Ok(42)).unwrap();
        let end = rest(client).await;
        assert!(end.ends_with("2\r\n42\r\n0\r\n\r\n"), "{end}");
        let (mut client, send, _) = asked().await;
        head(&mut client).await;
        send.send(Err(store::Error::Unavailable("no disk".into()))).unwrap();
        let end = rest(client).await;
        assert!(!end.ends_with("0\r\n\r\n"), "it looks complete: {end}");
    }

    #[tokio::test]
    async fn what_nobody_waits_for_is_not_made() {
        let (client, _send, dropped) = asked().await;
        drop(client);
        assert!(dropped.await.is_err(), "nothing is sent");
    }
}
