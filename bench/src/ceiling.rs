//! Doorward, and in the same process a bare axum route that receives and answers the same bytes as its guard.

use std::path::PathBuf;

use anyhow::Context;
use axum::{
    Router,
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderValue, Response, header},
    routing::get,
};
use doorward::{
    Doorward, Settings, api,
    config::DatabaseUrl,
    log,
    server::{self, Limits},
};
use tokio::net::TcpListener;

/// Serves Doorward and a bare route on two ports, which it prints, until its input ends
#[derive(clap::Args)]
pub(crate) struct Ceiling {
    /// The folder for the database
    folder: PathBuf,
    /// The id of the user whose guarded answer the bare route gives
    #[arg(long, default_value = "00000000-0000-4000-8000-000000000000")]
    user: String,
}

impl Ceiling {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let database = DatabaseUrl::Sqlite(self.folder.join("doorward.db"));
        let settings = Settings { database, ..Settings::default() };
        log::start(&settings);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(self.serve(settings))
    }

    async fn serve(self, settings: Settings) -> anyhow::Result<()> {
        let doorward = Doorward::open(settings).await?;
        let (guarded, bare) = (listen().await?, listen().await?);
        println!("{} {}", guarded.local_addr()?.port(), bare.local_addr()?.port());
        let app =
            Router::new().route("/api/auth/guard", get(answer)).with_state(headers(&self.user)?);
        tokio::spawn(async move { axum::serve(bare, app).await });
        let input = tokio::task::spawn_blocking(|| std::io::read_to_string(std::io::stdin()));
        let end = async {
            let _ = input.await;
        };
        server::serve(guarded, api::service(doorward), Limits::default(), end).await;
        Ok(())
    }
}

async fn listen() -> anyhow::Result<TcpListener> {
    TcpListener::bind("127.0.0.1:0").await.context("cannot listen")
}

/// As little as an axum handler can do: everything in the answer is ready before the request comes.
async fn answer(State(headers): State<&'static HeaderMap>) -> Response<Body> {
    let mut response = Response::new(Body::from("\"You are authenticated.\""));
    *response.headers_mut() = headers.clone();
    response
}

/// The headers that the guard answers with. `Date` and `Content-Length` are hyper's.
fn headers(user: &str) -> anyhow::Result<&'static HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::VARY, HeaderValue::from_static("Authorization"));
    headers.insert("x-auth-user-id", HeaderValue::from_str(user)?);
    headers.insert("x-auth-policy", HeaderValue::from_static("guard"));
    headers.insert("x-auth-user-name", HeaderValue::from_static(""));
    headers.insert("x-auth-user-email", HeaderValue::from_static(""));
    headers.insert("x-request-id", HeaderValue::from_static("0123456789abcdef"));
    Ok(Box::leak(Box::new(headers)))
}
