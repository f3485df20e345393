//! `POST /audit/witness/add-checkpoint`: cosigns a checkpoint of another installation's audit trail, by C2SP `tlog-witness`.

use axum::{
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::{
    Doorward,
    account::witness::{self, WitnessRefusal},
    audit::AddCheckpoint,
    http::{
        Error,
        answer::{NO_STORE, NOSNIFF},
        description::{Answer, Content, Schemas, Success},
        form,
    },
};

/// The most bytes of a request: a checkpoint with some signatures, and a proof.
const MAX_BYTES: usize = 16 << 10;

pub(crate) async fn add_checkpoint(
    State(doorward): State<Doorward>,
    request: Request,
) -> Result<Cosigned, Error> {
    // Where nothing is witnessed, the route does not exist.
    if doorward.settings().audit.witness_for.is_empty() {
        return Err(Error::NotFound);
    }
    let (head, body) = request.into_parts();
    let bytes = form::read(body, &head.headers, MAX_BYTES).await?;
    let request = str::from_utf8(&bytes).ok().and_then(AddCheckpoint::parse);
    let Some(request) = request else { return Err(Error::Malformed) };
    match witness::cosign(&doorward, &request).await {
        Ok(signature) => Ok(Cosigned(text(StatusCode::OK, PLAIN, signature.to_string()))),
        Err(WitnessRefusal::Conflict(size)) => {
            Ok(Cosigned(text(StatusCode::CONFLICT, "text/x.tlog.size", format!("{size}\n"))))
        }
        Err(WitnessRefusal::UnknownLog) => Err(Error::NotFound),
        Err(WitnessRefusal::Malformed) => Err(Error::Malformed),
        Err(WitnessRefusal::NotSigned) => {
            let reason = "The checkpoint is not signed with the key of its log.";
            Err(Error::NotDone(StatusCode::FORBIDDEN, reason.into()))
        }
        Err(WitnessRefusal::NotConsistent) => {
            let reason = "The checkpoint does not continue the one that was cosigned last.";
            Err(Error::NotDone(StatusCode::UNPROCESSABLE_ENTITY, reason.into()))
        }
        Err(WitnessRefusal::Store(error)) => Err(error.into()),
    }
}

const PLAIN: &str = "text/plain; charset=utf-8";

/// A cosignature, or the size of the checkpoint that was cosigned last.
pub(crate) struct Cosigned(Response);

impl IntoResponse for Cosigned {
    fn into_response(self) -> Response {
        self.0
    }
}

impl Answer for Cosigned {
    fn describe(_: &mut Schemas) -> Vec<Success> {
        vec![Success::no_store(StatusCode::OK, Content::text(PLAIN))]
    }
}

fn text(status: StatusCode, kind: &'static str, body: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CACHE_CONTROL, NO_STORE),
        (header::X_CONTENT_TYPE_OPTIONS, NOSNIFF),
    ];
    (status, headers, body).into_response()
}
