//! The client of the admin API: it asks the running server or, if none runs, the same router in this process.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use axum::{
    body::Body,
    http::{Method, Request, StatusCode, header},
};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::{net::UnixStream, runtime::Handle};
use zeroize::Zeroizing;

use super::{Error, operator};
use crate::{
    Doorward, OpenError, Settings,
    data_folder::{self, DataFolder},
    http::{self, App, admin::Operator},
};

/// Asks the admin API: on the running server, or on a database that it opens once and keeps open.
pub struct AdminClient {
    place: Place,
}

enum Place {
    /// The data folder of the running server.
    Server(PathBuf),
    Process(Box<InProcess>),
}

struct InProcess {
    doorward: Doorward,
    service: http::Service,
    operator: Operator,
}

/// An answer of the API.
pub type Answer = axum::http::Response<Body>;

impl AdminClient {
    /// Finds out whether a server runs, and opens the database if none does.
    ///
    /// # Errors
    /// If there is no database, or it cannot be opened.
    pub async fn open(settings: Settings) -> Result<Self, Error> {
        Self::open_with(settings, false).await
    }

    /// Opens it for commands that make or encrypt a secret which a server has to read later.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_to_make_secrets(settings: Settings) -> Result<Self, Error> {
        Self::open_with(settings, true).await
    }

    async fn open_with(settings: Settings, makes_secrets: bool) -> Result<Self, Error> {
        settings.database.ensure_exists()?;
        let folder = settings.folder().map(Path::to_owned);
        let opened = Doorward::open_for_command(settings.clone(), makes_secrets).await;
        let place = match (opened, folder) {
            (Ok(doorward), _) => Place::Process(Box::new(InProcess {
                service: http::service(doorward.clone()),
                doorward,
                operator: Operator {
                    administrator: operator::Operator::of_this_process().administrator(),
                    read_settings: Arc::new(move || Ok(settings.clone())),
                },
            })),
            (Err(error), Some(folder)) if error.is_in_use() => Place::Server(folder),
            (Err(OpenError::Data(data_folder::Error::Io { path, error })), _)
                if error.kind() == io::ErrorKind::PermissionDenied =>
            {
                return Err(Error::NotAllowed { path, error });
            }
            (Err(error), _) => return Err(error.into()),
        };
        Ok(Self { place })
    }

    /// Finds the running server, for what nothing else can do. `otherwise` is the error if none runs.
    ///
    /// # Errors
    /// If no server can be found, or the database cannot be opened to find out.
    pub async fn open_server(settings: Settings, otherwise: Error) -> Result<Self, Error> {
        if settings.folder().is_none() {
            return Err(Error::NoFolder);
        }
        let client = Self::open(settings).await?;
        if client.is_server() { Ok(client) } else { Err(otherwise) }
    }

    /// The server that runs on this data folder.
    pub fn running_on(folder: &Path) -> Self {
        Self { place: Place::Server(folder.to_owned()) }
    }

    /// Whether a server runs and answers.
    pub fn is_server(&self) -> bool {
        matches!(self.place, Place::Server(_))
    }

    /// Lets a search find all users, if no server has made its index yet.
    ///
    /// # Errors
    /// If the database cannot be used.
    pub async fn prepare_search(&self) -> Result<(), Error> {
        match &self.place {
            Place::Server(_) => Ok(()),
            Place::Process(process) => {
                process.doorward.complete_search_terms().await.map_err(io::Error::other)?;
                Ok(())
            }
        }
    }

    /// Reads something.
    ///
    /// # Errors
    /// If the API refuses or cannot be asked.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.order(Method::GET, path, &()).await
    }

    /// Orders something. A body of `()` is none, and so is an answer of `()`.
    ///
    /// # Errors
    /// If the API refuses or cannot be asked.
    pub async fn order<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Error> {
        let sent = Zeroizing::new(serde_json::to_vec(body).map_err(io::Error::from)?);
        let mut request = Request::builder().method(method).uri(path);
        let body = if *sent == b"null" {
            Body::empty()
        } else {
            request = request.header(header::CONTENT_TYPE, "application/json");
            Body::from(Bytes::from_owner(sent))
        };
        let request = request.body(body).expect("the paths of the API are valid");
        let answer = succeed(self.send(request).await?).await.map_err(|error| match error {
            Error::Refused { status: status @ StatusCode::INTERNAL_SERVER_ERROR, reason }
                if self.is_server() =>
            {
                let advice = "check whether the command took effect, and repeat it if not";
                let reason = format!("the running server has failed: {reason}: {advice}");
                Error::Refused { status, reason }
            }
            error => error,
        })?;
        read_json(answer).await
    }

    /// Sends a request as the operator. The body of the answer is a stream.
    ///
    /// # Errors
    /// If the running server cannot be reached.
    pub async fn send(&self, mut request: Request<Body>) -> Result<Answer, Error> {
        request.headers_mut().insert(header::HOST, header::HeaderValue::from_static("localhost"));
        match &self.place {
            Place::Server(folder) => send_to(folder, request).await.map_err(|error| {
                Error::Unreachable { folder: folder.clone(), error: io::Error::other(error) }
            }),
            Place::Process(process) => {
                request.extensions_mut().insert(process.operator.clone());
                let nowhere = (std::net::Ipv4Addr::LOCALHOST, 0).into();
                Ok(process.service.answer(request, nowhere).await)
            }
        }
    }
}

