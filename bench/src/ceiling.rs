//! Doorward and, in the same process, bare axum routes with the same requests and responses to the byte.

use std::path::PathBuf;

use anyhow::Context;
use axum::{
    Router,
    body::Body,
    extract::{Path, State},
    http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode},
    routing::get,
};
use doorward::{
    Doorward, Settings,
    internals::{
        http::{
            self,
            server::{self, Limits},
        },
        log::{self, LogFilter, LogFormat},
    },
};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_postgres::{Client, NoTls, Statement};
use uuid::Uuid;

/// Serves Doorward and bare routes on two ports, prints the ports, and stops at the end of the input
#[derive(clap::Args)]
pub(crate) struct Ceiling {
    /// The folder for the database
    folder: PathBuf,
    /// The URL of a PostgreSQL to use instead, which the bare look-up then queries
    #[arg(long)]
    database: Option<String>,
}

impl Ceiling {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let file = format!("sqlite://{}", self.folder.join("doorward.db").display());
        let database = self.database.as_deref().unwrap_or(&file);
        let settings = Settings::new().with("database_url", database);
        log::start(&LogFilter::default(), LogFormat::Auto)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(self.serve(settings))
    }

    async fn serve(self, settings: Settings) -> anyhow::Result<()> {
        let doorward = Doorward::open(settings).await?;
        let (guarded, bare) = (listen().await?, listen().await?);
        println!("{} {}", guarded.local_addr()?.port(), bare.local_addr()?.port());
        let mut app = bare_guard();
        if let Some(url) = &self.database {
            app = app.merge(look_ups(url).await?);
        }
        tokio::spawn(async move { axum::serve(bare, app).await });
        let input = tokio::task::spawn_blocking(|| std::io::read_to_string(std::io::stdin()));
        let end = async {
            let _ = input.await;
        };
        server::serve(vec![guarded], http::service(doorward), Limits::default(), end).await;
        Ok(())
    }
}

async fn listen() -> anyhow::Result<TcpListener> {
    TcpListener::bind("127.0.0.1:0").await.context("cannot listen")
}

/// The route that `bench/run` and `bench/count` compare a guard with.
pub(crate) fn bare_guard() -> Router {
    Router::new().route("/api/auth/guard", get(answer)).with_state(admission_headers())
}

/// The least that an axum handler can do: the whole response is prepared in advance.
async fn answer(State(headers): State<&'static HeaderMap>) -> Response<Body> {
    let mut response = Response::new(Body::from("\"You are authenticated.\""));
    *response.headers_mut() = headers.clone();
    response
}

/// The headers of the guard's response. hyper adds `Date`. A length added by axum would need a larger map.
fn admission_headers() -> &'static HeaderMap {
    let headers = [
        ("content-type", "application/json"),
        ("content-length", "24"),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("x-auth-user-id", "00000000-0000-4000-8000-000000000000"),
        ("x-auth-policy", "guard"),
        ("x-auth-user-name", ""),
        ("x-auth-user-email", ""),
        ("x-auth-user-email-verified", ""),
        ("x-request-id", "0123456789abcdef"),
    ];
    let named = |(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
    Box::leak(Box::new(headers.map(named).into_iter().collect()))
}

/// A look-up that only queries PostgreSQL, with the queries of all requests pipelined on one connection.
async fn look_ups(url: &str) -> anyhow::Result<Router> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    let question = client.prepare("SELECT id, name FROM users WHERE id = $1").await?;
    let state: &'static _ = Box::leak(Box::new((client, question)));
    Ok(Router::new().route("/api/user/{id}", get(look_up)).with_state(state))
}

async fn look_up(
    State((client, question)): State<&'static (Client, Statement)>,
    Path(id): Path<String>,
) -> Result<Response<Body>, StatusCode> {
    let id: Uuid = id.parse().map_err(|_| StatusCode::NOT_FOUND)?;
    let row = client.query_one(question, &[&id]).await.map_err(|_| StatusCode::NOT_FOUND)?;
    let (id, name): (Uuid, &str) = (row.get(0), row.get(1));
    let body = json!({ "id": id.to_string(), "name": name }).to_string();
    let response = Response::builder()
        .header("content-type", "application/json")
        .header("cross-origin-resource-policy", "same-origin")
        .header("x-content-type-options", "nosniff")
        .header("x-request-id", "0123456789abcdef");
    response.body(body.into()).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
}