/// Sends a request to the server that runs on this data folder.
async fn send_to(
    folder: &Path,
    request: Request<Body>,
) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
    let stream = UnixStream::connect(&DataFolder::socket(folder)?).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // It ends with the body of the answer.
    tokio::spawn(connection);
    Ok(sender.send_request(request).await?.map(Body::new))
}

/// The answer, if it is a success.
///
/// # Errors
/// With the reason that the API gives.
pub async fn succeed(answer: Answer) -> Result<Answer, Error> {
    if answer.status().is_success() {
        return Ok(answer);
    }
    let status = answer.status();
    Err(Error::Refused { status, reason: reason(status, &read_all(answer).await?) })
}

/// Why the API refuses: its message, or what is wrong with each field.
fn reason(status: StatusCode, body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let faults = body["error"][0].as_object().into_iter().flatten();
    let faults: Vec<_> =
        faults.filter_map(|(field, fault)| Some(format!("{field}: {}", fault.as_str()?))).collect();
    match (&faults[..], body["message"].as_str()) {
        ([], Some(message)) => message.to_owned(),
        ([], None) => format!("the answer has status {status}"),
        (faults, _) => faults.join("; "),
    }
}

/// The body of an answer for code that is not asynchronous. Read it in a thread of [`tokio::task::spawn_blocking`].
pub struct BodyReader {
    runtime: Handle,
    body: Body,
    /// What has arrived and was not read.
    arrived: Bytes,
}

impl BodyReader {
    /// Needs a tokio runtime, which receives the body.
    pub fn new(answer: Answer) -> Self {
        Self { runtime: Handle::current(), body: answer.into_body(), arrived: Bytes::new() }
    }
}

impl Read for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.arrived.is_empty() {
            let Some(part) = self.runtime.block_on(next_part(&mut self.body))? else {
                return Ok(0);
            };
            self.arrived = part;
        }
        let read = self.arrived.split_to(buffer.len().min(self.arrived.len()));
        buffer[..read.len()].copy_from_slice(&read);
        Ok(read.len())
    }
}

/// The next part of the body of an answer, none at its end.
///
/// # Errors
/// If the answer is cut.
pub async fn next_part(body: &mut Body) -> io::Result<Option<Bytes>> {
    let cut = |_| io::Error::other("the server stopped before everything was sent: try again");
    let Some(frame) = body.frame().await.transpose().map_err(cut)? else { return Ok(None) };
    Ok(Some(frame.into_data().unwrap_or_default()))
}

/// The JSON of an answer. Nothing is `null`.
///
/// # Errors
/// If the answer is cut or has another form.
pub async fn read_json<T: DeserializeOwned>(answer: Answer) -> Result<T, Error> {
    let body = read_all(answer).await?;
    let body: &[u8] = if body.is_empty() { b"null" } else { &body };
    serde_json::from_slice(body).map_err(|error| {
        io::Error::other(format!("{error}: does the running server have another version?")).into()
    })
}

/// The body of an answer.
///
/// # Errors
/// If the answer is cut.
pub async fn read_all(answer: Answer) -> Result<Bytes, Error> {
    let collected = answer.into_body().collect().await;
    let cut = |error| io::Error::other(format!("the server stopped before it answered: {error}"));
    Ok(collected.map_err(cut)?.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::DatabaseUrl, http::api::admin::guards::Guards};

    #[tokio::test]
    async fn a_client_keeps_the_database_open_from_request_to_request() {
        let folder = tempfile::tempdir().unwrap();
        let database = DatabaseUrl::Sqlite(folder.path().join("doorward.db"));
        let settings = Settings { database, ..Settings::default() };
        drop(Doorward::open(settings.clone()).await.unwrap());
        let client = AdminClient::open(settings.clone()).await.unwrap();
        for _ in 0..2 {
            let Guards { guards } = client.get("/api/admin/guards").await.unwrap();
            assert!(guards.is_empty() && !client.is_server(), "{guards:?}");
            let second = Doorward::open(settings.clone()).await.err();
            assert!(second.is_some_and(|error| error.is_in_use()));
        }
        drop(client);
        for otherwise in [Error::NotRunning, Error::NothingInMemory] {
            let expected = otherwise.to_string();
            let opened = AdminClient::open_server(settings.clone(), otherwise).await;
            assert_eq!(opened.err().unwrap().to_string(), expected);
        }
    }
}
